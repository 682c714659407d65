#include "embedding/model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "embedding/result_names.h"
#include "embedding/tensor_copy.h"
#include "formats/pack.h"
#include "ir/export_contract.h"

namespace penstock::embedding {

namespace {

bool is_named(const Interface& interface, const std::string& name) {
  return name.empty() || interface.name == name || to_string(interface.id) == name;
}

/// The one graph of a stream that `options` mean.
Result<KernelBundle> find_graph(const std::string& path, const ModelOptions& options) {
  auto reader = formats::open_documents(path, options.store);
  if (!reader) return tl::unexpected(std::move(reader.error()));
  std::optional<KernelBundle> found;
  std::vector<std::string> names;
  while (true) {
    auto document = reader->next();
    if (!document) return tl::unexpected(std::move(document.error()));
    if (!*document) break;
    auto* graph = std::get_if<formats::GraphDocument>(&**document);
    if (graph == nullptr || !is_named(formats::interface_of(*graph), options.graph)) continue;
    if (auto right = formats::expect_level(*graph, Level::kernels); !right)
      return tl::unexpected(std::move(right.error()));
    found = std::get<KernelBundle>(std::move(graph->graph));
    names.push_back(to_string(found->interface.id));
  }
  if (names.size() == 1) return std::move(*found);
  if (names.empty() && options.graph.empty())
    return failure(Code::PS0805, "the file holds no graph", path);
  if (names.empty())
    return failure(Code::PS0805, fmt::format("the file holds no graph {}", options.graph), path);
  auto several = failure(
      Code::PS0805,
      fmt::format("the file holds {} graphs: {}", names.size(), fmt::join(names, ", ")), path);
  several.value().hint = "Name one of them.";
  return several;
}

/// PS0801 for what takes more than this library to run.
Result<void> check_alone(const KernelBundle& bundle) {
  if (bundle.device != "cpu") {
    return failure(Code::PS0801, fmt::format("the graph is for {}, and this library runs graphs "
                                             "of the CPU",
                                             bundle.device));
  }
  for (const BundleStep& step : bundle.steps) {
    if (const auto* call = std::get_if<FallbackCall>(&step))
      return failure(Code::PS0801, fmt::format("{} needs torch: {}", call->op, call->reason));
  }
  const Interface& interface = bundle.interface;
  for (const Mutation& mutation : interface.mutations) {
    const auto written = static_cast<std::size_t>(mutation.input);
    for (std::size_t i = 0; i < interface.inputs.size(); ++i) {
      if (i == written || memory_of(interface, i) != memory_of(interface, written)) continue;
      return failure(Code::PS0801,
                     fmt::format("the graph writes {}, whose memory is also that of {}",
                                 interface.inputs[written].name, interface.inputs[i].name));
    }
  }
  return {};
}

SizeRange range_of(const Interface& interface, const SymExpr& size) {
  if (const auto number = size.constant()) return {size.to_string(), *number, *number};
  SizeRange range{size.to_string(), 0, INT64_MAX};
  for (const Symbol& symbol : interface.symbols) {
    if (symbol.name != size.symbol_name()) continue;
    range.least = symbol.minimum;
    range.greatest = symbol.maximum;
  }
  return range;
}

ValueDescription describe(const Interface& interface, std::string name, const TensorType& type) {
  ValueDescription out{std::move(name), type.dtype, {}, false};
  for (const SymExpr& size : type.sizes) out.sizes.push_back(range_of(interface, size));
  return out;
}

/// How a tensor of the file lay in the program's memory; its strides are numbers, as its sizes are.
std::vector<std::int64_t> recorded_strides(const TensorType& type,
                                           const std::vector<std::int64_t>& sizes) {
  std::vector<std::int64_t> strides;
  for (const SymExpr& stride : type.strides) {
    if (const auto number = stride.constant()) strides.push_back(*number);
  }
  return strides.size() == sizes.size() ? strides : row_major_strides(sizes);
}

}  // namespace

const void* Weight::data() const {
  return copy.empty() ? static_cast<const void*>(stored->tensor().bytes.data()) : copy.data();
}

Model::Model(store::Store store, KernelBundle bundle, const ModelOptions& options)
    : store_(std::move(store)),
      bundle_(std::move(bundle)),
      blobs_(store_, bundle_, options.trust),
      packed_(std::make_shared<pipeline::StoredWeights>(store_)),
      runtime_(std::make_shared<runtime::Runtime>()) {
  runtime_->deterministic = options.deterministic;
  runtime_->packed = packed_;
}

Result<std::shared_ptr<const Model>> Model::load(const std::string& path, ModelOptions options) {
  auto store = store::Store::open(options.store);
  if (!store) return tl::unexpected(std::move(store.error()));
  auto bundle = find_graph(path, options);
  if (!bundle) return tl::unexpected(std::move(bundle.error()));
  if (auto alone = check_alone(*bundle); !alone) return tl::unexpected(std::move(alone.error()));
  std::shared_ptr<Model> model(new Model(std::move(*store), std::move(*bundle), options));
  if (auto taken = model->take_inputs(); !taken) return tl::unexpected(std::move(taken.error()));
  auto bindings = runtime::bind_symbols(model->bundle_);
  if (!bindings) return tl::unexpected(std::move(bindings.error()));
  model->bindings_ = std::move(*bindings);
  return std::shared_ptr<const Model>(std::move(model));
}

Result<void> Model::take_inputs() {
  const Interface& interface = bundle_.interface;
  for (std::size_t i = 0; i < interface.inputs.size(); ++i) {
    const Input& input = interface.inputs[i];
    if (input.blob.empty() || is_argument(interface, input)) {
      arguments_.push_back(static_cast<std::int32_t>(i));
      continue;
    }
    auto weight = load_weight(static_cast<std::int32_t>(i));
    if (!weight) return tl::unexpected(std::move(weight.error()));
    weights_.push_back(std::move(*weight));
  }
  return {};
}

Result<Weight> Model::load_weight(std::int32_t index) const {
  const Input& input = bundle_.interface.inputs[static_cast<std::size_t>(index)];
  auto blob = formats::get_tensor(store_, input.blob, false);
  if (!blob) return tl::unexpected(std::move(blob.error()));
  Weight weight;
  weight.input = index;
  weight.stored = std::make_shared<StoredInput>(input.blob, std::move(*blob));
  const formats::TensorBytes& tensor = weight.stored->tensor();
  if (tensor.dtype != input.type.dtype || tensor.sizes.size() != input.type.rank()) {
    return failure(Code::PS0806,
                   fmt::format("{} is {}{} in the file, and the graph reads {}", input.name,
                               facts(tensor.dtype).name, tensor.sizes, to_string(input.type)));
  }
  weight.written = std::ranges::any_of(bundle_.interface.mutations, [&](const Mutation& mutation) {
    return mutation.input == index;
  });
  const auto rows = row_major_strides(tensor.sizes);
  weight.strides = recorded_strides(input.type, tensor.sizes);
  if (same_places(tensor.sizes, weight.strides, rows)) return weight;
  if (auto whole = weight.stored->check(); !whole) return tl::unexpected(std::move(whole.error()));
  const auto element = static_cast<std::size_t>(facts(tensor.dtype).size);
  weight.copy.resize(static_cast<std::size_t>(extent_of(tensor.sizes, weight.strides)) * element);
  copy_elements(weight.copy.data(), weight.strides, tensor.bytes.data(), rows, tensor.sizes,
                element);
  weight.stored->set_strides(weight.strides);
  return weight;
}

std::vector<ValueDescription> Model::describe_arguments() const {
  std::vector<ValueDescription> out;
  for (const std::int32_t index : arguments_) {
    const Input& input = bundle_.interface.inputs[static_cast<std::size_t>(index)];
    out.push_back(describe(bundle_.interface, input.name, input.type));
  }
  return out;
}

std::vector<ValueDescription> Model::describe_results() const {
  const Interface& interface = bundle_.interface;
  const std::vector<std::string> names = result_names(interface);
  std::vector<ValueDescription> out;
  for (std::size_t i = 0; i < interface.outputs.size(); ++i)
    out.push_back(describe(interface, names[i], interface.outputs[i].type));
  for (const Mutation& mutation : interface.mutations)
    out[static_cast<std::size_t>(mutation.output)].new_value = true;
  return out;
}

Result<std::unique_ptr<runtime::Executor>> Model::make_executor() const {
  return runtime::Executor::create(runtime_, bundle_, blobs_);
}

}  // namespace penstock::embedding
