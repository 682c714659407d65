#include "ir/guard.h"

#include <fmt/format.h>

namespace penstock {

namespace {

constexpr GuardFacts kRows[] = {
#define PS_GUARD(kind, cost, meaning) {GuardKind::kind, #kind, cost, meaning},
#include "ir/guards.def"
#undef PS_GUARD
};

/// A relation as it may be written; `swap`: the sides change places.
struct RelationRow {
  std::string_view text;
  Condition::Relation relation;
  bool swap;
};
// Longer texts first, so that "<=" is not read as "<".
constexpr RelationRow kRelations[] = {
    {"==", Condition::Relation::equal, false},      {"!=", Condition::Relation::not_equal, false},
    {"<=", Condition::Relation::less_equal, false}, {">=", Condition::Relation::less_equal, true},
    {"<", Condition::Relation::less, false},        {">", Condition::Relation::less, true}};

}  // namespace

const GuardFacts& facts(GuardKind kind) {
  return kRows[static_cast<int>(kind)];
}

std::optional<GuardKind> guard_kind_from_name(std::string_view name) {
  for (const GuardFacts& row : kRows) {
    if (row.name == name) return row.kind;
  }
  return std::nullopt;
}

std::string to_string(const Condition& condition) {
  for (const RelationRow& row : kRelations) {
    if (row.relation != condition.relation || row.swap) continue;
    return fmt::format("{} {} {}", condition.left.to_string(), row.text,
                       condition.right.to_string());
  }
  return {};
}

Result<Condition> parse_condition(std::string_view text) {
  for (const RelationRow& row : kRelations) {
    auto at = text.find(row.text);
    if (at == std::string_view::npos) continue;
    auto left = parse_sym_expr(text.substr(0, at));
    if (!left) return tl::unexpected(left.error());
    auto right = parse_sym_expr(text.substr(at + row.text.size()));
    if (!right) return tl::unexpected(right.error());
    if (row.swap) std::swap(*left, *right);
    return Condition{std::move(*left), row.relation, std::move(*right)};
  }
  return failure(Code::PS0201, fmt::format("condition '{}': no relation in it; expected one of "
                                           "== != < <= > >=",
                                           text.substr(0, 80)));
}

}  // namespace penstock
