// Helper verify: is every document of the streams what its format and its level promise?
#include "formats/pack.h"
#include "tools/common/tools.h"
#include "tools/common/transform.h"

using namespace penstock;
using namespace penstock::tools;

int main(int argc, char** argv) {
  std::string directory;
  bool no_tensors = false;
  Stage stage(find_tool("verify"), argc, argv, {.output = false});
  stage.options().text("--store", directory, "DIR", "Look for tensors in DIR.");
  stage.options().flag("--no-tensors", no_tensors, "Do not look for the tensors.");
  return stage.run([&](Stage&) -> Result<void> {
    Result<store::Store> store = store::Store::open(directory);
    // The reader checks the format, each level's contract, and that the stream has its end; what it
    // cannot know is whether the blobs are there. Of those it is told when all else is well.
    Result<void> blobs;
    auto look = [&](formats::Document document,
                    const formats::DocumentReader& reader) -> Result<void> {
      const auto* graph = std::get_if<formats::GraphDocument>(&document);
      if (graph == nullptr || no_tensors || !blobs || formats::blobs_of(*graph).empty()) return {};
      blobs = store ? formats::check_blobs(*graph, *store) : tl::unexpected(store.error());
      if (!blobs && blobs.error().place.empty()) blobs.error().place = reader.place();
      return {};
    };
    for (const std::string& file : stage.inputs()) {
      if (auto read = for_each_document(stage, file, look, {}, directory); !read) return read;
    }
    return blobs;
  });
}
