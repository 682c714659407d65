#include "capture/heap_gaps.h"

#include <malloc.h>
#include <unistd.h>

#include <cstdio>

namespace penstock::capture {
namespace {

/// Looking costs some microseconds, a fraction of what filling so many bytes takes.
constexpr std::int64_t kWorthLooking = std::int64_t{1} << 20;
constexpr std::int64_t kMuch = std::int64_t{48} << 20;

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
  if (before_ == 0) before_ = now - bytes;
  if (now < before_ + kMuch) return;
  malloc_trim(0);
  before_ = resident_bytes();
}

}  // namespace penstock::capture
