#include "ir/graph.h"

#include <nlohmann/json.hpp>

#include "formats/json/codec.h"
#include "ir/subgraphs.h"

namespace penstock::formats {

namespace {

/// A result of a node: {"name", "type"}, or {"name", "scalar"} for an integer.
Json encode_result(const Value& value) {
  Json out{{"name", value.name}};
  if (value.is_scalar) {
    out["scalar"] = encode_size(value.expression);
  } else {
    out["type"] = encode_type(value.type);
  }
  return out;
}

/// Scalars have the type of a Python int.
TensorType scalar_type() {
  TensorType type;
  type.dtype = DType::int64;
  return type;
}

Value decode_result(const Field& field) {
  Record record(field);
  Value value;
  value.name = record.required("name").text();
  if (auto scalar = record.optional("scalar")) {
    value.is_scalar = true;
    value.expression = scalar->size();
    value.type = scalar_type();
  } else {
    value.type = decode_type(record.required("type"));
  }
  return value;
}

Json encode_node(const Node& node, const Graph& graph, const ValueNames& names) {
  Json results = Json::array();
  for (ValueId id : node.results) results.push_back(encode_result(graph.values[id]));
  Json out{{"op", node.op},
           {"args", encode_arguments(node.args, names)},
           {"results", std::move(results)}};
  if (node.call >= 0) out["call"] = node.call;
  return out;
}

Node decode_node(const Field& field, ValueIds& ids) {
  Record record(field);
  Node node;
  node.op = record.required("op").text();
  node.args = decode_named_arguments(record.required("args"), ids);
  record.required("results").each(
      [&](const Field& item) { node.results.push_back(ids.add(decode_result(item), item)); });
  node.call = record.integer32_or("call", -1);
  return node;
}

/// Inputs are values 0 …; what a value has beyond its input stands in the input's record.
void decode_boundary(Record& record, Graph& graph, ValueIds& ids) {
  decode_inputs(record, graph.interface, [&](Record& input) {
    const Input& last = graph.interface.inputs.back();
    Value value{input.text_or("value", last.name), last.type, false, {}};
    if (auto scalar = input.optional("scalar")) {
      value.is_scalar = true;
      value.expression = scalar->size();
    }
    ids.add(std::move(value), input.field());
  });
}

}  // namespace

void encode_body(const Graph& graph, Json& out) {
  ValueNames names{&graph.values};
  for (std::size_t i = 0; i < graph.interface.inputs.size(); ++i) {
    const Value& value = graph.values[i];
    if (value.name != graph.interface.inputs[i].name) out["inputs"][i]["value"] = value.name;
    if (value.is_scalar) out["inputs"][i]["scalar"] = encode_size(value.expression);
  }
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    out["outputs"][i]["value"] = names(graph.outputs[i]);
  }
  out["calls"] = encode_calls(graph.calls, names);
  Json nodes = Json::array();
  for (const Node& node : graph.nodes) nodes.push_back(encode_node(node, graph, names));
  out["nodes"] = std::move(nodes);
}

Json encode_subgraph(const Graph& graph) {
  Json out{{"name", graph.interface.name}};
  encode_boundary(graph.interface, out);
  encode_body(graph, out);
  return out;
}

namespace {

void encode_subgraphs(const Graph& graph, Json& out) {
  for (const Graph& subgraph : graph.subgraphs) {
    Json one = encode_subgraph(subgraph);
    encode_subgraphs(subgraph, one);
    out["subgraphs"].push_back(std::move(one));
  }
}

/// What stands behind the interface's fields.
void decode_body(Record& record, Graph& graph) {
  ValueIds ids(graph.values);
  decode_boundary(record, graph, ids);
  record.required("nodes").each(
      [&](const Field& item) { graph.nodes.push_back(decode_node(item, ids)); });
  decode_outputs(record, graph.interface, [&](Record& output) {
    graph.outputs.push_back(ids.find(output.required("value")));
  });
  ids.allow_unknown();
  graph.calls = decode_calls(record.required("calls"), ids);
}

void decode_subgraphs(Record& record, Graph& graph) {
  record.each("subgraphs", [&](const Field& item) {
    Record fields(item);
    graph.subgraphs.push_back(decode_subgraph(fields, graph.level));
    decode_subgraphs(fields, graph.subgraphs.back());
  });
}

}  // namespace

void encode_graph(const Graph& graph, Json& out, Json& blobs) {
  encode_interface(graph.interface, out);
  encode_body(graph, out);
  encode_subgraphs(graph, out);
  encode_blobs(graph.interface, blobs);
}

Graph decode_subgraph(Record& record, Level level) {
  Graph graph;
  graph.level = level;
  graph.interface.name = record.required("name").text();
  decode_body(record, graph);
  return graph;
}

Graph decode_graph(Record& record, Level level) {
  Graph graph;
  graph.level = level;
  decode_interface(record, graph.interface);
  decode_body(record, graph);
  decode_blobs(record, graph.interface, {});
  if (level == Level::placed) return graph;  // whose subgraphs have regions
  decode_subgraphs(record, graph);
  inherit_sizes(graph);
  return graph;
}

}  // namespace penstock::formats
