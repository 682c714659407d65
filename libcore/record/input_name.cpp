#include "record/input_name.h"

#include <cctype>

namespace penstock::record {

std::string input_name(const SourceTable& sources, SourceId id) {
  const SourceStep& step = sources[id];
  if (step.kind == SourceKind::computed) {
    const bool first = sources[step.base].kind != SourceKind::number || step.other == kNoSource;
    return input_name(sources, first ? step.base : step.other);
  }
  std::string own = step.name;
  if (step.kind == SourceKind::item) own = std::to_string(step.index);
  if (step.kind == SourceKind::stack) own = "stack_" + std::to_string(step.index);
  if (auto* key = step.key.as<std::string>(); step.kind == SourceKind::dict_item && key) own = *key;
  std::string base = step.base == kNoSource ? std::string() : input_name(sources, step.base);
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
