#include "ir/guard.h"

#include <nlohmann/json.hpp>

#include "formats/json/codec.h"

namespace penstock::formats {

Json encode_guard(const Guard& guard, const SourceTable& sources) {
  Json out{{"kind", facts(guard.kind).name}};
  if (guard.source != kNoSource) out["source"] = sources.text(guard.source);
  if (guard.other != kNoSource) out["other"] = sources.text(guard.other);
  if (!guard.expected.is_none()) out["expected"] = encode_argument(guard.expected, {});
  if (guard.tensor) out["tensor"] = encode_type(*guard.tensor);
  if (guard.condition) out["condition"] = to_string(*guard.condition);
  if (guard.location) out["location"] = encode_location(*guard.location);
  return out;
}

Guard decode_guard(const Field& field, SourceTable& sources) {
  Record record(field);
  Guard guard{};
  guard.kind = read_name(record.required("kind"), guard_kind_from_name, "kind of guard");
  if (auto source = record.optional("source")) guard.source = decode_source(*source, sources);
  if (auto other = record.optional("other")) guard.other = decode_source(*other, sources);
  if (auto expected = record.optional("expected")) guard.expected = decode_argument(*expected, {});
  if (auto tensor = record.optional("tensor")) guard.tensor = decode_type(*tensor);
  if (auto condition = record.optional("condition")) {
    auto parsed = parse_condition(condition->text());
    if (parsed) {
      guard.condition = std::move(*parsed);
    } else {
      condition->fail(parsed.error().message);
    }
  }
  if (auto location = record.optional("location")) guard.location = decode_location(*location);
  return guard;
}

EntryId decode_entry_id(const Field& field) {
  auto parsed = parse_entry_id(field.text());
  if (parsed) return *parsed;
  field.fail(parsed.error().message);
  return {};
}

}  // namespace penstock::formats
