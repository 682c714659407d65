// Helper graphdiff: do two streams hold the same graphs?
#include <fmt/format.h>

#include "diag/render.h"
#include "formats/diff.h"
#include "tools/common/output.h"
#include "tools/common/tools.h"
#include "tools/common/transform.h"
#include "tools/graphdiff/difference_page.h"

using namespace penstock;
using namespace penstock::tools;

namespace {

Result<std::vector<formats::Document>> read_all(Stage& stage, const std::string& file) {
  std::vector<formats::Document> documents;
  auto keep = [&](formats::Document document, const formats::DocumentReader&) -> Result<void> {
    documents.push_back(std::move(document));
    return {};
  };
  if (auto read = for_each_document(stage, file, keep); !read) return tl::unexpected(read.error());
  return documents;
}

}  // namespace

int main(int argc, char** argv) {
  bool json = false;
  std::string html;
  Stage stage(find_tool("graphdiff"), argc, argv, {.documents = false});
  stage.options().flag("--json", json, "Print the differences as one JSON object.");
  stage.options().text("--html", html, "FILE",
                       "Also write them as one page to FILE, which needs nothing beside it.");
  return stage.run([&](Stage& stage) -> Result<void> {
    const std::vector<std::string>& files = stage.settings().files;
    if (files.size() != 2) return failure(Code::PS0101, "graphdiff compares two files");
    auto before = read_all(stage, files[0]);
    if (!before) return tl::unexpected(before.error());
    auto after = read_all(stage, files[1]);
    if (!after) return tl::unexpected(after.error());
    const formats::StreamDifference difference = formats::compare(*before, *after);
    if (!difference.graphs.empty()) stage.answer(status(Exit::negative));
    if (!html.empty()) {
      const std::string page = graphdiff::to_page(difference, files[0], files[1]);
      if (auto written = write_file(html, page); !written) return written;
    }
    return stage.write(json ? formats::to_json(difference)
                            : printable(formats::to_text(difference)));
  });
}
