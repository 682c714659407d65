#include "ops/op.h"

#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

namespace penstock::ops {

namespace {

constexpr OpFamily family_of(PrimGroup group) {
  switch (group) {
    case PrimGroup::cast:
      return OpFamily::cast;
    case PrimGroup::view:
      return OpFamily::view;
    case PrimGroup::join:
      return OpFamily::join;
    case PrimGroup::reduce:
    case PrimGroup::scan:
      return OpFamily::reduction;
    case PrimGroup::index:
    case PrimGroup::check:
    case PrimGroup::decide:
      return OpFamily::index;
    case PrimGroup::create:
      return OpFamily::create;
    case PrimGroup::effect:
      return OpFamily::effect;
    case PrimGroup::draw:
      return OpFamily::random;
    default:
      return OpFamily::pointwise;
  }
}

constexpr std::uint8_t flags_of(PrimGroup group) {
  switch (group) {
    case PrimGroup::unary:
    case PrimGroup::binary:
    case PrimGroup::ternary:
    case PrimGroup::cast:
      return kPointwise;
    case PrimGroup::view:
      return kView;
    case PrimGroup::reduce:
      return kReduction;
    case PrimGroup::effect:
      return kMutates;
    case PrimGroup::draw:
      return kRandom;
    default:
      return kNone;
  }
}

/// The column `result` of prims.def: `bool` is a keyword, so the enumerators carry another name.
constexpr PrimResult result_of(std::string_view column) {
  if (column == "bool") return PrimResult::bool_;
  if (column == "int64") return PrimResult::int64;
  if (column == "attr") return PrimResult::attr;
  return PrimResult::same;
}

constexpr OpFacts kRows[] = {
#define PS_PRIM(name, group, operands, attributes, result) \
  {OpId::prim_##name,                                      \
   "prim." #name,                                          \
   family_of(PrimGroup::group),                            \
   flags_of(PrimGroup::group),                             \
   PrimGroup::group,                                       \
   result_of(#result),                                     \
   operands,                                               \
   attributes},
#include "ops/prims.def"
#undef PS_PRIM
#define PS_OP(id, name, family, flags, rule, reference) \
  {OpId::id, name, OpFamily::family, flags, PrimGroup::none, PrimResult::same, {}, {}},
#include "ops/ops.def"
#undef PS_OP
};
static_assert(std::size(kRows) == static_cast<std::size_t>(OpId::count));

constexpr std::string_view kFamilyNames[] = {
    "pointwise", "activation",  "cast", "in_place", "reduction", "norm",
    "matmul",    "recurrent",   "view", "join",     "create",    "index",
    "loss",      "convolution", "pool", "resample", "random",    "effect"};
constexpr std::string_view kGroupNames[] = {
    "none", "unary", "binary", "ternary", "cast",  "view", "join",    "reduce",
    "scan", "index", "create", "effect",  "check", "draw", "control", "decide"};

/// "aten.add_.Tensor" → "aten.add.Tensor"; "aten.__iand__.Tensor" → "aten.__and__.Tensor".
std::string functional_name(std::string_view name) {
  std::string text(name);
  if (text.starts_with("aten.__i")) return text.erase(sizeof("aten.__i") - 2, 1);
  std::size_t end = text.rfind("_.");
  if (end != std::string::npos) text.erase(end, 1);
  // pow.Scalar is the one whose base is a number.
  if (text.starts_with("aten.pow.")) text.insert(sizeof("aten.pow.") - 1, "Tensor_");
  return text;
}

}  // namespace

std::string_view to_string(OpFamily family) {
  return kFamilyNames[static_cast<int>(family)];
}
std::string_view to_string(PrimGroup group) {
  return kGroupNames[static_cast<int>(group)];
}

const OpFacts& facts(OpId id) {
  return kRows[static_cast<std::size_t>(id)];
}

std::span<const OpFacts> all_ops() {
  return kRows;
}

std::string padding_mode(const OpFacts& op, std::string given) {
  if (op.name.find("reflection_pad") != std::string_view::npos) return "reflect";
  if (op.name.find("replication_pad") != std::string_view::npos) return "replicate";
  return given;
}

std::size_t spatial_dims(std::string_view op) {
  for (std::size_t i = 0; i + 1 < op.size(); ++i) {
    if (op[i] >= '1' && op[i] <= '3' && op[i + 1] == 'd')
      return static_cast<std::size_t>(op[i] - '0');
  }
  return 0;
}

bool is_product(std::string_view op) {
  const OpFacts* known = find_op(op);
  if (known == nullptr) return false;
  return known->id == OpId::mm_default || known->id == OpId::bmm_default ||
         known->id == OpId::addmm_default || known->id == OpId::baddbmm_default;
}

bool writes_by_name(std::string_view op) {
  const std::size_t overload = op.rfind('.');
  return overload != std::string_view::npos && overload > 1 && op[overload - 1] == '_' &&
         op[overload - 2] != '_';
}

bool runs_over_sequences(std::string_view op) {
  constexpr std::string_view kOps[] = {"aten.lstm.", "aten.gru.", "aten.rnn_tanh.",
                                       "aten.rnn_relu."};
  return std::ranges::any_of(kOps, [&](std::string_view name) {
    return op.starts_with(name) && (op.ends_with(".input") || op.ends_with(".data"));
  });
}

namespace {

struct AliasRow {
  std::string_view alias, name;
};

/// Names under which torch has an op once more, with the same parameters in each of its overloads.
constexpr AliasRow kAliases[] = {
    {"absolute", "abs"},
    {"negative", "neg"},
    {"multiply", "mul"},
    {"divide", "div"},
    {"true_divide", "div"},
    {"subtract", "sub"},
    {"clip", "clamp"},
    {"fix", "trunc"},
    {"arccos", "acos"},
    {"arcsin", "asin"},
    {"arctan", "atan"},
    {"arctan2", "atan2"},
    {"greater", "gt"},
    {"greater_equal", "ge"},
    {"less", "lt"},
    {"less_equal", "le"},
    {"not_equal", "ne"},
    {"concatenate", "cat"},
    {"moveaxis", "movedim"},
    {"swapdims", "transpose"},
    {"ger", "outer"},
    {"special_expit", "sigmoid"},
    {"special_exp2", "exp2"},
    {"special_expm1", "expm1"},
    {"special_log1p", "log1p"},
    {"special_erf", "erf"},
    {"special_erfc", "erfc"},
    {"special_logsumexp", "logsumexp"},
    {"special_logit", "logit"},
    {"linalg_matmul", "matmul"},
};

/// "aten.multiply_.Tensor" for "aten.mul_.Tensor"; empty for a row that has no other name of this
/// kind.
std::string aliased(std::string_view name, const AliasRow& row) {
  constexpr std::string_view kSpace = "aten.";
  if (!name.starts_with(kSpace)) return {};
  const std::size_t overload = name.rfind('.');
  std::string_view base = name.substr(kSpace.size(), overload - kSpace.size());
  const bool in_place = base.ends_with('_') && base != row.name;
  if (in_place) base.remove_suffix(1);
  if (base != row.name) return {};
  return std::string(kSpace) + std::string(row.alias) + (in_place ? "_" : "") +
         std::string(name.substr(overload));
}

using Index = std::unordered_map<std::string_view, const OpFacts*>;

void add_aliases(Index& map) {
  static std::deque<std::string> names;  // keys of the map, which lasts as long
  std::unordered_map<std::string_view, std::vector<const AliasRow*>> by_name;
  for (const AliasRow& row : kAliases) by_name[row.name].push_back(&row);
  for (const OpFacts& row : kRows) {
    const std::size_t overload = row.name.rfind('.');
    if (!row.name.starts_with("aten.")) continue;
    std::string_view base = row.name.substr(5, overload - 5);
    if (!by_name.contains(base) && base.ends_with('_')) base.remove_suffix(1);
    const auto found = by_name.find(base);
    if (found == by_name.end()) continue;
    for (const AliasRow* alias : found->second)
      map.emplace(names.emplace_back(aliased(row.name, *alias)), &row);
  }
}

}  // namespace

const OpFacts* find_op(std::string_view name) {
  static const auto* const index = [] {
    auto* map = new Index;
    for (const OpFacts& row : kRows) map->emplace(row.name, &row);
    add_aliases(*map);
    return map;
  }();
  auto found = index->find(name);
  return found == index->end() ? nullptr : found->second;
}

const OpFacts* functional_op(const OpFacts& in_place) {
  if (in_place.family != OpFamily::in_place) return nullptr;
  std::string name = functional_name(in_place.name);
  if (const OpFacts* same_overload = find_op(name)) return same_overload;
  name.resize(name.rfind('.'));
  return find_op(name + ".default");
}

}  // namespace penstock::ops
