#include "capture/heap_gaps.h"

#include <unistd.h>

#include <cstdio>

namespace penstock::capture {
namespace {

/// Looking costs some microseconds, a fraction of what filling so many bytes takes.
constexpr std::int64_t kWorthLooking = std::int64_t{1} << 20;
constexpr std::int64_t kMuch = std::int64_t{32} << 20;

/// 0: the system does not tell.
std::int64_t resident_bytes() {
  std::FILE* file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) return 0;
  long long pages = 0;
  const bool read = std::fscanf(file, "%*s %lld", &pages) == 1;
  std::fclose(file);
  return read ? pages * sysconf(_SC_PAGESIZE) : 0;
}

}  // namespace

void HeapGaps::made(std::int64_t bytes) {
  if (bytes < kWorthLooking) return;
  const std::int64_t now = resident_bytes();
  if (limit_ == 0) limit_ = now - bytes + kMuch;
  if (now < limit_) return;
  // All of the gaps' pages at once would mostly be touched again by the next ops.
  if (taken_.take(kMuch) == 0) limit_ = now + kMuch;
}

}  // namespace penstock::capture
