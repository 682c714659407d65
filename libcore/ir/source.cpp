#include "ir/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "ir/argument_text.h"

namespace penstock {

namespace {

/// Roots written LETTER['name'].
struct NamedRoot {
  SourceKind kind;
  char letter;
};
constexpr NamedRoot kNamedRoots[] = {{SourceKind::local, 'L'},
                                     {SourceKind::cell, 'C'},
                                     {SourceKind::global, 'G'},
                                     {SourceKind::builtin, 'B'},
                                     {SourceKind::module, 'M'}};

/// Steps written base.NAME that are not looked up by attribute access.
struct NamedStep {
  SourceKind kind;
  std::string_view name;
};
constexpr NamedStep kNamedSteps[] = {{SourceKind::code, "__code__"},
                                     {SourceKind::defaults, "__defaults__"},
                                     {SourceKind::kwdefaults, "__kwdefaults__"},
                                     {SourceKind::self, "__self__"},
                                     {SourceKind::function, "__func__"}};

/// Steps written base.NAME(index).
constexpr NamedStep kIndexedSteps[] = {{SourceKind::size, "size"}, {SourceKind::stride, "stride"}};

bool is_identifier(std::string_view name) {
  auto letter = [](char c) {
    return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || (c & 0x80) != 0;
  };
  return !name.empty() && letter(name.front()) &&
         std::all_of(name.begin(), name.end(), [&](char c) {
           return letter(c) || std::isdigit(static_cast<unsigned char>(c));
         });
}

/// Attributes that would read back as another kind of step are written getattr(base, 'name').
bool needs_getattr(std::string_view name) {
  if (!is_identifier(name) || name == "__dict__" || name == "__closure__") return true;
  return std::any_of(std::begin(kNamedSteps), std::end(kNamedSteps),
                     [&](const NamedStep& row) { return row.name == name; });
}

/// The text of a step that is reached from one base.
std::string path_text(const SourceStep& step, const std::string& base) {
  if (step.kind == SourceKind::decided) return step.name;
  for (NamedRoot row : kNamedRoots) {
    if (row.kind == step.kind) return fmt::format("{}[{}]", row.letter, quote(step.name));
  }
  for (const NamedStep& row : kNamedSteps) {
    if (row.kind == step.kind) return fmt::format("{}.{}", base, row.name);
  }
  for (const NamedStep& row : kIndexedSteps) {
    if (row.kind == step.kind) return fmt::format("{}.{}({})", base, row.name, step.index);
  }
  switch (step.kind) {
    case SourceKind::stack:
      return fmt::format("S[{}]", step.index);
    case SourceKind::attribute:
      return needs_getattr(step.name) ? fmt::format("getattr({}, {})", base, quote(step.name))
                                      : fmt::format("{}.{}", base, step.name);
    case SourceKind::instance:
      return fmt::format("{}.__dict__[{}]", base, quote(step.name));
    case SourceKind::dict_item:
      // A key in brackets is a dict's: Python reads d[(3)] as d[3], and we tell it from an index.
      return step.key.as<std::int64_t>() ? fmt::format("{}[({})]", base, to_string(step.key))
                                         : fmt::format("{}[{}]", base, to_string(step.key));
    case SourceKind::item:
      return fmt::format("{}[{}]", base, step.index);
    case SourceKind::closure:
      return fmt::format("{}.__closure__[{}].cell_contents", base, step.index);
    case SourceKind::type:
      return fmt::format("type({})", base);
    case SourceKind::length:
      return fmt::format("len({})", base);
    case SourceKind::offset:
      return fmt::format("{}.storage_offset()", base);
    case SourceKind::number:
      return to_string(step.key);
    default:
      return base;
  }
}

std::string computed_text(NumberOp operation, const std::string& left, const std::string& right) {
  const NumberOpFacts& row = facts(operation);
  switch (row.form) {
    case NumberOpFacts::Form::infix:
      return fmt::format("({} {} {})", left, row.text, right);
    case NumberOpFacts::Form::prefix:
      return fmt::format("({}{})", row.text, left);
    case NumberOpFacts::Form::unary:
      return fmt::format("{}({})", row.text, left);
    case NumberOpFacts::Form::binary:
      return fmt::format("{}({}, {})", row.text, left, right);
  }
  return {};
}

bool has_slot(SourceKind kind) {
  return kind == SourceKind::local || kind == SourceKind::cell;
}

/// What, beside the kind and the base, tells a step from others.
enum class Told : std::uint8_t { by_name, by_key, by_numbers };

Told told(SourceKind kind) {
  switch (kind) {
    case SourceKind::local:
    case SourceKind::cell:  // the slot of a variable follows from its name
    case SourceKind::global:
    case SourceKind::builtin:
    case SourceKind::module:
    case SourceKind::attribute:
    case SourceKind::instance:
    case SourceKind::decided:
      return Told::by_name;
    case SourceKind::dict_item:
    case SourceKind::number:
      return Told::by_key;
    default:
      return Told::by_numbers;
  }
}

/// Keys are equal if they are written alike: 1 is not True, 0.0 is not -0.0, nan is nan.
bool same_key(const Argument& a, const Argument& b) {
  const auto *left = a.as<std::string>(), *right = b.as<std::string>();
  if (left != nullptr || right != nullptr)
    return left != nullptr && right != nullptr && *left == *right;
  return to_string(a) == to_string(b);
}

/// Asked for every source that a program's instructions touch, mostly for one that is known.
bool same_step(const SourceStep& a, const SourceStep& b) {
  if (a.kind != b.kind || a.base != b.base) return false;
  switch (told(a.kind)) {
    case Told::by_name:
      return a.name == b.name;
    case Told::by_key:
      return a.other == b.other && same_key(a.key, b.key);
    case Told::by_numbers:
      break;
  }
  return a.index == b.index && a.other == b.other;
}

std::size_t hash_of(const SourceStep& step) {
  const std::hash<std::string_view> text;
  std::size_t own = 0;
  switch (told(step.kind)) {
    case Told::by_name:
      own = text(step.name);
      break;
    case Told::by_key: {
      const auto* name = step.key.as<std::string>();
      own = name != nullptr ? text(*name) : text(to_string(step.key));
      break;
    }
    case Told::by_numbers:
      own = static_cast<std::size_t>(step.index) * 31 + step.other;
      break;
  }
  // The table takes the low bits: an odd factor alone would leave those of `own` what they are.
  std::size_t hash =
      (own ^ (static_cast<std::size_t>(step.base) << 8) ^ static_cast<std::size_t>(step.kind)) *
      0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 32);
}

}  // namespace

