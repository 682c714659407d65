// A compilation stops by itself: whoever works for it asks whether it may go on. Time is the
// clock's and memory is what the process has resident, for both are what the program's user waits
// for and misses; how often they are looked at is counted in work, so that asking costs next to
// nothing. What malloc has handed out would be the nearer count, but mallinfo walks all free chunks
// of the heap, which in a program that has run for a while takes longer than a small compilation.
#include "diag/budget.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

namespace penstock {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kUnitsPerLook = 4096;
constexpr double kMebibyte = 1024.0 * 1024.0;

/// Bytes of this process that lie in memory: the second number of /proc/self/statm, in pages. 0
/// where that cannot be read.
std::int64_t resident_bytes() {
  const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char text[64] = {};
  const ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  if (length <= 0) return 0;
  char* rest = nullptr;
  std::strtoll(text, &rest, 10);
  return std::strtoll(rest, nullptr, 10) * sysconf(_SC_PAGESIZE);
}

}  // namespace

Budget::Budget(const CompileLimits& limits)
    : limits_(limits),
      begin_(Clock::now()),
      memory_at_begin_(resident_bytes()),
      next_look_(kUnitsPerLook) {}

bool Budget::has_room_for_code(std::int64_t bytes) const {
  const auto made = static_cast<double>(code_.load(std::memory_order_relaxed) + bytes);
  return limits_.code_mebibytes <= 0 || made <= limits_.code_mebibytes * kMebibyte;
}

void Budget::look() {
  if (reached_ != Reached::nothing) return;
  const double seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
  if (limits_.seconds > 0 && seconds > limits_.seconds) {
    reached_ = Reached::time;
  } else if (!has_room_for_code(0)) {
    reached_ = Reached::code;
  } else if (limits_.memory_mebibytes > 0) {
    const auto more = static_cast<double>(resident_bytes() - memory_at_begin_);
    if (more > limits_.memory_mebibytes * kMebibyte) reached_ = Reached::memory;
  }
}

Diagnostic Budget::reached(std::string_view where) const {
  std::string what;
  switch (reached_.load()) {
    case Reached::memory:
      what = fmt::format("more than {:g} MiB of memory", limits_.memory_mebibytes);
      break;
    case Reached::code:
      what = fmt::format("more than {:g} MiB of machine code", limits_.code_mebibytes);
      break;
    default:
      what = fmt::format("more than {:g} s", limits_.seconds);
      break;
  }
  return {Code::PS0709, fmt::format("compiling it takes {}; stopped at {}", what, where),
          {},           {},
          {},           Severity::error};
}

Result<void> Budget::check(std::string_view where) {
  look();
  if (reached_ == Reached::nothing) return {};
  return tl::unexpected(reached(where));
}

bool Budget::is_spent(std::int64_t units) {
  const std::int64_t work = work_.fetch_add(units, std::memory_order_relaxed) + units;
  std::int64_t next = next_look_.load(std::memory_order_relaxed);
  // One of several threads looks.
  if (work >= next && next_look_.compare_exchange_strong(next, work + kUnitsPerLook)) look();
  return reached_ != Reached::nothing;
}

Result<void> check(Budget* budget, std::string_view where) {
  return budget == nullptr ? Result<void>() : budget->check(where);
}

}  // namespace penstock
