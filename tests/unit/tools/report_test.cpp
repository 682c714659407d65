#include "tools/report/report.h"

#include <doctest/doctest.h>

#include "tools/report/advice.h"
#include "tools/report/line_difference.h"
#include "tools/report/listing.h"
#include "tools/report/table.h"

using namespace penstock;
using namespace penstock::report;

namespace {

Report broken(std::int64_t first_cost, std::int64_t second_cost) {
  Report report;
  for (std::int32_t frame : {0, 1}) {
    GraphEntry& graph = report.graphs.emplace_back();
    graph.interface.id = {frame, 0, 0};
    graph.interface.name = "f";
    BreakEvent& event = report.breaks.emplace_back();
    event.code = "PS0301";
    event.after = graph.interface.id;
    event.reason = frame == 0 ? "first" : "second";
  }
  report.end.emplace();
  report.end->entries = {{.id = "0/0", .calls = 4, .behind_ns = first_cost, .behind = 4},
                         {.id = "1/0", .calls = 4, .behind_ns = second_cost, .behind = 4}};
  return report;
}

}  // namespace

TEST_CASE("breaks are told by what they cost") {
  auto rows = advise(broken(1000, 2000));
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].detail == "second");
  CHECK(rows[0].cost_ns == 2000);
  CHECK(rows[0].times == 4);
  CHECK(rows[0].event == 1);
  rows = advise(broken(3000, 2000));
  CHECK(rows[0].detail == "first");
  CHECK(rows[0].event == 0);
}

TEST_CASE("a break costs what its recompiles cost, too") {
  Report report = broken(1000, 2000);
  report.graphs.push_back(report.graphs[0]);
  report.graphs.back().interface.id = {0, 1, 0};
  report.end->entries.push_back({.id = "0/1", .calls = 1, .behind_ns = 1500, .behind = 1});
  const auto rows = advise(report);
  CHECK(rows[0].detail == "first");
  CHECK(rows[0].cost_ns == 2500);
  CHECK(rows[0].times == 5);
}

TEST_CASE("segments that end at one line for one reason share a row") {
  Report report = broken(1000, 2000);
  for (BreakEvent& event : report.breaks) {
    event.reason = "one reason";
    event.location = Location{.file = SharedText("f.py"), .line = 3};
  }
  report.breaks.push_back(report.breaks[0]);  // of a recompile: its segment is counted already
  report.breaks.back().after = {0, 1, 0};
  report.graphs.push_back(report.graphs[0]);
  report.graphs.back().interface.id = {0, 1, 0};
  auto rows = advise(report);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].entries == std::vector<std::string>{"0/0", "1/0", "0/1"});
  CHECK(rows[0].cost_ns == 3000);
  CHECK(rows[0].times == 8);
  CHECK(rows[0].event == 0);
  report.breaks[1].location->line = 4;
  CHECK(advise(report).size() == 2);
  report.breaks[1].location.reset();
  CHECK(advise(report).size() == 2);
}

TEST_CASE("there is always something to say") {
  CHECK(advise(Report{}).size() == 1);
  CHECK(advise(Report{})[0].kind == "none");
  CHECK(advise(Report{})[0].title == "nothing was captured");
}

TEST_CASE("the text begins with what to do") {
  const std::string text = to_text(broken(1000, 2000), {.width = 80});
  const std::size_t first = text.find("second"), other = text.find("first\n");
  CHECK(text.find("what to do first") < first);
  CHECK(first < text.find("[0/0]"));
  CHECK(other != text.npos);
}

TEST_CASE("neighbouring weights share a line, what the program passes has its own") {
  GraphEntry graph;
  for (const char* name : {"x", "y"}) {
    Input& input = graph.interface.inputs.emplace_back();
    input.name = name;
  }
  for (const char* name : {"w0", "w1", "w2"}) {
    Input& input = graph.interface.inputs.emplace_back();
    input.name = name;
    input.kind = InputKind::parameter;
  }
  const std::string text = listing(graph).text(120);
  CHECK(text.find("w0 … w2  3 parameters") != text.npos);
  CHECK(text.find("\nplaceholder  x ") != text.npos);
  CHECK(text.find("w1") == text.npos);
}

TEST_CASE("a table keeps to its width where its words allow it") {
  Table table({"name", "count", "what"});
  table.add({std::string(50, 'n'), "1234567", std::string(70, 'w')});
  for (int width : {40, 60, 90}) {
    const std::string text = table.text(width);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      std::size_t columns = 0;
      for (std::size_t i = at; i < end; ++i) columns += (text[i] & 0xC0) != 0x80;
      CHECK(columns <= static_cast<std::size_t>(width));
      at = end + 1;
    }
    CHECK(text.find("1234567") != text.npos);
  }
  CHECK(table.text(0).find(std::string(70, 'w')) != std::string::npos);  // whole
}

TEST_CASE("lines are compared as often as they stand there") {
  const LineDifference difference = compare_lines("a\nb\nb\nc\n", "c\nb\nd\n");
  CHECK(difference.removed == std::vector<std::string>{"a", "b"});
  CHECK(difference.added == std::vector<std::string>{"d"});
  CHECK(difference.removed_lines == 2);
  CHECK(compare_lines("x\n", "x\n").removed_lines == 0);
}

TEST_CASE("Markdown shows what documents hold as text") {
  Report report = broken(0, 0);
  report.breaks[0].reason = "<img src=x> [a](http://b) `c` | @all\nnext";
  const std::string text = to_markdown(report);
  CHECK(text.find("<img") == text.npos);
  CHECK(text.find("&lt;img src=x> \\[a\\]\\(http://b\\) \\`c\\` \\| \\@all next") != text.npos);
}
