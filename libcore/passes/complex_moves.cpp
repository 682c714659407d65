#include "passes/complex_moves.h"

#include <algorithm>

#include "passes/rewrite.h"

namespace penstock::passes {

namespace {

constexpr std::string_view kMoves[] = {"prim.clone",   "prim.permute",   "prim.reshape",
                                       "prim.convert", "prim.broadcast", "prim.full",
                                       "prim.scatter"};

const Argument* find(const std::vector<NamedArgument>& args, std::string_view name) {
  const auto found = std::ranges::find(args, name, &NamedArgument::name);
  return found == args.end() ? nullptr : &found->value;
}

const TensorType* self_type(const std::vector<NamedArgument>& args, const Graph& graph) {
  const Argument* self = find(args, "self");
  const auto* value = self != nullptr ? self->as<Argument::Value>() : nullptr;
  return value != nullptr && value->id < graph.values.size() ? &graph.values[value->id].type
                                                             : nullptr;
}

Argument taken(const std::vector<NamedArgument>& args, std::string_view name) {
  const Argument* found = find(args, name);
  return found != nullptr ? *found : Argument();
}

/// The operand's dims where the result has them, ones between; then every dim as long as the
/// result's.
std::vector<ComplexMove> broadcast_moves(const std::vector<NamedArgument>& args,
                                         const TensorType& self) {
  const Argument size = taken(args, "size");
  const auto* sizes = size.as<Argument::Sequence>();
  const Argument dims = taken(args, "dims");
  const auto* places = dims.as<Argument::Sequence>();
  Argument::Sequence lifted{Argument::Sequence::Kind::list, {}};
  if (sizes != nullptr) lifted.items.assign(sizes->items.size(), Argument(std::int64_t{1}));
  for (std::size_t i = 0; places != nullptr && i < places->items.size() && i < self.rank(); ++i) {
    const auto* place = places->items[i].as<std::int64_t>();
    if (place == nullptr || *place < 0 || *place >= static_cast<std::int64_t>(lifted.items.size()))
      continue;
    const SymExpr& own = self.sizes[i];
    auto plain = own.constant();
    lifted.items[static_cast<std::size_t>(*place)] = plain ? Argument(*plain) : Argument(own);
  }
  return {
      {"aten.reshape.default", {arg("self", taken(args, "self")), arg("shape", std::move(lifted))}},
      {"aten.expand.default", {arg("self", Argument()), arg("size", size)}}};
}

}  // namespace

bool moves_complex(std::string_view prim, const std::vector<NamedArgument>& args,
                   const Graph& graph) {
  if (std::ranges::find(kMoves, prim) == std::end(kMoves)) return false;
  const TensorType* self = self_type(args, graph);
  const Argument* asked = find(args, "dtype");
  const auto* dtype = asked != nullptr ? asked->as<DType>() : nullptr;
  return (self != nullptr && is_complex(self->dtype)) || (dtype != nullptr && is_complex(*dtype));
}

std::vector<ComplexMove> complex_moves(std::string_view prim, std::vector<NamedArgument> args,
                                       const Graph& graph) {
  if (prim == "prim.permute") return {{"aten.permute.default", std::move(args)}};
  if (prim == "prim.scatter") return {{"aten.scatter.src", std::move(args)}};
  if (prim == "prim.convert") return {{"aten._to_copy.default", std::move(args)}};
  const Argument self = taken(args, "self");
  if (prim == "prim.reshape")
    return {{"aten.reshape.default", {arg("self", self), arg("shape", taken(args, "size"))}}};
  if (prim == "prim.clone") {
    const Argument::Named contiguous{Argument::Named::Kind::memory_format, "contiguous_format"};
    return {{"aten.clone.default", {arg("self", self), arg("memory_format", contiguous)}}};
  }
  if (prim == "prim.full") {
    return {{"aten.full.default",
             {arg("size", taken(args, "size")), arg("fill_value", taken(args, "value")),
              arg("dtype", taken(args, "dtype"))}}};
  }
  const TensorType* type = self_type(args, graph);
  return broadcast_moves(args, type != nullptr ? *type : TensorType{});
}

}  // namespace penstock::passes
