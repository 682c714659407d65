#include "tools/common/describe.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tools/common/build_facts.h"
#include "tools/common/exit_codes.h"

namespace penstock::tools {
namespace {

using Json = nlohmann::ordered_json;

/// The environment variables that every tool obeys; columns: name, meaning.
constexpr struct {
  const char* name;
  const char* meaning;
} kEnvironment[] = {
    {"NO_COLOR", "No colour when not empty."},
    {"FORCE_COLOR", "Colour even where there is no terminal."},
    {"COLUMNS", "The width of text for people."},
    {"PENSTOCK_COMPILE",
     "What penstock run takes --compile for when it is not given: auto or now."},
    {"PENSTOCK_PYTHON",
     "The Python to run programs with when --python names none; else the active environment's "
     "(VIRTUAL_ENV), else PATH's."},
    {"PENSTOCK_STORE", "The directory of the blob store, when --store does not name one."},
    {"PENSTOCK_TRACE",
     "A file that gets one timeline of all stages, programs and their children: Chrome trace "
     "events, "
     "for Perfetto."},
};

/// What stands for an option's value in help; in brackets if it may be left out; empty for a flag.
std::string placeholder(const CLI::Option& option) {
  std::string name = option.get_type_name();
  if (option.get_expected_max() > 0 || name.starts_with("[")) return name;
  return "";
}

/// "-o, --output=FILE"
std::string spelled(const CLI::Option& option) {
  std::string out;
  for (const std::string& name : option.get_snames()) out += (out.empty() ? "-" : ", -") + name;
  for (const std::string& name : option.get_lnames())
    out += (out.empty() ? "    --" : ", --") + name;
  std::string value = placeholder(option);
  if (value.starts_with("[")) {
    out += "[=" + value.substr(1);
  } else if (!value.empty()) {
    out += (option.get_lnames().empty() ? " " : "=") + value;
  }
  return out;
}

/// Appends `text` wrapped to `width`, every line but the first indented by `indent`.
void append_wrapped(std::string& out, const std::string& text, std::size_t indent,
                    std::size_t width) {
  std::size_t column = indent;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (column > indent && column + 1 + word.size() > width) {
      out += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  out += '\n';
}

/// The groups of the options in the order in which help shows them: the tool's own, those of
/// python, then those that all tools share.
std::vector<std::string> groups_of(const CLI::App& app) {
  std::vector<std::string> groups;
  for (const CLI::Option* option : app.get_options()) {
    const std::string& group = option->get_group();
    if (std::find(groups.begin(), groups.end(), group) == groups.end()) groups.push_back(group);
  }
  auto shared = [](const std::string& group) {
    return group == "Output" || group == "Passes" || group == "Messages" || group == "About";
  };
  auto first_shared = std::stable_partition(
      groups.begin(), groups.end(), [&](const std::string& group) { return !shared(group); });
  std::stable_partition(groups.begin(), first_shared,
                        [](const std::string& group) { return group != "Python"; });
  return groups;
}

Json describe_option(const CLI::Option& option) {
  Json names = Json::array();
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  Json out = {{"names", names}, {"help", option.get_description()}, {"group", option.get_group()}};
  std::string value = placeholder(option);
  if (value.empty()) return out;
  if (value.front() == '[') {
    out["optional"] = true;
    value = value.substr(1, value.size() - 2);
  }
  out["value"] = value;
  out["repeatable"] = option.get_expected_max() > 1;
  if (std::islower(static_cast<unsigned char>(value.front())) != 0) {
    Json words = Json::array();
    std::istringstream in(value);
    for (std::string word; std::getline(in, word, '|');) words.push_back(word);
    out["choices"] = words;
  }
  return out;
}

}  // namespace

std::string help_text(const CLI::App& app, const Tool& tool, int width, std::string_view epilogue) {
  constexpr std::size_t kIndent = 28;
  const std::size_t columns = std::clamp<std::size_t>(static_cast<std::size_t>(width), 60, 100);
  std::string out = fmt::format("{}: {}\n\nUsage: {} [OPTION]…{}{}\n", tool.program(), tool.summary,
                                tool.command(), tool.synopsis.empty() ? "" : " ", tool.synopsis);
  for (const std::string& group : groups_of(app)) {
    out += fmt::format("\n{}:\n", group);
    for (const CLI::Option* option : app.get_options()) {
      if (option->get_group() != group) continue;
      std::string head = "  " + spelled(*option);
      if (head.size() + 2 > kIndent) {
        out += head + '\n' + std::string(kIndent, ' ');
      } else {
        out += head + std::string(kIndent - head.size(), ' ');
      }
      append_wrapped(out, option->get_description(), kIndent, columns);
    }
  }
  out += epilogue;
  out += fmt::format("\nThe manual, with examples and the exit statuses: man {}\n", tool.program());
  return out;
}

std::string describe_json(const CLI::App& app, const Tool& tool,
                          const std::vector<PassFacts>& passes) {
  Json out = {
      {"tool", tool.name},           {"program", tool.program()},   {"version", kVersion},
      {"summary", tool.summary},     {"synopsis", tool.synopsis},   {"level_in", tool.level_in},
      {"level_out", tool.level_out}, {"options", Json::array()},    {"passes", Json::array()},
      {"exit_codes", Json::array()}, {"environment", Json::array()}};
  for (const CLI::Option* option : app.get_options()) {
    out["options"].push_back(describe_option(*option));
  }
  for (const PassFacts& pass : passes) {
    out["passes"].push_back({{"name", pass.name}, {"summary", pass.summary}});
  }
  for (const ExitFacts& row : exit_codes_of(tool.name)) {
    out["exit_codes"].push_back(
        {{"status", row.status}, {"name", row.name}, {"meaning", row.meaning}});
  }
  for (const auto& row : kEnvironment) {
    out["environment"].push_back({{"name", row.name}, {"meaning", row.meaning}});
  }
  return out.dump(2) + "\n";
}

}  // namespace penstock::tools
