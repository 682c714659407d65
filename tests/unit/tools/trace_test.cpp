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
#include <thread>

using penstock::tools::Trace;

TEST_CASE("several processes' events share one file with one opening bracket") {
  std::filesystem::path file = std::filesystem::temp_directory_path() / "penstock-trace-test.json";
  std::filesystem::remove(file);
  setenv("PENSTOCK_TRACE", file.c_str(), 1);
  for (const char* tool : {"penstock-fuse", "penstock-run"}) {
    Trace trace(tool);
    auto now = Trace::Clock::now();
    trace.span("read", now, now);
    CHECK(trace.write());
  }
  unsetenv("PENSTOCK_TRACE");
  std::ifstream in(file);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  CHECK(text.starts_with("[\n{"));
  CHECK(text.find('[', 1) == std::string::npos);
  CHECK(text.find("penstock-fuse") != std::string::npos);
  CHECK(text.find("penstock-run") != std::string::npos);
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
