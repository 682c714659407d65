#include "interchange/mlir/aten.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "interchange/mlir/text.h"

namespace penstock::mlir {

namespace {

constexpr std::string_view kOfTensors = ".Tensor", kOfNumbers = ".Scalar";

/// torch's numbers of memory formats.
std::optional<std::int64_t> memory_format(std::string_view name) {
  constexpr std::string_view kFormats[] = {"contiguous_format", "preserve_format", "channels_last",
                                           "channels_last_3d"};
  for (std::int64_t i = 0; i < 4; ++i)
    if (kFormats[i] == name) return i;
  return std::nullopt;
}

class Writer {
 public:
  Writer(const Node& node, Emitter& out) : node_(node), out_(out) {}

  void write(const Schema& schema) {
    if (node_.results.size() != schema.results) return out_.fail("it has other results");
    Operands operands;
    for (const Parameter& parameter : schema.parameters) {
      operands.push_back(operand(parameter));
      if (out_.error()) return;
    }
    std::vector<std::string> types;
    for (const ValueId id : node_.results) {
      const Value& value = out_.graph().values[id];
      types.push_back(value.is_scalar ? kInt : tensor_type(value.type));
    }
    const Operands made = out_.op_all(schema.name, operands, types);
    for (std::size_t i = 0; i < made.size(); ++i) {
      out_.bind(node_.results[i], made[i]);
      if (made[i].is_tensor()) out_.bind_sizes(made[i], out_.type(node_.results[i]).sizes);
    }
  }

  /// The schema for a number where this one takes a tensor, if there is one and it is a number.
  const Schema* of_numbers(const Schema& schema) const {
    if (!schema.name.ends_with(kOfTensors)) return nullptr;
    const Argument* other = find_argument(node_, "other");
    if (other == nullptr || is_tensor(*other)) return nullptr;
    const std::string op(node_.op.substr(0, node_.op.size() - kOfTensors.size()));
    return find_schema(op + std::string(kOfNumbers));
  }

 private:
  bool is_tensor(const Argument& argument) const {
    const auto* value = argument.as<Argument::Value>();
    return value != nullptr && out_.value(value->id).is_tensor();
  }

  Typed misfit(const Parameter& parameter) {
    out_.fail(fmt::format("the argument {} is none that the op takes", parameter.name));
    return {};
  }

  Typed operand(const Parameter& parameter) {
    const Argument* given = find_argument(node_, parameter.name);
    if (given == nullptr) return at_default(parameter);
    if (given->is_none()) return parameter.optional ? out_.none() : misfit(parameter);
    return parameter.list ? list(*given, parameter) : item(*given, parameter);
  }

  Typed at_default(const Parameter& parameter) {
    const std::string_view text = parameter.otherwise;
    if (text.empty()) return misfit(parameter);
    if (text == "None") return out_.none();
    if (text == "True" || text == "False") return out_.boolean(text == "True");
    if (parameter.list) {
      std::vector<std::int64_t> numbers;
      for (std::size_t at = text.find_first_of("-0123456789"); at != std::string_view::npos;) {
        std::int64_t number = 0;
        const auto end = std::from_chars(text.data() + at, text.data() + text.size(), number).ptr;
        numbers.push_back(number);
        at = text.find_first_of("-0123456789", static_cast<std::size_t>(end - text.data()));
      }
      if (text.front() != '[' && numbers.size() == 1) numbers.assign(parameter.length, numbers[0]);
      return out_.ints(numbers);
    }
    if (text.front() == '"' || text.front() == '\'')
      return out_.text(text.substr(1, text.size() - 2));
    double number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    const bool whole = text.find_first_of(".e") == std::string_view::npos;
    if (parameter.type == "float" || !whole) return out_.real(number);
    return out_.integer(static_cast<std::int64_t>(number));
  }

  Typed list(const Argument& given, const Parameter& parameter) {
    Operands items;
    if (const auto* sequence = given.as<Argument::Sequence>()) {
      for (const Argument& each : sequence->items) {
        items.push_back(each.is_none() ? out_.none() : item(each, parameter));
        if (out_.error()) return {};
      }
    } else {
      items.assign(parameter.length, item(given, parameter));
      if (items.empty()) return misfit(parameter);
    }
    return out_.list(items, list_element(parameter));
  }

  static std::string_view list_element(const Parameter& parameter) {
    // "Tensor?[]" is a list of what may be None.
    if (parameter.type == "Tensor?") return "optional<vtensor>";
    if (parameter.type == "Tensor") return "vtensor";
    if (parameter.type == "float") return "float";
    return parameter.type == "bool" ? "bool" : "int";
  }

  Typed item(const Argument& given, const Parameter& parameter) {
    const std::string_view type = parameter.type;
    if (type == "Tensor" || type == "Tensor?") return tensor(given, parameter);
    if (const auto* value = given.as<Argument::Value>()) {
      const Typed found = out_.value(value->id);
      return found.is_tensor() ? misfit(parameter) : found;
    }
    if (const auto* size = given.as<SymExpr>()) return out_.size(*size);
    if (const auto* flag = given.as<bool>())
      return type == "bool" ? out_.boolean(*flag) : out_.integer(*flag ? 1 : 0);
    if (const auto* integer = given.as<std::int64_t>()) {
      if (type == "float") return out_.real(static_cast<double>(*integer));
      return type == "bool" ? out_.boolean(*integer != 0) : out_.integer(*integer);
    }
    if (const auto* real = given.as<double>())
      return type == "float" || type == "Scalar" ? out_.real(*real) : misfit(parameter);
    if (const auto* text = given.as<std::string>()) return out_.text(*text);
    if (const auto* dtype = given.as<DType>()) return out_.dtype(*dtype);
    if (const auto* named = given.as<Argument::Named>()) return word(*named, parameter);
    return misfit(parameter);
  }

  Typed word(const Argument::Named& named, const Parameter& parameter) {
    using Kind = Argument::Named::Kind;
    if (named.kind == Kind::layout || named.kind == Kind::device) return out_.none();
    const auto number = memory_format(named.name);
    return number ? out_.integer(*number) : misfit(parameter);
  }

  /// A number that stands for a tensor is one without dims.
  Typed tensor(const Argument& given, const Parameter& parameter) {
    if (const auto* real = given.as<double>()) return out_.number(*real, DType::float64);
    if (const auto* integer = given.as<std::int64_t>()) return out_.number(*integer, DType::int64);
    if (const auto* flag = given.as<bool>()) return out_.number(*flag ? 1.0 : 0.0, DType::bool_);
    Typed number;
    if (const auto* size = given.as<SymExpr>()) {
      number = out_.size(*size);
    } else if (const auto* value = given.as<Argument::Value>()) {
      number = out_.value(value->id);
      if (number.is_tensor()) return number;
    } else {
      return misfit(parameter);
    }
    TensorType type;
    type.dtype = number.type == kFloat ? DType::float64 : DType::int64;
    return out_.tensor("prim.NumToTensor.Scalar", {number}, type);
  }

  const Node& node_;
  Emitter& out_;
};

}  // namespace

void write_aten(const Node& node, const Schema& schema, Emitter& out) {
  Writer writer(node, out);
  const Schema* numbers = writer.of_numbers(schema);
  writer.write(numbers == nullptr ? schema : *numbers);
}

}  // namespace penstock::mlir
