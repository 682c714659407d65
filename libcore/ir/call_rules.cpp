#include "ir/call_rules.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

namespace penstock {

namespace {

constexpr std::size_t kMostRuleBytes = std::size_t{16} << 20;  ///< of one file

using Kinds = CallActionFacts::Kinds;
using TakenArgument = CallActionFacts::Argument;

constexpr CallActionFacts kActions[] = {
#define PS_CALL_ACTION(id, word, kinds, argument, meaning) \
  {word, Kinds::kinds, TakenArgument::argument, meaning},
#include "ir/call_actions.def"
#undef PS_CALL_ACTION
};

constexpr std::uint32_t kNone = ~std::uint32_t{0};

bool holds_for(CallAction action, CallableKind kind) {
  switch (facts(action).kinds) {
    case Kinds::all:
      return true;
    case Kinds::python:
      return kind == CallableKind::python;
    case Kinds::code:
      return kind == CallableKind::python || kind == CallableKind::type;
    case Kinds::c:
      return kind == CallableKind::c || kind == CallableKind::op;
    case Kinds::op:
      return kind == CallableKind::op;
  }
  return false;
}

bool is_name_character(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' ||
         c == '.' || c == '<' || c == '>' || static_cast<unsigned char>(c) >= 0x80;
}

/// A word of a line, with its place in it.
struct Word {
  std::string_view text;
  int column;
};

std::vector<Word> words_of(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r";
  std::vector<Word> words;
  for (std::size_t at = line.find_first_not_of(kBlanks); at != std::string_view::npos;
       at = line.find_first_not_of(kBlanks, at)) {
    const std::size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
    words.push_back({line.substr(at, end - at), static_cast<int>(at)});
    at = end;
  }
  return words;
}

/// Reads the lines of one file.
class RuleReader {
 public:
  RuleReader(const std::string& path, bool built_in)
      : path_(path), file_(std::filesystem::path(path).filename().string()), built_in_(built_in) {}

  Result<void> read(std::string_view line, int number, std::vector<CallRule>& rules) {
    line_ = number;
    if (line.find('\0') != std::string_view::npos)
      return wrong({line, 0}, "a rule file is text", "");
    std::vector<Word> words = words_of(line);
    const auto comment =
        std::ranges::find_if(words, [](const Word& word) { return word.text[0] == '#'; });
    words.erase(comment, words.end());
    if (words.empty()) return {};
    CallRule rule;
    rule.file = file_;
    rule.line = number;
    rule.built_in = built_in_;
    std::size_t next = 0;
    if (auto read = action(words, next, rule); !read) return read;
    const auto colon = std::ranges::find(words, std::string_view(":"), &Word::text);
    if (colon != words.end() && colon + 1 != words.end()) {
      const Word& first = colon[1];
      const Word& last = words.back();
      rule.reason = line.substr(first.column, last.column + last.text.size() - first.column);
    }
    words.erase(colon, words.end());
    if (next >= words.size()) {
      return wrong(words.back(), "the rule names nothing that it is for",
                   "Write names behind it, as in `" + std::string(facts(rule.action).word) +
                       " mymodule.f`.");
    }
    for (; next < words.size(); ++next) {
      if (auto good = check_pattern(words[next]); !good) return good;
      rule.pattern = words[next].text;
      rules.push_back(rule);
    }
    return {};
  }

 private:
  Result<void> action(const std::vector<Word>& words, std::size_t& next, CallRule& rule) {
    const auto row = std::ranges::find(kActions, words[0].text, &CallActionFacts::word);
    const bool known = row != std::end(kActions);
    if (!known || (row->argument == TakenArgument::handler && !built_in_)) {
      std::string all;
      for (const CallActionFacts& one : kActions) {
        if (one.argument == TakenArgument::handler) continue;
        all += (all.empty() ? "" : ", ") + std::string(one.word);
      }
      const std::string word(words[0].text);
      return wrong(words[0],
                   known ? "'" + word + "' needs code of penstock's behind it"
                         : "no action is called '" + word + "'",
                   "A rule begins with one of " + all + ".");
    }
    rule.action = static_cast<CallAction>(row - std::begin(kActions));
    next = 1;
    if (row->argument == TakenArgument::nothing || words.size() < 2) return {};
    if (row->argument == TakenArgument::handler) {
      rule.code = Code::PS0306;
      rule.handler = words[1].text;
      next = 2;
    }
    return next < words.size() ? code(words[next], next, rule) : Result<void>();
  }

