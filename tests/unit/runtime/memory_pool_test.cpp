#include "runtime/memory_pool.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <thread>

namespace penstock::runtime {

TEST_CASE("blocks are aligned, large enough, and used again") {
  MemoryPool pool;
  std::mt19937_64 random(3);
  for (int i = 0; i < 2000; ++i) {
    std::size_t bytes = random() % (std::size_t{1} << (random() % 22 + 1));
    void* block = pool.acquire(bytes);
    REQUIRE(block != nullptr);
    CHECK(reinterpret_cast<std::uintptr_t>(block) % 64 == 0);
    std::memset(block, 1, bytes);
    pool.release(block);
    CHECK(pool.acquire(bytes) == block);
    pool.release(block);
  }
  CHECK(pool.used_bytes() == 0);
}

TEST_CASE(
    "a block is at most a quarter larger than what was asked for, and as large where a class "
    "fits") {
  for (std::size_t power = 6; power < 24; ++power) {
    for (std::size_t quarter = 0; quarter < 4; ++quarter) {
      const std::size_t exact = (4 + quarter) << (power - 2);
      for (const std::size_t bytes : {exact, exact + 1}) {
        MemoryPool pool;
        void* block = pool.acquire(bytes);
        CHECK(pool.used_bytes() >= bytes);
        CHECK(pool.used_bytes() <= exact + (bytes > exact ? exact / 4 : 0));
        pool.release(block);
      }
    }
  }
}

TEST_CASE("what lies idle is bounded") {
  MemoryPool pool(1 << 20);
  std::vector<void*> blocks;
  for (int i = 0; i < 64; ++i) blocks.push_back(pool.acquire(1 << 16));
  for (void* block : blocks) pool.release(block);
  CHECK(pool.idle_bytes() <= (1 << 20));
  CHECK(pool.idle_bytes() > 0);
}

TEST_CASE("what lies idle can be given back, and what is in use stays") {
  MemoryPool pool;
  auto* used = static_cast<unsigned char*>(pool.acquire(1 << 16));
  used[0] = 7;
  pool.release(pool.acquire(1 << 20));
  CHECK(pool.idle_bytes() > 0);
  pool.give_back();
  CHECK(pool.idle_bytes() == 0);
  CHECK(used[0] == 7);
  CHECK(pool.used_bytes() > 0);
  pool.release(used);
  CHECK(pool.used_bytes() == 0);
}

TEST_CASE("threads share a pool") {
  MemoryPool pool;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&pool, t] {
      for (int i = 0; i < 2000; ++i) {
        auto* block = static_cast<unsigned char*>(pool.acquire(100 + i % 500));
        *block = static_cast<unsigned char>(t);
        pool.release(block);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(pool.used_bytes() == 0);
}

}  // namespace penstock::runtime
