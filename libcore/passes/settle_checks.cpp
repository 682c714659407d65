// Checks of indices
//
// What most programs index with cannot be outside: positions that an arange, a sort or an argmax of
// that very dim gives, remainders, clamped numbers. Bounds go through the graph in its order, as
// expressions over its sizes; a check whose bounds are proved to be inside the dim goes, and so
// does a remainder of what is one. Where nothing is known of an operand nothing is known of the
// result, so that inputs, parameters and what torch computes keep their checks.
#include <algorithm>
#include <optional>
#include <unordered_set>

#include "ir/argument_text.h"
#include "ir/size_facts.h"
#include "ops/indices.h"
#include "ops/op.h"
#include "passes/core_passes.h"
#include "passes/rewrite.h"

namespace penstock::passes {

namespace {

using ops::OpId;

/// Of all elements of an integer tensor, inclusive.
struct Bounds {
  SymExpr lower, upper;
};
using MaybeBounds = std::optional<Bounds>;

const SymExpr kUnboundedBelow = INT64_MIN, kUnboundedAbove = INT64_MAX;
const Bounds kUnknown = {kUnboundedBelow, kUnboundedAbove};

/// Numbers beyond may leave the 64 bits in a sum or a product of two.
constexpr std::int64_t kLarge = std::int64_t{1} << 31;

class Settling {
 public:
  explicit Settling(Graph graph)
      : rewrite_(std::move(graph)),
        facts_(size_facts(rewrite_.graph().interface)),
        bounds_(rewrite_.graph().values.size()),
        shown_(rewrite_.graph().values.size(), kNoValue) {}

  Result<Graph> run() {
    const Graph& graph = rewrite_.graph();
    const bool checks = std::ranges::any_of(rewrite_.old_nodes(), [](const Node& node) {
      return node.op == "prim.check_index" || node.op == "prim.remainder";
    });
    for (std::size_t i = 0; checks && i < graph.interface.inputs.size(); ++i)
      bound_known(static_cast<ValueId>(i));
    for (const Node& old : rewrite_.old_nodes()) {
      Node node = rewrite_.current(old);
      const ops::OpFacts* op = ops::find_op(node.op);
      if (checks && op != nullptr) {
        if (op->id == OpId::prim_check_index && settle(*op, node)) continue;
        if (op->id == OpId::prim_remainder && is_remainder(node)) continue;
        bound(*op, node);
      }
      rewrite_.keep(std::move(node));
    }
    return rewrite_.finish();
  }

 private:
  /// True when the check may go; else it looks at what its operand shows.
  bool settle(const ops::OpFacts& op, Node& node) {
    ops::Arguments arguments(node, rewrite_.graph());
    const ops::IndexUse use = ops::index_uses(op, arguments).front();
    if (arguments.failed()) return false;
    if (const MaybeBounds& known = bounds_[use.index]) {
      const SymExpr least = use.wraps ? -use.size : SymExpr(0);
      if (is_nonnegative(known->lower - least, facts_) &&
          is_nonnegative(use.size - 1 - known->upper, facts_))
        return true;
    }
    ValueId shown = use.index;
    while (shown_[shown] != kNoValue) shown = shown_[shown];
    set_argument(node, "self", Argument::Value{shown});
    std::string key;
    for (const NamedArgument& argument : node.args) {
      if (argument.name != "op" && argument.name != "dim") key += to_string(argument.value) + ' ';
    }
    return !done_.insert(std::move(key)).second;
  }

  /// True when what is divided stands for the remainder: it is one.
  bool is_remainder(const Node& node) {
    const MaybeBounds self = of(node, "self"), divisor = of(node, "other");
    const auto* value = find_argument(node, "self")->as<Argument::Value>();
    if (value == nullptr || !self || !divisor || !is_integral(rewrite_.type(value->id).dtype))
      return false;
    if (!is_nonnegative(self->lower, facts_) ||
        !is_nonnegative(divisor->lower - 1 - self->upper, facts_))
      return false;
    rewrite_.replace(node.results.front(), value->id);
    return true;
  }

