// Smaller shapes.
//
// A size is one number that stands in many places: in the inputs' types, in the arguments of views
// and expansions, in the data. Which numbers in arguments are this size and which only look like it
// cannot be told, so all of them are changed, then those in lists, then none; shape rules, which
// torch's own are, throw out what does not fit, and the command has the last word.

#include "tools/reduce/shrink_sizes.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "formats/safetensors.h"
#include "ops/host_tensor.h"
#include "ops/infer.h"
#include "tools/reduce/recorded_values.h"
#include "tools/run/recorded.h"

namespace penstock::tools {
namespace {

using ops::HostTensor;

/// The sizes that are tried of one of `value`, from the smallest.
std::vector<std::int64_t> smaller_than(std::int64_t value) {
  std::set<std::int64_t> tried{1, 2, 4, value / 8, value / 4, value / 2, value - 1};
  std::erase_if(tried, [&](std::int64_t one) { return one < 1 || one >= value; });
  return {tried.begin(), tried.end()};
}

bool same_arguments(const Graph& a, const Graph& b) {
  return std::ranges::equal(a.nodes, b.nodes, {}, &Node::args, &Node::args);
}

class Resizing {
 public:
  Resizing(const Graph& graph, RecordedValues& values, const InputSize& size, std::int64_t value,
           SizeArguments arguments, store::Store& store)
      : whole_(graph),
        whole_values_(values),
        graph_(graph),
        size_(size),
        value_(value),
        arguments_(arguments),
        store_(store) {}

  std::optional<Graph> run() {
    if (!set_symbol() || !resize_inputs() || !infer_nodes()) return std::nullopt;
    for (Call& call : graph_.calls) {
      for (Argument& argument : call.args) replace(argument, false);
      for (NamedArgument& argument : call.kwargs) replace(argument.value, false);
    }
    set_outputs();
    return std::move(graph_);
  }

 private:
  bool set_symbol() {
    if (size_.symbol.empty()) return true;
    for (Symbol& symbol : graph_.interface.symbols) {
      if (symbol.name != size_.symbol) continue;
      symbol.hint = value_;
      return value_ >= symbol.minimum;
    }
    return false;
  }

  bool is_size(const SymExpr& expression) const {
    return size_.symbol.empty() && expression.constant() == size_.value;
  }

  /// The number that an expression over sizes is now; nothing: it depends on what is not known.
  std::optional<std::int64_t> number(const SymExpr& expression) const {
    return expression.evaluate([&](std::string_view name) -> std::optional<std::int64_t> {
      for (const Symbol& symbol : graph_.interface.symbols) {
        if (symbol.name == name) return symbol.hint;
      }
      return std::nullopt;
    });
  }

  bool resize_inputs() {
    for (std::size_t i = 0; i < graph_.interface.inputs.size(); ++i) {
      Input& input = graph_.interface.inputs[i];
      if (input.kind == InputKind::size || input.kind == InputKind::scalar) continue;
      bool changed = false;
      for (SymExpr& size : input.type.sizes) {
        if (!is_size(size)) continue;
        size = value_;
        changed = true;
      }
      if (changed && shares_memory(input)) return false;
      if (changed) lay_out(input.type);
      if (!input.blob.empty()) {
        input.blob = cut(input.blob, input.type);
        if (input.blob.empty()) return false;
      }
      graph_.values[i].type = input.type;
    }
    return true;
  }

  /// Whether another input lies in the same memory.
  bool shares_memory(const Input& input) const {
    return input.type.storage >= 0 &&
           std::ranges::count_if(whole_.interface.inputs, [&](const Input& other) {
             return other.type.storage == input.type.storage;
           }) > 1;
  }

  /// Gives a type whose sizes changed dense strides, its dims in the order in which they lay.
  static void lay_out(TensorType& type) {
    std::vector<std::pair<std::int64_t, std::size_t>> order;
    for (std::size_t d = 0; d < type.rank(); ++d) {
      const auto stride = type.strides[d].constant();
      if (!stride) {
        type.strides = contiguous_strides(type.sizes);
        return;
      }
      order.emplace_back(*stride, type.rank() - d);  // of equal strides the last dim is the inner
    }
    std::sort(order.begin(), order.end());
    SymExpr step = 1;
    for (const auto& [stride, from_end] : order) {
      const std::size_t d = type.rank() - from_end;
      type.strides[d] = stride == 0 ? SymExpr(0) : step;
      if (stride != 0 && type.sizes[d].constant().value_or(2) > 1) step = step * type.sizes[d];
    }
  }

  /// The first elements of the data of `blob`, as many as `type` has now; empty: it has fewer.
  std::string cut(const std::string& blob, const TensorType& type) {
    auto found = formats::get_tensor(store_, blob);
    if (!found) return {};
    HostTensor window = row_major_copy(found->tensor);  // its strides stay those of the whole
    if (window.sizes.size() != type.rank()) return {};
    for (std::size_t d = 0; d < type.rank(); ++d) {
      const auto size = number(type.sizes[d]);
      if (!size || *size > window.sizes[d]) return {};
      window.sizes[d] = *size;
    }
    HostTensor part = row_major(window);
    if (is_integral(part.dtype)) point_inside(part);
    return keep_tensor(part, store_);
  }

