#include "runtime/threads.h"

#include <dlfcn.h>
#include <sys/mman.h>

#include <algorithm>

namespace penstock::runtime {

namespace {

constexpr std::size_t kPage = 4096;

struct Region {
  ThreadTeam::Work work;
  void* data;
  std::int64_t extent, piece;
  int (*thread_number)();
};

void run_piece(void* argument) {
  auto* region = static_cast<Region*>(argument);
  int thread = region->thread_number();
  std::int64_t begin = thread * region->piece;
  std::int64_t end = std::min(begin + region->piece, region->extent);
  if (begin < end) region->work(region->data, begin, end, thread);
}

}  // namespace

ThreadTeam::ThreadTeam() {
  void* page = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page != MAP_FAILED) {
    of_this_process_ = static_cast<int*>(page);
    *of_this_process_ = 1;
    madvise(page, kPage, MADV_WIPEONFORK);
  }
  // A name without a path: the library that is mapped already, torch's own or the system's, has it.
  void* library = dlopen("libgomp.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) return;
  auto symbol = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
    return function != nullptr;
  };
  bool complete =
      symbol(parallel_, "GOMP_parallel") && symbol(thread_number_, "omp_get_thread_num") &&
      symbol(max_threads_, "omp_get_max_threads") && symbol(set_threads_, "omp_set_num_threads") &&
      symbol(in_parallel_, "omp_in_parallel");
  if (!complete) parallel_ = nullptr;
}

ThreadTeam::~ThreadTeam() {
  if (of_this_process_ != nullptr) munmap(of_this_process_, kPage);
}

int ThreadTeam::size() const {
  if (parallel_ == nullptr || in_parallel_()) return 1;
  if (of_this_process_ != nullptr && *of_this_process_ == 0) {
    set_threads_(1);
    return 1;
  }
  return max_threads_();
}

void ThreadTeam::resize(int threads) const {
  if (set_threads_ != nullptr) set_threads_(threads);
}

void ThreadTeam::run(std::int64_t extent, std::int64_t grain, int threads, Work work,
                     void* data) const {
  grain = std::max<std::int64_t>(grain, 1);
  std::int64_t useful = std::min<std::int64_t>(threads, (extent + grain - 1) / grain);
  if (useful <= 1 || parallel_ == nullptr) return work(data, 0, extent, 0);
  std::int64_t piece = (extent + useful - 1) / useful;
  if (piece >= 256) piece = (piece + 63) / 64 * 64;
  Region region{work, data, extent, piece, thread_number_};
  parallel_(run_piece, &region, static_cast<unsigned>(useful), 0);
}

}  // namespace penstock::runtime