  void bound_known(ValueId id) {
    const Value& value = rewrite_.graph().values[id];
    if (value.is_scalar)
      bounds_[id] = Bounds{value.expression, value.expression};
    else
      bounds_[id] = of_dtype(value.type.dtype);
  }

  /// What fits into a dtype, where that is little.
  static MaybeBounds of_dtype(DType dtype) {
    if (is_boolean(dtype)) return Bounds{0, 1};
    if (dtype == DType::uint8) return Bounds{0, 255};
    return std::nullopt;
  }

  void bound(const ops::OpFacts& op, const Node& node) {
    if (node.results.empty()) return;
    const bool sorts =
        op.id == OpId::sort_default || op.id == OpId::sort_stable || op.id == OpId::topk_default;
    if (sorts && node.results.size() == 2) return bound_positions(node);
    const ValueId result = node.results.front();
    const Value& value = rewrite_.graph().values[result];
    if (value.is_scalar) return bound_known(result);
    const DType dtype = value.type.dtype;
    if (!op.is_prim() || !(is_integral(dtype) || is_boolean(dtype))) return;
    MaybeBounds made = of_prim(op, node);
    const bool fits = made && (dtype == DType::int64 || narrow(*made, dtype));
    bounds_[result] = fits ? made : of_dtype(dtype);
    shown_[result] = shown_by(op, node);
  }

  /// Where a sorted element stood along its dim.
  void bound_positions(const Node& node) {
    ops::Arguments arguments(node, rewrite_.graph());
    const TensorType& self = arguments.tensor("self");
    const std::int64_t dim = arguments.dim("dim", -1, self.rank());
    if (arguments.failed()) return;
    bounds_[node.results[1]] =
        Bounds{0, self.rank() == 0 ? SymExpr(0) : self.sizes[static_cast<std::size_t>(dim)] - 1};
  }

  /// Whether numbers in these bounds are the same in the dtype.
  bool narrow(const Bounds& known, DType dtype) const {
    if (dtype == DType::uint8 || is_boolean(dtype)) return false;
    const int bits = 8 * facts(dtype).size - 1;
    const SymExpr largest = (std::int64_t{1} << bits) - 1;
    return is_nonnegative(known.lower + largest, facts_) &&
           is_nonnegative(largest - known.upper, facts_);
  }

  /// The operand whose elements the node's result has, all of them, and no other number.
  ValueId shown_by(const ops::OpFacts& op, const Node& node) const {
    const ValueId self = operand_value(node, "self");
    if (self == kNoValue) return kNoValue;
    const TensorType& from = rewrite_.type(self);
    const DType to = rewrite_.type(node.results.front()).dtype;
    switch (op.id) {
      case OpId::prim_convert:
        return is_integral(from.dtype) && facts(to).size >= facts(from.dtype).size &&
                       to != DType::uint8
                   ? self
                   : kNoValue;
      case OpId::prim_clone:
      case OpId::prim_reshape:
      case OpId::prim_permute:
      case OpId::prim_broadcast:
      case OpId::prim_flip:
        return self;
      default:
        return kNoValue;
    }
  }

  /// Of an operand: a tensor, or a number that stands for a splat of it.
  MaybeBounds of(const Node& node, std::string_view name) const {
    const Argument* argument = find_argument(node, name);
    if (argument == nullptr) return std::nullopt;
    if (const auto* value = argument->as<Argument::Value>()) return bounds_[value->id];
    if (const auto* number = argument->as<std::int64_t>()) return Bounds{*number, *number};
    if (const auto* truth = argument->as<bool>()) return Bounds{*truth ? 1 : 0, *truth ? 1 : 0};
    if (const auto* size = argument->as<SymExpr>()) return Bounds{*size, *size};
    return std::nullopt;
  }

