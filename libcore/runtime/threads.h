#pragma once

#include <cstdint>

namespace penstock::runtime {

/// libgomp's threads: the pool that torch and oneDNN use in the same process, so that nobody's
/// threads wait for a CPU that another pool spins on. OMP_NUM_THREADS and torch.set_num_threads
/// rule.
class ThreadTeam {
 public:
  /// Binds to the libgomp that the process has, or loads the system's. Without one everything runs
  /// on the calling thread.
  ThreadTeam();
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  /// Threads that a region may have now. In a process that was forked off, which has none of its
  /// parent's threads, always 1, for oneDNN too.
  int size() const;
  /// Sets that number, for `run --threads`.
  void resize(int threads) const;

  using Work = void (*)(void* data, std::int64_t begin, std::int64_t end, int thread);
  /// Splits [0, extent) into at most one piece a thread, none of fewer than `grain` iterations but
  /// the last, and runs them. The pieces of a long range begin at multiples of 64.
  void run(std::int64_t extent, std::int64_t grain, int threads, Work work, void* data) const;

 private:
  void (*parallel_)(void (*)(void*), void*, unsigned, unsigned) = nullptr;  ///< GOMP_parallel
  int (*thread_number_)() = nullptr;
  int (*max_threads_)() = nullptr;
  void (*set_threads_)(int) = nullptr;
  int (*in_parallel_)() = nullptr;
  int* of_this_process_ = nullptr;  ///< 1 where it was made; the system clears it in a fork
};

}  // namespace penstock::runtime