/// The text of `step` given that of its base.
std::string SourceTable::step_text(const SourceStep& step, const std::string& base) const {
  if (step.kind == SourceKind::dict_item && step.other != kNoSource)
    return fmt::format("{}[{}]", base, text(step.other));
  if (step.kind != SourceKind::computed) return path_text(step, base);
  const bool two = facts(step.operation()).takes_two();
  return computed_text(step.operation(), base, two ? text(step.other) : std::string());
}

/// Where the step stands, or the free place for it.
SourceTable::Slot& SourceTable::slot_of(const SourceStep& step, std::size_t hash) {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
    Slot& slot = slots_[at];
    if (slot.id == kNoSource || (slot.hash == hash && same_step(steps_[slot.id], step)))
      return slot;
  }
}

void SourceTable::grow() {
  constexpr std::size_t kFirst = 64;
  const std::vector<Slot> old =
      std::exchange(slots_, std::vector<Slot>(std::max(kFirst, slots_.size() * 2)));
  const std::size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.id == kNoSource) continue;
    std::size_t at = slot.hash & mask;
    while (slots_[at].id != kNoSource) at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

SourceId SourceTable::intern(SourceStep step) {
  if (steps_.size() * 2 >= slots_.size()) grow();
  const std::size_t hash = hash_of(step);
  Slot& slot = slot_of(step, hash);
  if (slot.id == kNoSource) {
    slot = {hash, static_cast<SourceId>(steps_.size())};
    steps_.push_back(std::move(step));
  } else if (has_slot(step.kind) && steps_[slot.id].index < 0) {
    steps_[slot.id].index = step.index;
  }
  return slot.id;
}

std::string SourceTable::text(SourceId id) const {
  if (id >= steps_.size()) return "?";
  std::vector<SourceId> path;  // iterative: a path through a linked list can be long
  for (SourceId at = id; at < steps_.size(); at = steps_[at].base) path.push_back(at);
  std::string text;
  for (auto at = path.rbegin(); at != path.rend(); ++at) text = step_text(steps_[*at], text);
  return text;
}

