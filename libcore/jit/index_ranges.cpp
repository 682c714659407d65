#include "jit/index_ranges.h"

#include <algorithm>
#include <string_view>

#include "ops/arguments.h"

namespace penstock::jit {

namespace {

/// An op's argument that chooses along a dim of another one.
struct Choice {
  std::string_view op, table, index;
  enum class Dim : std::uint8_t { given, first, classes } dim;
};

constexpr Choice kChoices[] = {
    {"aten.embedding.default", "weight", "indices", Choice::Dim::first},
    {"aten.gather.default", "self", "index", Choice::Dim::given},
    {"aten.index_select.default", "self", "index", Choice::Dim::given},
    {"aten.scatter.src", "self", "index", Choice::Dim::given},
    {"aten.scatter.value", "self", "index", Choice::Dim::given},
    {"aten.scatter_add.default", "self", "index", Choice::Dim::given},
    {"aten.scatter_.src", "self", "index", Choice::Dim::given},
    {"aten.scatter_.value", "self", "index", Choice::Dim::given},
    {"aten.scatter_add_.default", "self", "index", Choice::Dim::given},
    {"aten.index_copy.default", "self", "index", Choice::Dim::given},
    {"aten.index_copy_.default", "self", "index", Choice::Dim::given},
    {"aten.nll_loss.default", "self", "target", Choice::Dim::classes},
    {"aten.nll_loss_nd.default", "self", "target", Choice::Dim::classes},
    {"aten.cross_entropy_loss.default", "self", "target", Choice::Dim::classes},
};

/// Ops whose results have the elements of their first argument, all of them.
constexpr std::string_view kSameElements[] = {
    "aten.view.default", "aten.reshape.default", "aten.unsqueeze.default", "aten.squeeze.default", "aten.squeeze.dim",
    "aten.flatten.using_ints", "aten.transpose.int", "aten.permute.default", "aten.t.default", "aten.expand.default",
    "aten.contiguous.default", "aten.clone.default", "aten.alias.default", "aten.detach.default", "aten.to.dtype",
    "aten.long.default", "aten.unflatten.int", "aten.view_as.default", "aten.expand_as.default",
};

bool is_index(DType dtype) { return dtype == DType::int64 || dtype == DType::int32; }

/// Gathers the ranges of a graph.
class Finder {
 public:
  explicit Finder(const Graph& graph) : graph_(graph), maker_(graph.values.size(), -1) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      for (const ValueId id : graph.nodes[i].results) maker_[static_cast<std::size_t>(id)] = static_cast<std::int32_t>(i);
    }
  }

  std::vector<IndexRange> run() {
    for (const Node& node : graph_.nodes) {
      const auto* choice = std::ranges::find(kChoices, std::string_view(node.op), &Choice::op);
      if (choice != std::end(kChoices)) add_choice(node, *choice);
      if (node.op == "aten.index.Tensor" || node.op == "aten.index_put.default" || node.op == "aten.index_put_.default") {
        add_list(node);
      }
    }
    return std::move(ranges_);
  }

 private:
  void add_choice(const Node& node, const Choice& choice) {
    ops::Arguments given(node, graph_);
    const ValueId index = given.value(choice.index);
    const TensorType& table = given.tensor(choice.table);
    if (given.failed() || table.sizes.empty()) return;
    const std::size_t rank = table.sizes.size();
    std::int64_t dim = 0;
    std::optional<std::int64_t> ignored;
    if (choice.dim == Choice::Dim::given) {
      dim = given.dim("dim", 0, rank);
    } else if (choice.dim == Choice::Dim::classes) {
      dim = rank == 1 ? 0 : 1;
      ignored = given.constant("ignore_index", -100);
    }
    if (!given.failed()) add(index, table.sizes[static_cast<std::size_t>(dim)], false, ignored);
  }

  /// Each tensor of the list chooses along the dim of its place; masks stand for several dims.
  void add_list(const Node& node) {
    ops::Arguments given(node, graph_);
    const TensorType& table = given.tensor("self");
    const Argument* argument = given.find("indices");
    const auto* list = argument == nullptr ? nullptr : argument->as<Argument::Sequence>();
    if (given.failed() || list == nullptr || list->items.size() > table.sizes.size()) return;
    std::vector<ValueId> indices;
    for (const Argument& item : list->items) {
      const auto* value = item.as<Argument::Value>();
      indices.push_back(value == nullptr ? kNoValue : value->id);
      if (value != nullptr && !is_index(graph_.values[static_cast<std::size_t>(value->id)].type.dtype)) return;
    }
    for (std::size_t dim = 0; dim < indices.size(); ++dim) {
      if (indices[dim] != kNoValue) add(indices[dim], table.sizes[dim], true, std::nullopt);
    }
  }

