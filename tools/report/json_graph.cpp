#include "ir/argument_text.h"
#include "tools/report/json.h"

namespace penstock::report {

using Json = nlohmann::json;

/// Columns are left out where they are not known.
Json encode(const std::optional<Location>& location) {
  if (!location) return nullptr;
  return {{"file", location->file.text()},
          {"line", location->line},
          {"column", location->column},
          {"end_line", location->end_line},
          {"end_column", location->end_column}};
}

Json encode(const Shares& shares) {
  return {
      {"compiled", shares.compiled}, {"library", shares.library}, {"fallback", shares.fallback}};
}

namespace {

using report::encode;

/// Who makes each value: the position of a call, or -1 - the position of an input.
std::vector<std::int32_t> makers_of(const GraphEntry& graph) {
  std::vector<std::int32_t> makers(graph.value_names.size(), INT32_MIN);
  for (std::size_t i = 0; i < graph.interface.inputs.size() && i < makers.size(); ++i)
    makers[i] = -1 - static_cast<std::int32_t>(i);
  for (std::size_t i = 0; i < graph.calls.size(); ++i) {
    for_each_value(graph.calls[i].result, [&](ValueId id) {
      if (id < makers.size() && makers[id] == INT32_MIN) makers[id] = static_cast<std::int32_t>(i);
    });
  }
  return makers;
}

/// The frames of a call's stack, innermost first.
Json encode_stack(const CallStack& stack) {
  Json frames = Json::array();
  for (const StackFrame* frame = stack.get(); frame != nullptr; frame = frame->caller.get()) {
    frames.push_back({{"function", frame->function.text()}, {"location", encode(frame->location)}});
  }
  return frames;
}

Json encode_calls(const GraphEntry& graph) {
  const ValueName name = [&](ValueId id) {
    return id < graph.value_names.size() ? graph.value_names[id] : std::to_string(id);
  };
  const std::vector<std::int32_t> makers = makers_of(graph);
  Json calls = Json::array();
  for (const Call& call : graph.calls) {
    Json args = Json::array(), kwargs = Json::array(), reads = Json::array();
    const auto read = [&](ValueId id) {
      if (id < makers.size() && makers[id] != INT32_MIN) reads.push_back(makers[id]);
    };
    for (const Argument& argument : call.args) {
      args.push_back(to_string(argument, name));
      for_each_value(argument, read);
    }
    for (const NamedArgument& argument : call.kwargs) {
      kwargs.push_back({{"name", argument.name}, {"value", to_string(argument.value, name)}});
      for_each_value(argument.value, read);
    }
    Json location = call.stack == nullptr ? Json(nullptr) : encode(call.stack->location);
    calls.push_back({{"opcode", call.opcode},
                     {"name", call.name},
                     {"target", call.target},
                     {"args", args},
                     {"kwargs", kwargs},
                     {"reads", reads},
                     {"stack", encode_stack(call.stack)},
                     {"location", location}});
  }
  return calls;
}

/// The paths that guards read, each step with the position of the path that it goes on from.
Json encode_paths(const SourceTable& sources) {
  Json paths = Json::array();
  for (SourceId id = 0; id < sources.size(); ++id) {
    const SourceId base = sources[id].base;
    const std::string text = sources.text(id);
    const std::string before = base == kNoSource ? std::string() : sources.text(base);
    const bool follows = !before.empty() && text.starts_with(before);
    paths.push_back({{"text", follows ? text.substr(before.size()) : text},
                     {"base", base == kNoSource ? -1 : static_cast<std::int64_t>(base)}});
  }
  return paths;
}

Json encode_guards(const Interface& interface) {
  Json guards = Json::array();
  for (const Guard& guard : interface.guards) {
    guards.push_back(
        {{"kind", facts(guard.kind).name},
         {"text", to_string(guard, interface.sources)},
         {"path", guard.source == kNoSource ? -1 : static_cast<std::int64_t>(guard.source)},
         {"cost", facts(guard.kind).cost},
         {"location", encode(guard.location)}});
  }
  return guards;
}

Json encode(const StepEntry& step) {
  return {{"name", step.name},
          {"place", step.place},
          {"calls", step.calls},
          {"buffers", step.buffers},
          {"text", step.text},
          {"reason", step.reason},
          {"assembly", step.assembly},
          {"flops", step.flops},
          {"bytes", step.bytes},
          {"nanoseconds", step.nanoseconds},
          {"percent_of_roof", step.percent_of_roof}};
}

Json encode(const BufferEntry& buffer) {
  return {{"name", buffer.name},     {"kind", buffer.kind},   {"type", buffer.type},
          {"offset", buffer.offset}, {"bytes", buffer.bytes}, {"first", buffer.first},
          {"last", buffer.last}};
}

Json encode(const PassEntry& pass) {
  return {{"stage", pass.stage},
          {"name", pass.name},
          {"summary", pass.summary},
          {"nanoseconds", pass.nanoseconds},
          {"changed", pass.changed},
          {"lines", pass.lines},
          {"removed_lines", pass.removed_lines},
          {"added_lines", pass.added_lines},
          {"removed", pass.removed},
          {"added", pass.added}};
}

template <class Row>
Json encode_all(const std::vector<Row>& rows) {
  Json list = Json::array();
  for (const Row& row : rows) list.push_back(encode(row));
  return list;
}

}  // namespace

Json encode(const GraphEntry& graph) {
  const Interface& interface = graph.interface;
  Json inputs = Json::array();
  for (const Input& input : interface.inputs) {
    inputs.push_back(
        {{"name", input.name}, {"kind", to_string(input.kind)}, {"type", to_string(input.type)}});
  }
  return {{"id", to_string(interface.id)},
          {"name", interface.name},
          {"level", to_string(graph.level)},
          {"after", interface.after},
          {"ends", interface.end.code},
          {"location", encode(interface.location)},
          {"capture_ns", interface.capture_ns},
          {"ops", graph.ops},
          {"calls", encode_calls(graph)},
          {"guards", encode_guards(interface)},
          {"paths", encode_paths(interface.sources)},
          {"inputs", inputs},
          {"outputs", graph.outputs},
          {"shares", graph.shares ? encode(*graph.shares) : Json(nullptr)},
          {"not_placed", graph.not_placed},
          {"steps", encode_all(graph.stages.steps)},
          {"buffers", encode_all(graph.stages.buffers)},
          {"passes", encode_all(graph.stages.passes)},
          {"arena_bytes", graph.stages.arena_bytes},
          {"no_steps", graph.stages.not_made}};
}

}  // namespace penstock::report
