#include "tools/convert/pt2_files.h"

#include <fmt/format.h>

#include <filesystem>

#include "formats/archive.h"
#include "formats/pack.h"
#include "formats/safetensors.h"
#include "interchange/pt2/read.h"
#include "interchange/pt2/write.h"
#include "passes/core_passes.h"
#include "tools/common/transform.h"
#include "tools/export/write_export.h"

namespace penstock::tools {

namespace {

using formats::GraphDocument;

Result<GraphDocument> read_graph(Stage& stage, const std::string& path, store::Store& store) {
  auto timer = stage.phase("read");
  auto file = formats::InputFile::open(path);
  if (!file) return tl::unexpected(std::move(file.error()));
  auto archive = formats::ArchiveReader::open(*file, path);
  if (!archive) return tl::unexpected(std::move(archive.error()));
  return pt2::read_pt2(**archive, [&](const formats::TensorBytes& tensor) {
    return formats::put_tensor(store, tensor);
  });
}

/// Hands every graph of a stream to `graphs`.
Result<void> collect(formats::DocumentReader& reader, std::vector<GraphDocument>& graphs) {
  while (true) {
    auto document = reader.next();
    if (!document) return tl::unexpected(std::move(document.error()));
    if (!*document) return {};
    if (auto* graph = std::get_if<GraphDocument>(&**document)) graphs.push_back(std::move(*graph));
  }
}

}  // namespace

Result<std::vector<GraphDocument>> read_graphs(Stage& stage, const std::string& path,
                                               store::Store& tensors, const std::string& store) {
  std::vector<GraphDocument> graphs;
  if (pt2::is_pt2(path)) {
    auto graph = read_graph(stage, path, tensors);
    if (!graph) return tl::unexpected(std::move(graph.error()));
    graphs.push_back(std::move(*graph));
    return graphs;
  }
  auto reader = formats::open_documents(path, store);
  if (!reader) return tl::unexpected(std::move(reader.error()));
  auto captured = path.empty() || path == "-" ? Result<std::optional<std::string>>(std::nullopt)
                                              : formats::read_member(path, formats::kCapturedGraph);
  if (!captured) return tl::unexpected(std::move(captured.error()));
  if (*captured) {
    auto document =
        formats::decode(**captured, fmt::format("{}: {}", path, formats::kCapturedGraph));
    if (!document) return tl::unexpected(std::move(document.error()));
    if (auto* graph = std::get_if<GraphDocument>(&*document)) graphs.push_back(std::move(*graph));
    return graphs;
  }
  if (auto read = collect(*reader, graphs); !read) return tl::unexpected(std::move(read.error()));
  return graphs;
}

std::optional<std::string> pt2_input(const Stage& stage) {
  const std::vector<std::string> inputs = stage.inputs();
  if (inputs.size() != 1 || !pt2::is_pt2(inputs.front())) return std::nullopt;
  return inputs.front();
}

Result<void> convert_from_pt2(Stage& stage, const std::string& path, const Pt2Options& options,
                              const formats::WriteOptions& how) {
  auto store = store::Store::open(options.store);
  if (!store) return tl::unexpected(std::move(store.error()));
  auto graph = read_graph(stage, path, *store);
  if (!graph) return tl::unexpected(std::move(graph.error()));
  formats::ProgramDocument program;
  program.argv = {std::filesystem::path(path).filename().string()};
  const std::string& output = stage.settings().output;
  if (output.ends_with(".pstk")) {
    return write_export(stage, output, std::move(program), std::move(*graph), *store,
                        options.limits);
  }
  DocumentSink sink(stage, formats::Encoding::json, how);
  for (formats::Document& document : std::vector<formats::Document>{
           std::move(program), std::move(*graph), formats::EndDocument{}}) {
    if (auto written = sink.write(document); !written) return written;
  }
  return {};
}

Result<void> convert_to_pt2(Stage& stage, const Pt2Options& options) {
  const std::string& output = stage.settings().output;
  if (output.empty() || output == "-")
    return failure(Code::PS0101, "--emit=pt2 writes an archive, which needs a name: -o FILE");
  const std::vector<std::string> inputs = stage.inputs();
  if (inputs.size() != 1)
    return failure(Code::PS0101,
                   fmt::format("{} files, and --emit=pt2 writes one program", inputs.size()));
  auto store = store::Store::open(options.store);
  if (!store) return tl::unexpected(std::move(store.error()));
  auto read = read_graphs(stage, inputs.front(), *store, options.store);
  if (!read) return tl::unexpected(std::move(read.error()));
  std::vector<GraphDocument>& graphs = *read;
  if (graphs.size() != 1) {
    auto several =
        failure(Code::PS0805,
                fmt::format("the input holds {} graphs, and --emit=pt2 writes one", graphs.size()));
    several.value().hint = "Export one call of one function: penstock export.";
    return several;
  }
  if (auto right = formats::expect_level(graphs.front(), Level::torch); !right) return right;
  auto timer = stage.phase("write");
  auto settled = passes::settle_custom_vjps(std::move(std::get<Graph>(graphs.front().graph)));
  if (!settled) return tl::unexpected(std::move(settled.error()));
  return pt2::write_pt2(output, *settled, *store);
}

}  // namespace penstock::tools
