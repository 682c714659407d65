#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ir/dtype.h"
#include "shape/sym_expr.h"

namespace penstock {

/// Index into Graph::values.
using ValueId = std::uint32_t;
inline constexpr ValueId kNoValue = ~ValueId{0};

/// A Python datum as it stands in an op's arguments, a call, a guard's expectation or a constant.
/// One recursive type, so that every document and every printer has one encoding for all of them.
struct Argument {
  struct None {
    friend bool operator==(None, None) = default;
  };
  struct Ellipsis {
    friend bool operator==(Ellipsis, Ellipsis) = default;
  };
  /// A value of the graph.
  struct Value {
    ValueId id;
    friend bool operator==(Value, Value) = default;
  };
  struct Complex {
    double real, imaginary;
    friend bool operator==(Complex, Complex) = default;
  };
  /// A torch object that prints as a word: device "cuda:0", layout "strided", memory_format
  /// "channels_last", or any other named object ("object": "torch.nn.functional.relu").
  struct Named {
    enum class Kind : std::uint8_t { device, layout, memory_format, object };
    Kind kind;
    std::string name;
    friend bool operator==(const Named&, const Named&) = default;
  };
  struct Bytes {
    std::string bytes;
    friend bool operator==(const Bytes&, const Bytes&) = default;
  };
  /// list, tuple or slice (three items: start, stop, step).
  struct Sequence {
    enum class Kind : std::uint8_t { list, tuple, slice };
    Kind kind;
    std::vector<Argument> items;
    friend bool operator==(const Sequence&, const Sequence&);
  };
  struct Dict {
    std::vector<std::pair<Argument, Argument>> items;  ///< insertion order
    friend bool operator==(const Dict&, const Dict&);
  };

  /// A SymExpr is a symbolic integer; a plain int stays std::int64_t, bool stays bool (1 is not
  /// True).
  using Datum = std::variant<None, bool, std::int64_t, double, std::string, SymExpr, DType, Value,
                             Complex, Ellipsis, Named, Bytes, Sequence, Dict>;
  Datum datum;

  Argument() = default;
  template <class T>
  requires std::is_constructible_v<Datum, T&&> &&
      (!std::is_same_v<std::decay_t<T>, Argument>)Argument(T&& value)
      : datum(std::forward<T>(value)) {}  // NOLINT: a wrapper, meant to be implicit

  template <class T>
  const T* as() const {
    return std::get_if<T>(&datum);
  }
  bool is_none() const { return std::holds_alternative<None>(datum); }
  friend bool operator==(const Argument& a, const Argument& b) { return a.datum == b.datum; }
};

inline bool operator==(const Argument::Sequence& a, const Argument::Sequence& b) {
  return a.kind == b.kind && a.items == b.items;
}
inline bool operator==(const Argument::Dict& a, const Argument::Dict& b) {
  return a.items == b.items;
}

/// Whether it is the int or float `number`.
inline bool is_number(const Argument& argument, double number) {
  if (const auto* integer = argument.as<std::int64_t>())
    return static_cast<double>(*integer) == number;
  const auto* real = argument.as<double>();
  return real != nullptr && *real == number;
}

/// An argument with its name in the op's schema or the callee's signature (empty: positional only).
struct NamedArgument {
  std::string name;
  Argument value;
  friend bool operator==(const NamedArgument&, const NamedArgument&) = default;
};

/// Calls `visit(ValueId)` for every value in `argument`, left to right, nested ones too.
template <class Visit>
void for_each_value(const Argument& argument, const Visit& visit) {
  if (auto* value = argument.as<Argument::Value>()) visit(value->id);
  if (auto* sequence = argument.as<Argument::Sequence>()) {
    for (const Argument& item : sequence->items) for_each_value(item, visit);
  }
  if (auto* dict = argument.as<Argument::Dict>()) {
    for (const auto& [key, item] : dict->items) {
      for_each_value(key, visit);
      for_each_value(item, visit);
    }
  }
}

/// Calls `visit(const SymExpr&)` for every size in `argument`, nested ones too.
template <class Visit>
void for_each_size(const Argument& argument, const Visit& visit) {
  if (auto* size = argument.as<SymExpr>()) visit(*size);
  if (auto* sequence = argument.as<Argument::Sequence>()) {
    for (const Argument& item : sequence->items) for_each_size(item, visit);
  }
  if (auto* dict = argument.as<Argument::Dict>()) {
    for (const auto& [key, item] : dict->items) {
      for_each_size(key, visit);
      for_each_size(item, visit);
    }
  }
}

/// Replaces every value id in `argument` by `map(id)`.
template <class Map>
void map_values(Argument& argument, const Map& map) {
  if (auto* value = std::get_if<Argument::Value>(&argument.datum)) value->id = map(value->id);
  if (auto* sequence = std::get_if<Argument::Sequence>(&argument.datum)) {
    for (Argument& item : sequence->items) map_values(item, map);
  }
  if (auto* dict = std::get_if<Argument::Dict>(&argument.datum)) {
    for (auto& [key, item] : dict->items) {
      map_values(key, map);
      map_values(item, map);
    }
  }
}

}  // namespace penstock
