#include "tools/common/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
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

void CommandLine::integer(const std::string& names, int& target, const std::string& placeholder,
                          const std::string& help) {
  state_->placed(state_->app.add_option(names, target, help), placeholder);
}

void CommandLine::real(const std::string& names, double& target, const std::string& placeholder,
                       const std::string& help) {
  state_->placed(state_->app.add_option(names, target, help), placeholder);
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

/// Where the user's program starts among the arguments: the index of the first one that is neither
/// an option of ours nor an option's value; -m and -c start it too. A first word that is no program
/// means that there is none.
std::size_t program_start(const CLI::App& app, const std::vector<std::string>& arguments,
                          bool (*is_program)(const std::string&)) {
  std::size_t at = 0;
  for (; at < arguments.size(); ++at) {
    const std::string& argument = arguments[at];
    if (argument == "--" || argument == "-m" || argument == "-c") return at;
    if (argument.size() < 2 || argument[0] != '-') {
      return is_program == nullptr || is_program(argument) ? at : arguments.size();
    }
    if (argument.find('=') != std::string::npos) continue;
    const CLI::Option* option = app.get_option_no_throw(argument);
    bool takes_value = option != nullptr && option->get_expected_max() > 0;
    if (takes_value) ++at;
  }
  return std::min(at, arguments.size());
}

}  // namespace

Result<void> CommandLine::parse(int argc, char** argv) {
  std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  std::vector<std::string> tail;
  if (state_->program) {
    auto start = arguments.begin() + static_cast<std::ptrdiff_t>(
                                         program_start(state_->app, arguments, state_->is_program));
    tail.assign(start, arguments.end());
    arguments.erase(start, arguments.end());
    state_->has_program = !tail.empty();
    if (!tail.empty() && tail.front() == "--") tail.erase(tail.begin());
  }
  try {
    std::reverse(arguments.begin(), arguments.end());  // CLI11 reads its vector from the back
    state_->app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    return usage(error.what(), "");
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