  MaybeBounds of_prim(const ops::OpFacts& op, const Node& node) const {
    switch (op.group) {
      case ops::PrimGroup::create:
        return op.id == OpId::prim_iota ? of_iota(node) : of(node, "value");
      case ops::PrimGroup::cast:
        return of_cast(node);
      case ops::PrimGroup::view:
        return op.id == OpId::prim_as_strided ? std::nullopt : of(node, "self");
      case ops::PrimGroup::ternary:
        return op.id == OpId::prim_where ? either(of(node, "self"), of(node, "other"))
                                         : std::nullopt;
      case ops::PrimGroup::binary:
        return of_binary(op, of(node, "self"), of(node, "other"));
      case ops::PrimGroup::join:
        return of_join(op, node);
      case ops::PrimGroup::reduce:
        return of_reduction(op, node);
      case ops::PrimGroup::index:
        if (op.id == OpId::prim_scatter) return either(of(node, "self"), of(node, "src"));
        return op.id == OpId::prim_scatter_add ? std::nullopt : of(node, "self");
      case ops::PrimGroup::decide:
        return of_places(node);
      default:
        return std::nullopt;
    }
  }

  /// Of prim.nonzero: places in a row.
  MaybeBounds of_places(const Node& node) const {
    const ValueId self = operand_value(node, "self");
    const TensorType& row = rewrite_.type(self);
    return row.rank() == 1 ? MaybeBounds({0, row.sizes.front() - 1}) : std::nullopt;
  }

  MaybeBounds of_iota(const Node& node) const {
    const MaybeBounds start = of(node, "start"), length = of(node, "length"),
                      step = of(node, "step");
    if (!start || !length || !step || !step->lower.constant()) return std::nullopt;
    const SymExpr last = start->lower + (length->lower - 1) * step->lower;
    return *step->lower.constant() < 0 ? Bounds{last, start->lower} : Bounds{start->lower, last};
  }

  MaybeBounds of_cast(const Node& node) const {
    const auto* self = find_argument(node, "self")->as<Argument::Value>();
    if (self == nullptr || is_floating(rewrite_.type(self->id).dtype)) return std::nullopt;
    return bounds_[self->id];
  }

  MaybeBounds of_join(const ops::OpFacts& op, const Node& node) const {
    if (op.id == OpId::prim_pad) return either(of(node, "self"), of(node, "value"));
    if (op.id == OpId::prim_scatter_slice) return either(of(node, "self"), of(node, "src"));
    MaybeBounds all;
    bool first = true;
    for_each_value(*find_argument(node, "tensors"), [&](ValueId id) {
      all = first ? bounds_[id] : either(all, bounds_[id]);
      first = false;
    });
    return all;
  }

  MaybeBounds of_reduction(const ops::OpFacts& op, const Node& node) const {
    if (op.id == OpId::prim_amax || op.id == OpId::prim_amin) return of(node, "self");
    if (op.id != OpId::prim_argmax && op.id != OpId::prim_argmin) return std::nullopt;
    ops::Arguments arguments(node, rewrite_.graph());
    const TensorType& self = arguments.tensor("self");
    std::vector<SymExpr> reduced;
    for (const std::int64_t dim : arguments.dims("dims", self.rank()))
      reduced.push_back(self.sizes[static_cast<std::size_t>(dim)]);
    if (arguments.failed()) return std::nullopt;
    return Bounds{0, element_count(reduced) - 1};
  }

