#include "jit/backends/kept_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace penstock::jit {

namespace {

constexpr std::size_t kFields = 6;

/// A field ends at a tab, and its line at a newline.
std::string as_field(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c == '\t' || c == '\n'; }, ' ');
  return text;
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (std::size_t end = 0; end != text.npos;) {
    end = text.find(at);
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(text.size(), end == text.npos ? text.size() : end + 1));
  }
  return parts;
}

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

KeptChoice::KeptChoice(Backends& backends, const std::string& key) : backends_(backends) {
  std::string all = "choice\n" + key + "\n";
  for (Backend& backend : backends.all()) {
    const bool there = backends.is_there(backend);
    all += fmt::format("{} {} {}\n", backend.name(), there, backend.version());
  }
  key_ = store::hash_of(all);
  const auto kept = backends.store().kernel(key_);
  auto read = kept ? choice_of_text(kept->bytes()) : std::nullopt;
  if (read) events_ = std::move(*read);
}

void KeptChoice::keep(const std::vector<BackendEvent>& events) {
  // Without room for it the next process chooses again.
  static_cast<void>(backends_.store().put_kernel(key_, text_of_choice(events)));
}

std::string text_of_choice(const std::vector<BackendEvent>& events) {
  std::string text;
  for (const BackendEvent& event : events) {
    text += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\n", as_field(event.backend),
                        as_field(event.version), to_string(event.outcome), event.backend_ns,
                        event.own_ns, as_field(event.reason));
  }
  return text;
}

std::optional<std::vector<BackendEvent>> choice_of_text(std::string_view text) {
  std::vector<BackendEvent> events;
  for (const std::string_view line : split(text, '\n')) {
    if (line.empty()) continue;
    const auto fields = split(line, '\t');
    if (fields.size() != kFields) return std::nullopt;
    const auto outcome = backend_outcome_from_name(fields[2]);
    const auto theirs = number(fields[3]), own = number(fields[4]);
    if (!outcome || !theirs || !own) return std::nullopt;
    BackendEvent& event = events.emplace_back();
    event.backend = fields[0];
    event.version = fields[1];
    event.outcome = *outcome;
    event.reason = fields[5];
    event.backend_ns = *theirs;
    event.own_ns = *own;
  }
  return events;
}

}  // namespace penstock::jit
