#include "record/input_name.h"

#include <cctype>

namespace penstock::record {

namespace {

bool is_local(const SourceTable& sources, SourceId id, const std::string& name) {
  return id != kNoSource && sources[id].kind == SourceKind::local && sources[id].name == name;
}

/// The name of an item of the *args or **kwargs that `arguments` tells of; null for all else.
const std::string* argument_name(const SourceTable& sources, const SourceStep& step,
                                 const policy::ShownArguments& arguments) {
  if (arguments.positional.empty()) return nullptr;
  if (step.kind == SourceKind::item && is_local(sources, step.base, arguments.positional)) {
    const auto index = static_cast<std::size_t>(step.index);
    return index < arguments.items.size() ? &arguments.items[index] : nullptr;
  }
  const bool is_keyword = step.kind == SourceKind::dict_item && !arguments.keywords.empty() &&
                          is_local(sources, step.base, arguments.keywords);
  return is_keyword ? step.key.as<std::string>() : nullptr;
}

}  // namespace

std::string input_name(const SourceTable& sources, SourceId id,
                       const policy::ShownArguments& arguments) {
  const SourceStep& step = sources[id];
  if (step.kind == SourceKind::computed) {
    const bool first = sources[step.base].kind != SourceKind::number || step.other == kNoSource;
    return input_name(sources, first ? step.base : step.other, arguments);
  }
  std::string own = step.name;
  if (step.kind == SourceKind::item) own = std::to_string(step.index);
  if (step.kind == SourceKind::stack) own = "stack_" + std::to_string(step.index);
  if (auto* key = step.key.as<std::string>(); step.kind == SourceKind::dict_item && key) own = *key;
  if (step.kind == SourceKind::dict_item && step.other != kNoSource)
    own = input_name(sources, step.other, arguments);
  const std::string* known = argument_name(sources, step, arguments);
  if (known != nullptr) own = *known;
  const bool alone = known != nullptr || step.base == kNoSource;
  const std::string base = alone ? std::string() : input_name(sources, step.base, arguments);
  // The dicts in which modules keep things say nothing to a reader.
  if (own == "_parameters" || own == "_modules" || own == "_buffers" || own == "__dict__") own = "";
  std::string name = base;
  if (!own.empty()) name += (name.empty() ? "" : "_") + own;
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) name = "input_" + name;
  return name;
}

}  // namespace penstock::record
