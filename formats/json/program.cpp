// The documents that are no graphs and no events: program, result, end.

#include <map>
#include <nlohmann/json.hpp>

#include "formats/json/codec.h"

namespace penstock::formats {

namespace {

constexpr std::string_view kVerdicts[] = {"same", "differs", "ran", "unsupported", "failed"};

std::optional<ResultDocument::Verdict> verdict_from_name(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kVerdicts); ++i) {
    if (kVerdicts[i] == name) return static_cast<ResultDocument::Verdict>(i);
  }
  return std::nullopt;
}

/// Takes meta[key] out, so that what is written back to meta is not kept twice.
Json take(Json& meta, const char* key) {
  auto found = meta.find(key);
  if (found == meta.end()) return {};
  Json value = std::move(*found);
  meta.erase(found);
  return value;
}

Json encode_counts(const std::vector<EndDocument::Count>& counts) {
  Json out = Json::array();
  for (const auto& count : counts) {
    out.push_back(Json{{"name", count.name}, {"count", count.count}});
  }
  return out;
}

std::vector<EndDocument::Count> decode_counts(const Field& field) {
  std::vector<EndDocument::Count> counts;
  field.each([&](const Field& item) {
    Record record(item);
    std::string name = record.required("name").text();
    counts.push_back({std::move(name), record.required("count").integer()});
  });
  return counts;
}

Json encode_compared(const ResultDocument::Compared& compared) {
  Json out{
      {"index", compared.index}, {"error", encode_number(compared.error)}, {"same", compared.same}};
  if (compared.mutation) out["mutation"] = true;
  if (!compared.reason.empty()) out["reason"] = compared.reason;
  return out;
}

ResultDocument::Compared decode_compared(const Field& field) {
  Record record(field);
  ResultDocument::Compared compared;
  compared.mutation = record.flag_or("mutation", false);
  compared.index = record.required("index").integer32();
  compared.error = record.required("error").number();
  compared.same = record.required("same").flag();
  compared.reason = record.text_or("reason", {});
  return compared;
}

constexpr std::string_view kGates[] = {"none", "off", "open", "accepted", "refused"};

std::optional<GateReport::Verdict> gate_from_name(std::string_view name) {
  for (std::size_t i = 1; i < std::size(kGates); ++i) {
    if (kGates[i] == name) return static_cast<GateReport::Verdict>(i);
  }
  return std::nullopt;
}

/// What the gate measured; stands under meta.
Json encode_gates(const std::vector<EndDocument::Calls>& calls) {
  Json out = Json::array();
  for (const EndDocument::Calls& call : calls) {
    const GateReport& gate = call.gate;
    if (gate.pairs == 0) continue;
    Json one{{"id", to_string(call.id)},
             {"entry_ns", gate.entry_ns},
             {"plain_ns", gate.plain_ns},
             {"pairs", gate.pairs}};
    if (gate.remembered) one["remembered"] = true;
    out.push_back(std::move(one));
  }
  return out;
}

void decode_gates(const Field& field, std::vector<EndDocument::Calls>& calls) {
  std::map<std::string, GateReport*> by_id;
  for (EndDocument::Calls& one : calls) by_id[to_string(one.id)] = &one.gate;
  field.each([&](const Field& item) {
    Record record(item);
    const auto found = by_id.find(record.required("id").text());
    GateReport unknown;
    GateReport& gate = found == by_id.end() ? unknown : *found->second;
    gate.entry_ns = record.required("entry_ns").integer();
    gate.plain_ns = record.required("plain_ns").integer();
    gate.pairs = record.required("pairs").integer32();
    gate.remembered = record.flag_or("remembered", false);
  });
}

/// Where the time of entries went; stands under meta.
Json encode_spent(const std::vector<EndDocument::Calls>& calls) {
  Json out = Json::array();
  for (const EndDocument::Calls& call : calls) {
    if (call.total_ns == 0 && call.behind == 0) continue;
    out.push_back(Json{{"id", to_string(call.id)},
                       {"total_ns", call.total_ns},
                       {"behind_ns", call.behind_ns},
                       {"behind", call.behind}});
  }
  return out;
}

void decode_spent(const Field& field, std::vector<EndDocument::Calls>& calls) {
  std::map<std::string, EndDocument::Calls*> by_id;
  for (EndDocument::Calls& one : calls) by_id[to_string(one.id)] = &one;
  field.each([&](const Field& item) {
    Record record(item);
    const auto found = by_id.find(record.required("id").text());
    EndDocument::Calls unknown;
    EndDocument::Calls& call = found == by_id.end() ? unknown : *found->second;
    call.total_ns = record.required("total_ns").integer();
    call.behind_ns = record.required("behind_ns").integer();
    call.behind = record.required("behind").integer();
  });
}

Json encode_timeline(const std::vector<EndDocument::Span>& timeline) {
  Json out = Json::array();
  for (const EndDocument::Span& span : timeline) {
    Json one{{"kind", span.kind}, {"begin_ns", span.begin_ns}, {"end_ns", span.end_ns}};
    if (span.id) one["id"] = to_string(*span.id);
    out.push_back(std::move(one));
  }
  return out;
}

std::vector<EndDocument::Span> decode_timeline(const Field& field) {
  std::vector<EndDocument::Span> timeline;
  field.each([&](const Field& item) {
    Record record(item);
    EndDocument::Span span;
    span.kind = record.required("kind").text();
    if (auto id = record.optional("id")) span.id = decode_entry_id(*id);
    span.begin_ns = record.required("begin_ns").integer();
    span.end_ns = record.required("end_ns").integer();
    timeline.push_back(std::move(span));
  });
  return timeline;
}

}  // namespace

