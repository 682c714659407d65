#include "tools/serve/protocol.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "embedding/tensor_copy.h"

namespace penstock::serve {

namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

static_assert(std::endian::native == std::endian::little, "tensors travel as they lie");

constexpr std::size_t kMostDims = 64;

struct DatatypeRow {
  DType dtype;
  std::string_view name;
  bool in_json;
};
constexpr DatatypeRow kRows[] = {
#define PS_DATATYPE(dtype, name, in_json) {DType::dtype, name, in_json},
#include "tools/serve/datatypes.def"
#undef PS_DATATYPE
};

const DatatypeRow* row_of(DType dtype) {
  for (const DatatypeRow& row : kRows) {
    if (row.dtype == dtype) return &row;
  }
  return nullptr;
}

const Json* member(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

std::string text_member(const Json& object, const char* name) {
  const Json* value = member(object, name);
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

const Json* parameter(const Json& object, const char* name) {
  const Json* parameters = member(object, "parameters");
  return parameters != nullptr && parameters->is_object() ? member(*parameters, name) : nullptr;
}

bool flag_parameter(const Json& object, const char* name, bool otherwise) {
  const Json* value = parameter(object, name);
  return value != nullptr && value->is_boolean() ? value->get<bool>() : otherwise;
}

/// The bytes of a tensor; nothing where they are more than memory has.
std::optional<std::size_t> bytes_of(const std::vector<std::int64_t>& sizes, DType dtype) {
  std::size_t bytes = static_cast<std::size_t>(facts(dtype).size);
  for (const std::int64_t size : sizes) {
    if (__builtin_mul_overflow(bytes, static_cast<std::size_t>(size), &bytes)) return std::nullopt;
  }
  return bytes;
}

/// Puts a number of JSON behind `out`; false: it is none of the type, or out of its range.
template <class T>
bool put_number(const Json& value, std::byte* out) {
  T number{};
  if constexpr (std::is_same_v<T, bool>) {
    if (value.is_boolean()) {
      number = value.get<bool>();
    } else if (value.is_number_integer() && (value == 0 || value == 1)) {
      number = value == 1;
    } else {
      return false;
    }
  } else if constexpr (std::is_floating_point_v<T>) {
    if (!value.is_number()) return false;
    number = static_cast<T>(value.get<double>());
  } else {
    if (!value.is_number_integer()) return false;
    if (value.is_number_unsigned() &&
        value.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<T>::max()))
      return false;
    const auto wide = value.get<std::int64_t>();
    if (wide < static_cast<std::int64_t>(std::numeric_limits<T>::min()) ||
        wide > static_cast<std::int64_t>(std::numeric_limits<T>::max()))
      return false;
    number = static_cast<T>(wide);
  }
  std::memcpy(out, &number, sizeof number);
  return true;
}

using PutNumber = bool (*)(const Json&, std::byte*);

PutNumber putter_of(DType dtype) {
  switch (dtype) {
    case DType::bool_:
      return put_number<bool>;
    case DType::uint8:
      return put_number<std::uint8_t>;
    case DType::int8:
      return put_number<std::int8_t>;
    case DType::int16:
      return put_number<std::int16_t>;
    case DType::int32:
      return put_number<std::int32_t>;
    case DType::int64:
      return put_number<std::int64_t>;
    case DType::float32:
      return put_number<float>;
    case DType::float64:
      return put_number<double>;
    default:
      return nullptr;
  }
}

/// Fills a tensor from JSON: its elements in row-major order, in one list or nested as the shape.
class ElementReader {
 public:
  explicit ElementReader(RequestTensor& tensor)
      : tensor_(tensor),
        put_(putter_of(tensor.dtype)),
        element_(static_cast<std::size_t>(facts(tensor.dtype).size)) {}

  Answer<void> read(const Json& data) {
    if (put_ == nullptr) {
      return problem(400, fmt::format("input {}: elements of {} cannot stand in JSON; send them as "
                                      "bytes (binary_data_size)",
                                      tensor_.name, datatype_of(tensor_.dtype)));
    }
    if (auto taken = take(data, 0); !taken) return taken;
    if (at_ == tensor_.bytes.size()) return {};
    return problem(400, fmt::format("input {}: {} elements in data, and the shape has {}",
                                    tensor_.name, at_ / element_, tensor_.bytes.size() / element_));
  }

 private:
  Answer<void> take(const Json& data, std::size_t depth) {
    if (data.is_array()) {
      if (depth > kMostDims)
        return problem(400, fmt::format("input {}: data are nested too deep", tensor_.name));
      for (const Json& item : data) {
        if (auto taken = take(item, depth + 1); !taken) return taken;
      }
      return {};
    }
    if (at_ >= tensor_.bytes.size())
      return problem(
          400, fmt::format("input {}: more elements in data than the shape has", tensor_.name));
    if (!put_(data, tensor_.bytes.data() + at_)) {
      return problem(400, fmt::format("input {}: element {} is no {}", tensor_.name, at_ / element_,
                                      datatype_of(tensor_.dtype)));
    }
    at_ += element_;
    return {};
  }

  RequestTensor& tensor_;
  PutNumber put_;
  std::size_t element_, at_ = 0;
};

/// Reads the tensors of a request in order; binary ones follow each other behind the JSON.
class RequestReader {
 public:
  explicit RequestReader(std::string_view binary) : binary_(binary) {}

  Answer<InferRequest> read(const Json& document) {
    if (!document.is_object()) return problem(400, "the request is no JSON object");
    InferRequest request;
    request.id = text_member(document, "id");
    request.binary_by_default = flag_parameter(document, "binary_data_output", false);
    const Json* inputs = member(document, "inputs");
    if (inputs == nullptr || !inputs->is_array())
      return problem(400, "the request has no list of inputs");
    for (const Json& input : *inputs) {
      auto tensor = read_input(input);
      if (!tensor) return tl::unexpected(std::move(tensor.error()));
      request.inputs.push_back(std::move(*tensor));
    }
    if (!binary_.empty())
      return problem(400, fmt::format("{} bytes behind the last input", binary_.size()));
    if (auto wanted = read_wanted(document, request); !wanted)
      return tl::unexpected(std::move(wanted.error()));
    return request;
  }

 private:
  static Answer<void> read_wanted(const Json& document, InferRequest& request) {
    const Json* outputs = member(document, "outputs");
    if (outputs == nullptr) return {};
    if (!outputs->is_array()) return problem(400, "outputs are no list");
    for (const Json& output : *outputs) {
      if (!output.is_object() || text_member(output, "name").empty())
        return problem(400, "an output has no name");
      if (parameter(output, "classification") != nullptr ||
          parameter(output, "shared_memory_region") != nullptr)
        return problem(400, "classification and shared memory are not supported");
      request.wanted.push_back({text_member(output, "name"),
                                flag_parameter(output, "binary_data", request.binary_by_default)});
    }
    return {};
  }

  Answer<RequestTensor> read_input(const Json& input) {
    if (!input.is_object() || text_member(input, "name").empty())
      return problem(400, "an input has no name");
    RequestTensor tensor;
    tensor.name = text_member(input, "name");
    const std::string datatype = text_member(input, "datatype");
    const auto dtype = dtype_of(datatype);
    if (!dtype)
      return problem(400, fmt::format("input {}: datatype {} is not supported", tensor.name,
                                      datatype.empty() ? "(none)" : datatype));
    tensor.dtype = *dtype;
    if (auto sizes = read_shape(input, tensor); !sizes)
      return tl::unexpected(std::move(sizes.error()));
    if (parameter(input, "shared_memory_region") != nullptr)
      return problem(400, "shared memory is not supported");
    const auto bytes = bytes_of(tensor.sizes, tensor.dtype);
    if (const Json* size = parameter(input, "binary_data_size"))
      return take_binary(std::move(tensor), *size, bytes);
    const Json* data = member(input, "data");
    if (data == nullptr) return problem(400, fmt::format("input {} has no data", tensor.name));
    // A shape alone must not ask for memory.
    if (!bytes || *bytes > kMostBytes)
      return problem(400, fmt::format("input {}: the shape has too many elements", tensor.name));
    tensor.bytes.resize(*bytes);
    if (auto filled = ElementReader(tensor).read(*data); !filled)
      return tl::unexpected(std::move(filled.error()));
    return tensor;
  }

  static Answer<void> read_shape(const Json& input, RequestTensor& tensor) {
    const Json* shape = member(input, "shape");
    if (shape == nullptr || !shape->is_array() || shape->size() > kMostDims)
      return problem(400, fmt::format("input {} has no shape", tensor.name));
    for (const Json& size : *shape) {
      if (!size.is_number_integer() || size < 0 || size > std::numeric_limits<std::int32_t>::max())
        return problem(400, fmt::format("input {}: a size of the shape is no size", tensor.name));
      tensor.sizes.push_back(size.get<std::int64_t>());
    }
    return {};
  }

  Answer<RequestTensor> take_binary(RequestTensor tensor, const Json& size,
                                    std::optional<std::size_t> bytes) {
    if (!size.is_number_unsigned() || !bytes || size.get<std::uint64_t>() != *bytes) {
      return problem(400, fmt::format("input {}: binary_data_size is not that of the shape, {}",
                                      tensor.name, bytes.value_or(0)));
    }
    if (binary_.size() < *bytes)
      return problem(400, fmt::format("input {}: the body ends before its data", tensor.name));
    tensor.bytes.resize(*bytes);
    if (*bytes > 0) std::memcpy(tensor.bytes.data(), binary_.data(), *bytes);
    binary_.remove_prefix(*bytes);
    return tensor;
  }

  static constexpr std::size_t kMostBytes = std::size_t{1} << 30;
  std::string_view binary_;
};

template <class T>
Json numbers_of(const std::vector<std::byte>& bytes) {
  Json out = Json::array();
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(T)) {
    T number;
    std::memcpy(&number, bytes.data() + at, sizeof number);
    out.push_back(number);
  }
  return out;
}

/// Elements as JSON has them; NaN and infinities become null, as JSON has no word for them.
Json elements_of(DType dtype, const std::vector<std::byte>& bytes) {
  switch (dtype) {
    case DType::bool_:
      return numbers_of<bool>(bytes);
    case DType::uint8:
      return numbers_of<std::uint8_t>(bytes);
    case DType::int8:
      return numbers_of<std::int8_t>(bytes);
    case DType::int16:
      return numbers_of<std::int16_t>(bytes);
    case DType::int32:
      return numbers_of<std::int32_t>(bytes);
    case DType::int64:
      return numbers_of<std::int64_t>(bytes);
    case DType::float32:
      return numbers_of<float>(bytes);
    default:
      return numbers_of<double>(bytes);
  }
}

std::vector<std::byte> row_major_bytes(const embedding::ResultTensor& tensor) {
  const auto element = static_cast<std::size_t>(facts(tensor.dtype).size);
  std::vector<std::byte> bytes(static_cast<std::size_t>(embedding::count_of(tensor.sizes)) *
                               element);
  embedding::copy_elements(bytes.data(), embedding::row_major_strides(tensor.sizes), tensor.data,
                           tensor.strides, tensor.sizes, element);
  return bytes;
}

OrderedJson values_body(const std::vector<embedding::ValueDescription>& values, const char* type,
                        const char* sizes, std::string_view prefix) {
  OrderedJson out = OrderedJson::array();
  for (const embedding::ValueDescription& value : values) {
    OrderedJson shape = OrderedJson::array();
    for (const embedding::SizeRange& size : value.sizes)
      shape.push_back(size.least == size.greatest ? size.least : std::int64_t{-1});
    out.push_back({{"name", value.name},
                   {type, std::string(prefix) + std::string(datatype_of(value.dtype))},
                   {sizes, std::move(shape)}});
  }
  return out;
}

}  // namespace

