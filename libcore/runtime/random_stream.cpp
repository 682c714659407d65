// torch draws an element at a time: a word of the block, tempered, a second one, a division, a
// comparison, 5 to 25 ns. Here a block is made, tempered and compared as arrays, which compilers
// turn into vectors: the same elements, and the same state behind them.
#include "runtime/random_stream.h"

#include <algorithm>
#include <cmath>

namespace penstock::runtime {

namespace {

constexpr std::size_t kWords = RandomState::kWords, kShift = 397;
using Words = std::uint32_t*;

#if defined(__x86_64__)
#define PS_VECTORS __attribute__((optimize("O3"), target_clones("avx512f", "avx2", "default")))
#else
#define PS_VECTORS
#endif

inline std::uint32_t twisted(std::uint32_t high, std::uint32_t low) {
  const std::uint32_t both = (high & 0x80000000u) | (low & 0x7fffffffu);
  return (both >> 1) ^ (-(low & 1u) & 0x9908b0dfu);
}

/// The next block in the place of the one before. A word is made of words in front of it that are
/// new and words behind it that are old, hundreds away: vectors may go over them.
PS_VECTORS void next_block(Words words) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < kWords - kShift; ++i)
    words[i] = words[i + kShift] ^ twisted(words[i], words[i + 1]);
#pragma GCC ivdep
  for (std::size_t i = kWords - kShift; i < kWords - 1; ++i)
    words[i] = words[i + kShift - kWords] ^ twisted(words[i], words[i + 1]);
  words[kWords - 1] = words[kShift - 1] ^ twisted(words[kWords - 1], words[0]);
}

PS_VECTORS void temper(const std::uint32_t* words, Words tempered, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t y = words[i];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    tempered[i] = y ^ (y >> 18);
  }
}

/// Of pairs of words, whether the number that they make is below the limit.
PS_VECTORS void compare(const std::uint32_t* words, std::int64_t limit, std::uint8_t* elements,
                        std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto high = static_cast<std::int64_t>(words[2 * i] & 0x1fffffu);
    elements[i] = ((high << 32) | words[2 * i + 1]) < limit;
  }
}

class OwnSource : public RandomSource {
 public:
  Result<void> bernoulli(double probability, std::span<std::uint8_t> elements) override {
    draw_bernoulli(state_, probability, elements);
    return {};
  }

 private:
  RandomState state_;
};

class Draw : public LibraryKernel {
 public:
  Draw(double probability, std::size_t count, RandomSource& source)
      : probability_(probability), count_(count), source_(source) {}

  std::size_t scratch_bytes() const override { return 0; }
  bool is_alone() const override { return true; }
  std::string_view implementation() const override { return "mt19937"; }
  Result<void> run(const LibraryMemory& memory) override {
    return source_.bernoulli(probability_, {static_cast<std::uint8_t*>(memory.outputs[0]), count_});
  }

 private:
  double probability_;
  std::size_t count_;
  RandomSource& source_;
};

}  // namespace

RandomState::RandomState(std::uint64_t seed) {
  words[0] = static_cast<std::uint32_t>(seed);
  for (std::size_t i = 1; i < kWords; ++i) {
    words[i] = 1812433253u * (words[i - 1] ^ (words[i - 1] >> 30)) + static_cast<std::uint32_t>(i);
  }
}

void draw_bernoulli(RandomState& state, double probability, std::span<std::uint8_t> elements) {
  // x / 2^53 is below p where the whole number x is below p * 2^53, rounded up.
  const auto limit = static_cast<std::int64_t>(std::ceil(std::ldexp(probability, 53)));
  std::array<std::uint32_t, kWords + 1> tempered;
  std::size_t kept = 0;  // words of the block before: one at most
  while (!elements.empty()) {
    if (state.next == kWords) {
      next_block(state.words.data());
      state.next = 0;
    }
    const std::size_t words = std::min(kWords - state.next, 2 * elements.size() - kept);
    temper(state.words.data() + state.next, tempered.data() + kept, words);
    state.next += words;
    const std::size_t count = (kept + words) / 2;
    compare(tempered.data(), limit, elements.data(), count);
    elements = elements.subspan(count);
    kept = (kept + words) % 2;
    if (kept != 0) tempered[0] = tempered[2 * count];
  }
}

std::shared_ptr<RandomSource> own_random_source() {
  return std::make_shared<OwnSource>();
}

std::unique_ptr<LibraryKernel> make_draw(const LibraryCall& call, const LibraryOperands& operands,
                                         RandomSource& source) {
  const auto share = std::ranges::find(call.attributes, "probability", &NamedArgument::name);
  const auto* probability = share == call.attributes.end() ? nullptr : share->value.as<double>();
  return std::make_unique<Draw>(probability != nullptr ? *probability : 0,
                                static_cast<std::size_t>(operands.outputs[0].sizes[0]), source);
}

}  // namespace penstock::runtime
