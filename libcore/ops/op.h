#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace penstock::ops {

/// Every op that penstock knows: the prims of prims.def (prim_add), then the ATen overloads of
/// ops.def (add_Tensor). Ops without a row have no id; they are opaque everywhere.
enum class OpId : std::uint16_t {
#define PS_PRIM(name, group, operands, attributes, result) prim_##name,
#include "ops/prims.def"
#undef PS_PRIM
#define PS_OP(id, name, family, flags, rule, reference) id,
#include "ops/ops.def"
#undef PS_OP
  count
};

/// Which file of a room holds what belongs to an op.
enum class OpFamily : std::uint8_t {
  pointwise,
  activation,
  cast,
  in_place,
  reduction,
  norm,
  matmul,
  recurrent,
  view,
  join,
  create,
  index,
  loss,
  convolution,
  pool,
  resample,
  random,
  effect,
};
std::string_view to_string(OpFamily family);

/// What passes ask about an op; or-ed.
enum OpFlag : std::uint8_t {
  kNone = 0,
  kPointwise = 1,       ///< one result element from the operands' elements at the same place
  kReduction = 2,       ///< results combine elements of whole dims
  kView = 4,            ///< results may share memory with the first argument
  kMutates = 8,         ///< writes its first argument
  kOpaque = 16,         ///< stays as it is at level core: a library, a template or torch runs it
  kRandom = 32,         ///< draws from a generator: never folded, merged, moved or removed
  kDataDependent = 64,  ///< result sizes, or the result as a Python number, depend on elements
};

/// What a prim takes and gives; the groups of prims.def.
enum class PrimGroup : std::uint8_t {
  none,  ///< not a prim
  unary,
  binary,
  ternary,
  cast,
  view,
  join,
  reduce,
  scan,
  index,
  create,
  effect,
  check,
  draw,
  control,
  decide,
};
std::string_view to_string(PrimGroup group);

/// What decides the dtype of a prim's result; the last column of prims.def.
enum class PrimResult : std::uint8_t { same, bool_, int64, attr };

/// The facts of one op.
struct OpFacts {
  OpId id;
  std::string_view name;  ///< "aten.add.Tensor", "prim.add"; lives as long as the program
  OpFamily family;
  std::uint8_t flags;           ///< of OpFlag
  PrimGroup group;              ///< `none` for ATen ops
  PrimResult result;            ///< prims only
  std::string_view operands;    ///< prims: names of the tensor arguments, separated by spaces
  std::string_view attributes;  ///< prims: names of the constant arguments, likewise
  bool has(OpFlag flag) const { return (flags & flag) != 0; }
  bool is_prim() const { return group != PrimGroup::none; }
};

/// The row of `id`.
const OpFacts& facts(OpId id);

/// The mode of a padding op: what its name says, or else what was given.
std::string padding_mode(const OpFacts& op, std::string given);

/// All rows, prims first, in the order of OpId.
std::span<const OpFacts> all_ops();

/// How many spatial dims an op on images has by its name: 2 for "aten.max_pool2d.default"; 0 for
/// other ops.
std::size_t spatial_dims(std::string_view op);

/// True for matrix products as level core has them: mm, bmm, addmm, baddbmm.
bool is_product(std::string_view op);

/// True if the name of an op that no table knows says that it writes its first argument: torch's
/// in-place ops end in one underscore ("aten.index_add_.default").
bool writes_by_name(std::string_view op);

/// True for a recurrent network over sequences, padded or packed: torch takes all its results apart
/// into the same ops for each place.
bool runs_over_sequences(std::string_view op);

/// The row of the op called `name` ("aten.add.Tensor", "prim.add"), or null when there is none.
const OpFacts* find_op(std::string_view name);

/// For an in-place op the op that computes the same without writing: aten.add_.Tensor gives
/// aten.add.Tensor. Null when `name` is no known in-place op, or has no such namesake (copy_).
const OpFacts* functional_op(const OpFacts& in_place);

}  // namespace penstock::ops
