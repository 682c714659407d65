#include "torch/schema.h"

#include <Python.h>

#include <algorithm>
#include <charconv>

#include "python/literal.h"
#include "python/object.h"

namespace penstock::torch {

namespace {

using python::PyRef;

struct TypeName {
  std::string_view text;
  ParameterType type;
};
constexpr TypeName kTypeNames[] = {
    {"Tensor", ParameterType::tensor},
    {"Scalar", ParameterType::scalar},
    {"SymInt", ParameterType::integer},
    {"int", ParameterType::integer},
    {"float", ParameterType::floating},
    {"bool", ParameterType::boolean},
    {"str", ParameterType::string},
    {"ScalarType", ParameterType::dtype},
    {"Layout", ParameterType::layout},
    {"Device", ParameterType::device},
    {"MemoryFormat", ParameterType::memory_format},
    {"Generator", ParameterType::generator},
};

/// Cuts `text` at top-level occurrences of ", ".
std::vector<std::string_view> split_list(std::string_view text) {
  std::vector<std::string_view> parts;
  int nesting = 0;
  bool quoted = false;
  std::size_t start = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' || c == '\'') quoted = !quoted;
    if (quoted) continue;
    if (c == '(' || c == '[') ++nesting;
    if (c == ')' || c == ']') --nesting;
    if (c == ',' && nesting == 0) {
      parts.push_back(text.substr(start, i - start));
      start = i + 2;
    }
  }
  if (start < text.size()) parts.push_back(text.substr(start));
  return parts;
}

/// Takes alias annotations out of a type: "Tensor(a!)[]" gives "Tensor[]" and written.
std::string plain_type(std::string_view text, bool& written) {
  std::string plain;
  int nesting = 0;
  for (char c : text) {
    if (c == '(') ++nesting;
    if (nesting > 0 && c == '!') written = true;
    if (nesting == 0) plain += c;
    if (c == ')') --nesting;
  }
  return plain;
}

void parse_type(std::string_view text, Parameter& parameter) {
  parameter.type_text = plain_type(text, parameter.written);
  std::string_view rest = parameter.type_text;
  if (rest.ends_with('?')) {
    parameter.optional = true;
    rest.remove_suffix(1);
  }
  if (rest.ends_with(']')) {
    parameter.list = true;
    const std::size_t open = rest.rfind('[');
    std::from_chars(rest.data() + open + 1, rest.data() + rest.size() - 1, parameter.fixed_size);
    rest = rest.substr(0, open);
    if (rest.ends_with('?')) {
      parameter.optional_items = true;
      rest.remove_suffix(1);
    }
  }
  for (const TypeName& row : kTypeNames) {
    if (row.text == rest) parameter.type = row.type;
  }
}

std::optional<Parameter> parse_parameter(std::string_view text, bool keyword_only) {
  Parameter parameter;
  parameter.keyword_only = keyword_only;
  // The type may hold blanks inside its alias annotation: "Tensor(a -> *) self".
  std::size_t blank = 0;
  int nesting = 0;
  for (; blank < text.size(); ++blank) {
    if (text[blank] == '(') ++nesting;
    if (text[blank] == ')') --nesting;
    if (text[blank] == ' ' && nesting == 0) break;
  }
  if (blank >= text.size()) return std::nullopt;
  parse_type(text.substr(0, blank), parameter);
  std::string_view name = text.substr(blank + 1);
  const std::size_t equals = name.find('=');
  parameter.has_default = equals != std::string_view::npos;
  parameter.name = std::string(name.substr(0, equals));
  // Dimension names print as str; only their parameters' names tell them from strings.
  if (parameter.type == ParameterType::string &&
      (parameter.name == "dim" || parameter.name == "names" || parameter.name == "dim0")) {
    parameter.type = ParameterType::name;
  }
  return parameter;
}

void parse_returns(std::string_view text, Schema& schema) {
  if (text.starts_with('(')) {
    schema.returns = static_cast<int>(split_list(text.substr(1, text.size() - 2)).size());
    return;
  }
  schema.returns = 1;
  schema.returns_list = text.ends_with("[]");
}

}  // namespace

bool Schema::has_out() const {
  return std::any_of(parameters.begin(), parameters.end(),
                     [](const Parameter& p) { return p.written && p.keyword_only; });
}

