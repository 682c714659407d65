#include "torch/overload.h"

#include <algorithm>

// How torch chooses an overload, and how we follow it.
//
// torch's generated bindings try one signature after the other (SchemaTable gives our schemas the
// same order) and take the first to which all arguments bind. Binding goes by the kind of each
// argument alone, so a list of kinds decides, not values. Three rules are not visible in schemas:
//  - for a fixed list of ops a plain number binds to a Tensor parameter (it becomes a wrapped
//  number):
//    that is why `a + 1` is add.Tensor, and `a < 1` is lt.Scalar;
//  - NumPy's names are taken for some keywords (axis for dim, keepdims for keepdim), and the first
//    parameter of a function is called `input`;
//  - when the only positional parameter is a list of integers, it takes all positional numbers;
//  - a flag that no schema has says which of two ops is meant (as_tuple of nonzero).
// The overload's result tensors ("out") are separate schemas for the dispatcher, one optional
// keyword for Python: they are considered exactly when `out` is given.

namespace penstock::torch {

namespace {

constexpr std::string_view kNumbersAsTensors[] = {
    "add",          "add_",         "div",           "div_",      "divide",
    "divide_",      "mul",          "mul_",          "multiply",  "multiply_",
    "sub",          "sub_",         "subtract",      "subtract_", "true_divide",
    "true_divide_", "floor_divide", "floor_divide_", "copy_",     "to",
};

bool takes_numbers_as_tensors(const std::string& name) {
  return std::find(std::begin(kNumbersAsTensors), std::end(kNumbersAsTensors), name) !=
         std::end(kNumbersAsTensors);
}

bool is_number(const Argument& a) {
  return a.as<bool>() || a.as<std::int64_t>() || a.as<double>() || a.as<Argument::Complex>() ||
         a.as<SymExpr>();
}

bool is_integer(const Argument& a) {
  return a.as<std::int64_t>() || a.as<SymExpr>();
}

bool is_named(const Argument& a, Argument::Named::Kind kind) {
  auto* named = a.as<Argument::Named>();
  return named != nullptr && named->kind == kind;
}

/// The names "float", "int", "bool" of Python's types stand for dtypes.
bool is_dtype(const Argument& a) {
  return a.as<DType>() != nullptr;
}

bool binds_one(const Parameter& p, const Argument& a, bool numbers) {
  switch (p.type) {
    case ParameterType::tensor:
      return a.as<Argument::Value>() || (numbers && is_number(a));
    case ParameterType::scalar:
      return is_number(a);
    case ParameterType::integer:
      return is_integer(a);
    case ParameterType::floating:
      return is_integer(a) || a.as<double>();
    case ParameterType::boolean:
      return a.as<bool>();
    case ParameterType::string:
      return a.as<std::string>();
    case ParameterType::dtype:
      return is_dtype(a);
    case ParameterType::layout:
      return is_named(a, Argument::Named::Kind::layout);
    case ParameterType::device:
      return is_named(a, Argument::Named::Kind::device) || a.as<std::string>() || is_integer(a);
    case ParameterType::memory_format:
      return is_named(a, Argument::Named::Kind::memory_format);
    case ParameterType::generator:
    case ParameterType::name:
    case ParameterType::other:
      return false;
  }
  return false;
}

bool binds(const Parameter& p, const Argument& a, bool numbers) {
  if (a.is_none()) return p.optional;
  if (!p.list) return binds_one(p, a, numbers);
  if (auto* sequence = a.as<Argument::Sequence>()) {
    if (sequence->kind == Argument::Sequence::Kind::slice) return false;
    return std::all_of(sequence->items.begin(), sequence->items.end(), [&](const Argument& item) {
      return (item.is_none() && p.optional_items) || binds_one(p, item, false);
    });
  }
  return p.fixed_size > 0 && p.type != ParameterType::tensor && binds_one(p, a, false);
}

/// The value as the schema's parameter holds it: a number for "int[2]" becomes a list.
Argument converted(const Parameter& p, const Argument& a) {
  if (p.list && !a.as<Argument::Sequence>() && !a.is_none()) {
    // One number stands for as many as the op has dimensions for; the schema's own length says so.
    return Argument::Sequence{Argument::Sequence::Kind::list,
                              std::vector<Argument>(p.fixed_size, a)};
  }
  if (auto* sequence = a.as<Argument::Sequence>(); p.list && sequence != nullptr) {
    return Argument::Sequence{Argument::Sequence::Kind::list, sequence->items};
  }
  if (p.type == ParameterType::device && a.as<std::string>()) {
    return Argument::Named{Argument::Named::Kind::device, *a.as<std::string>()};
  }
  if (p.type == ParameterType::floating && a.as<std::int64_t>()) {
    return static_cast<double>(*a.as<std::int64_t>());
  }
  return a;
}

/// Other names under which torch takes a parameter.
bool is_called(const Parameter& p, std::size_t position, const std::string& keyword) {
  if (p.name == keyword) return true;
  if (position == 0 && p.name == "self") {
    return keyword == "input" || keyword == "x" || keyword == "a" || keyword == "x1";
  }
  if (p.name == "dim") return keyword == "axis";
  if (p.name == "keepdim") return keyword == "keepdims";
  return p.name == "other" && keyword == "x2";
}

/// A keyword of Python's that no schema has: where it is true, the other op is called.
struct Flag {
  std::string_view op, name, other;
};
constexpr Flag kFlags[] = {{"nonzero", "as_tuple", "nonzero_numpy"}};

/// The op that is called as `name`: the flag among the keywords may say that it is another one.
std::string op_called(const std::string& name, const std::vector<NamedArgument>& keywords) {
  for (const Flag& flag : kFlags) {
    if (flag.op != name) continue;
    for (const NamedArgument& keyword : keywords) {
      const bool* value = keyword.value.as<bool>();
      if (keyword.name == flag.name && value != nullptr && *value) return std::string(flag.other);
    }
  }
  return name;
}

/// Parameters that Python has and the schema has not, at the value that changes nothing, or that
/// has chosen this op.
bool is_without_effect(const Schema& schema, const NamedArgument& keyword) {
  if (keyword.name == "out") return keyword.value.is_none();
  const bool* value = keyword.value.as<bool>();
  if (value == nullptr) return false;
  if (keyword.name == "requires_grad") return true;  // of the result, when it was made
  return std::ranges::any_of(kFlags, [&](const Flag& flag) {
    return flag.name == keyword.name && schema.name == (*value ? flag.other : flag.op);
  });
}

struct Binding {
  std::vector<const Argument*> values;  ///< one per parameter; null: left at its default
  std::vector<Argument> own;            ///< arguments made here (at most one)
};

std::size_t positional_count(const Schema& schema) {
  return std::count_if(schema.parameters.begin(), schema.parameters.end(),
                       [](const Parameter& p) { return !p.keyword_only; });
}

/// "view(2, 3)": the numbers as one list, when the schema and the arguments are of that kind.
std::optional<Argument> gathered_numbers(const Schema& schema,
                                         const std::vector<Argument>& positional, bool method) {
  const std::size_t first = method ? 1 : 0;
  if (positional_count(schema) != first + 1 || positional.size() <= first) return std::nullopt;
  const Parameter& p = schema.parameters[first];
  if (!p.list || p.type != ParameterType::integer) return std::nullopt;
  Argument::Sequence list{Argument::Sequence::Kind::list, {}};
  for (std::size_t i = first; i < positional.size(); ++i) {
    if (!is_integer(positional[i])) return std::nullopt;
    list.items.push_back(positional[i]);
  }
  return Argument(std::move(list));
}

/// Which parameter is called `self`; the first if none is.
std::size_t place_of_self(const Schema& schema) {
  const auto found = std::ranges::find(schema.parameters, "self", &Parameter::name);
  return found == schema.parameters.end()
             ? 0
             : static_cast<std::size_t>(found - schema.parameters.begin());
}

bool bind_positional(const Schema& schema, const std::vector<Argument>& positional, bool method,
                     Binding& binding) {
  if (auto list = gathered_numbers(schema, positional, method)) {
    binding.own.push_back(std::move(*list));
    if (method) binding.values[0] = &positional[0];
    binding.values[method ? 1 : 0] = &binding.own[0];
    return true;
  }
  if (positional.size() > positional_count(schema)) return false;
  // The tensor before the dot is `self`, wherever that stands: x.where(condition, y),
  // x.polygamma(n).
  const std::size_t self = method ? place_of_self(schema) : 0;
  for (std::size_t i = 0; i < positional.size(); ++i) binding.values[i] = &positional[i];
  const auto first = binding.values.begin();
  if (self > 0) std::rotate(first, first + 1, first + static_cast<std::ptrdiff_t>(self) + 1);
  return true;
}

bool bind_keywords(const Schema& schema, const std::vector<NamedArgument>& keywords,
                   Binding& binding) {
  for (const NamedArgument& keyword : keywords) {
    bool found = false;
    for (std::size_t i = 0; i < schema.parameters.size() && !found; ++i) {
      if (binding.values[i] != nullptr) continue;
      if (!is_called(schema.parameters[i], i, keyword.name)) continue;
      binding.values[i] = &keyword.value;
      found = true;
    }
    if (!found && !is_without_effect(schema, keyword)) return false;
  }
  return true;
}

std::optional<ResolvedCall> bind(const Schema& schema, const std::vector<Argument>& positional,
                                 const std::vector<NamedArgument>& keywords, bool method) {
  Binding binding;
  binding.values.resize(schema.parameters.size(), nullptr);
  binding.own.reserve(1);
  if (!bind_positional(schema, positional, method, binding)) return std::nullopt;
  if (!bind_keywords(schema, keywords, binding)) return std::nullopt;
  const bool numbers = takes_numbers_as_tensors(schema.name);
  ResolvedCall call{&schema, {}, {}};
  for (std::size_t i = 0; i < schema.parameters.size(); ++i) {
    const Parameter& p = schema.parameters[i];
    if (binding.values[i] == nullptr) {
      if (!p.has_default) return std::nullopt;
      continue;
    }
    if (!binds(p, *binding.values[i], numbers)) return std::nullopt;
    call.args.push_back({p.name, converted(p, *binding.values[i])});
    call.given.push_back(binding.values[i]);
  }
  return call;
}

bool gives_out(const std::vector<NamedArgument>& keywords) {
  return std::any_of(keywords.begin(), keywords.end(), [](const NamedArgument& keyword) {
    return keyword.name == "out" && !keyword.value.is_none();
  });
}

}  // namespace

std::optional<ResolvedCall> resolve_overload(SchemaTable& table, const std::string& name,
                                             const std::vector<Argument>& positional,
                                             const std::vector<NamedArgument>& keywords,
                                             bool method) {
  const bool out = gives_out(keywords);
  for (const Schema& schema : table.overloads(op_called(name, keywords))) {
    if (schema.has_out() != out) continue;
    if (auto call = bind(schema, positional, keywords, method)) return call;
  }
  return std::nullopt;
}

std::optional<ResolvedCall> resolve_named_overload(SchemaTable& table, const std::string& name,
                                                   const std::string& overload,
                                                   const std::vector<Argument>& positional,
                                                   const std::vector<NamedArgument>& keywords) {
  for (const Schema& schema : table.overloads(name)) {
    if (schema.overload == overload) return bind(schema, positional, keywords, false);
  }
  return std::nullopt;
}

}  // namespace penstock::torch
