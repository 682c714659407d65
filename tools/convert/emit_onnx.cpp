#include "tools/convert/emit_onnx.h"

#include <unistd.h>

#include <filesystem>
#include <optional>

#include "formats/safetensors.h"
#include "interchange/onnx/to_onnx.h"
#include "store/store.h"
#include "tools/common/pass_printer.h"
#include "tools/common/transform.h"
#include "tools/convert/chosen_graph.h"

namespace penstock::tools {

namespace {

/// A protocol buffer has at most 2 GiB; what is not weights needs some of them.
constexpr std::uint64_t kMostInside = 0x7f000000;

Result<void> write_model(Stage& stage, const onnx::Model& model, bool beside) {
  auto output = stage.output();
  if (!output) return tl::unexpected(output.error());
  if (is_terminal((*output)->descriptor()))
    return failure(Code::PS0104, "an ONNX model would go to the terminal");
  onnx::Storage storage;
  std::optional<Output> data;
  if (beside || onnx::bytes_of_initializers(model) > kMostInside) {
    const std::string& path = stage.settings().output;
    if (path.empty() || path == "-")
      return failure(Code::PS0101, "weights beside the model need its name: -o FILE");
    auto opened = Output::open(path + ".data");
    if (!opened) return tl::unexpected(opened.error());
    data.emplace(std::move(*opened));
    storage.beside = std::filesystem::path(path).filename().string() + ".data";
  }
  auto timer = stage.phase("write");
  auto written = onnx::write(
      model, storage, [&](std::string_view bytes) { return (*output)->write(bytes); },
      [&](std::string_view bytes) { return data->write(bytes); });
  if (!written || !data) return written;
  return data->commit();
}

}  // namespace

Result<void> emit_onnx(Stage& stage, const OnnxOptions& options) {
  auto store = store::Store::open(options.store);
  if (!store) return tl::unexpected(store.error());
  auto chosen = choose_graph(stage, options.graph, *store, options.store);
  if (!chosen) return tl::unexpected(chosen.error());
  PassPrinter passes(stage);
  passes.begin(to_string(chosen->graph.interface.id), [&] { return to_text(chosen->graph); });
  auto made = onnx::to_onnx(
      std::move(chosen->graph),
      [&](std::string_view hash) { return formats::get_tensor(*store, hash); }, passes);
  if (!made) return tl::unexpected(with_readable_file(std::move(made.error()), chosen->meta));
  return write_model(stage, made->model, options.weights_beside);
}

}  // namespace penstock::tools
