#include "tools/convert/emit_mlir.h"

#include <optional>

#include "formats/safetensors.h"
#include "interchange/mlir/to_mlir.h"
#include "store/store.h"
#include "tools/common/pass_printer.h"
#include "tools/common/transform.h"
#include "tools/convert/chosen_graph.h"

namespace penstock::tools {

namespace {

Result<void> write_parameters(const mlir::Translation& translation, const std::string& path) {
  auto output = Output::open(path);
  if (!output) return tl::unexpected(output.error());
  std::vector<formats::TensorBytes> tensors;
  for (const mlir::Translation::Weight& weight : translation.weights) {
    tensors.push_back(weight.blob.tensor);
    tensors.back().name = weight.name;
  }
  if (auto done = output->write(formats::safetensors_header(tensors)); !done) return done;
  for (const formats::TensorBytes& tensor : tensors)
    if (auto done = output->write(tensor.bytes); !done) return done;
  return output->commit();
}

}  // namespace

Result<void> emit_mlir(Stage& stage, const MlirOptions& options) {
  const std::string& path = stage.settings().output;
  if (options.weights_beside && (path.empty() || path == "-"))
    return failure(Code::PS0101, "weights beside the module need its name: -o FILE");
  auto store = store::Store::open(options.store);
  if (!store) return tl::unexpected(store.error());
  auto chosen = choose_graph(stage, options.graph, *store, options.store);
  if (!chosen) return tl::unexpected(chosen.error());
  PassPrinter passes(stage);
  passes.begin(to_string(chosen->graph.interface.id), [&] { return to_text(chosen->graph); });
  auto made = mlir::to_mlir(
      std::move(chosen->graph),
      [&](std::string_view hash) { return formats::get_tensor(*store, hash); },
      options.weights_beside, passes);
  if (!made) return tl::unexpected(with_readable_file(std::move(made.error()), chosen->meta));
  auto output = stage.output();
  if (!output) return tl::unexpected(output.error());
  auto timer = stage.phase("write");
  auto written = mlir::write(*made, [&](std::string_view text) { return (*output)->write(text); });
  if (!written || !options.weights_beside) return written;
  return write_parameters(*made, path + ".safetensors");
}

}  // namespace penstock::tools
