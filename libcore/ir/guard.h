#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diag/diagnostic.h"
#include "ir/argument.h"
#include "ir/source.h"
#include "ir/tensor_type.h"

namespace penstock {

/// What a guard checks; the rows are in ir/guards.def.
enum class GuardKind : std::uint8_t {
#define PS_GUARD(kind, cost, meaning) kind,
#include "ir/guards.def"
#undef PS_GUARD
};

struct GuardFacts {
  GuardKind kind;
  std::string_view name;
  int cost;
  std::string_view meaning;
};
const GuardFacts& facts(GuardKind kind);
std::optional<GuardKind> guard_kind_from_name(std::string_view name);

/// A comparison of two sizes: `left relation right`.
struct Condition {
  enum class Relation : std::uint8_t { equal, not_equal, less, less_equal };
  SymExpr left;
  Relation relation = Relation::equal;
  SymExpr right;
  friend bool operator==(const Condition&, const Condition&) = default;
};
std::string to_string(const Condition& condition);
/// Reads "s0 == 4", "2*s0+1 <= s1", "s1 != 10", also > and >= (sides swapped).
Result<Condition> parse_condition(std::string_view text);

/// A fact that must hold for an entry to be used. Data only: live objects are held by whoever
/// checks it, under `live`.
struct Guard {
  GuardKind kind;
  SourceId source = kNoSource;  ///< kNoSource for condition, grad_mode, is_compiling
  /// same_object, distinct_object, no_overlap: the other side. no_overlap without one: every tensor
  /// input but those of the same storage
  SourceId other = kNoSource;
  /// equals, truth, length, keys, attribute names, the qualified name for identity and type_is
  Argument expected;
  /// `tensor`: sizes and strides; a symbol is bound by its first use as a whole size, checked after
  std::optional<TensorType> tensor;
  std::optional<Condition> condition;  ///< `condition`
  std::optional<Location> location;    ///< the user's line that consumed the fact
  /// Position in the capture's table of live objects (identity, type_is, versions); not written.
  std::int64_t live = -1;
};

/// The guard as reports print it: "L['x'] is a tensor float32[10]", "s0 == 4".
std::string to_string(const Guard& guard, const SourceTable& sources);

}  // namespace penstock
