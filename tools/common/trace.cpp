#include "tools/common/trace.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdlib>

namespace penstock::tools {
namespace {

double microseconds(Trace::Clock::duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

}  // namespace

Trace::Trace(std::string_view tool) : tool_(tool) {
  if (const char* file = std::getenv("PENSTOCK_TRACE"); file != nullptr) file_ = file;
}

void Trace::span(std::string_view name, Clock::time_point begin, Clock::time_point end) {
  if (!active()) return;
  events_.push_back(fmt::format(
      R"({{"name":"{}","cat":"{}","ph":"X","ts":{:.1f},"dur":{:.1f},"pid":{},"tid":{}}})", name,
      tool_, microseconds(begin.time_since_epoch()), microseconds(end - begin), getpid(),
      gettid()));
}

bool Trace::write() {
  if (!active() || events_.empty()) return true;
  int descriptor = open(file_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor < 0) return false;
  // The lock makes one process write the opening bracket. The format allows a file without the
  // closing one, which is what lets processes append.
  flock(descriptor, LOCK_EX);
  std::string text = lseek(descriptor, 0, SEEK_END) == 0 ? "[\n" : "";
  text += fmt::format(R"({{"name":"process_name","ph":"M","pid":{},"args":{{"name":"{}"}}}},)"
                      "\n",
                      getpid(), tool_);
  for (const std::string& event : events_) text += event + ",\n";
  bool whole = ::write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(descriptor);
  events_.clear();
  return whole;
}

}  // namespace penstock::tools
