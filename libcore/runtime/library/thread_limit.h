#pragma once

#include <omp.h>

namespace penstock::runtime {

/// Waking and joining a team takes as long as this many operations of one thread.
constexpr double kAlone = 1 << 18;

/// While it lives, oneDNN works in this thread alone, if `alone`.
class ThreadLimit {
 public:
  explicit ThreadLimit(bool alone) : before_(alone ? omp_get_max_threads() : 0) {
    if (alone) omp_set_num_threads(1);
  }
  ~ThreadLimit() {
    if (before_ != 0) omp_set_num_threads(before_);
  }
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;

 private:
  int before_;
};

}  // namespace penstock::runtime
