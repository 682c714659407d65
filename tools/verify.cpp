// Helper verify: is every document of the streams what its format and its level promise?
#include "store/store.h"
#include "tools/common/blobs.h"
#include "tools/common/tools.h"
#include "tools/common/transform.h"

using namespace penstock;
using namespace penstock::tools;

namespace {

Result<void> check_blobs(const std::vector<std::pair<std::string, std::string>>& blobs,
                         const std::string& directory) {
  Result<store::Store> store = store::Store::open(directory);
  if (!store) return tl::unexpected(store.error());
  for (const auto& [hash, place] : blobs) {
    Result<store::Mapping> bytes = store->get(hash);
    if (bytes) continue;
    Diagnostic missing = bytes.error();
    missing.place = place;
    return tl::unexpected(std::move(missing));
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  Stage stage(find_tool("verify"), argc, argv, {.documents = false});
  std::string directory;
  bool no_tensors = false;
  stage.options().text("--store", directory, "DIR", "Look for tensors in DIR.");
  stage.options().flag("--no-tensors", no_tensors, "Do not look for the tensors.");
  return stage.run([&](Stage&) -> Result<void> {
    // The reader checks the format, each level's contract, and that the stream has its end; what it
    // cannot know is whether the blobs are there. Those are looked at when all else is well.
    for (const std::string& file : stage.inputs()) {
      std::vector<std::pair<std::string, std::string>> blobs;  // hash and place
      auto gather = [&](formats::Document document, const formats::DocumentReader& reader) {
        if (const auto* graph = std::get_if<formats::GraphDocument>(&document)) {
          for (std::string& blob : blobs_of(*graph)) {
            blobs.emplace_back(std::move(blob), reader.place());
          }
        }
        return Result<void>();
      };
      if (auto read = for_each_document(stage, file, gather); !read) return read;
      if (no_tensors || blobs.empty()) continue;
      if (auto there = check_blobs(blobs, directory); !there) return there;
    }
    return {};
  });
}
