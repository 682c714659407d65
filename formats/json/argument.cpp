// Arguments: one record each, with exactly one of these keys, so that no reader has to guess:
//
//   value "name"          a value of the graph       object device layout memory_format "name"
//   const 1 | "x" | ...   None, bool, int, float,    dtype "float32"
//                         str, or a list of these    sym "2*s0+1"      a symbolic integer
//   f "nan"               a float that is not finite complex [re, im]
//   list tuple slice      argument records           bytes str_bytes   hex (a str that is no UTF-8)
//   dict                  records of key and item    ellipsis true

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "formats/json/codec.h"

namespace penstock::formats {

namespace {

struct NamedKind {
  std::string_view key;
  Argument::Named::Kind kind;
};
constexpr NamedKind kNamed[] = {{"device", Argument::Named::Kind::device},
                                {"layout", Argument::Named::Kind::layout},
                                {"memory_format", Argument::Named::Kind::memory_format},
                                {"object", Argument::Named::Kind::object}};

struct SequenceKind {
  std::string_view key;
  Argument::Sequence::Kind kind;
};
constexpr SequenceKind kSequences[] = {{"list", Argument::Sequence::Kind::list},
                                       {"tuple", Argument::Sequence::Kind::tuple},
                                       {"slice", Argument::Sequence::Kind::slice}};

/// Strict UTF-8: no overlong forms, no surrogates (Python's str may hold them), at most U+10FFFF.
bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[i + k]); };
    unsigned first = byte(0);
    std::size_t length = first < 0x80   ? 1
                         : first < 0xC2 ? 0
                         : first < 0xE0 ? 2
                         : first < 0xF0 ? 3
                         : first < 0xF5 ? 4
                                        : 0;
    if (length == 0 || i + length > text.size()) return false;
    for (std::size_t k = 1; k < length; ++k) {
      if ((byte(k) & 0xC0) != 0x80) return false;
    }
    if (first == 0xE0 && byte(1) < 0xA0) return false;
    if (first == 0xED && byte(1) > 0x9F) return false;
    if (first == 0xF0 && byte(1) < 0x90) return false;
    if (first == 0xF4 && byte(1) > 0x8F) return false;
    i += length;
  }
  return true;
}

std::string hex(std::string_view bytes) {
  std::string out;
  for (char c : bytes) {
    fmt::format_to(std::back_inserter(out), "{:02x}", static_cast<unsigned char>(c));
  }
  return out;
}

std::string unhex(const Field& field) {
  std::string text = field.text(), out;
  auto digit = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    int high = digit(text[i]), low = digit(text[i + 1]);
    if (high < 0 || low < 0) break;
    out += static_cast<char>(high << 4 | low);
  }
  if (out.size() * 2 != text.size()) field.fail("expected pairs of hexadecimal digits");
  return out;
}

/// None, bool, int, finite float and UTF-8 str: what `const` can hold.
bool is_plain(const Argument& argument) {
  if (auto* real = argument.as<double>()) return std::isfinite(*real);
  if (auto* text = argument.as<std::string>()) return is_utf8(*text);
  return argument.is_none() || argument.as<bool>() || argument.as<std::int64_t>();
}

Json plain(const Argument& argument) {
  if (auto* flag = argument.as<bool>()) return *flag;
  if (auto* whole = argument.as<std::int64_t>()) return *whole;
  if (auto* real = argument.as<double>()) return *real;
  if (auto* text = argument.as<std::string>()) return *text;
  return nullptr;
}

struct Encoder {
  const ValueNames& names;

  Json operator()(Argument::None) const { return one("const", nullptr); }
  Json operator()(bool value) const { return one("const", value); }
  Json operator()(std::int64_t value) const { return one("const", value); }
  Json operator()(double value) const {
    return std::isfinite(value) ? one("const", value) : encode_number(value);
  }
  Json operator()(const std::string& value) const {
    return is_utf8(value) ? one("const", value) : one("str_bytes", hex(value));
  }
  Json operator()(const SymExpr& value) const { return one("sym", value.to_string()); }
  Json operator()(DType value) const { return one("dtype", facts(value).name); }
  Json operator()(Argument::Value value) const { return one("value", names(value.id)); }
  Json operator()(Argument::Complex value) const {
    return one("complex", {encode_number(value.real), encode_number(value.imaginary)});
  }
  Json operator()(Argument::Ellipsis) const { return one("ellipsis", true); }
  Json operator()(const Argument::Named& value) const {
    for (const NamedKind& row : kNamed) {
      if (row.kind == value.kind) return one(row.key, value.name);
    }
    return {};
  }
  Json operator()(const Argument::Bytes& value) const { return one("bytes", hex(value.bytes)); }
  Json operator()(const Argument::Sequence& value) const {
    if (value.kind == Argument::Sequence::Kind::list &&
        std::all_of(value.items.begin(), value.items.end(), is_plain)) {
      Json items = Json::array();
      for (const Argument& item : value.items) items.push_back(plain(item));
      return one("const", std::move(items));
    }
    for (const SequenceKind& row : kSequences) {
      if (row.kind == value.kind) return one(row.key, encode_arguments(value.items, names));
    }
    return {};
  }
  Json operator()(const Argument::Dict& value) const {
    Json items = Json::array();
    for (const auto& [key, item] : value.items) {
      items.push_back(
          Json{{"key", encode_argument(key, names)}, {"item", encode_argument(item, names)}});
    }
    return one("dict", std::move(items));
  }

  static Json one(std::string_view key, Json value) {
    Json out = Json::object();
    out[std::string(key)] = std::move(value);
    return out;
  }
};

