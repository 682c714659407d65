#include "tools/common/trace.h"

#include <doctest/doctest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>

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

TEST_CASE("without PENSTOCK_TRACE nothing is recorded") {
  unsetenv("PENSTOCK_TRACE");
  Trace trace("penstock-fuse");
  CHECK_FALSE(trace.active());
  CHECK(trace.write());
}
