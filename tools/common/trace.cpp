#include "tools/common/trace.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace penstock::tools {
namespace {

constexpr std::string_view kEnd = "\n]\n";
constexpr std::size_t kMany = 512;
constexpr std::chrono::milliseconds kLong{50};

double microseconds(Trace::Clock::duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

/// A JSON string; names come from programs, and need not be UTF-8.
std::string json_text(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// The members of an event that all kinds have.
std::string head(std::string_view name, std::string_view tool, Trace::Clock::time_point when,
                 const Trace::Facts& facts) {
  std::string out =
      fmt::format(R"("name":{},"cat":{},"ts":{:.1f},"pid":{},"tid":{})", json_text(name),
                  json_text(tool), microseconds(when.time_since_epoch()), getpid(), gettid());
  if (facts.empty()) return out;
  out += R"(,"args":{)";
  for (std::size_t i = 0; i < facts.size(); ++i) {
    out += fmt::format("{}{}:{}", i == 0 ? "" : ",", json_text(facts[i].first),
                       json_text(facts[i].second));
  }
  return out + "}";
}

/// Where the next event is written: at the start of an empty file, or over the end of an array.
/// Negative: the file is something else.
off_t place_for_more(int descriptor) {
  const off_t size = lseek(descriptor, 0, SEEK_END);
  if (size <= 0) return size;
  const auto length = static_cast<off_t>(kEnd.size());
  std::string end(kEnd.size(), '\0');
  char first = '\0';
  const bool whole = size > length && pread(descriptor, &first, 1, 0) == 1 && first == '[' &&
                     pread(descriptor, end.data(), end.size(), size - length) == length;
  return whole && end == kEnd ? size - length : -1;
}

}  // namespace

Trace::Trace(std::string_view tool) : tool_(tool) {
  const char* file = std::getenv("PENSTOCK_TRACE");
  if (file == nullptr || *file == '\0') return;
  std::error_code error;
  file_ = std::filesystem::absolute(file, error).string();  // a program may go to another folder
}

void Trace::span(std::string_view name, Clock::time_point begin, Clock::time_point end,
                 const Facts& facts) {
  if (!active()) return;
  events_.push_back(fmt::format(R"({{"ph":"X","dur":{:.1f},{}}})", microseconds(end - begin),
                                head(name, tool_, begin, facts)));
}

void Trace::instant(std::string_view name, Clock::time_point when, const Facts& facts) {
  if (!active()) return;
  events_.push_back(fmt::format(R"({{"ph":"i","s":"t",{}}})", head(name, tool_, when, facts)));
}

bool Trace::write() {
  if (!active() || events_.empty()) return true;
  const int descriptor = open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) return false;
  flock(descriptor, LOCK_EX);  // until it is closed
  const off_t place = place_for_more(descriptor);
  std::string text;
  const auto add = [&](std::string_view event) {
    text += text.empty() && place == 0 ? "[\n" : ",\n";
    text += event;
  };
  if (!named_) {
    add(fmt::format(R"({{"name":"process_name","ph":"M","pid":{},"args":{{"name":{}}}}})", getpid(),
                    json_text(tool_)));
  }
  for (const std::string& event : events_) add(event);
  text += kEnd;
  const bool whole = place >= 0 && pwrite(descriptor, text.data(), text.size(), place) ==
                                       static_cast<ssize_t>(text.size());
  close(descriptor);
  events_.clear();
  named_ = true;
  written_ = Clock::now();
  return whole;
}

void Trace::write_some() {
  if (events_.size() >= kMany || (!events_.empty() && Clock::now() - written_ >= kLong)) write();
}

void Trace::forget() {
  events_.clear();
  named_ = false;
}

}  // namespace penstock::tools