std::string_view datatype_of(DType dtype) {
  const DatatypeRow* row = row_of(dtype);
  return row == nullptr ? std::string_view() : row->name;
}

std::optional<DType> dtype_of(std::string_view datatype) {
  for (const DatatypeRow& row : kRows) {
    if (row.name == datatype) return row.dtype;
  }
  return std::nullopt;
}

Answer<InferRequest> read_request(std::string_view body, std::optional<std::size_t> json_length) {
  const std::size_t length = json_length.value_or(body.size());
  if (length > body.size())
    return problem(400, "Inference-Header-Content-Length is longer than the body");
  const Json document = Json::parse(body.substr(0, length), nullptr, false);
  if (document.is_discarded()) return problem(400, "the request is no JSON");
  return RequestReader(body.substr(length)).read(document);
}

Answer<InferResponse> write_response(const std::string& name, const InferRequest& request,
                                     std::span<const embedding::ValueDescription> described,
                                     std::span<const embedding::ResultTensor> results) {
  std::vector<WantedResult> wanted = request.wanted;
  if (wanted.empty()) {
    for (const auto& value : described) wanted.push_back({value.name, request.binary_by_default});
  }
  OrderedJson outputs = OrderedJson::array();
  std::string binary;
  bool any_binary = false;
  for (const WantedResult& one : wanted) {
    std::size_t index = 0;
    while (index < described.size() && described[index].name != one.name) ++index;
    if (index == described.size() || index >= results.size())
      return problem(400, fmt::format("the model has no output {}", one.name));
    const embedding::ResultTensor& result = results[index];
    const DatatypeRow* row = row_of(result.dtype);
    if (row == nullptr || (!row->in_json && !one.binary)) {
      return problem(400, fmt::format("output {}: elements of {} cannot stand in JSON; ask for "
                                      "bytes (binary_data)",
                                      one.name, facts(result.dtype).name));
    }
    std::vector<std::byte> bytes = row_major_bytes(result);
    OrderedJson output{{"name", one.name}, {"datatype", row->name}, {"shape", result.sizes}};
    if (one.binary) {
      any_binary = true;
      output["parameters"] = {{"binary_data_size", bytes.size()}};
      binary.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    } else {
      output["data"] = elements_of(result.dtype, bytes);
    }
    outputs.push_back(std::move(output));
  }
  OrderedJson document{{"model_name", name}, {"model_version", "1"}};
  if (!request.id.empty()) document["id"] = request.id;
  document["outputs"] = std::move(outputs);
  InferResponse response{document.dump(-1, ' ', false, Json::error_handler_t::replace), {}};
  if (any_binary) {
    response.json_length = response.body.size();
    response.body += binary;
  }
  return response;
}

