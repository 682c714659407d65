// Helper verify: is every document of the streams what its format and its level promise?
#include "tools/common/tools.h"
#include "tools/common/transform.h"

using namespace penstock;
using namespace penstock::tools;

int main(int argc, char** argv) {
  Stage stage(find_tool("verify"), argc, argv, {.documents = false});
  return stage.run([](Stage& stage) -> Result<void> {
    // The reader checks the format, each level's contract, and that the stream has its end.
    auto nothing = [](formats::Document, const formats::DocumentReader&) { return Result<void>(); };
    for (const std::string& file : stage.inputs()) {
      if (auto read = for_each_document(stage, file, nothing); !read) return read;
    }
    return {};
  });
}
