// penstock-report: what happened, for people: as text, as a page, or as JSON for programs.
#include "tools/report/report.h"

#include <fmt/format.h>

#include "formats/stream.h"
#include "tools/common/driver.h"
#include "tools/common/tools.h"
#include "tools/common/transform.h"
#include "tools/report/gather.h"
#include "tools/report/page.h"
#include "tools/report/work.h"

using namespace penstock;

namespace {

struct Options {
  report::TextOptions text;
  bool json = false, markdown = false, assembly = false, flops = false;
  std::string html, before, page;
};

void declare(tools::CommandLine& options, Options& chosen) {
  options.flag("--summary", chosen.text.summary,
               "print only the table of graphs, ops and the places where they ran");
  options.flag("--guards", chosen.text.guards, "also print every guard of every entry");
  options.flag("--flops", chosen.flops,
               "print what each graph and call computes, in operations and bytes, as expressions "
               "over the symbolic sizes; with --json as an object");
  options.flag("--json", chosen.json,
               "print the whole report as one JSON object, on one line unless on a terminal");
  options.flag("--md", chosen.markdown, "print Markdown for a merge request");
  options.text("--html", chosen.html, "FILE",
               "write the report as one page to FILE, which needs nothing beside it");
  options.text("--against", chosen.before, "BEFORE",
               "with --html: let the page compare it with an earlier run, a stream or a page");
  options.flag("--assembly", chosen.assembly,
               "with --html or --json: compile the kernels and show their machine code");
  options.text("--from-html", chosen.page, "FILE", "print the JSON that a page holds");
}

/// Any file; a page has no length of its own.
Result<std::string> read_whole(tools::Stage& stage, const std::string& file) {
  return stage.read(file, [](std::string_view) -> Result<std::optional<std::uint64_t>> {
    return std::optional<std::uint64_t>();
  });
}

Result<void> add_file(tools::Stage& stage, const std::string& file, report::Depth depth,
                      report::Report& gathered) {
  auto read = tools::for_each_document(
      stage, file, [&](formats::Document document, const formats::DocumentReader&) -> Result<void> {
        report::add(document, gathered, depth);
        return {};
      });
  // A stream that was cut off still has a story to tell; the tool says so and exits with 3.
  if (!read && gathered.graphs.empty()) return read;
  if (!read) stage.report(read.error());
  return {};
}

/// The JSON of the run to compare with: that of a page, or made of a stream.
Result<std::string> earlier(tools::Stage& stage, const std::string& file, report::Depth depth) {
  if (file.empty()) return std::string();
  if (file != "-") {
    auto text = read_whole(stage, file);
    if (!text) return text;
    if (report::is_page(*text)) return report::report_of_page(*text);
  }
  report::Report gathered;
  if (auto added = add_file(stage, file, depth, gathered); !added)
    return tl::unexpected(added.error());
  return report::to_json(gathered, false);
}

/// --flops: graphs that cannot be counted are told of, and the others are.
Result<void> write_work(tools::Stage& stage, const Options& options) {
  std::vector<report::GraphWork> graphs;
  const auto count = [&](formats::Document document,
                         const formats::DocumentReader& reader) -> Result<void> {
    const auto* graph = std::get_if<formats::GraphDocument>(&document);
    if (graph == nullptr) return {};
    auto work = report::count_work(*graph);
    if (work) {
      graphs.push_back(std::move(*work));
    } else {
      if (work.error().place.empty()) work.error().place = reader.place();
      stage.report(work.error());
    }
    return {};
  };
  for (const std::string& file : stage.inputs()) {
    if (auto read = tools::for_each_document(stage, file, count); !read) return read;
  }
  auto output = stage.output();
  if (!output) return tl::unexpected(output.error());
  const int descriptor = (*output)->descriptor();
  const int width = tools::is_terminal(descriptor) ? tools::terminal_width(descriptor) : 0;
  return (*output)->write(options.json ? report::work_json(graphs)
                                       : report::work_text(graphs, width));
}

Result<void> write_page(tools::Stage& stage, const Options& options, const report::Report& gathered,
                        report::Depth depth) {
  auto before = earlier(stage, options.before, depth);
  if (!before) return tl::unexpected(before.error());
  const std::string page = report::to_page(report::to_json(gathered, false), *before);
  if (auto written = tools::write_file(options.html, page); !written) return written;
  stage.say(
      fmt::format("wrote {}: {:.1f} MB\n", options.html, static_cast<double>(page.size()) / 1e6));
  return {};
}

Result<void> run(tools::Stage& stage, Options& options) {
  if (!options.page.empty()) {
    auto page = read_whole(stage, options.page);
    auto json = page ? report::report_of_page(*page) : Result<std::string>(page);
    return json ? stage.write(*json) : tl::unexpected(json.error());
  }
  if (options.flops) return write_work(stage, options);
  const bool looked_at = (options.json && !options.text.summary) || !options.html.empty();
  const report::Depth depth = !looked_at         ? report::Depth::places
                              : options.assembly ? report::Depth::assembly
                                                 : report::Depth::steps;
  report::Report gathered;
  for (const std::string& file : stage.inputs()) {
    if (auto added = add_file(stage, file, depth, gathered); !added) return added;
  }
  if (!options.html.empty()) return write_page(stage, options, gathered, depth);
  auto output = stage.output();
  if (!output) return tl::unexpected(output.error());
  const int descriptor = (*output)->descriptor();
  options.text.width = tools::terminal_width(descriptor);
  // What goes into a file or to another program is searched and compared: it is whole.
  options.text.table_width = tools::is_terminal(descriptor) ? options.text.width : 0;
  options.text.color = stage.color(descriptor);
  return (*output)->write(options.json ? report::to_json(gathered, tools::is_terminal(descriptor))
                          : options.markdown ? report::to_markdown(gathered)
                                             : report::to_text(gathered, options.text));
}

}  // namespace

int main(int argc, char** argv) {
  tools::Stage::Shared shared;
  shared.documents = false;
  tools::Stage stage(tools::find_tool("report"), argc, argv, shared);
  Options options;
  declare(stage.options(), options);
  return stage.run([&](tools::Stage& stage) { return run(stage, options); });
}
