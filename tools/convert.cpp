// Helper convert: the same documents in another encoding, or as text.
#include "tools/common/tools.h"
#include "tools/common/transform.h"

using namespace penstock;
using namespace penstock::tools;

int main(int argc, char** argv) {
  bool no_tensors = false;
  formats::WriteOptions how;
  Stage stage(find_tool("convert"), argc, argv);
  stage.options().flag("--no-tensors", no_tensors,
                       "Leave out which stored tensors belong to a graph.");
  stage.options().flag("--strip-meta", how.strip_meta,
                       "Leave out times, versions and absolute paths.");
  return stage.run([&](Stage&) -> Result<void> {
    how.tensors = !no_tensors;
    return copy_documents(stage, how);
  });
}