Argument decode_plain(const Field& field) {
  const Json& json = field.json();
  switch (json.type()) {
    case Json::value_t::null:
      return {};
    case Json::value_t::boolean:
      return Argument(json.get<bool>());
    case Json::value_t::number_float:
      return Argument(json.get<double>());
    case Json::value_t::string:
      return Argument(json.get<std::string>());
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
      return Argument(field.integer());
    default:
      field.fail("expected null, true, false, a number or a string");
  }
  return {};
}

Argument decode_const(const Field& field) {
  if (!field.json().is_array()) return decode_plain(field);
  Argument::Sequence list{Argument::Sequence::Kind::list, {}};
  field.each([&](const Field& item) { list.items.push_back(decode_plain(item)); });
  return Argument(std::move(list));
}

Argument decode_dict(const Field& field, const ValueIds& ids) {
  Argument::Dict dict;
  field.each([&](const Field& item) {
    Record record(item);
    Argument key = decode_argument(record.required("key"), ids);
    dict.items.emplace_back(std::move(key), decode_argument(record.required("item"), ids));
  });
  return Argument(std::move(dict));
}

Argument decode_complex(const Field& field) {
  if (field.length() != 2) {
    field.fail("expected two numbers");
    return {};
  }
  return Argument(Argument::Complex{field.item(0).number(), field.item(1).number()});
}

Argument decode_symbolic(const Field& field) {
  auto parsed = parse_sym_expr(field.text());
  if (!parsed) field.fail(parsed.error().message);
  return parsed ? Argument(std::move(*parsed)) : Argument();
}

/// The argument in `record`, whose other keys (a name) are the caller's.
Argument decode_one(Record& record, const ValueIds& ids) {
  if (auto field = record.optional("value")) return Argument(Argument::Value{ids.find(*field)});
  if (auto field = record.optional("const")) return decode_const(*field);
  if (auto field = record.optional("sym")) return decode_symbolic(*field);
  if (auto field = record.optional("dtype")) {
    return Argument(read_name(*field, dtype_from_name, "dtype"));
  }
  for (const SequenceKind& row : kSequences) {
    if (auto field = record.optional(row.key)) {
      return Argument(Argument::Sequence{row.kind, decode_arguments(*field, ids)});
    }
  }
  for (const NamedKind& row : kNamed) {
    if (auto field = record.optional(row.key)) {
      return Argument(Argument::Named{row.kind, field->text()});
    }
  }
  if (record.optional("f")) {
    Json number{{"f", record.field().json()["f"]}};
    return Argument(Field(number, record.field(), "f").number());
  }
  if (auto field = record.optional("dict")) return decode_dict(*field, ids);
  if (auto field = record.optional("bytes")) return Argument(Argument::Bytes{unhex(*field)});
  if (auto field = record.optional("str_bytes")) return Argument(unhex(*field));
  if (auto field = record.optional("complex")) return decode_complex(*field);
  if (auto field = record.optional("ellipsis")) {
    if (!field->flag()) field->fail("expected true");
    return Argument(Argument::Ellipsis{});
  }
  record.field().fail(
      "an argument needs one of value, const, sym, dtype, list, tuple, slice, dict, "
      "device, layout, memory_format, object, f, complex, bytes, ellipsis");
  return {};
}

}  // namespace

Json ValueNames::operator()(ValueId id) const {
  if (values == nullptr || id >= values->size()) return id;
  return (*values)[id].name;
}

ValueId ValueIds::add(Value value, const Field& field) {
  auto id = static_cast<ValueId>(values_->size());
  if (!ids_.emplace(value.name, id).second) {
    field.fail(fmt::format("two values are called '{}'", value.name));
  }
  values_->push_back(std::move(value));
  return id;
}

ValueId ValueIds::find(const Field& field) const {
  if (values_ == nullptr) {
    std::int64_t id = field.integer();
    if (id < 0 || id >= kNoValue) field.fail("no such value");
    return static_cast<ValueId>(id);
  }
  std::string name = field.text();
  if (auto found = ids_.find(name); found != ids_.end()) return found->second;
  if (!allow_unknown_ || name.empty()) {
    field.fail(fmt::format("no value is called '{}' here", name.substr(0, 80)));
    return 0;
  }
  auto id = static_cast<ValueId>(values_->size());
  ids_.emplace(name, id);
  values_->push_back({std::move(name), {}, false, {}});
  return id;
}

Json encode_argument(const Argument& argument, const ValueNames& names) {
  return std::visit(Encoder{names}, argument.datum);
}

Json encode_arguments(const std::vector<Argument>& arguments, const ValueNames& names) {
  Json out = Json::array();
  for (const Argument& argument : arguments) out.push_back(encode_argument(argument, names));
  return out;
}

Json encode_arguments(const std::vector<NamedArgument>& arguments, const ValueNames& names) {
  Json out = Json::array();
  for (const NamedArgument& argument : arguments) {
    Json one = encode_argument(argument.value, names);
    if (!argument.name.empty()) one["name"] = argument.name;
    out.push_back(std::move(one));
  }
  return out;
}

Argument decode_argument(const Field& field, const ValueIds& ids) {
  Record record(field);
  return decode_one(record, ids);
}

std::vector<Argument> decode_arguments(const Field& field, const ValueIds& ids) {
  std::vector<Argument> out;
  field.each([&](const Field& item) { out.push_back(decode_argument(item, ids)); });
  return out;
}

std::vector<NamedArgument> decode_named_arguments(const Field& field, const ValueIds& ids) {
  std::vector<NamedArgument> out;
  field.each([&](const Field& item) {
    Record record(item);
    std::string name = record.text_or("name", {});
    out.push_back({std::move(name), decode_one(record, ids)});
  });
  return out;
}

}  // namespace penstock::formats
