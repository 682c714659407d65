#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "interchange/pt2/json.h"
#include "interchange/pt2/read_state.h"
#include "interchange/pt2/sources.h"

namespace penstock::pt2 {

using formats::Field;
using formats::Record;

namespace {

/// What an input is for that the program brings along: the key of its spec and of the name in it.
struct WeightRow {
  std::string_view name, key;
  InputKind kind;
};
constexpr WeightRow kWeights[] = {
    {"parameter", "parameter_name", InputKind::parameter},
    {"buffer", "buffer_name", InputKind::buffer},
    {"tensor_constant", "tensor_constant_name", InputKind::constant},
};

class InputReader {
 public:
  InputReader(ReadState& state, Scope& scope, Weights& weights, const KeepTensor& keep)
      : state_(state), scope_(scope), weights_(weights), keep_(keep) {}

  Result<void> read(const Field& inputs, const Field& specs, CallSignature call) {
    places_ = argument_places(call.in, call.names, interface());
    if (inputs.length() != specs.length()) specs.fail("there is one for each input");
    for (std::size_t i = 0; i < inputs.length() && !inputs.problems().first; ++i) {
      const Field input = inputs.item(i), spec = specs.item(i);
      const auto choice = read_choice(spec);
      if (!choice) return {};
      if (auto read = one(*choice, input); !read) return read;
    }
    if (!inputs.problems().first && next_ != places_.size()) {
      specs.fail(
          fmt::format("{} inputs are passed, and the call has room for {}", next_, places_.size()));
    }
    return {};
  }

 private:
  Interface& interface() { return state_.graph.interface; }

  Result<void> one(const Choice& choice, const Field& input) {
    if (choice.name == "user_input" || choice.name == "constant_input") {
      argument(choice, input);
      return {};
    }
    for (const WeightRow& row : kWeights) {
      if (row.name == choice.name) return weight(row, choice.value, input);
    }
    Record record(choice.value);
    std::string name;
    if (const auto object = record.optional("custom_obj_name")) name = object->text().substr(0, 80);
    choice.value.fail(choice.name == "custom_obj"
                          ? fmt::format("the script object {} has no counterpart here", name)
                          : fmt::format("an input that is a {} has no counterpart here",
                                        choice.name.substr(0, 80)),
                      Code::PS0211);
    return {};
  }

  /// Adds an input; values of inputs come first.
  ValueId add(InputKind kind, std::string name, SourceId source, TensorType type) {
    const ValueId id = add_value(state_.graph, name, type);
    interface().inputs.push_back({kind, state_.graph.values[id].name, source, std::move(type), {}});
    scope_.define(name, id);
    return id;
  }

  void argument(const Choice& choice, const Field& input) {
    if (next_ >= places_.size()) return input.fail("the call has no place for it");
    const SourceId source = places_[next_++];
    const auto kind = read_choice(input);
    if (!kind) return;
    if (choice.name == "user_input" && kind->name == "as_tensor") {
      const std::string name = read_name(kind->value);
      const TensorType* type = scope_.type(name, input);
      if (type != nullptr) state_.arguments[name] = add(InputKind::user, name, source, *type);
    } else if (choice.name == "user_input" && kind->name == "as_sym_int") {
      number(kind->value, source);
    } else {
      constant(read_argument(input, scope_), source, input);
    }
  }

  /// An integer argument that is any.
  void number(const Field& field, SourceId source) {
    const auto choice = read_choice(field);
    if (!choice || choice->name != "as_name") return field.fail("an input is a name");
    const std::string name = choice->value.text();
    const SymExpr size = scope_.size(name, field);
    TensorType type;
    type.dtype = DType::int64;
    const ValueId id = add(InputKind::size, name, source, type);
    Value& value = state_.graph.values[id];
    value.is_scalar = true;
    value.expression = size;
    state_.argument_sizes[interface().sources.text(source)] = size;
    if (size.symbol_name().empty() && !size.is_constant())
      field.fail(fmt::format("the argument {} has to be {}", name.substr(0, 80), size.to_string()),
                 Code::PS0211);
  }

  /// An argument that has one value in all calls.
  void constant(const Argument& value, SourceId source, const Field& input) {
    Guard guard{value.is_none() ? GuardKind::is_none : GuardKind::equals,
                source,
                kNoSource,
                {},
                {},
                {},
                {},
                -1};
    if (!value.is_none()) guard.expected = value;
    if (value.as<SymExpr>() != nullptr || value.as<Argument::Value>() != nullptr)
      return input.fail("a constant input is a number, a flag, a text or None");
    interface().guards.push_back(std::move(guard));
  }

