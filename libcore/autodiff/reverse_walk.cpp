#include "autodiff/reverse_walk.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "ir/call_location.h"
#include "ops/draws.h"
#include "ops/gradient.h"
#include "ops/gradients_of.h"
#include "ops/op.h"
#include "passes/decompose/composites.h"

namespace penstock::autodiff {

bool stops_gradients(const Node& node) {
  return node.op == kDetach || node.op == ops::kGradient ||
         vjp_row(node.op).kind == VjpKind::constant;
}

namespace {

/// What a rule reads of an op that a table names.
std::optional<ops::OpFacts> facts_of_op(std::string_view name) {
  if (const ops::OpFacts* op = ops::find_op(name)) return *op;
  if (const passes::Composite* composite = passes::find_composite(name))
    return facts_of(*composite);
  return std::nullopt;
}

}  // namespace

ValueId ReverseWalk::tangent_of(ValueId value) {
  const std::vector<Vjp::Given> terms = std::exchange(terms_[value], {});
  ValueId& sum = tangents_[value];
  if (!terms.empty() && sum == kNoValue && are_tiles(terms, rewrite_.type(value)))
    return sum = joined(terms);
  for (const Vjp::Given& term : terms) {
    const ValueId whole = term.dim < 0 ? term.gradient : padded(term, rewrite_.type(value));
    const bool complex = is_complex(rewrite_.type(value).dtype);
    sum = sum == kNoValue
              ? whole
              : rewrite_.emit_one(complex ? "aten.add.Tensor" : "prim.add",
                                  {passes::arg("self", passes::value_argument(sum)),
                                   passes::arg("other", passes::value_argument(whole))});
  }
  return sum;
}

namespace {

std::int64_t start_of(const Vjp::Given& part) {
  return *part.start.constant();
}

}  // namespace

/// Whether parts lie one behind the other along one dim and leave nothing out: a split's.
bool ReverseWalk::are_tiles(std::vector<Vjp::Given> parts, const TensorType& whole) const {
  const std::int64_t dim = parts.front().dim;
  const auto is_known = [&](const Vjp::Given& part) {
    return part.dim == dim && part.start.constant() &&
           rewrite_.type(part.gradient).sizes[dim].constant();
  };
  if (dim < 0 || !std::ranges::all_of(parts, is_known)) return false;
  std::ranges::sort(parts, {}, start_of);
  std::int64_t end = 0;
  for (const Vjp::Given& part : parts) {
    if (start_of(part) != end) return false;
    end += *rewrite_.type(part.gradient).sizes[dim].constant();
  }
  return whole.sizes[dim] == SymExpr(end);
}

ValueId ReverseWalk::joined(std::vector<Vjp::Given> parts) {
  std::ranges::sort(parts, {}, start_of);
  std::vector<ValueId> tensors;
  for (const Vjp::Given& part : parts) tensors.push_back(part.gradient);
  return rewrite_.emit_one("prim.cat", {passes::arg("tensors", passes::list_of(tensors)),
                                        passes::arg("dim", parts.front().dim)});
}

ValueId ReverseWalk::padded(const Vjp::Given& part, const TensorType& whole) {
  std::vector<SymExpr> low(whole.rank(), SymExpr(0)), high = low;
  low[part.dim] = part.start;
  high[part.dim] =
      whole.sizes[part.dim] - part.start - rewrite_.type(part.gradient).sizes[part.dim];
  return rewrite_.emit_one("prim.pad",
                           {passes::arg("self", passes::value_argument(part.gradient)),
                            passes::arg("low", passes::list_of(low)),
                            passes::arg("high", passes::list_of(high)), passes::arg("value", 0.0)});
}

void ReverseWalk::visit(const Node& node) {
  bool reached = false, comes = false, goes_on = false;
  for (ValueId result : node.results) {
    reached = reached || (tracked_[result] && reached_[result]);
    comes = comes || !terms_[result].empty();
  }
  for (const NamedArgument& argument : node.args)
    for_each_value(argument.value, [&](ValueId id) { goes_on = goes_on || tracked_[id]; });
  if (!reached || !goes_on) return;  // what makes a leaf ends there
  if (comes && !give_tangents_on(node)) return;
  for (const NamedArgument& argument : node.args) {
    for_each_value(argument.value,
                   [&](ValueId id) { reached_[id] = reached_[id] || tracked_[id]; });
  }
}

/// Gives the arguments their gradients; false: they have none, not even zeros.
bool ReverseWalk::give_tangents_on(const Node& node) {
  std::vector<ValueId> tangents;
  for (ValueId result : node.results) tangents.push_back(tangent_of(result));
  rewrite_.set_call(node.call);
  const VjpRow row = vjp_row(node.op);
  const std::optional<ops::OpFacts> op = facts_of_op(node.op);
  if (row.kind != VjpKind::rule || !op || has_complex(node)) {
    if (!ask_torch(node, tangents)) refuse(node, "has no derivative here");
    return !rewrite_.failed();
  }
  const passes::Rewrite::Mark before = rewrite_.mark();
  Vjp vjp(*op, node, rewrite_, row.detail, tangents, tracked_, makers_);
  row.function(vjp);
  if (vjp.failed() && !rewrite_.failed()) {
    rewrite_.back_to(before);
    if (!ask_torch(node, tangents)) refuse(node, "has no derivative here: " + vjp.error()->message);
    return !rewrite_.failed();
  }
  if (rewrite_.failed() || vjp.gives_none()) return false;
  for (const Vjp::Given& given : vjp.given()) add(given.argument, given);
  return true;
}

bool ReverseWalk::has_complex(const Node& node) const {
  bool found = false;
  const auto look = [&](ValueId id) { found = found || is_complex(rewrite_.type(id).dtype); };
  for (const NamedArgument& argument : node.args) for_each_value(argument.value, look);
  std::ranges::for_each(node.results, look);
  return found;
}

/// Lets torch give gradients when backward runs; false where it cannot: running the op again
/// would give something else.
bool ReverseWalk::ask_torch(const Node& node, const std::vector<ValueId>& tangents) {
  const ops::OpFacts* op = ops::find_op(node.op);
  if (op != nullptr && (op->is_prim() || ops::draws(node))) return false;
  if (vjp_row(node.op).kind == VjpKind::missing) return false;
  std::vector<ValueId> wanted;
  std::vector<std::int64_t> positions;
  std::vector<TensorType> types;
  std::int64_t position = 0;
  for (const NamedArgument& argument : node.args) {
    for_each_value(argument.value, [&](ValueId id) {
      if (tracked_[id]) {
        wanted.push_back(id);
        positions.push_back(position);
        types.push_back(dense(rewrite_.type(id)));
      }
      ++position;
    });
  }
  Argument::Sequence given{Argument::Sequence::Kind::list, {}};
  for (ValueId tangent : tangents)
    given.items.push_back(tangent == kNoValue ? Argument() : passes::value_argument(tangent));
  std::vector<NamedArgument> args = node.args;
  args.push_back(passes::arg(ops::kGradientsOfOp, node.op));
  args.push_back(passes::arg(ops::kGradientsTangents, std::move(given)));
  args.push_back(passes::arg(ops::kGradientsWanted, passes::list_of(positions)));
  const std::vector<ValueId> gradients =
      rewrite_.emit_as(ops::kGradientsOf, std::move(args), std::move(types));
  for (std::size_t i = 0; i < gradients.size(); ++i) add(wanted[i], {wanted[i], gradients[i]});
  return true;
}

void ReverseWalk::refuse(const Node& node, const std::string& why) {
  rewrite_.fail({Code::PS0606,
                 node.op + " " + why,
                 location_of(rewrite_.graph().calls, node.call),
                 {},
                 {},
                 Severity::error});
}

}  // namespace penstock::autodiff
