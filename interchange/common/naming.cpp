#include "interchange/common/naming.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "ir/export_contract.h"

namespace penstock::interchange {

namespace {

/// Where a module keeps what its attributes stand for.
constexpr std::array<std::string_view, 4> kTables = {"__dict__", "_modules", "_parameters",
                                                     "_buffers"};
constexpr std::size_t kDeepest = 64;

bool is_table(std::string_view name) {
  return std::ranges::find(kTables, name) != kTables.end();
}

/// The name of one step on the way to a module's tensor; empty for one that has no name there.
std::string step_name(const SourceStep& step) {
  switch (step.kind) {
    case SourceKind::attribute:
    case SourceKind::instance:
      return is_table(step.name) ? "" : step.name;
    case SourceKind::item:
      return fmt::format("{}", step.index);
    case SourceKind::dict_item: {
      const auto* text = step.key.as<std::string>();
      return text == nullptr || is_table(*text) ? "" : *text;
    }
    default:
      return "";
  }
}

}  // namespace

std::string Names::fresh(std::string_view stem) {
  std::string name(stem.empty() ? "value" : stem);
  if (taken_.insert(name).second) return name;
  int& next = next_[name];
  std::string numbered;
  do numbered = fmt::format("{}.{}", name, ++next);
  while (!taken_.insert(numbered).second);
  return numbered;
}

std::string name_of_input(const Interface& interface, const Input& input) {
  if (is_argument(interface, input) || input.source == kNoSource) return input.name;
  std::vector<std::string> steps;
  for (SourceId at = input.source; at != kNoSource && steps.size() < kDeepest;
       at = interface.sources[at].base) {
    if (std::string name = step_name(interface.sources[at]); !name.empty())
      steps.push_back(std::move(name));
  }
  std::ranges::reverse(steps);
  return steps.empty() ? input.name : fmt::format("{}", fmt::join(steps, "."));
}

}  // namespace penstock::interchange