  /// The diagnostic's code that a rule may name before its patterns.
  Result<void> code(const Word& word, std::size_t& next, CallRule& rule) {
    const std::string argument(word.text);
    if (!argument.starts_with("PS")) return {};
    const CodeFacts* code = find_code(argument);
    if (code == nullptr || !argument.starts_with("PS03")) {
      return wrong(word, argument + " is no code of a break",
                   "Name one of PS0301 to PS0312 (`penstock explain all`), or none.");
    }
    rule.code = code->code;
    ++next;
    return {};
  }

  Result<void> check_pattern(const Word& word) const {
    const std::size_t star = word.text.find('*');
    const bool attribute = word.text.starts_with('.');
    if (attribute &&
        (word.text.size() == 1 || word.text.find_first_of(".*", 1) != std::string_view::npos)) {
      return wrong(word, "'" + std::string(word.text) + "' is no attribute",
                   "Write an attribute of functions as ._is_constant.");
    }
    if (star != std::string_view::npos && star + 1 != word.text.size()) {
      return wrong(word, "'*' stands inside '" + std::string(word.text) + "'",
                   "A '*' may stand at the end of a name, for all that begin so.");
    }
    if (!std::ranges::all_of(word.text.substr(0, star), is_name_character)) {
      return wrong(word, "'" + std::string(word.text) + "' is no dotted name",
                   "Write names as mymodule.MyClass.method; a reason stands behind ` : `.");
    }
    return {};
  }

  tl::unexpected<Diagnostic> wrong(const Word& word, std::string message, std::string hint) const {
    auto failed = failure(Code::PS0101, std::move(message));
    const int end = word.column + static_cast<int>(word.text.size());
    failed.value().location = Location{path_, line_, word.column, line_, end};
    failed.value().hint = std::move(hint);
    return failed;
  }

  const std::string& path_;
  std::string file_;
  bool built_in_;
  int line_ = 0;
};

}  // namespace

const CallActionFacts& facts(CallAction action) {
  return kActions[static_cast<std::size_t>(action)];
}

std::string CallRule::text() const {
  const std::string own = std::string(facts(action).word) + " " + pattern;
  return built_in ? own : file + ":" + std::to_string(line) + ": " + own;
}

std::string CallRule::reason_for(std::string_view name) const {
  if (reason.empty()) return "a rule leaves " + std::string(name) + " to Python";
  std::string out = reason;
  if (const std::size_t at = out.find("NAME"); at != std::string::npos) out.replace(at, 4, name);
  return out;
}

Result<void> CallRules::add(std::string_view text, const std::string& path, bool built_in) {
  RuleReader reader(path, built_in);
  std::vector<CallRule> added;
  int number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (auto read = reader.read(text.substr(0, end), ++number, added); !read) return read;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  for (CallRule& rule : added) {
    rules_.push_back(std::move(rule));
    index(static_cast<std::uint32_t>(rules_.size() - 1));
  }
  return {};
}

Result<void> CallRules::add_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path))
    return failure(Code::PS0102, "cannot read the rule file " + path);
  std::string text;
  char piece[std::size_t{1} << 16];
  while (file.read(piece, sizeof piece) || file.gcount() > 0) {
    text.append(piece, static_cast<std::size_t>(file.gcount()));
    // A device may never end.
    if (text.size() > kMostRuleBytes) {
      return failure(Code::PS0102, "cannot read the rule file " + path + ": it is longer than " +
                                       std::to_string(kMostRuleBytes >> 20) + " MiB");
    }
  }
  if (file.bad()) return failure(Code::PS0102, "cannot read the rule file " + path);
  return add(text, path, false);
}

void CallRules::index(std::uint32_t position) {
  const std::string& pattern = rules_[position].pattern;
  if (!pattern.ends_with('*')) {
    Positions& same = exact_[pattern];
    if (pattern.starts_with('.') && same.empty()) attributes_.push_back(pattern);
    same.push_back(position);
    return;
  }
  const std::size_t length = pattern.size() - 1;
  prefixes_[pattern.substr(0, length)].push_back(position);
  if (std::ranges::find(prefix_lengths_, length) == prefix_lengths_.end())
    prefix_lengths_.push_back(length);
}

void CallRules::consider(const std::unordered_map<std::string, Positions>& table,
                         const std::string& key, CallableKind kind, std::uint32_t& best) const {
  const auto found = table.find(key);
  if (found == table.end()) return;
  for (const std::uint32_t position : found->second) {
    if (position >= best) return;
    if (holds_for(rules_[position].action, kind)) best = position;
  }
}

const CallRule* CallRules::find(std::span<const std::string> names, CallableKind kind) const {
  std::uint32_t best = kNone;
  for (const std::string& name : names) {
    consider(exact_, name, kind, best);
    for (const std::size_t length : prefix_lengths_) {
      if (length <= name.size()) consider(prefixes_, name.substr(0, length), kind, best);
    }
  }
  return best == kNone ? nullptr : &rules_[best];
}

}  // namespace penstock
