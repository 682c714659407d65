#include "formats/dot.h"

#include <fmt/format.h>

#include <iterator>

#include "formats/diff.h"

namespace penstock::formats {

namespace {

/// `text` for a quoted string of the DOT language.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out + '"';
}

}  // namespace

std::string to_dot(const GraphDocument& document) {
  const Interface& interface = interface_of(document);
  // What is compared is what is drawn; things that nothing flows through (guards) are left out.
  DiffItems items = diff_items(document);
  std::vector<bool> drawn(items.size(), false);
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i < interface.inputs.size() || !items[i].operands.empty()) drawn[i] = true;
    for (DiffItem::Operand operand : items[i].operands) {
      if (operand.item >= 0) drawn[static_cast<std::size_t>(operand.item)] = true;
    }
  }
  std::string out =
      fmt::format("digraph {} {{\n  node [shape=box, fontname=\"sans-serif\"];\n",
                  quoted(fmt::format("[{}] {}", to_string(interface.id), interface.name)));
  auto line = std::back_inserter(out);
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!drawn[i]) continue;
    bool is_input = i < interface.inputs.size();
    fmt::format_to(line, "  n{} [label={}{}];\n", i, quoted(items[i].title),
                   is_input ? ", shape=ellipse" : "");
    for (DiffItem::Operand operand : items[i].operands) {
      if (operand.item >= 0) fmt::format_to(line, "  n{} -> n{};\n", operand.item, i);
    }
  }
  return out + "}\n";
}

}  // namespace penstock::formats