  MaybeBounds of_binary(const ops::OpFacts& op, const MaybeBounds& a, const MaybeBounds& b) const {
    switch (op.id) {
      case OpId::prim_maximum:
        return at_least(a, b);
      case OpId::prim_minimum:
        return at_most(a, b);
      case OpId::prim_remainder:
        return of_remainder(b);
      case OpId::prim_and:
        return of_and(a, b);
      default:
        break;
    }
    if (!a || !b) return std::nullopt;
    switch (op.id) {
      case OpId::prim_add:
        return small(*a) && small(*b) ? MaybeBounds({a->lower + b->lower, a->upper + b->upper})
                                      : std::nullopt;
      case OpId::prim_sub:
        return small(*a) && small(*b) ? MaybeBounds({a->lower - b->upper, a->upper - b->lower})
                                      : std::nullopt;
      case OpId::prim_mul:
        return of_product(*a, *b);
      case OpId::prim_fmod:
        return is_nonnegative(a->lower, facts_) && is_nonnegative(b->lower - 1, facts_)
                   ? MaybeBounds({0, b->upper - 1})
                   : std::nullopt;
      case OpId::prim_floordiv:
        return is_nonnegative(b->lower - 1, facts_) && is_nonnegative(a->lower, facts_)
                   ? MaybeBounds({0, floordiv(a->upper, b->lower)})
                   : std::nullopt;
      default:
        return std::nullopt;
    }
  }

  /// Whether sums and products of two such do not leave the 64 bits. Sizes of dims do not.
  bool small(const Bounds& known) const {
    const auto fits = [](const SymExpr& bound) {
      return !bound.constant() || (*bound.constant() < kLarge && *bound.constant() > -kLarge);
    };
    return fits(known.lower) && fits(known.upper);
  }

  MaybeBounds of_product(const Bounds& a, const Bounds& b) const {
    const bool positive = is_nonnegative(a.lower, facts_) && is_nonnegative(b.lower, facts_);
    return positive && small(a) && small(b) ? MaybeBounds({a.lower * b.lower, a.upper * b.upper})
                                            : std::nullopt;
  }

  /// The remainder has the divisor's sign.
  MaybeBounds of_remainder(const MaybeBounds& divisor) const {
    if (!divisor || !is_nonnegative(divisor->lower - 1, facts_)) return std::nullopt;
    return Bounds{0, divisor->upper - 1};
  }

  /// Bits of a number that is not negative.
  MaybeBounds of_and(const MaybeBounds& a, const MaybeBounds& b) const {
    for (const MaybeBounds* one : {&b, &a}) {
      if (*one && is_nonnegative((*one)->lower, facts_)) return Bounds{0, (*one)->upper};
    }
    return std::nullopt;
  }

  /// The extremes of int64 stand for what is not known.
  static SymExpr least(const SymExpr& a, const SymExpr& b) {
    if (a == kUnboundedAbove || b == kUnboundedBelow) return b;
    return b == kUnboundedAbove || a == kUnboundedBelow ? a : minimum(a, b);
  }
  static SymExpr greatest(const SymExpr& a, const SymExpr& b) {
    if (a == kUnboundedBelow || b == kUnboundedAbove) return b;
    return b == kUnboundedBelow || a == kUnboundedAbove ? a : maximum(a, b);
  }

  static MaybeBounds either(const MaybeBounds& a, const MaybeBounds& b) {
    if (!a || !b) return std::nullopt;
    return Bounds{least(a->lower, b->lower), greatest(a->upper, b->upper)};
  }

  // A clamp is both of these: one bound each, where nothing else is known.
  static MaybeBounds at_least(const MaybeBounds& a, const MaybeBounds& b) {
    const Bounds left = a.value_or(kUnknown), right = b.value_or(kUnknown);
    return Bounds{greatest(left.lower, right.lower), greatest(left.upper, right.upper)};
  }
  static MaybeBounds at_most(const MaybeBounds& a, const MaybeBounds& b) {
    const Bounds left = a.value_or(kUnknown), right = b.value_or(kUnknown);
    return Bounds{least(left.lower, right.lower), least(left.upper, right.upper)};
  }

  Rewrite rewrite_;
  RangeFacts facts_;
  std::vector<MaybeBounds> bounds_;  ///< by value
  std::vector<ValueId> shown_;       ///< by value: shown_by
  std::unordered_set<std::string> done_;
};

}  // namespace

Result<Graph> settle_checks(Graph graph) {
  return Settling(std::move(graph)).run();
}

}  // namespace penstock::passes
