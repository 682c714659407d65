#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "diag/diagnostic.h"
#include "ir/dtype.h"

namespace penstock::onnx {

struct Body;

/// What an operator gets beside its operands.
struct Attribute {
  using Value = std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>,
                             std::vector<float>, std::shared_ptr<const Body>>;
  std::string name;
  Value value;
};
using Attributes = std::vector<Attribute>;

/// An operator of the default domain applied to tensors by name; an empty name stands for an
/// optional operand that is left out.
struct Operator {
  std::string type;  ///< "Conv"
  std::string name;
  std::vector<std::string> inputs, outputs;
  Attributes attributes;
  std::string place;  ///< where in the Python program: "model.py:12"; empty: not known
};

/// A tensor that the file holds. The elements are little-endian and row-major, and lie in memory
/// that outlives the model, or in `own`.
struct Initializer {
  std::string name;
  DType dtype = DType::float32;
  std::vector<std::int64_t> sizes;
  std::string own;
  std::string_view elsewhere = {};
  std::string_view bytes() const { return own.empty() ? elsewhere : std::string_view(own); }
};

/// An input or output. A size is a number or has a name, as a symbol or an expression.
struct Port {
  using Size = std::variant<std::int64_t, std::string>;
  std::string name;
  DType dtype = DType::float32;
  std::vector<Size> sizes;
};

/// A graph that an operator runs. It sees the names of the graph around it.
struct Body {
  std::string name;
  std::vector<Operator> operators;
  std::vector<Port> inputs, outputs;
};

/// An ONNX model of one graph.
struct Model {
  std::string name;
  std::vector<Operator> operators;
  std::vector<Initializer> initializers;
  std::vector<Port> inputs, outputs;
  std::vector<std::pair<std::string, std::string>> properties;  ///< metadata
};

/// The version of the operators' definitions that the rules write, and the format's that came with
/// it: those of onnx 1.23.
inline constexpr std::int64_t kOpset = 28, kFormat = 14;

/// onnx.TensorProto.DataType of `dtype`.
std::int64_t data_type(DType dtype);

/// Where the elements of large initializers go.
struct Storage {
  /// The name of the file for them, relative to the model's; empty: they stand in the model.
  std::string beside;
};

/// Takes bytes in order.
using Sink = std::function<Result<void>(std::string_view bytes)>;

/// Bytes of all initializers.
std::uint64_t bytes_of_initializers(const Model& model);

/// Writes the model; the elements of large initializers go to `data` where `storage` says so. No
/// tensor is copied.
Result<void> write(const Model& model, const Storage& storage, const Sink& sink, const Sink& data);

}  // namespace penstock::onnx
