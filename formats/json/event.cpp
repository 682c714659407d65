#include "ir/event.h"

#include <nlohmann/json.hpp>

#include "formats/json/codec.h"

namespace penstock::formats {

namespace {

void add_location(Json& out, const std::optional<Location>& location) {
  if (location) out["location"] = encode_location(*location);
}

std::optional<Location> read_location(Record& record) {
  auto field = record.optional("location");
  return field ? std::optional(decode_location(*field)) : std::nullopt;
}

Json encode_failed(const FailedGuard& failed) {
  Json out{{"kind", facts(failed.kind).name},
           {"source", failed.source},
           {"text", failed.text},
           {"expected", failed.expected},
           {"actual", failed.actual}};
  add_location(out, failed.location);
  if (!failed.hint.empty()) out["hint"] = failed.hint;
  return out;
}

FailedGuard decode_failed(const Field& field) {
  Record record(field);
  FailedGuard failed{};
  failed.kind = read_name(record.required("kind"), guard_kind_from_name, "kind of guard");
  failed.source = record.required("source").text();
  failed.text = record.required("text").text();
  failed.expected = record.required("expected").text();
  failed.actual = record.required("actual").text();
  failed.location = read_location(record);
  failed.hint = record.text_or("hint", {});
  return failed;
}

}  // namespace

Json encode_event(const BreakEvent& event) {
  Json out{{"code", event.code}, {"after", to_string(event.after)}, {"reason", event.reason}};
  add_location(out, event.location);
  if (!event.hint.empty()) out["hint"] = event.hint;
  if (!event.rule.empty()) out["rule"] = event.rule;
  return out;
}

BreakEvent decode_break(Record& record) {
  BreakEvent event;
  event.code = record.required("code").text();
  event.location = read_location(record);
  event.after = decode_entry_id(record.required("after"));
  event.reason = record.required("reason").text();
  event.hint = record.text_or("hint", {});
  event.rule = record.text_or("rule", {});
  return event;
}

Json encode_event(const SkipEvent& event) {
  Json out{{"code", event.code}, {"name", event.name}, {"reason", event.reason}};
  add_location(out, event.location);
  if (!event.rule.empty()) out["rule"] = event.rule;
  if (event.bypass) out["bypass"] = true;
  return out;
}

SkipEvent decode_skip(Record& record) {
  SkipEvent event;
  event.code = record.required("code").text();
  event.name = record.required("name").text();
  event.location = read_location(record);
  event.rule = record.text_or("rule", {});
  event.reason = record.required("reason").text();
  event.bypass = record.flag_or("bypass", false);
  return event;
}

Json encode_event(const RecompileEvent& event) {
  Json out{{"frame", event.id.frame}, {"entries", Json::array()}};
  if (event.id.recompile >= 0) out["id"] = to_string(event.id);
  if (event.limit) out["limit"] = true;
  for (const RecompileEvent::Entry& entry : event.entries) {
    Json failed = Json::array();
    for (const FailedGuard& guard : entry.failed) failed.push_back(encode_failed(guard));
    out["entries"].push_back(Json{{"id", to_string(entry.id)}, {"failed", std::move(failed)}});
  }
  return out;
}

RecompileEvent decode_recompile(Record& record) {
  RecompileEvent event;
  event.id = {record.required("frame").integer32(), -1, 0};
  if (auto id = record.optional("id")) event.id = decode_entry_id(*id);
  event.limit = record.flag_or("limit", false);
  record.required("entries").each([&](const Field& item) {
    Record entry(item);
    RecompileEvent::Entry read;
    read.id = decode_entry_id(entry.required("id"));
    entry.required("failed").each(
        [&](const Field& guard) { read.failed.push_back(decode_failed(guard)); });
    event.entries.push_back(std::move(read));
  });
  return event;
}

Json encode_event(const RestartEvent& event) {
  Json out{{"id", to_string(event.id)}, {"reason", event.reason}};
  add_location(out, event.location);
  return out;
}

RestartEvent decode_restart(Record& record) {
  RestartEvent event;
  event.id = decode_entry_id(record.required("id"));
  event.reason = record.required("reason").text();
  event.location = read_location(record);
  return event;
}

/// What it took, and who found out, stand under meta.
Json encode_event(const BackendEvent& event, Json& meta) {
  Json out{{"id", to_string(event.id)},
           {"backend", event.backend},
           {"outcome", to_string(event.outcome)}};
  if (!event.version.empty()) out["backend_version"] = event.version;
  if (!event.reason.empty()) out["reason"] = event.reason;
  if (event.backend_ns != 0) meta["backend_ns"] = event.backend_ns;
  if (event.own_ns != 0) meta["own_ns"] = event.own_ns;
  if (event.remembered) meta["remembered"] = true;
  return out;
}

BackendEvent decode_backend(Record& record, Json& meta) {
  const auto take = [&](const char* key) {
    const auto found = meta.find(key);
    Json value = found == meta.end() ? Json() : *found;
    if (found != meta.end()) meta.erase(found);
    return value;
  };
  const auto nanoseconds = [&](const char* key) {
    const Json value = take(key);
    return value.is_number_integer() ? value.get<std::int64_t>() : 0;
  };
  BackendEvent event;
  event.id = decode_entry_id(record.required("id"));
  event.backend = record.required("backend").text();
  event.outcome = read_name(record.required("outcome"), backend_outcome_from_name, "outcome");
  event.version = record.text_or("backend_version", {});
  event.reason = record.text_or("reason", {});
  event.backend_ns = nanoseconds("backend_ns");
  event.own_ns = nanoseconds("own_ns");
  event.remembered = take("remembered") == Json(true);
  return event;
}

}  // namespace penstock::formats
