// Helper pack: a stream and every tensor and kernel that it names, in one file.
#include "formats/pack.h"

#include "tools/common/tools.h"
#include "tools/common/transform.h"

using namespace penstock;
using namespace penstock::tools;

int main(int argc, char** argv) {
  std::string directory;
  Stage stage(find_tool("pack"), argc, argv, {.documents = false});
  stage.options().text("--store", directory, "DIR",
                       "Take tensors and kernels from the store in DIR.");
  return stage.run([&](Stage& stage) -> Result<void> {
    const std::string& output = stage.settings().output;
    if (output.empty() || output == "-") {
      return failure(Code::PS0101, "a packed file needs a name: -o FILE");
    }
    auto store = store::Store::open(directory);
    if (!store) return tl::unexpected(store.error());
    std::vector<formats::Document> documents;
    auto keep = [&](formats::Document document, const formats::DocumentReader&) {
      documents.push_back(std::move(document));
      return Result<void>();
    };
    for (const std::string& file : stage.inputs()) {
      if (auto read = for_each_document(stage, file, keep, {}, directory); !read) return read;
    }
    return formats::write_pack(output, documents, *store);
  });
}
