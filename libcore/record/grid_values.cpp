#include "record/grid_values.h"

#include <algorithm>

#include "ops/op.h"
#include "record/recorder.h"

namespace penstock::record {

void GridValues::set(ValueId id) {
  if (inside_.size() <= id) inside_.resize(id + 1, false);
  inside_[id] = true;
}

void GridValues::begin(const std::vector<ValueId>& given) {
  open_ = true;
  for (const ValueId id : given) set(id);
}

void GridValues::end() {
  open_ = false;
  inside_.clear();
}

void GridValues::note(const Node& node) {
  if (!open_) return;
  bool of_grid = false;
  for (const NamedArgument& argument : node.args)
    for_each_value(argument.value, [&](ValueId id) { of_grid = of_grid || has(id); });
  if (!of_grid) return;
  for (const ValueId id : node.results) set(id);
}

namespace {

/// An operand of a planned node.
struct Given {
  TensorType type;
  bool of_grid = false;
};

Given given(TensorType type, bool of_grid) {
  // What is the same all over the grid may have no dims.
  const bool has_dims = type.rank() > 0;
  return {std::move(type), of_grid && has_dims};
}

/// True for an op whose result has at each place what it makes of the operands there.
bool is_of_places(const ops::OpFacts& op) {
  using ops::OpFamily;
  const bool family = op.family == OpFamily::pointwise || op.family == OpFamily::cast ||
                      op.family == OpFamily::activation;
  const bool other_dims = op.name == "aten.glu.default" || op.name == "aten.prelu.default";
  return family && op.has(ops::kPointwise) && !op.has(ops::kMutates) && !op.has(ops::kRandom) &&
         !other_dims;
}

/// True for an op that makes one number, of no number that it is given.
bool makes_number(const PlannedNode& node) {
  const bool fills = node.op == "aten.new_ones.default" || node.op == "aten.new_zeros.default" ||
                     node.op == "aten.new_full.default";
  const auto size = std::ranges::find(node.args, "size", &NamedArgument::name);
  const auto* dims = size == node.args.end() ? nullptr : size->value.as<Argument::Sequence>();
  return fills && dims != nullptr && dims->items.empty();
}

/// True for an operand that chooses between the others and has no say in the result's dtype.
bool only_chooses(const NamedArgument& argument) {
  return argument.name == "condition" || argument.name == "mask";
}

/// tensor[i, j] with an index for every dim, one of them at least of the grid.
bool looks_up(const std::vector<Given>& given) {
  const auto is_place = [](const Given& index) {
    const bool whole = is_integral(index.type.dtype) && index.type.dtype != DType::bool_;
    return whole && (index.of_grid || index.type.rank() == 0);
  };
  return !given.empty() && !given[0].of_grid && given[0].type.rank() + 1 == given.size() &&
         std::all_of(given.begin() + 1, given.end(), is_place);
}

}  // namespace

std::optional<std::string> GridValues::refusal(const Recorder& recorder,
                                               const std::vector<PlannedNode>& nodes) const {
  std::vector<Given> made;
  for (const PlannedNode& node : nodes) {
    std::vector<Given> all;
    std::vector<DType> dtypes;
    bool of_grid = false;
    for (const NamedArgument& argument : node.args) {
      for_each_value(argument.value, [&](ValueId id) {
        const std::size_t planned = kNoValue - id - 1;
        if (planned >= made.size() && recorder.is_number(id)) return;  // as a constant would be
        all.push_back(planned < made.size() ? made[planned]
                                            : given(recorder.value(id).type, has(id)));
        of_grid = of_grid || all.back().of_grid || has(id);
        if (!only_chooses(argument)) dtypes.push_back(all.back().type.dtype);
      });
    }
    made.push_back(given(node.type.value_or(TensorType{}), of_grid));
    if (!of_grid) continue;
    const ops::OpFacts* op = ops::find_op(node.op);
    if (node.op == "aten.index.Tensor" && looks_up(all)) continue;
    if (makes_number(node)) continue;
    if (op == nullptr || !is_of_places(*op))
      return node.op + " is asked of a number that stands for a grid of them";
    // A tensor of no dims has no say in the dtype beside one that has dims, and has one among
    // numbers.
    const bool mixed =
        std::ranges::any_of(all, [](const Given& one) { return !one.of_grid; }) &&
        std::ranges::any_of(dtypes, [&](DType dtype) { return dtype != dtypes.front(); });
    const bool has_dims = std::ranges::any_of(
        all, [](const Given& one) { return !one.of_grid && one.type.rank() > 0; });
    if (mixed || has_dims) return node.op + " combines numbers of a grid with another tensor";
  }
  return std::nullopt;
}

}  // namespace penstock::record
