#include "tools/common/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "tools/common/describe.h"
#include "tools/common/spelling.h"

namespace penstock::tools {

struct CommandLine::State {
  Tool tool;
  std::vector<PassFacts> passes;
  std::string group = "Options";
  std::vector<std::string>* positionals = nullptr;
  bool program = false;
  bool has_program = false;
  bool has_separator = false;
  std::vector<std::string>* python_options = nullptr;
  bool (*is_program)(const std::string&) = nullptr;
  CLI::App app;

  CLI::Option* placed(CLI::Option* option, const std::string& placeholder) {
    option->group(group);
    if (!placeholder.empty()) option->type_name(placeholder);
    return option;
  }
};

CommandLine::CommandLine(Tool tool) : state_(std::make_unique<State>()) {
  state_->tool = std::move(tool);
  state_->app.name(state_->tool.program());
  state_->app.description(state_->tool.summary);
  state_->app.set_help_flag();  // --help is one of the shared options, printed by help()
  state_->app.allow_extras();   // told apart in parse(), where the nearest spelling is known
}

CommandLine::~CommandLine() = default;
CommandLine::CommandLine(CommandLine&&) noexcept = default;

void CommandLine::group(std::string title) {
  state_->group = std::move(title);
}

void CommandLine::flag(const std::string& names, bool& target, const std::string& help) {
  state_->placed(state_->app.add_flag(names, target, help), "");
}

void CommandLine::text(const std::string& names, std::string& target,
                       const std::string& placeholder, const std::string& help) {
  state_->placed(state_->app.add_option(names, target, help), placeholder);
}

void CommandLine::texts(const std::string& names, std::vector<std::string>& target,
                        const std::string& placeholder, const std::string& help) {
  state_->placed(state_->app.add_option(names, target, help), placeholder)->allow_extra_args(false);
}

namespace {

/// Accepts what reads as a whole T of at least `least`, and not as infinite.
template <class T>
CLI::Validator number_from(T least, const char* kind) {
  auto check = [least, kind](std::string& text) {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool read = error == std::errc() && end == text.data() + text.size();
    if (read && value >= least && value <= std::numeric_limits<T>::max()) return std::string{};
    return fmt::format("'{}' is no {} of at least {}", text, kind, least);
  };
  return CLI::Validator(check, "");
}

}  // namespace

void CommandLine::integer(const std::string& names, int& target, const std::string& placeholder,
                          const std::string& help, int least) {
  state_->placed(state_->app.add_option(names, target, help), placeholder)
      ->check(number_from(least, "whole number"));
}

void CommandLine::real(const std::string& names, double& target, const std::string& placeholder,
                       const std::string& help) {
  state_->placed(state_->app.add_option(names, target, help), placeholder)
      ->check(number_from(0.0, "number"));
}

namespace {

/// Accepts one of `words`, and offers the nearest for another.
CLI::Validator one_of(const std::vector<std::string>& words, const std::string& all) {
  auto check = [words, all](std::string& value) {
    if (std::find(words.begin(), words.end(), value) != words.end()) return std::string{};
    std::string near = nearest_word(value, words);
    return near.empty()
               ? fmt::format("'{}' is not one of {}", value, all)
               : fmt::format("'{}' is not one of {}; did you mean '{}'?", value, all, near);
  };
  return CLI::Validator(check, "");
}

}  // namespace

void CommandLine::choice(const std::string& names, std::string& target,
                         const std::vector<std::string>& words, const std::string& help) {
  const std::string all = fmt::format("{}", fmt::join(words, "|"));
  state_->placed(state_->app.add_option(names, target, help), all)->check(one_of(words, all));
}

void CommandLine::optional_choice(const std::string& names, std::string& target,
                                  const std::vector<std::string>& words, const std::string& implied,
                                  const std::string& help) {
  const std::string all = fmt::format("{}", fmt::join(words, "|"));
  // A flag with values: CLI11 gives it what stands behind `=` and never the next word.
  auto check = one_of(words, all);
  state_->placed(state_->app.add_flag(names + "{" + implied + "}", target, help), "[" + all + "]")
      ->check(check);
}

void CommandLine::positionals(std::vector<std::string>& target) {
  state_->positionals = &target;
}

void CommandLine::program(std::vector<std::string>& target) {
  state_->positionals = &target;
  state_->program = true;
}

void CommandLine::program_if(bool (*is_program)(const std::string& word)) {
  state_->is_program = is_program;
}

bool CommandLine::has_program() const {
  return state_->has_program;
}

bool CommandLine::has_separator() const {
  return state_->has_separator;
}

namespace {

/// A row of python_options.def.
struct PythonOption {
  char letter;
  std::string_view value;
  std::string_view help;
};
constexpr PythonOption kPythonOptions[] = {
#define PS_PYTHON_OPTION(letter, value, help) {letter, value, help},
#include "tools/common/python_options.def"
#undef PS_PYTHON_OPTION
};

/// The heading of python's options in help.
constexpr const char* kPythonGroup = "Python";

const PythonOption* find_python_option(char letter) {
  auto row = std::find_if(std::begin(kPythonOptions), std::end(kPythonOptions),
                          [&](const PythonOption& option) { return option.letter == letter; });
  return row == std::end(kPythonOptions) ? nullptr : row;
}

}  // namespace

void CommandLine::python_options(std::vector<std::string>& target) {
  state_->python_options = &target;
  group(kPythonGroup);
  for (const PythonOption& option : kPythonOptions) {
    const std::string name{'-', option.letter}, help(option.help);
    // parse() has taken them before CLI11 looks; here they are for help and --describe.
    if (option.value.empty()) {
      state_->placed(state_->app.add_flag(name, help), "");
    } else {
      state_->placed(state_->app.add_option(name, help), std::string(option.value))
          ->allow_extra_args(true);
    }
  }
}

void CommandLine::passes(std::span<const PassFacts> rows) {
  state_->passes.insert(state_->passes.end(), rows.begin(), rows.end());
}

namespace {

tl::unexpected<Diagnostic> usage(std::string message, std::string hint) {
  return tl::unexpected(Diagnostic{
      Code::PS0101, std::move(message), std::nullopt, {}, std::move(hint), Severity::error});
}

/// All spellings of all options, with their dashes.
std::vector<std::string> spellings(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

/// What a word means where python's options may stand.
enum class PythonWord : std::uint8_t {
  no,       ///< it is none of python's options
  whole,    ///< options, all in this word
  open,     ///< the next word is its last option's value
  program,  ///< it ends with -m or -c, behind which the program stands
};

PythonWord python_word(const std::string& word) {
  if (word.size() < 2 || word[0] != '-') return PythonWord::no;
  for (std::size_t at = 1; at < word.size(); ++at) {
    if (word[at] == 'm' || word[at] == 'c') return PythonWord::program;
    const PythonOption* option = find_python_option(word[at]);
    if (option == nullptr) return PythonWord::no;
    if (!option->value.empty()) return at + 1 < word.size() ? PythonWord::whole : PythonWord::open;
  }
  return PythonWord::whole;
}

/// The arguments of a tool that runs programs.
struct Split {
  std::vector<std::string> own;      ///< our options, and files where there is no program
  std::vector<std::string> python;   ///< python's options
  std::vector<std::string> program;  ///< `--`, or the program's first word, and all behind it
};

/// The user's program starts at the first word that is neither an option nor an option's value, -m
/// and -c among them. A first word that is no program means that there is none, unless options of
/// python's stand before it.
Split split(const CLI::App& app, const std::vector<std::string>& arguments, bool with_python,
            bool (*is_program)(const std::string&)) {
  Split out;
  std::size_t at = 0;
  for (; at < arguments.size(); ++at) {
    const std::string& argument = arguments[at];
    const bool is_option = argument.size() >= 2 && argument[0] == '-';
    if (!is_option && is_program != nullptr && out.python.empty() && !is_program(argument)) break;
    const PythonWord python = with_python ? python_word(argument) : PythonWord::no;
    if (!is_option || argument == "--" || argument == "-m" || argument == "-c" ||
        python == PythonWord::program) {
      out.program.assign(arguments.begin() + static_cast<std::ptrdiff_t>(at), arguments.end());
      return out;
    }
    std::vector<std::string>& target = python == PythonWord::no ? out.own : out.python;
    target.push_back(argument);
    bool takes_value = python == PythonWord::open;
    if (python == PythonWord::no && argument.find('=') == std::string::npos) {
      const CLI::Option* option = app.get_option_no_throw(argument);
      takes_value = option != nullptr && option->get_expected_max() > 0;
    }
    if (takes_value && at + 1 < arguments.size()) target.push_back(arguments[++at]);
  }
  out.own.insert(out.own.end(), arguments.begin() + static_cast<std::ptrdiff_t>(at),
                 arguments.end());
  return out;
}

}  // namespace

Result<void> CommandLine::parse(int argc, char** argv) {
  std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  std::vector<std::string> tail;
  if (state_->program) {
    Split parts =
        split(state_->app, arguments, state_->python_options != nullptr, state_->is_program);
    arguments = std::move(parts.own);
    tail = std::move(parts.program);
    state_->has_separator = !tail.empty() && tail.front() == "--";
    if (state_->has_separator) tail.erase(tail.begin());
    state_->has_program = !tail.empty();
    if (!parts.python.empty() && tail.empty()) {
      return usage(fmt::format("{} is an option of python's, but no program stands behind it",
                               parts.python.front()),
                   "Name the program, or - to read it from standard input.");
    }
    if (state_->python_options != nullptr) *state_->python_options = std::move(parts.python);
  }
  try {
    std::reverse(arguments.begin(), arguments.end());  // CLI11 reads its vector from the back
    state_->app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    return usage(error.what(), "");
  }
  for (const CLI::Option* option : state_->app.get_options()) {
    // What reaches CLI11 shares a dash with an option of ours: nobody would hand it to python.
    if (option->get_group() == kPythonGroup && option->count() > 0) {
      const std::string name = option->get_name();
      return usage(
          fmt::format("{} is an option of python's: write it apart from those of penstock", name),
          "");
    }
  }
  std::vector<std::string> rest = state_->app.remaining(false);
  bool options_ended = false;
  std::vector<std::string> names;
  for (std::string& argument : rest) {
    if (!options_ended && argument == "--") {
      options_ended = true;
      continue;
    }
    if (!options_ended && argument.size() > 1 && argument[0] == '-') {
      std::string name = argument.substr(0, argument.find('='));
      std::string near = nearest_word(name, spellings(state_->app));
      return usage(fmt::format("unknown option {}", name),
                   near.empty() ? "" : fmt::format("Did you mean {}?", near));
    }
    names.push_back(std::move(argument));
  }
  names.insert(names.end(), tail.begin(), tail.end());
  if (!names.empty() && state_->positionals == nullptr) {
    return usage(fmt::format("unexpected argument {}", names.front()), "");
  }
  if (state_->positionals != nullptr) *state_->positionals = std::move(names);
  return {};
}

std::string CommandLine::option_behind_program(std::span<const std::string_view> groups) const {
  const std::vector<std::string>& words = *state_->positionals;
  for (std::size_t at = 1; state_->has_program && at < words.size(); ++at) {
    if (words[at] == "--") break;
    const std::string name = words[at].substr(0, words[at].find('='));
    if (name.size() < 2 || name[0] != '-') continue;
    const CLI::Option* option = state_->app.get_option_no_throw(name);
    if (option == nullptr || option->count() > 0) continue;
    if (std::find(groups.begin(), groups.end(), option->get_group()) != groups.end()) return name;
  }
  return {};
}

const Tool& CommandLine::tool() const {
  return state_->tool;
}
const std::vector<PassFacts>& CommandLine::passes() const {
  return state_->passes;
}

std::string CommandLine::help(int width, std::string_view epilogue) const {
  return help_text(state_->app, state_->tool, width, epilogue);
}

std::string CommandLine::describe() const {
  return describe_json(state_->app, state_->tool, state_->passes);
}

}  // namespace penstock::tools
