#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diag/diagnostic.h"
#include "shape/sym_expr.h"

namespace penstock::formats {

using Json = nlohmann::json;

/// What decoding one document has found so far. The first problem stays; decoding goes on with
/// default values, so that decoders need no check behind every field.
struct Problems {
  std::optional<Diagnostic> first;  ///< place: the JSON pointer
  bool ignore_unknown = false;      ///< a newer minor version: keys that we do not know are skipped
  std::int32_t minor_version = 0;   ///< of the document
};

/// A JSON value and its place in the document. Lives on the stack while its document is decoded;
/// parents outlive their children.
class Field {
 public:
  Field(const Json& json, Problems& problems) : json_(json), problems_(problems) {}
  Field(const Json& json, const Field& parent, std::string_view key)
      : json_(json), problems_(parent.problems_), parent_(&parent), key_(key) {}
  Field(const Json& json, const Field& parent, std::size_t index)
      : json_(json), problems_(parent.problems_), parent_(&parent), index_(index) {}

  const Json& json() const { return json_; }
  Problems& problems() const { return problems_; }
  /// Records a problem at this place, unless there is one already.
  void fail(std::string message, Code code = Code::PS0201) const;
  /// The JSON pointer.
  std::string pointer() const;

  std::string text() const;
  std::int64_t integer() const;
  std::int32_t integer32() const;  ///< PS0201 when it does not fit
  bool flag() const;
  double number() const;  ///< a number, or {"f": "nan" | "inf" | "-inf"}
  SymExpr size() const;   ///< a number, or an expression as text
  std::vector<SymExpr> sizes() const;
  std::vector<std::string> texts() const;
  std::vector<std::int32_t> integers32() const;

  /// Calls visit(Field) for each item of a list.
  template <class Visit>
  void each(const Visit& visit) const {
    for (std::size_t i = 0; i < length(); ++i) visit(item(i));
  }
  /// Items of a list; 0, and a problem, when it is none.
  std::size_t length() const;
  Field item(std::size_t index) const;

 private:
  const Json& json_;
  Problems& problems_;
  const Field* parent_ = nullptr;
  std::string_view key_;
  std::size_t index_ = 0;
};

/// A record being decoded. Its end of life reports the keys that nobody asked for.
class Record {
 public:
  explicit Record(const Field& field);  ///< keeps a copy of `field`
  ~Record();
  Record(const Record&) = delete;
  Record& operator=(const Record&) = delete;

  /// The field `key`; a problem, and null, when it is missing.
  Field required(std::string_view key);
  std::optional<Field> optional(std::string_view key);
  bool has(std::string_view key) const;
  const Field& field() const { return field_; }

  std::string text_or(std::string_view key, std::string fallback);
  std::int64_t integer_or(std::string_view key, std::int64_t fallback);
  std::int32_t integer32_or(std::string_view key, std::int32_t fallback);
  bool flag_or(std::string_view key, bool fallback);
  SymExpr size_or(std::string_view key, SymExpr fallback);

  /// Calls visit(Field) for each item of the list `key`, if there is one.
  template <class Visit>
  void each(std::string_view key, const Visit& visit) {
    if (auto list = optional(key)) list->each(visit);
  }
  /// Accepts the rest of the keys unread.
  void ignore_rest() { seen_ = kAll; }

 private:
  static constexpr std::size_t kAll = ~std::size_t{0};
  Field field_;
  std::vector<std::string_view> asked_;
  std::size_t seen_ = 0;  ///< keys that were asked for and are there
};

/// The enumerator that `field` names; `from_name` gives an optional one, `what` says what it is.
template <class FromName>
auto read_name(const Field& field, const FromName& from_name, std::string_view what) {
  std::string name = field.text();
  auto found = from_name(name);
  using Enum = typename decltype(found)::value_type;
  if (found) return *found;
  field.fail("'" + name.substr(0, 80) + "' is no " + std::string(what));
  return Enum{};
}

Json encode_size(const SymExpr& size);
Json encode_sizes(const std::vector<SymExpr>& sizes);
Json encode_number(double number);  ///< non-finite: {"f": "nan"}

}  // namespace penstock::formats
