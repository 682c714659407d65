#include "ir/interface.h"

#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>

#include "formats/json/codec.h"

namespace penstock::formats {

namespace {

constexpr std::string_view kEnds[] = {"returned", "broke", "loop", "raised"};
static_assert(std::size(kEnds) == static_cast<int>(SegmentEnd::Kind::raised) + 1);

Json encode_slots(const SourceTable& sources) {
  Json slots = Json::array();
  for (SourceId id = 0; id < sources.size(); ++id) {
    const SourceStep& step = sources[id];
    if (step.kind != SourceKind::local && step.kind != SourceKind::cell) continue;
    slots.push_back(Json{{"source", sources.text(id)}, {"slot", step.index}});
  }
  return slots;
}

void decode_slot(const Field& field, SourceTable& sources) {
  Record record(field);
  Field text = record.required("source");
  auto slot = record.required("slot").integer();
  SourceId id = decode_source(text, sources);
  if (id == kNoSource) return;
  SourceStep step = sources[id];
  if (step.kind != SourceKind::local && step.kind != SourceKind::cell) {
    text.fail("only local variables and cells have slots");
    return;
  }
  step.index = slot;
  sources.intern(std::move(step));
}

Json encode_symbol(const Symbol& symbol, const SourceTable& sources) {
  Json out{{"name", symbol.name}, {"minimum", symbol.minimum}};
  if (symbol.source != kNoSource) out["source"] = sources.text(symbol.source);
  if (symbol.maximum != INT64_MAX) out["maximum"] = symbol.maximum;
  if (symbol.hint) out["hint"] = *symbol.hint;
  return out;
}

Symbol decode_symbol(const Field& field, SourceTable& sources) {
  Record record(field);
  Symbol symbol;
  symbol.name = record.required("name").text();
  if (SymExpr::symbol(symbol.name).symbol_name().empty() || symbol.name.empty()) {
    field.fail("a symbol needs a name");
  }
  symbol.minimum = record.integer_or("minimum", 0);
  symbol.maximum = record.integer_or("maximum", INT64_MAX);
  if (auto source = record.optional("source")) symbol.source = decode_source(*source, sources);
  if (auto hint = record.optional("hint")) symbol.hint = hint->integer();
  return symbol;
}

Json encode_input(const Input& input, const SourceTable& sources) {
  Json out{
      {"kind", to_string(input.kind)}, {"name", input.name}, {"type", encode_type(input.type)}};
  if (input.source != kNoSource) out["source"] = sources.text(input.source);
  return out;
}

Input decode_input(Record& record, SourceTable& sources) {
  Input input;
  input.kind = read_name(record.required("kind"), input_kind_from_name, "kind of input");
  input.name = record.required("name").text();
  input.type = decode_type(record.required("type"));
  if (auto source = record.optional("source")) input.source = decode_source(*source, sources);
  return input;
}

Json encode_output(const Output& output) {
  Json out{{"type", encode_type(output.type)}};
  if (output.alias.kind == OutputAlias::Kind::input) out["alias"] = {{"input", output.alias.index}};
  if (output.alias.kind == OutputAlias::Kind::output) {
    out["alias"] = {{"output", output.alias.index}};
  }
  return out;
}

Output decode_output(Record& record) {
  Output output;
  output.type = decode_type(record.required("type"));
  if (auto field = record.optional("alias")) {
    Record alias(*field);
    if (auto input = alias.optional("input")) {
      output.alias = {OutputAlias::Kind::input, input->integer32()};
    } else {
      output.alias = {OutputAlias::Kind::output, alias.required("output").integer32()};
    }
  }
  return output;
}

Json encode_end(const SegmentEnd& end) {
  Json out{{"kind", kEnds[static_cast<int>(end.kind)]}};
  if (end.offset != -1) out["offset"] = end.offset;
  if (!end.code.empty()) out["code"] = end.code;
  return out;
}

SegmentEnd decode_end(const Field& field) {
  Record record(field);
  SegmentEnd end;
  auto from_name = [](std::string_view name) -> std::optional<SegmentEnd::Kind> {
    for (std::size_t i = 0; i < std::size(kEnds); ++i) {
      if (kEnds[i] == name) return static_cast<SegmentEnd::Kind>(i);
    }
    return std::nullopt;
  };
  end.kind = read_name(record.required("kind"), from_name, "kind of segment end");
  end.offset = record.integer32_or("offset", -1);
  end.code = record.text_or("code", {});
  return end;
}

Json encode_frame(const InlinedFrame& frame, const SourceTable& sources) {
  Json restore = Json::array();
  for (const Restore& step : frame.restore) restore.push_back(encode_restore(step, sources));
  Json out{{"name", frame.name},
           {"function", encode_recipe(frame.function, sources)},
           {"offset", frame.offset},
           {"restore", std::move(restore)}};
  if (frame.location) out["location"] = encode_location(*frame.location);
  return out;
}

InlinedFrame decode_frame(const Field& field, SourceTable& sources) {
  Record record(field);
  InlinedFrame frame;
  frame.name = record.required("name").text();
  frame.function = decode_recipe(record.required("function"), sources);
  frame.offset = record.required("offset").integer32();
  if (auto location = record.optional("location")) frame.location = decode_location(*location);
  record.required("restore").each(
      [&](const Field& item) { frame.restore.push_back(decode_restore(item, sources)); });
  return frame;
}

template <class Items, class Encode>
Json list(const Items& items, const Encode& encode) {
  Json out = Json::array();
  for (const auto& item : items) out.push_back(encode(item));
  return out;
}

}  // namespace

void encode_boundary(const Interface& interface, Json& out) {
  out["inputs"] = list(interface.inputs,
                       [&](const Input& input) { return encode_input(input, interface.sources); });
  out["outputs"] = list(interface.outputs, encode_output);
}

void encode_interface(const Interface& interface, Json& out) {
  const SourceTable& sources = interface.sources;
  out["id"] = to_string(interface.id);
  out["name"] = interface.name;
  if (interface.location) out["location"] = encode_location(*interface.location);
  if (!interface.after.empty()) out["after"] = interface.after;
  if (interface.start_offset != 0) out["start"] = interface.start_offset;
  out["slots"] = encode_slots(sources);
  out["symbols"] =
      list(interface.symbols, [&](const Symbol& symbol) { return encode_symbol(symbol, sources); });
  encode_boundary(interface, out);
  const auto pair = [](const auto& record) {
    return Json{{"input", record.input}, {"output", record.output}};
  };
  out["mutations"] = list(interface.mutations, pair);
  const auto put = [&](const char* name, const auto& records, const auto& encode) {
    if (!records.empty()) out[name] = list(records, encode);
  };
  put("tangents", interface.training.tangents, pair);
  put("gradients", interface.training.gradients, pair);
  if (interface.training.role != GraphRole::inference)
    out["role"] = to_string(interface.training.role);
  put("saved", interface.training.saved, pair);
  put("passed", interface.training.passed, [](const Passed& record) {
    return Json{{"input", record.input}, {"forward", record.forward}};
  });
  out["guards"] =
      list(interface.guards, [&](const Guard& guard) { return encode_guard(guard, sources); });
  out["objects"] =
      list(interface.objects, [&](const Recipe& object) { return encode_recipe(object, sources); });
  out["returns"] = encode_recipe(interface.returns, sources);
  out["restore"] =
      list(interface.restore, [&](const Restore& step) { return encode_restore(step, sources); });
  out["ends"] = encode_end(interface.end);
  if (interface.frames.empty()) return;
  out["frames"] = list(interface.frames,
                       [&](const InlinedFrame& frame) { return encode_frame(frame, sources); });
}

void decode_interface(Record& record, Interface& interface) {
  SourceTable& sources = interface.sources;
  interface.id = decode_entry_id(record.required("id"));
  interface.name = record.required("name").text();
  if (auto location = record.optional("location")) interface.location = decode_location(*location);
  if (auto after = record.optional("after")) {
    decode_entry_id(*after);
    interface.after = after->text();
  }
  interface.start_offset = record.integer32_or("start", 0);
  record.each("slots", [&](const Field& item) { decode_slot(item, sources); });
  record.each("symbols", [&](const Field& item) {
    interface.symbols.push_back(decode_symbol(item, sources));
  });
  const auto pairs = [&](const char* name, auto& list, const char* other = "output") {
    record.each(name, [&](const Field& item) {
      Record pair(item);
      auto input = pair.required("input").integer32();
      list.push_back({input, pair.required(other).integer32()});
    });
  };
  pairs("mutations", interface.mutations);
  pairs("tangents", interface.training.tangents);
  pairs("gradients", interface.training.gradients);
  if (auto role = record.optional("role"))
    interface.training.role = read_name(*role, graph_role_from_name, "role");
  pairs("saved", interface.training.saved);
  pairs("passed", interface.training.passed, "forward");
  record.each("guards",
              [&](const Field& item) { interface.guards.push_back(decode_guard(item, sources)); });
  record.each("objects", [&](const Field& item) {
    interface.objects.push_back(decode_recipe(item, sources));
  });
  if (auto returns = record.optional("returns")) {
    interface.returns = decode_recipe(*returns, sources);
  }
  record.each("restore", [&](const Field& item) {
    interface.restore.push_back(decode_restore(item, sources));
  });
  interface.end = decode_end(record.required("ends"));
  record.each("frames",
              [&](const Field& item) { interface.frames.push_back(decode_frame(item, sources)); });
}

void decode_inputs(Record& record, Interface& interface, const BoundaryField& visit) {
  record.required("inputs").each([&](const Field& item) {
    Record input(item);
    interface.inputs.push_back(decode_input(input, interface.sources));
    if (visit) visit(input);
  });
}

void decode_outputs(Record& record, Interface& interface, const BoundaryField& visit) {
  record.required("outputs").each([&](const Field& item) {
    Record output(item);
    interface.outputs.push_back(decode_output(output));
    if (visit) visit(output);
  });
}

}  // namespace penstock::formats