std::string_view to_string(GateReport::Verdict verdict) {
  return kGates[static_cast<int>(verdict)];
}

std::string_view to_string(ResultDocument::Verdict verdict) {
  return kVerdicts[static_cast<int>(verdict)];
}

Json encode_program(const ProgramDocument& document, Json& meta) {
  if (!document.directory.empty()) meta["directory"] = document.directory;
  for (const auto& [name, version] : document.versions) meta["versions"][name] = version;
  return Json{{"argv", document.argv}, {"settings", encode_arguments(document.settings, {})}};
}

ProgramDocument decode_program(Record& record, Json& meta) {
  ProgramDocument document;
  document.argv = record.required("argv").texts();
  document.settings = decode_named_arguments(record.required("settings"), {});
  if (Json directory = take(meta, "directory"); directory.is_string()) {
    document.directory = directory.get<std::string>();
  }
  Json versions = take(meta, "versions");
  if (!versions.is_object()) return document;
  for (const auto& item : versions.items()) {
    if (!item.value().is_string()) continue;
    document.versions.emplace_back(item.key(), item.value().get<std::string>());
  }
  return document;
}

Json encode_result(const ResultDocument& document, Json& meta) {
  Json compared = Json::array(), timings = Json::array();
  for (const auto& one : document.compared) compared.push_back(encode_compared(one));
  for (const auto& one : document.timings) {
    Json timing{{"name", one.name}, {"nanoseconds", one.nanoseconds}, {"runs", one.runs}};
    if (one.flops > 0) timing["flops"] = one.flops;
    if (one.bytes > 0) timing["bytes"] = one.bytes;
    if (one.percent_of_roof > 0) timing["percent_of_roof"] = one.percent_of_roof;
    timings.push_back(std::move(timing));
  }
  if (!document.timings.empty()) meta["timings"] = std::move(timings);
  Json out{{"id", to_string(document.id)},
           {"name", document.name},
           {"verdict", to_string(document.verdict)},
           {"tolerance", encode_number(document.tolerance)},
           {"compared", std::move(compared)}};
  if (!document.code.empty()) out["code"] = document.code;
  if (!document.reason.empty()) out["reason"] = document.reason;
  return out;
}

ResultDocument decode_result(Record& record, Json& meta) {
  ResultDocument document;
  document.id = decode_entry_id(record.required("id"));
  document.name = record.required("name").text();
  document.verdict = read_name(record.required("verdict"), verdict_from_name, "verdict");
  document.tolerance = record.required("tolerance").number();
  record.required("compared").each([&](const Field& item) {
    document.compared.push_back(decode_compared(item));
  });
  document.code = record.text_or("code", {});
  document.reason = record.text_or("reason", {});
  Json timings = take(meta, "timings");
  Field field(timings, record.field(), "meta");
  if (!timings.is_array()) return document;
  field.each([&](const Field& item) {
    Record timing(item);
    std::string name = timing.required("name").text();
    auto nanoseconds = timing.required("nanoseconds").integer();
    ResultDocument::Timing one{std::move(name), nanoseconds, timing.required("runs").integer()};
    if (auto flops = timing.optional("flops")) one.flops = flops->integer();
    if (auto bytes = timing.optional("bytes")) one.bytes = bytes->integer();
    if (auto percent = timing.optional("percent_of_roof")) one.percent_of_roof = percent->number();
    document.timings.push_back(std::move(one));
  });
  return document;
}

Json encode_end(const EndDocument& document, Json& meta) {
  if (!document.times.empty()) meta["times"] = encode_counts(document.times);
  Json calls = Json::array();
  for (const auto& one : document.calls) {
    Json call{{"id", to_string(one.id)}, {"count", one.count}};
    if (one.gate.verdict != GateReport::Verdict::none) call["gate"] = to_string(one.gate.verdict);
    calls.push_back(std::move(call));
  }
  if (Json gates = encode_gates(document.calls); !gates.empty()) meta["gates"] = std::move(gates);
  if (Json spent = encode_spent(document.calls); !spent.empty()) meta["spent"] = std::move(spent);
  if (!document.timeline.empty()) meta["timeline"] = encode_timeline(document.timeline);
  Json out{{"counts", encode_counts(document.counts)},
           {"calls", std::move(calls)},
           {"status", document.status}};
  if (document.signal != 0) out["signal"] = document.signal;
  return out;
}

EndDocument decode_end(Record& record, Json& meta) {
  EndDocument document;
  document.counts = decode_counts(record.required("counts"));
  record.required("calls").each([&](const Field& item) {
    Record call(item);
    EntryId id = decode_entry_id(call.required("id"));
    document.calls.push_back({id, call.required("count").integer(), {}});
    if (auto gate = call.optional("gate")) {
      document.calls.back().gate.verdict = read_name(*gate, gate_from_name, "gate");
    }
  });
  document.status = record.required("status").integer32();
  document.signal = record.integer32_or("signal", 0);
  Json times = take(meta, "times");
  Json gates = take(meta, "gates"), spent = take(meta, "spent"), timeline = take(meta, "timeline");
  if (spent.is_array()) decode_spent(Field(spent, record.field(), "meta"), document.calls);
  if (timeline.is_array())
    document.timeline = decode_timeline(Field(timeline, record.field(), "meta"));
  if (gates.is_array()) decode_gates(Field(gates, record.field(), "meta"), document.calls);
  if (times.is_array()) document.times = decode_counts(Field(times, record.field(), "meta"));
  return document;
}

}  // namespace penstock::formats
