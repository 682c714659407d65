#include "runtime/threads.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <vector>

namespace penstock::runtime {

namespace {

struct Counts {
  std::vector<std::atomic<int>> seen;
  std::atomic<int> pieces = 0;
};

void count(void* data, std::int64_t begin, std::int64_t end, int) {
  auto* counts = static_cast<Counts*>(data);
  for (std::int64_t i = begin; i < end; ++i) ++counts->seen[static_cast<std::size_t>(i)];
  ++counts->pieces;
}

}  // namespace

TEST_CASE("every iteration runs once, in pieces of at least the grain") {
  ThreadTeam team;
  for (std::int64_t extent : {1, 7, 64, 1000, 4096}) {
    for (std::int64_t grain : {1, 10, 1000}) {
      for (int threads : {1, 2, 5}) {
        Counts counts{std::vector<std::atomic<int>>(static_cast<std::size_t>(extent)), 0};
        team.run(extent, grain, threads, count, &counts);
        for (auto& seen : counts.seen) CHECK(seen == 1);
        CHECK(counts.pieces <= threads);
        CHECK(counts.pieces <= (extent + grain - 1) / grain);
      }
    }
  }
}

TEST_CASE("a forked process runs on one thread") {
  ThreadTeam team;
  team.resize(2);
  Counts counts{std::vector<std::atomic<int>>(100), 0};
  team.run(100, 1, team.size(), count, &counts);
  pid_t child = fork();
  if (child == 0) {
    alarm(20);
    Counts own{std::vector<std::atomic<int>>(100), 0};
    team.run(100, 1, team.size(), count, &own);
    _exit(team.size() == 1 && own.pieces == 1 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

}  // namespace penstock::runtime
