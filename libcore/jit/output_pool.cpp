#include "jit/output_pool.h"

#include <array>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <new>

namespace penstock::jit {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr int kSteps = 4;  // size classes per doubling
constexpr int kClasses = 48 * kSteps;

struct Class {
  int number;
  std::size_t bytes;
};

/// The smallest class that holds `bytes`: 64, 80, 96, 112, 128, 160, 192 …
Class class_of(std::size_t bytes) {
  if (bytes < kAlignment) bytes = kAlignment;
  const int power = std::bit_width(bytes - 1) - 1;  // 2^power < bytes, except bytes = 64
  const std::size_t base = std::size_t{1} << power;
  const std::size_t step = base / kSteps;
  const std::size_t above = bytes > base ? (bytes - base + step - 1) / step : 0;
  return {power * kSteps + static_cast<int>(above), base + above * step};
}

}  // namespace

/// Stands in front of every block, kAlignment bytes long.
struct Header {
  OutputPool::Block block;
  struct Header* next;
  void* state;
  std::size_t bytes;
  int number;
};
static_assert(sizeof(Header) <= kAlignment);

struct OutputPool::State {
  std::mutex mutex;
  std::array<Header*, kClasses> free{};
  std::size_t kept = 0;
  std::size_t limit = 0;
  std::size_t out = 0;  // blocks in use
  bool closed = false;

  void free_all() {
    for (Header*& list : free) {
      while (list != nullptr) {
        Header* next = list->next;
        std::free(list);
        list = next;
      }
    }
    kept = 0;
  }
};

OutputPool::OutputPool(std::size_t limit) : state_(new State) { state_->limit = limit; }

OutputPool::~OutputPool() {
  bool last = false;
  {
    std::lock_guard lock(state_->mutex);
    state_->closed = true;
    state_->free_all();
    last = state_->out == 0;
  }
  if (last) delete state_;
}

OutputPool::Block OutputPool::take(std::size_t bytes) {
  const Class wanted = class_of(bytes);
  if (wanted.number >= kClasses) return {};
  {
    std::lock_guard lock(state_->mutex);
    if (Header* header = state_->free[wanted.number]) {
      state_->free[wanted.number] = header->next;
      state_->kept -= header->bytes;
      ++state_->out;
      return header->block;
    }
  }
  const std::size_t whole = (wanted.bytes + 2 * kAlignment - 1) / kAlignment * kAlignment;
  void* memory = std::aligned_alloc(kAlignment, whole);
  if (memory == nullptr) return {};
  auto* header = new (memory) Header{};
  header->block = {static_cast<char*>(memory) + kAlignment, header};
  header->state = state_;
  header->bytes = wanted.bytes;
  header->number = wanted.number;
  std::lock_guard lock(state_->mutex);
  ++state_->out;
  return header->block;
}

void OutputPool::release(void* context) {
  auto* header = static_cast<Header*>(context);
  auto* state = static_cast<State*>(header->state);
  bool last = false;
  {
    std::lock_guard lock(state->mutex);
    --state->out;
    last = state->closed && state->out == 0;
    if (!state->closed && state->kept + header->bytes <= state->limit) {
      header->next = state->free[header->number];
      state->free[header->number] = header;
      state->kept += header->bytes;
      return;
    }
  }
  std::free(header);
  if (last) delete state;
}

std::size_t OutputPool::kept_bytes() const {
  std::lock_guard lock(state_->mutex);
  return state_->kept;
}

}  // namespace penstock::jit
