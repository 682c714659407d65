// Helper convert: the same documents in another encoding, as text, drawn, or of other compilers.
#include "formats/dot.h"
#include "formats/version/version.h"
#include "tools/common/compile_limits.h"
#include "tools/common/tools.h"
#include "tools/common/transform.h"
#include "tools/convert/emit_mlir.h"
#include "tools/convert/emit_onnx.h"
#include "tools/convert/pt2_files.h"

using namespace penstock;
using namespace penstock::tools;

namespace {

/// One drawing a graph, one behind the other, as Graphviz reads them.
Result<void> draw(Stage& stage) {
  auto one = [&](formats::Document document, const formats::DocumentReader&) -> Result<void> {
    auto* graph = std::get_if<formats::GraphDocument>(&document);
    return graph == nullptr ? Result<void>() : stage.write(formats::to_dot(*graph));
  };
  for (const std::string& file : stage.inputs()) {
    if (auto read = for_each_document(stage, file, one); !read) return read;
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  bool no_tensors = false;
  std::string target;
  formats::WriteOptions how;
  Pt2Options pt2;
  OnnxOptions onnx;
  Stage::Shared shared;
  shared.emits = {"json", "cbor", "text", "dot", "pt2", "onnx", "mlir"};
  Stage stage(find_tool("convert"), argc, argv, shared);
  stage.options().flag("--no-tensors", no_tensors,
                       "Leave out which stored tensors belong to a graph.");
  stage.options().flag("--strip-meta", how.strip_meta,
                       "Leave out times, versions and absolute paths.");
  stage.options().text("--target-version", target, "VERSION",
                       "Write documents of this version of the format.");
  stage.options().text(
      "--store", pt2.store, "DIR",
      "Keep tensors of a file of torch.export in DIR, and take those of --emit=pt2, "
      "onnx and mlir from there.");
  stage.options().text("--graph", onnx.graph, "ID",
                       "Which graph becomes an ONNX model or a module of MLIR, by its id (0/0). "
                       "Needed where there are several.");
  stage.options().flag("--external-data", onnx.weights_beside,
                       "Put the weights of an ONNX model into FILE.data beside -o FILE, those of a "
                       "module of MLIR into FILE.safetensors. Beyond 2 GiB of ONNX they always "
                       "are.");
  declare(stage.options(), pt2.limits);
  return stage.run([&](Stage& stage) -> Result<void> {
    if (!target.empty()) {
      auto version = formats::parse_version(target);
      if (!version) return tl::unexpected(version.error());
      if (auto able = formats::can_write(*version); !able) return able;
    }
    if (stage.settings().emit == "dot") return draw(stage);
    how.tensors = !no_tensors;
    onnx.store = pt2.store;
    if (stage.settings().emit == "onnx") return emit_onnx(stage, onnx);
    if (stage.settings().emit == "mlir")
      return emit_mlir(stage, {onnx.graph, onnx.store, onnx.weights_beside});
    if (stage.settings().emit == "pt2") return convert_to_pt2(stage, pt2);
    if (const auto file = pt2_input(stage)) return convert_from_pt2(stage, *file, pt2, how);
    return copy_documents(stage, how);
  });
}
