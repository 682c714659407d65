#include "interchange/pt2/values.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "interchange/pt2/json.h"
#include "interchange/pt2/numbers.h"
#include "interchange/pt2/sympy.h"

namespace penstock::pt2 {

using formats::Field;
using formats::Record;

namespace {

/// A sympy text with, perhaps, its value in the call that was exported.
SymExpr read_expression(const Field& field, std::map<std::string, std::int64_t>* hints) {
  Record record(field);
  const Field text = record.required("expr_str");
  auto expression = read_sympy(text.text());
  if (!expression) {
    text.fail(std::move(expression.error().message), expression.error().code);
    return 0;
  }
  const auto hint = record.optional("hint");
  if (hints == nullptr || !hint || hint->json().is_null()) return *expression;
  const auto choice = read_choice(*hint);
  const std::string symbol(expression->symbol_name());
  if (choice && choice->name == "as_int" && !symbol.empty())
    hints->emplace(symbol, choice->value.integer());
  return *expression;
}

/// SymInt: {"as_int": …} or {"as_expr": …}.
SymExpr read_integer(const Field& field, std::map<std::string, std::int64_t>* hints) {
  const auto choice = read_choice(field);
  if (!choice) return 0;
  if (choice->name == "as_int") return choice->value.integer();
  if (choice->name == "as_expr") return read_expression(choice->value, hints);
  field.fail(fmt::format("a size is no {}", choice->name.substr(0, 80)));
  return 0;
}

Result<Condition> read_truth(const Field& field) {
  const auto choice = read_choice(field);
  if (!choice) return failure(Code::PS0201, "it is no truth");
  if (choice->name == "as_bool")
    return Condition{0, Condition::Relation::equal, choice->value.flag() ? 0 : 1};
  Record record(choice->value);
  return read_sympy_condition(record.required("expr_str").text());
}

std::string read_device(const Field& field) {
  Record record(field);
  std::string type = record.required("type").text();
  const auto index = record.optional("index");
  if (!index || index->json().is_null()) return type;
  return fmt::format("{}:{}", type, index->integer());
}

/// {"as_name": …} or {"as_int": …}.
Argument read_named_size(const Field& field, const Scope& scope) {
  const auto choice = read_choice(field);
  if (!choice) return {};
  if (choice->name == "as_int") return choice->value.integer();
  const SymExpr size = scope.size(choice->value.text(), choice->value);
  if (const auto number = size.constant()) return *number;
  return size;
}

/// {"as_name": …} or {"as_bool": …}: only what is the same in every call is an argument.
Argument read_named_truth(const Field& field, const Scope& scope) {
  const auto choice = read_choice(field);
  if (!choice) return {};
  if (choice->name == "as_bool") return choice->value.flag();
  const auto truth = scope.truth(choice->value.text(), choice->value);
  if (!truth) return {};
  const auto left = truth->left.constant(), right = truth->right.constant();
  if (left && right && truth->relation == Condition::Relation::equal) return *left == *right;
  field.fail(fmt::format("{} depends on sizes, and an op has it as an argument",
                         choice->value.text().substr(0, 80)),
             Code::PS0211);
  return {};
}

Argument read_complex(const Field& field) {
  Record record(field);
  return Argument::Complex{read_float(record.required("real")),
                           read_float(record.required("imag"))};
}

template <class Read>
Argument read_list(const Field& field, const Read& read) {
  Argument::Sequence list{Argument::Sequence::Kind::list, {}};
  field.each([&](const Field& item) { list.items.push_back(read(item)); });
  return list;
}

using Kind = Argument::Named::Kind;

/// One kind of argument: its name in the schema and how it is read.
struct ArgumentRow {
  std::string_view name;
  Argument (*read)(const Field&, const Scope&);
};

Argument read_tensor(const Field& field, const Scope& scope) {
  const ValueId id = scope.value(read_name(field), field);
  return id == kNoValue ? Argument() : Argument(Argument::Value{id});
}

Argument read_optional_tensor(const Field& field, const Scope& scope) {
  const auto choice = read_choice(field);
  if (!choice || choice->name == "as_none") return {};
  return read_tensor(choice->value, scope);
}

Argument read_dtype(const Field& field, const Scope&) {
  if (const auto dtype = dtype_of(field.integer())) return *dtype;
  field.fail(fmt::format("tensors have no dtype {} here", field.integer()), Code::PS0211);
  return {};
}

Argument read_format(const Field& field, const Scope&) {
  if (const auto name = memory_format_of(field.integer()))
    return Argument::Named{Kind::memory_format, std::string(*name)};
  field.fail(fmt::format("{} is no memory format", field.integer()));
  return {};
}

Argument read_layout(const Field& field, const Scope&) {
  if (field.integer() == kStrided) return Argument::Named{Kind::layout, "strided"};
  field.fail(fmt::format("tensors have no layout {} here", field.integer()), Code::PS0211);
  return {};
}

constexpr ArgumentRow kArguments[] = {
    {"as_none", [](const Field&, const Scope&) { return Argument(); }},
    {"as_tensor", read_tensor},
    {"as_optional_tensor", read_optional_tensor},
    {"as_int", [](const Field& f, const Scope&) { return Argument(f.integer()); }},
    {"as_float", [](const Field& f, const Scope&) { return Argument(read_float(f)); }},
    {"as_bool", [](const Field& f, const Scope&) { return Argument(f.flag()); }},
    {"as_string", [](const Field& f, const Scope&) { return Argument(f.text()); }},
    {"as_complex", [](const Field& f, const Scope&) { return read_complex(f); }},
    {"as_sym_int", read_named_size},
    {"as_sym_bool", read_named_truth},
    {"as_scalar_type", read_dtype},
    {"as_memory_format", read_format},
    {"as_layout", read_layout},
    {"as_device",
     [](const Field& f, const Scope&) {
       return Argument(Argument::Named{Kind::device, read_device(f)});
     }},
};

/// Lists, by the kind of their items.
struct ListRow {
  std::string_view name, item;
};
constexpr ListRow kLists[] = {
    {"as_tensors", "as_tensor"},   {"as_optional_tensors", "as_optional_tensor"},
    {"as_ints", "as_int"},         {"as_floats", "as_float"},
    {"as_bools", "as_bool"},       {"as_strings", "as_string"},
    {"as_sym_ints", "as_sym_int"}, {"as_sym_bools", "as_sym_bool"},
};

const ArgumentRow* find_row(std::string_view name) {
  for (const ArgumentRow& row : kArguments) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

/// What stands in the file and has no counterpart here, by its name where it has one.
std::string describe(const Choice& choice) {
  const auto& json = choice.value.json();
  const auto text = [&](const char* key) {
    return json.is_object() && json.contains(key) && json[key].is_string()
               ? json[key].get<std::string>().substr(0, 80)
               : std::string();
  };
  if (choice.name == "as_custom_obj")
    return fmt::format("the script object {} of class {}", text("name"), text("class_fqn"));
  if (choice.name == "as_graph") return fmt::format("the subgraph {}", text("name"));
  return fmt::format("an argument of kind {}", choice.name.substr(0, 80));
}

}  // namespace

std::string read_name(const Field& field) {
  Record record(field);
  return record.required("name").text();
}

TensorType read_type(const Field& field, std::map<std::string, std::int64_t>* hints) {
  TensorType type;
  Record record(field);
  const Field dtype = record.required("dtype");
  if (const auto known = dtype_of(dtype.integer())) {
    type.dtype = *known;
  } else {
    dtype.fail(fmt::format("tensors have no dtype {} here", dtype.integer()), Code::PS0211);
  }
  const Field layout = record.required("layout");
  if (layout.integer() != kStrided)
    layout.fail(fmt::format("tensors have no layout {} here", layout.integer()), Code::PS0211);
  record.each("sizes", [&](const Field& f) { type.sizes.push_back(read_integer(f, hints)); });
  record.each("strides", [&](const Field& f) { type.strides.push_back(read_integer(f, hints)); });
  if (type.strides.size() != type.sizes.size()) field.fail("it has not as many strides as sizes");
  type.storage_offset = read_integer(record.required("storage_offset"), hints);
  type.requires_grad = record.required("requires_grad").flag();
  type.device = read_device(record.required("device"));
  return type;
}

Scope::Scope(Record& graph, std::map<std::string, std::int64_t>& hints) {
  const auto members = [&](std::string_view key, const auto& visit) {
    const auto field = graph.optional(key);
    if (!field) return;
    if (!field->json().is_object()) return field->fail("it should be a record");
    for (const auto& item : field->json().items())
      visit(item.key(), Field(item.value(), *field, item.key()));
  };
  members("tensor_values", [&](const std::string& name, const Field& field) {
    types_.emplace(name, read_type(field, &hints));
  });
  members("sym_int_values", [&](const std::string& name, const Field& field) {
    sizes_.emplace(name, read_integer(field, &hints));
  });
  members("sym_bool_values", [&](const std::string& name, const Field& field) {
    truths_.emplace(name, read_truth(field));
  });
}

const TensorType* Scope::type(const std::string& name, const Field& field) const {
  const auto found = types_.find(name);
  if (found != types_.end()) return &found->second;
  field.fail(fmt::format("nothing says what tensor {} is", name.substr(0, 80)));
  return nullptr;
}

ValueId Scope::value(const std::string& name, const Field& field) const {
  const auto found = ids_.find(name);
  if (found != ids_.end()) return found->second;
  field.fail(fmt::format("{} is used before it is made", name.substr(0, 80)));
  return kNoValue;
}

SymExpr Scope::size(const std::string& name, const Field& field) const {
  const auto found = sizes_.find(name);
  if (found != sizes_.end()) return found->second;
  field.fail(fmt::format("nothing says what size {} is", name.substr(0, 80)));
  return 0;
}

std::optional<Condition> Scope::truth(const std::string& name, const Field& field) const {
  const auto found = truths_.find(name);
  if (found == truths_.end()) {
    field.fail(fmt::format("nothing says what truth {} is", name.substr(0, 80)));
  } else if (!found->second) {
    field.fail(found->second.error().message, found->second.error().code);
  } else {
    return *found->second;
  }
  return std::nullopt;
}

Argument read_argument(const Field& field, const Scope& scope) {
  const auto choice = read_choice(field);
  if (!choice) return {};
  if (const ArgumentRow* row = find_row(choice->name)) return row->read(choice->value, scope);
  for (const ListRow& list : kLists) {
    if (list.name != choice->name) continue;
    const ArgumentRow* item = find_row(list.item);
    return read_list(choice->value, [&](const Field& one) { return item->read(one, scope); });
  }
  field.fail(describe(*choice) + " has no counterpart here", Code::PS0211);
  return {};
}

}  // namespace penstock::pt2