namespace {

/// source := primary suffix*; suffix := ".name" | "[" literal "]" | "[" source "]" …; primary :=
/// LETTER "['name']" | "S[i]" | "type(" source ")" | "len(" source ")" | "getattr(" source ",
/// 'name')" | "(" operand " + " operand ")" |
/// "(-" operand ")" | "abs(" operand ")" | "min(" operand ", " operand ")" …;
/// operand := source | number. Prefix forms nest to a bounded depth.
class Parser {
 public:
  Parser(std::string_view text, SourceTable& table) : text_(text), rest_(text), table_(table) {}

  Result<SourceId> parse() {
    auto id = source(0);
    if (id && !rest_.empty()) return fail("unexpected text");
    return id;
  }

 private:
  static constexpr int kMaxDepth = 256;

  tl::unexpected<Diagnostic> fail(std::string_view what) const {
    return failure(Code::PS0201, fmt::format("source '{}': {} at character {}", text_.substr(0, 80),
                                             what, text_.size() - rest_.size() + 1));
  }
  bool take(std::string_view token) {
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  Result<std::string> quoted() {
    auto literal = parse_literal(rest_);
    if (!literal) return tl::unexpected(literal.error());
    if (!literal->as<std::string>()) return fail("expected a quoted name");
    return *literal->as<std::string>();
  }
  Result<std::int64_t> integer() {
    std::int64_t value = 0;
    auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc()) return fail("expected a number");
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }

  Result<SourceId> source(int depth) {
    auto id = primary(depth);
    while (id && !rest_.empty() && (rest_.front() == '.' || rest_.front() == '[')) {
      id = suffix(*id, depth);
    }
    return id;
  }

  Result<SourceId> primary(int depth) {
    if (depth > kMaxDepth) return fail("nested too deeply");
    for (NamedRoot row : kNamedRoots) {
      if (rest_.size() < 2 || rest_[0] != row.letter || rest_[1] != '[') continue;
      rest_.remove_prefix(2);
      auto name = quoted();
      if (!name) return tl::unexpected(name.error());
      if (!take("]")) return fail("expected ']'");
      return table_.intern(
          {row.kind, kNoSource, std::move(*name), has_slot(row.kind) ? -1 : 0, {}});
    }
    if (take("S[")) {
      auto index = integer();
      if (!index) return tl::unexpected(index.error());
      if (!take("]")) return fail("expected ']'");
      return table_.intern({SourceKind::stack, kNoSource, {}, *index, {}});
    }
    if (take("type(")) return wrapped(SourceKind::type, depth);
    if (take("len(")) return wrapped(SourceKind::length, depth);
    if (take("getattr(")) return wrapped(SourceKind::attribute, depth);
    if (rest_.starts_with('(')) return infix_or_prefix(depth);
    if (const std::size_t open = rest_.find('('); open != std::string_view::npos) {
      const std::string_view name = rest_.substr(0, open);
      using Form = NumberOpFacts::Form;
      if (auto one = number_op(name, Form::unary)) return function(*one, depth);
      if (auto two = number_op(name, Form::binary)) return function(*two, depth);
    }
    return fail("expected a source");
  }

  Result<SourceId> operand(int depth) {
    const bool literal = !rest_.empty() && (std::isdigit(static_cast<unsigned char>(rest_[0])) ||
                                            rest_[0] == '-' || rest_.starts_with("float('"));
    if (!literal) return source(depth + 1);
    auto key = parse_literal(rest_);
    if (!key) return tl::unexpected(key.error());
    if (!key->as<std::int64_t>() && !key->as<double>()) return fail("expected a number");
    return table_.intern({SourceKind::number, kNoSource, {}, 0, std::move(*key)});
  }

  Result<SourceId> computed(NumberOp operation, SourceId left, SourceId right) {
    return table_.intern(
        {SourceKind::computed, left, {}, static_cast<std::int64_t>(operation), {}, right});
  }

  Result<SourceId> function(NumberOp operation, int depth) {
    rest_.remove_prefix(facts(operation).text.size() + 1);
    auto left = operand(depth);
    if (!left) return left;
    SourceId right = kNoSource;
    if (facts(operation).takes_two()) {
      if (!take(", ")) return fail("expected ', '");
      auto second = operand(depth);
      if (!second) return second;
      right = *second;
    }
    if (!take(")")) return fail("expected ')'");
    return computed(operation, *left, right);
  }

