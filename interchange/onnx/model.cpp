#include "interchange/onnx/model.h"

#include <fmt/format.h>

#include <optional>

#include "interchange/onnx/wire.h"

namespace penstock::onnx {

namespace {

/// onnx.AttributeProto.AttributeType
enum AttributeType : std::uint8_t {
  kFloat = 1,
  kInt = 2,
  kString = 3,
  kGraph = 5,
  kFloats = 6,
  kInts = 7
};

/// Smaller tensors stand in the model whatever `Storage` says: tools read shapes and axes there.
constexpr std::size_t kLarge = 1024;
/// Elements that lie beside the model begin at a page, so that they can be mapped.
constexpr std::uint64_t kAlignment = 4096;

Message body(const Body& graph);

struct AttributeWriter {
  Message& out;
  void operator()(std::int64_t value) const {
    out.number(Field::Attribute_i, value);
    out.number(Field::Attribute_type, kInt);
  }
  void operator()(float value) const {
    out.real(Field::Attribute_f, value);
    out.number(Field::Attribute_type, kFloat);
  }
  void operator()(const std::string& value) const {
    out.bytes(Field::Attribute_s, value);
    out.number(Field::Attribute_type, kString);
  }
  void operator()(const std::vector<std::int64_t>& values) const {
    for (std::int64_t value : values) out.number(Field::Attribute_ints, value);
    out.number(Field::Attribute_type, kInts);
  }
  void operator()(const std::vector<float>& values) const {
    for (float value : values) out.real(Field::Attribute_floats, value);
    out.number(Field::Attribute_type, kFloats);
  }
  void operator()(const std::shared_ptr<const Body>& graph) const {
    out.message(Field::Attribute_g, body(*graph));
    out.number(Field::Attribute_type, kGraph);
  }
};

Message entry(std::string_view key, std::string_view value) {
  Message out;
  out.bytes(Field::StringStringEntry_key, key);
  out.bytes(Field::StringStringEntry_value, value);
  return out;
}

Message node(const Operator& op) {
  Message out;
  for (const std::string& name : op.inputs) out.bytes(Field::Node_input, name);
  for (const std::string& name : op.outputs) out.bytes(Field::Node_output, name);
  out.bytes(Field::Node_name, op.name);
  out.bytes(Field::Node_op_type, op.type);
  for (const Attribute& attribute : op.attributes) {
    Message written;
    written.bytes(Field::Attribute_name, attribute.name);
    std::visit(AttributeWriter{written}, attribute.value);
    out.message(Field::Node_attribute, written);
  }
  if (!op.place.empty()) out.bytes(Field::Node_doc_string, op.place);
  return out;
}

Message value_info(const Port& port) {
  Message shape;
  for (const Port::Size& size : port.sizes) {
    Message dim;
    if (const auto* number = std::get_if<std::int64_t>(&size))
      dim.number(Field::Dimension_dim_value, *number);
    else
      dim.bytes(Field::Dimension_dim_param, std::get<std::string>(size));
    shape.message(Field::TensorShape_dim, dim);
  }
  Message tensor, type, out;
  tensor.number(Field::TypeTensor_elem_type, data_type(port.dtype));
  tensor.message(Field::TypeTensor_shape, shape);
  type.message(Field::Type_tensor_type, tensor);
  out.bytes(Field::ValueInfo_name, port.name);
  out.message(Field::ValueInfo_type, type);
  return out;
}

Message body(const Body& graph) {
  Message out;
  for (const Operator& op : graph.operators) out.message(Field::Graph_node, node(op));
  out.bytes(Field::Graph_name, graph.name);
  for (const Port& port : graph.inputs) out.message(Field::Graph_input, value_info(port));
  for (const Port& port : graph.outputs) out.message(Field::Graph_output, value_info(port));
  return out;
}

/// An initializer without its elements where these follow (`inside`), else with their place.
struct Held {
  Message head;
  bool inside = true;
  std::uint64_t length = 0;  ///< of the whole message
};

Held hold(const Initializer& tensor, const Storage& storage, std::uint64_t& offset) {
  Held held;
  for (std::int64_t size : tensor.sizes) held.head.number(Field::Tensor_dims, size);
  held.head.number(Field::Tensor_data_type, data_type(tensor.dtype));
  held.head.bytes(Field::Tensor_name, tensor.name);
  const std::uint64_t bytes = tensor.bytes().size();
  held.inside = storage.beside.empty() || bytes < kLarge;
  if (held.inside) {
    held.head.begin_bytes(Field::Tensor_raw_data, bytes);
    held.length = held.head.text().size() + bytes;
    return held;
  }
  offset = (offset + kAlignment - 1) / kAlignment * kAlignment;
  held.head.message(Field::Tensor_external_data, entry("location", storage.beside));
  held.head.message(Field::Tensor_external_data, entry("offset", fmt::format("{}", offset)));
  held.head.message(Field::Tensor_external_data, entry("length", fmt::format("{}", bytes)));
  held.head.number(Field::Tensor_data_location, 1);
  offset += bytes;
  held.length = held.head.text().size();
  return held;
}

Message model_head(const Model& model) {
  Message out, opset;
  opset.number(Field::OperatorSetId_version, kOpset);
  out.number(Field::Model_ir_version, kFormat);
  out.bytes(Field::Model_producer_name, "penstock");
  out.message(Field::Model_opset_import, opset);
  for (const auto& [key, value] : model.properties)
    out.message(Field::Model_metadata_props, entry(key, value));
  return out;
}

Result<void> write_beside(const Initializer& tensor, std::uint64_t& written, const Sink& data) {
  const std::uint64_t gap = (kAlignment - written % kAlignment) % kAlignment;
  if (auto done = data(std::string(gap, '\0')); !done) return done;
  written += gap + tensor.bytes().size();
  return data(tensor.bytes());
}

}  // namespace

std::int64_t data_type(DType dtype) {
  switch (dtype) {
#define PS_DATA_TYPE(dtype, number) \
  case DType::dtype:                \
    return number;
#include "interchange/onnx/data_types.def"
#undef PS_DATA_TYPE
  }
  return 0;
}

std::uint64_t bytes_of_initializers(const Model& model) {
  std::uint64_t sum = 0;
  for (const Initializer& tensor : model.initializers) sum += tensor.bytes().size();
  return sum;
}

Result<void> write(const Model& model, const Storage& storage, const Sink& sink, const Sink& data) {
  const Message graph = body({model.name, model.operators, model.inputs, model.outputs});
  std::vector<Message> keys;
  std::vector<Held> held;
  std::uint64_t length = graph.text().size(), offset = 0;
  for (const Initializer& tensor : model.initializers) {
    held.push_back(hold(tensor, storage, offset));
    keys.emplace_back().begin_bytes(Field::Graph_initializer, held.back().length);
    length += keys.back().text().size() + held.back().length;
  }
  Message head = model_head(model);
  head.begin_bytes(Field::Model_graph, length);
  if (auto done = sink(head.text()); !done) return done;
  if (auto done = sink(graph.text()); !done) return done;
  std::uint64_t beside = 0;
  for (std::size_t i = 0; i < held.size(); ++i) {
    if (auto done = sink(keys[i].text()); !done) return done;
    if (auto done = sink(held[i].head.text()); !done) return done;
    const Initializer& tensor = model.initializers[i];
    auto done = held[i].inside ? sink(tensor.bytes()) : write_beside(tensor, beside, data);
    if (!done) return done;
  }
  return {};
}

}  // namespace penstock::onnx
