#include "tools/common/trace.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <thread>

using penstock::tools::Trace;

namespace {

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("what several processes write is one JSON array after each of them") {
  std::filesystem::path file = std::filesystem::temp_directory_path() / "penstock-trace-test.json";
  std::filesystem::remove(file);
  setenv("PENSTOCK_TRACE", file.c_str(), 1);
  std::size_t events = 0;
  for (const char* tool : {"penstock-fuse", "penstock-run"}) {
    Trace trace(tool);
    auto now = Trace::Clock::now();
    trace.span("re\"ad\\\n\xff", now, now, {{"of", "4"}});
    trace.instant("broke", now);
    CHECK(trace.write());
    events += 3;  // the process's name, too
    const auto array = nlohmann::json::parse(text_of(file));
    REQUIRE(array.size() == events);
    CHECK(array[events - 3]["args"]["name"] == tool);
    CHECK(array[events - 2]["name"] == "re\"ad\\\n\xef\xbf\xbd");
    CHECK(array[events - 2]["args"]["of"] == "4");
    CHECK(array[events - 1]["ph"] == "i");
  }
  unsetenv("PENSTOCK_TRACE");
  std::filesystem::remove(file);
}

TEST_CASE("a trace leaves a file alone that is none") {
  const auto file = std::filesystem::temp_directory_path() / "penstock-trace-other-test.json";
  for (const char* text : {"[1]", "precious\n]\n", "{\n]\n"}) {
    std::ofstream(file) << text;
    setenv("PENSTOCK_TRACE", file.c_str(), 1);
    Trace trace("penstock-fuse");
    unsetenv("PENSTOCK_TRACE");
    trace.instant("broke", Trace::Clock::now());
    CHECK_FALSE(trace.write());
    CHECK(text_of(file) == text);
  }
  std::filesystem::remove(file);
}

TEST_CASE("a child does not write what its parent recorded") {
  const auto file = std::filesystem::temp_directory_path() / "penstock-trace-fork-test.json";
  std::filesystem::remove(file);
  setenv("PENSTOCK_TRACE", file.c_str(), 1);
  Trace trace("program");
  unsetenv("PENSTOCK_TRACE");
  trace.instant("parent's", Trace::Clock::now());
  trace.forget();
  trace.instant("child's", Trace::Clock::now());
  CHECK(trace.write());
  const std::string text = text_of(file);
  CHECK(text.find("parent's") == std::string::npos);
  CHECK(text.find("child's") != std::string::npos);
  std::filesystem::remove(file);
}

TEST_CASE("a trace waits while another process writes the file") {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / "penstock-trace-lock-test.json";
  std::filesystem::remove(file);
  const int other = open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  REQUIRE(other >= 0);
  REQUIRE(flock(other, LOCK_EX) == 0);
  setenv("PENSTOCK_TRACE", file.c_str(), 1);
  Trace trace("penstock-fuse");
  unsetenv("PENSTOCK_TRACE");
  trace.span("read", Trace::Clock::now(), Trace::Clock::now());
  std::thread writer([&] { CHECK(trace.write()); });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  CHECK(std::filesystem::file_size(file) == 0);
  close(other);
  writer.join();
  CHECK(std::filesystem::file_size(file) > 0);
  std::filesystem::remove(file);
}

TEST_CASE("an event is written once, however often a trace is") {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / "penstock-trace-once-test.json";
  std::filesystem::remove(file);
  setenv("PENSTOCK_TRACE", file.c_str(), 1);
  Trace trace("penstock-fuse");
  unsetenv("PENSTOCK_TRACE");
  const auto now = Trace::Clock::now();
  for (const char* name : {"read", "lower"}) {
    trace.span(name, now, now);
    CHECK(trace.write());
  }
  CHECK(trace.write());
  std::ifstream in(file);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  for (const char* name : {R"("name":"read")", R"("name":"lower")"}) {
    CHECK(text.find(name) != std::string::npos);
    CHECK(text.find(name) == text.rfind(name));
  }
  std::filesystem::remove(file);
}

TEST_CASE("without PENSTOCK_TRACE nothing is recorded") {
  unsetenv("PENSTOCK_TRACE");
  Trace trace("penstock-fuse");
  CHECK_FALSE(trace.active());
  CHECK(trace.write());
}