  Result<SourceId> infix_or_prefix(int depth) {
    take("(");
    // A sign before a digit belongs to a number: negative literals are folded.
    const bool literal = rest_.starts_with('-') && rest_.size() > 1 &&
                         std::isdigit(static_cast<unsigned char>(rest_[1])) != 0;
    if (const auto operation = number_op(rest_.substr(0, 1), NumberOpFacts::Form::prefix);
        operation && !literal) {
      rest_.remove_prefix(1);
      auto only = operand(depth);
      if (!only) return only;
      if (!take(")")) return fail("expected ')'");
      return computed(*operation, *only, kNoSource);
    }
    auto left = operand(depth);
    if (!left) return left;
    if (!take(" ")) return fail("expected an operator");
    const std::size_t size = rest_.find(' ');
    const auto operation = number_op(rest_.substr(0, size), NumberOpFacts::Form::infix);
    if (!operation || size == std::string_view::npos) return fail("expected an operator");
    rest_.remove_prefix(size + 1);
    auto right = operand(depth);
    if (!right) return right;
    if (!take(")")) return fail("expected ')'");
    return computed(*operation, *left, *right);
  }

  Result<SourceId> wrapped(SourceKind kind, int depth) {
    auto base = source(depth + 1);
    if (!base) return base;
    SourceStep step{kind, *base, {}, 0, {}};
    if (kind == SourceKind::attribute) {
      if (!take(", ")) return fail("expected ', '");
      auto name = quoted();
      if (!name) return tl::unexpected(name.error());
      step.name = std::move(*name);
    }
    if (!take(")")) return fail("expected ')'");
    return table_.intern(std::move(step));
  }

  Result<SourceId> suffix(SourceId base, int depth) {
    if (take("[")) return starts_source() ? item_of(base, depth) : item(base);
    rest_.remove_prefix(1);  // the point
    if (take("__dict__[")) {
      auto name = quoted();
      if (!name) return tl::unexpected(name.error());
      if (!take("]")) return fail("expected ']'");
      return table_.intern({SourceKind::instance, base, std::move(*name), 0, {}});
    }
    if (take("__closure__[")) {
      auto index = integer();
      if (!index) return tl::unexpected(index.error());
      if (!take("].cell_contents")) return fail("expected '].cell_contents'");
      return table_.intern({SourceKind::closure, base, {}, *index, {}});
    }
    if (take("storage_offset()")) return table_.intern({SourceKind::offset, base, {}, 0, {}});
    return attribute(base);
  }

  Result<SourceId> attribute(SourceId base) {
    std::size_t size = rest_.find_first_of(".[](), ");
    std::string_view name = rest_.substr(0, size);
    if (!is_identifier(name)) return fail("expected an attribute name");
    rest_.remove_prefix(name.size());
    for (const NamedStep& row : kNamedSteps) {
      if (row.name == name) return table_.intern({row.kind, base, {}, 0, {}});
    }
    for (const NamedStep& row : kIndexedSteps) {
      if (row.name != name || !take("(")) continue;
      auto index = integer();
      if (!index) return tl::unexpected(index.error());
      if (!take(")")) return fail("expected ')'");
      return table_.intern({row.kind, base, {}, *index, {}});
    }
    return table_.intern({SourceKind::attribute, base, std::string(name), 0, {}});
  }

  /// True where a literal cannot stand.
  bool starts_source() const {
    const bool root = rest_.size() > 1 && rest_[1] == '[' && (std::isupper(rest_[0]) != 0);
    return root || rest_.starts_with("type(") || rest_.starts_with("getattr(");
  }

  /// An item by the object that a source holds.
  Result<SourceId> item_of(SourceId base, int depth) {
    auto key = source(depth + 1);
    if (!key) return key;
    if (!take("]")) return fail("expected ']'");
    return table_.intern({SourceKind::dict_item, base, {}, 0, table_.text(*key), *key});
  }

  Result<SourceId> item(SourceId base) {
    bool bracketed = !rest_.empty() && rest_.front() == '(';
    auto key = parse_literal(rest_);
    if (!key) return tl::unexpected(key.error());
    if (!take("]")) return fail("expected ']'");
    if (auto* index = key->as<std::int64_t>(); index && !bracketed) {
      return table_.intern({SourceKind::item, base, {}, *index, {}});
    }
    return table_.intern({SourceKind::dict_item, base, {}, 0, std::move(*key)});
  }

  std::string_view text_, rest_;
  SourceTable& table_;
};

}  // namespace

Result<SourceId> parse_source(std::string_view text, SourceTable& table) {
  return Parser(text, table).parse();
}

}  // namespace penstock
