#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/library_kernel.h"

// Arbitrary library calls, and what they have to give.
namespace penstock::runtime::sweep {

using Sizes = std::vector<std::int64_t>;

/// Numbers that a seed decides, the same on every machine.
class Choice {
 public:
  explicit Choice(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ULL + 1) {}
  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15ULL;
    std::uint64_t bits = state_;
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9ULL;
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBULL;
    return bits ^ (bits >> 31);
  }
  std::int64_t below(std::int64_t count) {
    return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(count));
  }
  bool one_in(std::int64_t count) { return below(count) == 0; }
  template <class T>
  T of(std::initializer_list<T> values) {
    return values.begin()[below(static_cast<std::int64_t>(values.size()))];
  }
  template <class T>
  const T& of(const std::vector<T>& values) {
    return values[static_cast<std::size_t>(below(static_cast<std::int64_t>(values.size())))];
  }

 private:
  std::uint64_t state_;
};

/// A tensor in memory of its own, which elements of other tensors surround where its layout has
/// gaps.
struct Tensor {
  Operand operand;
  std::int64_t first = 0;  ///< the element [0, 0, …]
  std::vector<char> memory;

  std::int64_t element_size() const { return facts(operand.dtype).size; }
  void* data() { return memory.data() + first * element_size(); }
  double get(std::int64_t place) const;
  void set(std::int64_t place, double value);
  std::int64_t place(const Sizes& index)
      const;  ///< in `memory`; an index of more dims is cut in front, dims of one element repeat
};

/// A layout of `sizes` that `choice` makes: dense in an order of dims, with gaps, expanded,
/// reversed or overlapping. An output has each element once.
Tensor make_tensor(Choice& choice, DType dtype, const Sizes& sizes, bool output);

/// One call with its operands.
struct Call {
  LibraryCall call;
  std::vector<std::optional<Tensor>> inputs;
  Tensor out;
  std::vector<Tensor> post_ops;
  std::uint64_t version = kUnversioned;
  bool varying = false;      ///< sizes, as the library is told
  std::string text() const;  ///< sizes, strides, attributes: for messages
};

Call arbitrary_convolution(std::uint64_t seed);
Call arbitrary_product(std::uint64_t seed);
Call arbitrary_pool(std::uint64_t seed);

/// Runs the call and compares; empty, or what is wrong. `implementation` receives what the library
/// chose.
std::string problem_of(Library& library, Call& call, std::string& implementation);

}  // namespace penstock::runtime::sweep