std::string error_body(std::string_view text) {
  return OrderedJson{{"error", text}}.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string metadata_body(const std::string& name, const embedding::Model& model) {
  const OrderedJson document{
      {"name", name},
      {"versions", {"1"}},
      {"platform", "penstock"},
      {"inputs", values_body(model.describe_arguments(), "datatype", "shape", "")},
      {"outputs", values_body(model.describe_results(), "datatype", "shape", "")}};
  return document.dump();
}

std::string config_body(const std::string& name, const embedding::Model& model,
                        std::int64_t most_rows) {
  // Shapes are whole in `dims`: Triton's own batching adds a dim of its own where this is not 0.
  const OrderedJson document{
      {"name", name},
      {"platform", "penstock"},
      {"backend", "penstock"},
      {"max_batch_size", 0},
      {"input", values_body(model.describe_arguments(), "data_type", "dims", "TYPE_")},
      {"output", values_body(model.describe_results(), "data_type", "dims", "TYPE_")},
      {"parameters", {{"max_rows", {{"string_value", std::to_string(most_rows)}}}}}};
  return document.dump();
}

std::string server_body(std::string_view version) {
  return OrderedJson{
      {"name", "penstock"},
      {"version", version},
      {"extensions",
       {"binary_tensor_data", "model_configuration", "model_repository", "statistics"}}}
      .dump();
}

}  // namespace penstock::serve
