// Helper graphdiff: do two streams hold the same graphs?
#include "diag/render.h"
#include "formats/diff.h"
#include "tools/common/tools.h"
#include "tools/common/transform.h"

using namespace penstock;
using namespace penstock::tools;

int main(int argc, char** argv) {
  bool json = false;
  Stage stage(find_tool("graphdiff"), argc, argv, {.documents = false});
  stage.options().flag("--json", json, "Print the differences as one JSON object.");
  return stage.run([&](Stage&) -> Result<void> {
    const std::vector<std::string>& files = stage.settings().files;
    if (files.size() != 2) return failure(Code::PS0101, "graphdiff compares two files");
    std::vector<formats::Document> streams[2];
    for (int side = 0; side < 2; ++side) {
      auto keep = [&](formats::Document document, const formats::DocumentReader&) {
        streams[side].push_back(std::move(document));
        return Result<void>();
      };
      if (auto read = for_each_document(stage, files[side], keep); !read) return read;
    }
    auto differences = formats::compare(streams[0], streams[1]);
    if (!differences.empty()) stage.answer(status(Exit::negative));
    return stage.write(json ? formats::to_json(differences)
                            : printable(formats::to_text(differences)));
  });
}
