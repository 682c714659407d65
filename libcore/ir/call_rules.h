#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "diag/diagnostic.h"

namespace penstock {

/// What a rule says of a callable; the rows are in ir/call_actions.def.
enum class CallAction : std::uint8_t {
#define PS_CALL_ACTION(id, word, kinds, argument, meaning) id,
#include "ir/call_actions.def"
#undef PS_CALL_ACTION
};

/// What a callable is made of.
enum class CallableKind : std::uint8_t {
  python,  ///< Python code
  type,    ///< a class, of Python or C
  c,       ///< C code
  op,  ///< C code that is an op of torch: a function of its namespaces or a method of its tensors
};

/// The facts of one row of call_actions.def.
struct CallActionFacts {
  enum class Kinds : std::uint8_t { all, python, code, c, op };
  enum class Argument : std::uint8_t { nothing, code, handler };
  std::string_view word;
  Kinds kinds;
  Argument argument;
  std::string_view meaning;
};
const CallActionFacts& facts(CallAction action);

/// True for code that is followed, and in which segments may start.
constexpr bool follows_code(CallAction action) {
  return action == CallAction::inlined || action == CallAction::whole;
}

/// True where Python runs the call, and a segment ends at it.
constexpr bool leaves_to_python(CallAction action) {
  return action == CallAction::native || action == CallAction::breaks ||
         action == CallAction::outside;
}

/// One line of a rule file for one of its patterns.
struct CallRule {
  CallAction action = CallAction::inlined;
  std::string pattern;       ///< a dotted name, or a prefix with '*' behind it
  Code code = Code::PS0312;  ///< of the break, for actions and models that make one
  std::string handler;       ///< model, serve
  std::string reason;        ///< for people; NAME in it stands for the callable's name
  std::string file;          ///< without its folder
  int line = 0;
  bool built_in = false;  ///< it came with penstock

  /// How reports name it: "outside builtins.print", of a user's file "my.rules:3: break
  /// mymodule.f".
  std::string text() const;
  /// Why a segment ends at the call of `name`.
  std::string reason_for(std::string_view name) const;
};

/// Rules on callables, in the order in which they were added: the first that matches wins.
///
/// A rule file has a rule a line, `ACTION [ARGUMENT] PATTERN… [: REASON]`, blanks between the
/// words, and comments from '#' on (penstock-rules(5)). A pattern that begins with a dot is the
/// name of an attribute that Python functions may have. Looking a name up costs a hash of it and of
/// as many prefixes as patterns have lengths; callers keep what they found.
class CallRules {
 public:
  CallRules() = default;
  CallRules(CallRules&&) = default;
  CallRules& operator=(CallRules&&) = default;

  /// Adds the rules of a file behind those that are there already. `path` is for messages. A line
  /// that is no rule is PS0101 with its place.
  Result<void> add(std::string_view text, const std::string& path, bool built_in);
  /// The same from a file, which may not be there (PS0102).
  Result<void> add_file(const std::string& path);

  /// The first rule that can hold for a callable of that kind and matches one of its names; null:
  /// none.
  const CallRule* find(std::span<const std::string> names, CallableKind kind) const;

  const std::vector<CallRule>& all() const { return rules_; }
  /// The patterns that name an attribute, with their dots.
  const std::vector<std::string>& attributes() const { return attributes_; }

 private:
  using Positions = std::vector<std::uint32_t>;  ///< in rules_, ascending
  void index(std::uint32_t position);
  void consider(const std::unordered_map<std::string, Positions>& table, const std::string& key,
                CallableKind kind, std::uint32_t& best) const;

  std::vector<CallRule> rules_;
  std::unordered_map<std::string, Positions> exact_, prefixes_;
  std::vector<std::size_t> prefix_lengths_;  ///< those that occur
  std::vector<std::string> attributes_;
};

}  // namespace penstock
