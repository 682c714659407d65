#include <fmt/format.h>

#include <algorithm>

#include "interchange/pt2/json.h"
#include "interchange/pt2/numbers.h"
#include "interchange/pt2/write_state.h"

namespace penstock::pt2 {

namespace {

Json tensor(const std::string& name) {
  return {{"name", name}};
}

template <class T>
bool all(const Argument::Sequence& sequence) {
  return std::ranges::all_of(sequence.items,
                             [](const Argument& item) { return item.as<T>() != nullptr; });
}

Json named(const Argument::Named& named, WriteState& state) {
  using Kind = Argument::Named::Kind;
  if (named.kind == Kind::layout && named.name == "strided") return {{"as_layout", kStrided}};
  if (named.kind == Kind::memory_format) {
    if (const auto number = number_of_memory_format(named.name))
      return {{"as_memory_format", *number}};
  }
  if (named.kind == Kind::device) {
    const std::size_t colon = named.name.find(':');
    Json device = {{"type", named.name.substr(0, colon)}, {"index", nullptr}};
    if (colon != std::string::npos) device["index"] = std::atoi(named.name.c_str() + colon + 1);
    return {{"as_device", device}};
  }
  state.fail(fmt::format("{} is an argument, which exported programs do not have", named.name));
  return {};
}

}  // namespace

/// Lists have one kind of items; a list of numbers with sizes among them is one of sizes.
Json WriteState::list(const Argument::Sequence& sequence) {
  Json items = Json::array();
  const auto each = [&](const char* name, const auto& write) -> Json {
    for (const Argument& item : sequence.items) items.push_back(write(item));
    return {{name, items}};
  };
  const bool some_size = std::ranges::any_of(sequence.items, [&](const Argument& item) {
    const auto* value = item.as<Argument::Value>();
    return item.as<SymExpr>() != nullptr || (value != nullptr && graph.values[value->id].is_scalar);
  });
  if (some_size) {
    return each("as_sym_ints", [&](const Argument& item) -> Json {
      Json one = argument(item);
      return one.contains("as_sym_int") ? one["as_sym_int"] : one;
    });
  }
  if (all<std::int64_t>(sequence))
    return each("as_ints", [](const Argument& item) -> Json { return *item.as<std::int64_t>(); });
  if (all<bool>(sequence))
    return each("as_bools", [](const Argument& item) -> Json { return *item.as<bool>(); });
  if (all<std::string>(sequence))
    return each("as_strings", [](const Argument& item) -> Json { return *item.as<std::string>(); });
  if (all<Argument::Value>(sequence)) {
    return each("as_tensors", [&](const Argument& item) -> Json {
      return tensor(graph.values[item.as<Argument::Value>()->id].name);
    });
  }
  const auto is_number = [](const Argument& item) {
    return item.as<std::int64_t>() != nullptr || item.as<double>() != nullptr;
  };
  if (std::ranges::all_of(sequence.items, is_number)) {
    return each("as_floats", [](const Argument& item) -> Json {
      if (const auto* real = item.as<double>()) return write_float(*real);
      return static_cast<double>(*item.as<std::int64_t>());
    });
  }
  return each("as_optional_tensors", [&](const Argument& item) -> Json {
    if (item.is_none()) return {{"as_none", true}};
    Json one = argument(item);
    if (!one.contains("as_tensor")) fail("a list of several kinds of arguments");
    return one;
  });
}

Json WriteState::argument(const Argument& argument) {
  if (argument.is_none()) return {{"as_none", true}};
  if (const auto* value = argument.as<Argument::Value>()) {
    const Value& made = graph.values[value->id];
    if (made.is_scalar) return {{"as_sym_int", {{"as_name", made.name}}}};
    return {{"as_tensor", tensor(made.name)}};
  }
  if (const auto* flag = argument.as<bool>()) return {{"as_bool", *flag}};
  if (const auto* integer = argument.as<std::int64_t>()) return {{"as_int", *integer}};
  if (const auto* real = argument.as<double>()) return {{"as_float", write_float(*real)}};
  if (const auto* text = argument.as<std::string>()) return {{"as_string", *text}};
  if (const auto* dtype = argument.as<DType>()) return {{"as_scalar_type", number_of(*dtype)}};
  if (const auto* size = argument.as<SymExpr>()) return operand(*size);
  if (const auto* complex = argument.as<Argument::Complex>()) {
    return {{"as_complex",
             {{"real", write_float(complex->real)}, {"imag", write_float(complex->imaginary)}}}};
  }
  if (const auto* word = argument.as<Argument::Named>()) return named(*word, *this);
  if (const auto* sequence = argument.as<Argument::Sequence>()) return list(*sequence);
  fail("an op has an argument of a kind that exported programs do not have");
  return {};
}

}  // namespace penstock::pt2