  void add(ValueId index, const SymExpr& size, bool wraps, std::optional<std::int64_t> ignored) {
    for (std::int32_t made = maker_[static_cast<std::size_t>(index)]; made >= 0; made = maker_[static_cast<std::size_t>(index)]) {
      const Node& node = graph_.nodes[static_cast<std::size_t>(made)];
      const auto* first = node.args.empty() ? nullptr : node.args.front().value.as<Argument::Value>();
      if (first == nullptr || std::ranges::find(kSameElements, std::string_view(node.op)) == std::end(kSameElements)) return;
      index = first->id;
    }
    const auto input = static_cast<std::size_t>(index);
    if (input >= graph_.interface.inputs.size() || graph_.values[input].is_scalar) return;
    const DType dtype = graph_.values[input].type.dtype;
    if (!is_index(dtype)) return;
    const auto known = std::ranges::find_if(seen_, [&](const Seen& one) {
      return one.input == input && one.size == size && one.wraps == wraps && one.ignored == ignored;
    });
    if (known != seen_.end()) return;
    seen_.push_back({input, size, wraps, ignored});
    const auto position = [&](std::string_view name) {
      const auto& symbols = graph_.interface.symbols;
      const auto found = std::ranges::find_if(symbols, [&](const auto& symbol) { return symbol.name == name; });
      return found == symbols.end() ? -1 : static_cast<int>(found - symbols.begin());
    };
    IndexRange range{static_cast<std::uint32_t>(input), dtype, SizeProgram(size, position), wraps, ignored};
    if (range.size.valid()) ranges_.push_back(std::move(range));
  }

  struct Seen {
    std::size_t input;
    SymExpr size;
    bool wraps;
    std::optional<std::int64_t> ignored;
  };

  const Graph& graph_;
  std::vector<std::int32_t> maker_;  ///< the node of each value; -1: an input
  std::vector<Seen> seen_;
  std::vector<IndexRange> ranges_;
};

/// Whether `count` elements, `stride` apart, are at least `least` and below `least + count_inside`.
template <class T>
bool all_inside(const T* data, std::int64_t count, std::int64_t stride, std::int64_t least, std::uint64_t inside,
                std::int64_t ignored) {
  bool beyond = false;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t value = data[i * stride];
    const std::uint64_t from_least = static_cast<std::uint64_t>(value) - static_cast<std::uint64_t>(least);
    beyond |= from_least >= inside && value != ignored;
  }
  return !beyond;
}

/// Rows of the last dim, one after the other.
template <class T>
bool tensor_inside(const runtime::TensorArgument& elements, std::int64_t least, std::uint64_t inside, std::int64_t ignored) {
  const std::size_t rank = elements.sizes.size();
  const std::int64_t columns = rank == 0 ? 1 : elements.sizes[rank - 1], step = rank == 0 ? 1 : elements.strides[rank - 1];
  std::int64_t rows = 1;
  for (std::size_t i = 0; i + 1 < rank; ++i) rows *= elements.sizes[i];
  if (columns == 0) return true;
  for (std::int64_t row = 0; row < rows; ++row) {
    std::int64_t place = 0, rest = row;
    for (std::size_t i = rank == 0 ? 0 : rank - 1; i-- > 0; rest /= elements.sizes[i]) {
      place += rest % elements.sizes[i] * elements.strides[i];
    }
    if (!all_inside(static_cast<const T*>(elements.data) + place, columns, step, least, inside, ignored)) return false;
  }
  return true;
}

}  // namespace

std::vector<IndexRange> index_ranges(const Graph& graph) { return Finder(graph).run(); }

bool is_inside(const IndexRange& range, const runtime::TensorArgument& elements, const std::int64_t* symbols) {
  const std::int64_t size = range.size.evaluate(symbols), least = range.wraps ? -size : 0;
  const auto inside = static_cast<std::uint64_t>(size - least);
  if (size == 0 && !range.ignored) return std::ranges::find(elements.sizes, 0) != elements.sizes.end();
  const std::int64_t ignored = range.ignored.value_or(0);  // without one: any that is inside
  if (range.dtype == DType::int32) return tensor_inside<std::int32_t>(elements, least, inside, ignored);
  return tensor_inside<std::int64_t>(elements, least, inside, ignored);
}

}  // namespace penstock::jit