std::optional<Schema> parse_schema(std::string_view text) {
  Schema schema;
  const std::size_t open = text.find('(');
  const std::size_t colons = text.find("::");
  const std::size_t arrow = text.rfind(") -> ");
  if (open == std::string_view::npos || colons > open || arrow == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view full = text.substr(colons + 2, open - colons - 2);
  const std::size_t dot = full.find('.');
  schema.name = std::string(full.substr(0, dot));
  if (dot != std::string_view::npos) schema.overload = std::string(full.substr(dot + 1));
  bool keyword_only = false;
  for (std::string_view part : split_list(text.substr(open + 1, arrow - open - 1))) {
    if (part == "*") {
      keyword_only = true;
      continue;
    }
    auto parameter = parse_parameter(part, keyword_only);
    if (!parameter) return std::nullopt;
    schema.parameters.push_back(std::move(*parameter));
  }
  parse_returns(text.substr(arrow + 5), schema);
  return schema;
}

namespace {

/// True if `a` is tried after `b` for being of this type at the same place.
bool yields_to(const Parameter& a, const Parameter& b) {
  auto is = [](const Parameter& p, std::string_view text) { return p.type_text == text; };
  return (is(a, "Scalar") && is(b, "Tensor")) || (is(a, "Scalar?") && is(b, "Tensor?")) ||
         (a.type == ParameterType::name && b.type != ParameterType::name) ||
         (is(a, "int[]") && (is(b, "int") || is(b, "int?"))) ||
         (is(a, "Tensor[]") && b.list && !is(b, "Tensor[]")) ||
         ((is(a, "SymInt") || is(a, "int")) && is(b, "Tensor"));
}

/// Parameters without the results to write, which do not take part in the order.
std::vector<const Parameter*> compared(const Schema& schema) {
  std::vector<const Parameter*> parameters;
  for (const Parameter& p : schema.parameters) {
    if (!(p.written && p.keyword_only)) parameters.push_back(&p);
  }
  return parameters;
}

bool is_smaller(const Schema& a, const Schema& b) {
  const auto left = compared(a), right = compared(b);
  if (left.size() != right.size()) return false;
  bool equal = true;
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (left[i]->type_text == right[i]->type_text) continue;
    if (!yields_to(*left[i], *right[i])) return false;
    equal = false;
  }
  return !equal;
}

/// A parameter's type as torch's bindings write it: they are sorted by that text.
std::string binding_type(const std::string& type) {
  struct Row {
    std::string_view schema, binding;
  };
  static constexpr Row kRows[] = {
      {"int[", "IntArrayRef["},        {"int", "int64_t"},  {"SymInt[", "SymIntArrayRef["},
      {"float[", "ArrayRef<double>["}, {"float", "double"}, {"str", "c10::string_view"},
      {"Tensor[", "TensorList["}};
  for (const Row& row : kRows) {
    if (type.starts_with(row.schema)) {
      return std::string(row.binding) + type.substr(row.schema.size());
    }
  }
  return type;
}

std::string order_text(const Schema& schema) {
  std::string text = schema.name + "(";
  for (const Parameter* p : compared(schema)) {
    text += binding_type(p->type_text) + " " + p->name + (p->has_default ? "=, " : ", ");
  }
  return text;
}

/// Overloads that torch does not offer to Python: a number binds to the Tensor overload instead.
bool is_hidden(const Schema& schema) {
  static constexpr std::string_view kWrapped[] = {"add", "add_", "sub", "sub_",
                                                  "mul", "mul_", "div", "div_"};
  return (schema.overload == "Scalar" || schema.overload == "Scalar_mode") &&
         std::find(std::begin(kWrapped), std::end(kWrapped), schema.name) != std::end(kWrapped);
}

}  // namespace

void sort_overloads(std::vector<Schema>& overloads) {
  std::erase_if(overloads, is_hidden);
  std::stable_sort(overloads.begin(), overloads.end(),
                   [](const Schema& a, const Schema& b) { return order_text(a) < order_text(b); });
  std::vector<Schema> sorted;
  std::vector<bool> taken(overloads.size());
  auto blocked = [&](std::size_t i) {
    for (std::size_t j = 0; j < overloads.size(); ++j) {
      if (!taken[j] && j != i && is_smaller(overloads[i], overloads[j])) return true;
    }
    return false;
  };
  // Overloads of one op are few (at most about twenty).
  while (sorted.size() < overloads.size()) {
    std::vector<std::size_t> free;
    for (std::size_t i = 0; i < overloads.size(); ++i) {
      if (!taken[i] && !blocked(i)) free.push_back(i);
    }
    for (std::size_t i : free) {
      taken[i] = true;
      sorted.push_back(overloads[i]);
    }
  }
  overloads = std::move(sorted);
}

namespace {

/// torch._C.<function>(argument), or null with the error cleared.
PyRef call_torch_c(const char* function, const std::string& argument) {
  PyObject* module = PyDict_GetItemString(PyImport_GetModuleDict(), "torch._C");
  if (module == nullptr) return nullptr;
  PyRef result = PyRef::steal(PyObject_CallMethod(module, function, "s", argument.c_str()));
  if (!result) PyErr_Clear();
  return result;
}

bool is_dispatched(const Schema& schema) {
  std::string name = "aten::" + schema.name;
  if (!schema.overload.empty()) name += "." + schema.overload;
  PyRef known = call_torch_c("_dispatch_has_kernel", name);
  return known && known.get() == Py_True;
}

std::vector<Schema> read_overloads(const std::string& name) {
  std::vector<Schema> overloads;
  PyRef list = call_torch_c("_jit_get_schemas_for_operator", "aten::" + name);
  if (!list || !PyList_Check(list.get())) return overloads;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list.get()); ++i) {
    PyRef text = PyRef::steal(PyObject_Str(PyList_GET_ITEM(list.get(), i)));
    if (!text) {
      PyErr_Clear();
      continue;
    }
    auto schema = parse_schema(python::text_of(text.get()));
    if (schema && is_dispatched(*schema)) overloads.push_back(std::move(*schema));
  }
  sort_overloads(overloads);
  return overloads;
}

}  // namespace

const std::vector<Schema>& SchemaTable::overloads(const std::string& name) {
  auto found = table_.find(name);
  if (found == table_.end()) found = table_.emplace(name, read_overloads(name)).first;
  return found->second;
}

void SchemaTable::set(const std::string& name, const std::vector<std::string>& schemas) {
  std::vector<Schema> overloads;
  for (const std::string& text : schemas) {
    if (auto schema = parse_schema(text)) overloads.push_back(std::move(*schema));
  }
  sort_overloads(overloads);
  table_[name] = std::move(overloads);
}

}  // namespace penstock::torch