  /// What the graph should give now. What was recorded may be just what is wrong with the graph, so
  /// it is cut as well where cutting is the same before and behind the ops; else the reference
  /// semantics say what is right.
  void set_outputs() {
    RecordedValues now(graph_, store_);
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
      const ValueId id = graph_.outputs[i];
      Output& output = graph_.interface.outputs[i];
      output.type = graph_.values[id].type;
      const std::string computed = now.blob(id), whole = whole_values_.blob(id);
      const bool cuts = !output.blob.empty() && !computed.empty() && !whole.empty() &&
                        cut(whole, output.type) == computed;
      output.blob = cuts ? cut(output.blob, output.type) : computed;
    }
  }

  /// Integers that are positions in something of the size stay positions.
  void point_inside(HostTensor& tensor) const {
    for (std::int64_t place = 0; place < tensor.count(); ++place) {
      const std::int64_t element = tensor.integer_at(place);
      if (element >= value_ && element < size_.value) tensor.set_integer(place, element % value_);
    }
  }

  void replace(Argument& argument, bool in_list) const {
    if (const auto* number = argument.as<std::int64_t>()) {
      const bool taken =
          arguments_ == SizeArguments::all || (arguments_ == SizeArguments::lists && in_list);
      if (taken && size_.symbol.empty() && *number == size_.value) argument = value_;
      return;
    }
    if (auto* sequence = std::get_if<Argument::Sequence>(&argument.datum)) {
      for (Argument& item : sequence->items) replace(item, true);
    }
  }

  bool infer_nodes() {
    ops::RangeShapes shapes(graph_.interface);
    for (Node& node : graph_.nodes) {
      for (NamedArgument& argument : node.args) replace(argument.value, false);
      if (!node.results.empty() && graph_.values[node.results[0]].is_scalar) {
        for (ValueId id : node.results) {
          if (is_size(graph_.values[id].expression)) graph_.values[id].expression = value_;
        }
        continue;
      }
      auto types = ops::infer(node, graph_, shapes);
      if (!types || types->size() != node.results.size()) return false;
      for (std::size_t k = 0; k < types->size(); ++k) {
        TensorType& type = graph_.values[node.results[k]].type;
        type.sizes = std::move((*types)[k].sizes);
        type.strides = std::move((*types)[k].strides);
        type.storage_offset = (*types)[k].storage_offset;
      }
    }
    return true;
  }

  const Graph& whole_;
  RecordedValues& whole_values_;
  Graph graph_;
  const InputSize size_;
  const std::int64_t value_;
  const SizeArguments arguments_;
  store::Store& store_;
};

}  // namespace

std::vector<InputSize> input_sizes(const Graph& graph) {
  std::set<std::int64_t> numbers;
  std::set<std::string, std::less<>> symbols;
  for (const Input& input : graph.interface.inputs) {
    for (const SymExpr& size : input.type.sizes) {
      size.for_each_symbol([&](std::string_view name) { symbols.emplace(name); });
      if (size.constant().value_or(0) > 1) numbers.insert(*size.constant());
    }
  }
  std::vector<InputSize> found;
  for (std::int64_t number : numbers) found.push_back({{}, number});
  for (const Symbol& symbol : graph.interface.symbols) {
    if (symbols.contains(symbol.name) && symbol.hint.value_or(0) > 1)
      found.push_back({symbol.name, *symbol.hint});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const InputSize& a, const InputSize& b) { return a.value > b.value; });
  return found;
}

std::optional<Graph> with_size(const Graph& graph, RecordedValues& values, const InputSize& size,
                               std::int64_t value, SizeArguments arguments, store::Store& store) {
  return Resizing(graph, values, size, value, arguments, store).run();
}

void shrink_sizes(Graph graph, store::Store& store, const std::function<bool(Graph)>& accept) {
  std::vector<InputSize> sizes = input_sizes(graph);
  if (sizes.empty()) return;
  auto values = std::make_unique<RecordedValues>(graph, store);
  const auto try_one = [&](const InputSize& size, std::int64_t value) {
    std::optional<Graph> refused;
    for (auto arguments : {SizeArguments::all, SizeArguments::lists, SizeArguments::none}) {
      auto smaller = with_size(graph, *values, size, value, arguments, store);
      // Types follow from the inputs and the arguments: this one was asked about.
      if (!smaller || (refused && same_arguments(*smaller, *refused))) continue;
      if (!accept(*smaller)) {
        refused = std::move(smaller);
        continue;
      }
      graph = std::move(*smaller);
      values = std::make_unique<RecordedValues>(graph, store);
      return true;
    }
    return false;
  };
  for (const InputSize& size : sizes) {
    for (std::int64_t value : smaller_than(size.value)) {
      if (try_one(size, value)) break;
    }
  }
}

}  // namespace penstock::tools