  Result<void> weight(const WeightRow& row, const Field& field, const Field& input) {
    Record spec(field);
    const Field name = spec.required(row.key);
    const Field argument = spec.required("arg");
    const std::string called = read_name(argument);
    const TensorType* type = scope_.type(called, input);
    if (type == nullptr || field.problems().first) return {};
    auto weight = weights_.take(name.text(), keep_);
    if (!weight) {
      if (weight.error().place.empty()) weight.error().place = name.pointer();
      return tl::unexpected(std::move(weight.error()));
    }
    if (weight->type.dtype != type->dtype || weight->type.sizes != type->sizes) {
      name.fail(fmt::format("it is {} in the graph, and {} in the archive", to_string(*type),
                            to_string(weight->type)));
      return {};
    }
    const bool temporary = row.kind == InputKind::buffer && !spec.flag_or("persistent", true);
    const SourceId source = weight_source(interface().sources, name.text(), row.kind);
    TensorType stored = *type;
    stored.strides = weight->type.strides;
    if (weight->storage >= 0) {
      stored.storage = weight->storage;
      stored.storage_offset = weight->type.storage_offset;
    } else {
      stored.storage_offset = 0;
    }
    state_.next_storage = std::max(state_.next_storage, weight->storage + 1);
    const ValueId id = add(row.kind, called, source, stored);
    interface().inputs.back().blob = weight->blob;
    if (temporary) interface().guards.push_back(temporary_buffer(interface().sources, name.text()));
    if (row.kind == InputKind::buffer) state_.buffers[name.text()] = id;
    if (row.kind == InputKind::parameter) state_.parameters[name.text()] = id;
    return {};
  }

  ReadState& state_;
  Scope& scope_;
  Weights& weights_;
  const KeepTensor& keep_;
  std::vector<SourceId> places_;
  std::size_t next_ = 0;
};

/// A bound of a range, or `otherwise` where there is none.
std::int64_t bound(Record& range, std::string_view key, std::int64_t otherwise) {
  const auto field = range.optional(key);
  return !field || field->json().is_null() ? otherwise : field->integer();
}

/// A symbol is read where it stands alone as a size of an input or as an argument.
void read_symbols(ReadState& state, const Field& program) {
  Interface& interface = state.graph.interface;
  const auto declare = [&](const SymExpr& size, const auto& source) {
    const std::string name(size.symbol_name());
    if (name.empty() ||
        std::ranges::find(interface.symbols, name, &Symbol::name) != interface.symbols.end())
      return;
    Symbol symbol;
    symbol.name = name;
    symbol.source = source();
    interface.symbols.push_back(std::move(symbol));
  };
  for (std::size_t i = 0; i < interface.inputs.size(); ++i) {
    const Input& input = interface.inputs[i];
    const Value& value = state.graph.values[i];
    if (value.is_scalar) declare(value.expression, [&] { return input.source; });
    for (std::size_t d = 0; d < input.type.rank(); ++d) {
      declare(input.type.sizes[d], [&] {
        return interface.sources.intern(
            {SourceKind::size, input.source, {}, static_cast<std::int64_t>(d), {}});
      });
    }
  }
  Record record(program);
  const Field ranges = record.required("range_constraints");
  if (!ranges.json().is_object()) return ranges.fail("it should be a record");
  for (Symbol& symbol : interface.symbols) {
    const auto range = ranges.json().find(symbol.name);
    if (range != ranges.json().end()) {
      const Field field(*range, ranges, range.key());
      Record bounds(field);
      symbol.minimum = std::max<std::int64_t>(bound(bounds, "min_val", 0), 0);
      symbol.maximum = bound(bounds, "max_val", INT64_MAX);
      if (symbol.minimum > symbol.maximum) field.fail("the range is empty");
    }
    const auto hint = state.hints.find(symbol.name);
    if (hint != state.hints.end() && hint->second >= symbol.minimum &&
        hint->second <= symbol.maximum)
      symbol.hint = hint->second;
  }
}

}  // namespace

Result<void> read_inputs(ReadState& state, Scope& scope, const Field& graph, const Field& signature,
                         const Field& program, Weights& weights, const KeepTensor& keep) {
  auto call = read_signature(program);
  if (!call) return tl::unexpected(std::move(call.error()));
  if (auto known = check_containers(call->in); !known) return known;
  Record body(graph), specs(signature);
  InputReader reader(state, scope, weights, keep);
  auto read = reader.read(body.required("inputs"), specs.required("input_specs"), std::move(*call));
  if (!read || program.problems().first) return read;
  read_symbols(state, program);
  read_conditions(state, program);
  return {};
}

}  // namespace penstock::pt2
