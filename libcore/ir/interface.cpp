#include "ir/interface.h"

#include <fmt/format.h>

#include <charconv>
#include <iterator>

namespace penstock {

namespace {

constexpr std::string_view kInputKinds[] = {"user",   "parameter", "buffer",  "constant", "size",
                                            "scalar", "generator", "tangent", "saved"};
static_assert(std::size(kInputKinds) == static_cast<int>(InputKind::saved) + 1);

constexpr std::string_view kGraphRoles[] = {"inference", "forward", "backward"};

constexpr std::string_view kRecipeKinds[] = {
    "output",    "source", "literal",  "symbol",   "list", "tuple",  "dict", "set",
    "frozenset", "slice",  "instance", "function", "cell", "method", "call", "object"};
static_assert(std::size(kRecipeKinds) == static_cast<int>(Recipe::Kind::object) + 1);

constexpr std::string_view kRestoreKinds[] = {
    "local",         "unbind",           "stack",    "result",      "cell",
    "set_attribute", "delete_attribute", "set_item", "delete_item", "set_global",
    "delete_global", "append",           "extend",   "insert",      "pop",
    "clear",         "update",           "add",      "remove",      "contents"};
static_assert(std::size(kRestoreKinds) == static_cast<int>(Restore::Kind::contents) + 1);

template <class Kind, std::size_t size>
std::optional<Kind> find(const std::string_view (&names)[size], std::string_view name) {
  for (std::size_t i = 0; i < size; ++i) {
    if (names[i] == name) return static_cast<Kind>(i);
  }
  return std::nullopt;
}

/// Reads a non-negative number at the start of `text` and cuts it off.
bool take_number(std::string_view& text, std::int32_t& value) {
  if (text.empty() || text.front() == '-') return false;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool take(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::string to_string(const EntryId& id) {
  return id.restart == 0 ? fmt::format("{}/{}", id.frame, id.recompile)
                         : fmt::format("{}/{}_{}", id.frame, id.recompile, id.restart);
}

Result<EntryId> parse_entry_id(std::string_view text) {
  EntryId id;
  std::string_view rest = text;
  bool good = take_number(rest, id.frame) && take(rest, '/') && take_number(rest, id.recompile);
  if (good && !rest.empty()) good = take(rest, '_') && take_number(rest, id.restart);
  if (good && rest.empty()) return id;
  return failure(Code::PS0201, fmt::format("'{}' is no entry id; expected FRAME/RECOMPILE or "
                                           "FRAME/RECOMPILE_RESTART",
                                           text.substr(0, 80)));
}

std::string_view to_string(GraphRole role) {
  return kGraphRoles[static_cast<int>(role)];
}

std::optional<GraphRole> graph_role_from_name(std::string_view name) {
  return find<GraphRole>(kGraphRoles, name);
}

std::string_view to_string(InputKind kind) {
  return kInputKinds[static_cast<int>(kind)];
}
std::optional<InputKind> input_kind_from_name(std::string_view name) {
  return find<InputKind>(kInputKinds, name);
}

std::string_view to_string(Recipe::Kind kind) {
  return kRecipeKinds[static_cast<int>(kind)];
}
std::optional<Recipe::Kind> recipe_kind_from_name(std::string_view name) {
  return find<Recipe::Kind>(kRecipeKinds, name);
}

std::string_view to_string(Restore::Kind kind) {
  return kRestoreKinds[static_cast<int>(kind)];
}
std::optional<Restore::Kind> restore_kind_from_name(std::string_view name) {
  return find<Restore::Kind>(kRestoreKinds, name);
}

}  // namespace penstock
