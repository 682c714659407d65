#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "diag/diagnostic.h"
#include "runtime/library_kernel.h"

namespace penstock::runtime {

/// The state of torch's generator on the CPU: an mt19937 (Matsumoto and Nishimura 1998) and how
/// much of its block has been read.
struct RandomState {
  static constexpr std::size_t kWords = 624;
  std::array<std::uint32_t, kWords> words{};
  std::size_t next = kWords;  ///< the first word that has not been read; kWords: none is left

  /// As torch.manual_seed(seed) leaves it; the default is that of torch's C++ library.
  explicit RandomState(std::uint64_t seed = 67280421310721);
};

/// Fills `elements` with what torch's bernoulli_(probability) draws, as 0 and 1, and moves the
/// state on as that does. Two words an element, the first in front: true where their last 53 bits,
/// as a fraction, are below the probability (ATen/core/DistributionsHelper.h).
void draw_bernoulli(RandomState& state, double probability, std::span<std::uint8_t> elements);

/// Where the draws of a bundle come from: the program's generator. Used by one thread at a time.
class RandomSource {
 public:
  virtual ~RandomSource() = default;
  /// As draw_bernoulli.
  virtual Result<void> bernoulli(double probability, std::span<std::uint8_t> elements) = 0;
};

/// A generator of its own, the same in every process: for documents that are run without torch.
std::shared_ptr<RandomSource> own_random_source();

/// The library call bernoulli, which needs no library. `source` outlives it.
std::unique_ptr<LibraryKernel> make_draw(const LibraryCall& call, const LibraryOperands& operands,
                                         RandomSource& source);

/// Whether it is that call.
inline bool is_draw(const LibraryCall& call) {
  return call.name == "bernoulli";
}

}  // namespace penstock::runtime
