// penstock-report: what happened, for people (or as JSON): graphs as tables, guards, breaks,
// recompiles, skips, and the summary of what ran where.
#include "tools/report/report.h"
#include "formats/stream.h"
#include "tools/common/driver.h"
#include "tools/common/tools.h"
#include "tools/common/transform.h"
#include "tools/report/gather.h"

using namespace penstock;

int main(int argc, char** argv) {
  tools::Stage::Shared shared;
  shared.documents = false;
  tools::Stage stage(tools::find_tool("report"), argc, argv, shared);
  report::TextOptions text;
  bool json = false;
  stage.options().flag("--summary", text.summary,
                       "print only the table of graphs, ops and the places where they ran");
  stage.options().flag("--guards", text.guards, "also print every guard of every entry");
  stage.options().flag("--json", json, "print the whole report as one JSON object");
  return stage.run([&](tools::Stage& s) -> Result<void> {
    report::Report gathered;
    for (const std::string& file : s.inputs()) {
      auto read = tools::for_each_document(
          s, file, [&](formats::Document document, const formats::DocumentReader&) -> Result<void> {
            report::add(document, gathered);
            return {};
          });
      // A stream that was cut off still has a story to tell; the tool says so and exits with 3.
      if (!read && gathered.graphs.empty()) return read;
      if (!read) s.report(read.error());
    }
    auto output = s.output();
    if (!output) return tl::unexpected(output.error());
    text.width = tools::terminal_width((*output)->descriptor());
    text.color = s.color((*output)->descriptor());
    return (*output)->write(json ? report::to_json(gathered) : report::to_text(gathered, text));
  });
}
