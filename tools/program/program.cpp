#include "tools/program/program.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "ir/call_rules.h"

namespace penstock::tools {

void declare(CommandLine& command, ProgramOptions& options) {
  command.group("Program");
  command.text("--python", options.python, "PYTHON",
               "Run the program with PYTHON instead of the active environment's or PATH's.");
  command.texts("--only", options.only, "GLOB",
                "Capture only functions whose qualified name matches GLOB.");
  command.flag("--fullgraph", options.fullgraph,
               "Make every break an error that names the program's line.");
  command.choice(
      "--dynamic", options.dynamic, {"auto", "all", "off"},
      "Which sizes of tensors become symbols, so that one entry serves all of them: auto, those "
      "that "
      "were found to change and those that the program marks (torch._dynamo.mark_dynamic); all, "
      "every one of at least 2; off, none.");
  command.text("--rules", options.rules, "FILE",
               "Read rules on what to inline, leave to Python, or put in the graph, "
               "penstock-rules(5); they stand "
               "before those that come with penstock, and the first that matches wins.");
  command.text("--explain-rule", options.explain_rule, "NAME",
               "Run nothing; tell which rule is for the callable NAME (torch.nn.functional.relu, "
               "builtins.len, "
               "mymodule.f), what it means, and why. Imports the module that NAME names.");
  command.text("--store", options.store, "DIR", "Keep tensors in DIR.");
  command.flag("--no-tensors", options.no_tensors, "Record no tensors.");
  command.flag(
      "--deterministic", options.deterministic,
      "Choose nothing by measurement: every entry is used, and the same program on the same "
      "machine gives the same bits, whatever the number of threads.");
  command.flag(
      "--self-check", options.self_check,
      "Compare every inferred result with what the op really gave, and in process the first "
      "results of every compiled graph with those of torch's own ops.");
  command.flag("--strict", options.strict,
               "Fail where penstock would give up and let plain Python go on.");
}

std::map<std::string, std::string> settings_of(const Stage& stage, const ProgramOptions& options,
                                               std::string mode) {
  std::map<std::string, std::string> out = {{"mode", std::move(mode)},
                                            {"dynamic", options.dynamic}};
  auto set = [&](const char* key, const std::string& value) {
    if (!value.empty()) out[key] = value;
  };
  auto flag = [&](const char* key, bool value) { set(key, value ? "1" : ""); };
  auto path = [&](const char* key, const std::string& value) {
    std::error_code error;
    if (!value.empty()) set(key, std::filesystem::absolute(value, error).string());
  };
  set("only", fmt::format("{}", fmt::join(options.only, "\n")));
  set("dynamic-sizes", options.dynamic_sizes);
  path("rules", options.rules);
  path("store", options.store);
  flag("fullgraph", options.fullgraph);
  flag("strict", options.strict);
  flag("self-check", options.self_check);
  flag("deterministic", options.deterministic);
  flag("no-tensors", options.no_tensors);
  flag("quiet", stage.settings().quiet);
  flag("verbose", stage.settings().verbose);
  flag("time", stage.settings().time);
  flag("color", stage.color(STDERR_FILENO));
  return out;
}

Result<void> check_rules(const ProgramOptions& options) {
  std::error_code error;
  // A pipe is read once, by the program's process, which tells of it then.
  if (options.rules.empty() || std::filesystem::is_fifo(options.rules, error)) return {};
  CallRules rules;
  return rules.add_file(options.rules);
}

Result<void> explain_rule(Stage& stage, const ProgramOptions& options,
                          const std::vector<std::string>& words) {
  if (auto good = check_rules(options); !good) return good;
  auto output = stage.output();
  if (!output) return tl::unexpected(output.error());
  LaunchOptions launched;
  launched.python = options.python;
  launched.program = stage.settings().python;
  launched.program.insert(launched.program.end(), {"-c", "pass"});
  launched.settings = settings_of(stage, options, "explain");
  launched.settings["explain"] = options.explain_rule;
  if (!words.empty() && !words.front().starts_with('-')) {
    std::error_code error;
    const auto program = std::filesystem::absolute(words.front(), error);
    launched.settings["directory"] =
        (is_directory(program, error) ? program : program.parent_path()).string();
  }
  launched.output = (*output)->descriptor();
  auto outcome = launch(launched);
  if (!outcome) return tl::unexpected(outcome.error());
  return {};
}

}  // namespace penstock::tools
