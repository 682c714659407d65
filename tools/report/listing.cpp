#include "tools/report/listing.h"

#include <fmt/format.h>

#include <map>
#include <tuple>

#include "ir/argument_text.h"

namespace penstock::report {

namespace {

/// What the program does not pass itself: many, and of little news.
bool is_given(const Input& input) {
  return input.kind == InputKind::parameter || input.kind == InputKind::buffer ||
         input.kind == InputKind::constant;
}

void add_inputs(const std::vector<Input>& inputs, Table& table) {
  for (std::size_t at = 0; at < inputs.size();) {
    std::size_t end = at + 1;
    while (end < inputs.size() && is_given(inputs[at]) && inputs[end].kind == inputs[at].kind)
      ++end;
    const std::size_t count = end - at;
    if (count == 1) {
      table.add({"placeholder", inputs[at].name, to_string(inputs[at].type), "()", "{}"});
    } else {
      table.add({"placeholder", fmt::format("{} … {}", inputs[at].name, inputs[end - 1].name),
                 fmt::format("{} {}s", count, to_string(inputs[at].kind)), "()", "{}"});
    }
    at = end;
  }
}

}  // namespace

Table listing(const GraphEntry& graph) {
  ValueName name = [&](ValueId id) {
    return id < graph.value_names.size() ? graph.value_names[id] : fmt::format("%{}", id);
  };
  Table table({"opcode", "name", "target", "args", "kwargs"});
  add_inputs(graph.interface.inputs, table);
  for (const Call& call : graph.calls) {
    std::string args =
        to_string(Argument(Argument::Sequence{Argument::Sequence::Kind::tuple, call.args}), name);
    std::string kwargs = "{";
    for (const NamedArgument& argument : call.kwargs) {
      if (kwargs.size() > 1) kwargs += ", ";
      kwargs += quote(argument.name) + ": " + to_string(argument.value, name);
    }
    table.add({call.opcode, call.name, call.target, args, kwargs + "}"});
  }
  std::string outputs;
  for (const std::string& output : graph.outputs) {
    outputs += (outputs.empty() ? "" : ", ") + output;
  }
  table.add({"output", "output", "output", "(" + outputs + ")", "{}"});
  return table;
}

std::vector<std::vector<std::size_t>> segments_of(const Report& report) {
  std::vector<std::vector<std::size_t>> segments;
  std::map<std::tuple<std::int32_t, std::string, GraphRole>, std::size_t> known;
  for (std::size_t i = 0; i < report.graphs.size(); ++i) {
    const Interface& interface = report.graphs[i].interface;
    const auto [found, fresh] = known.try_emplace(
        {interface.id.frame, interface.name, interface.training.role}, segments.size());
    if (fresh) segments.emplace_back();
    segments[found->second].push_back(i);
  }
  return segments;
}

std::string difference_from(const GraphEntry& first, const GraphEntry& graph) {
  std::map<std::string, std::string> types;
  for (const Input& input : first.interface.inputs) types[input.name] = to_string(input.type);
  std::string text;
  for (const Input& input : graph.interface.inputs) {
    const std::string type = to_string(input.type);
    const auto found = types.find(input.name);
    if (found != types.end() && found->second == type) continue;
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", input.name, type);
  }
  bool same = first.calls.size() == graph.calls.size();
  for (std::size_t i = 0; same && i < graph.calls.size(); ++i)
    same = first.calls[i].target == graph.calls[i].target;
  if (!same) text += text.empty() ? "other calls" : "; other calls";
  return text.empty() ? "the same calls and types" : text;
}

}  // namespace penstock::report
