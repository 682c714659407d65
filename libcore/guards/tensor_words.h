#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "torch/tensor_bridge.h"

namespace penstock::guards {

/// Tensors that must stay what they were: for each of them, what its Python object, its record and
/// what that leads to held. A model has hundreds, and they are compared on every call, limited by
/// the cache lines that are read: so the part of the record that tensors of one layout have in
/// common is kept once. First all objects are compared, then all records, then what is behind them,
/// without a branch between.
class TensorWords {
 public:
  void clear();

  /// The tensor must stay what it was when `view` was read from it. False where that cannot be
  /// seen.
  bool add(const torch::TensorBridge& bridge, PyObject* tensor, const torch::TensorView& view);

  /// True if all are as they were. With the widest vectors that this CPU has.
  bool hold() const;

  static constexpr std::size_t kBlock = 8;  ///< words of a vector

  /// A tensor's Python object.
  struct Object {
    const PyObject* at;
    const PyTypeObject* type;
    const std::uint64_t* record;
  };
  /// The words of a record that are a tensor's own.
  using Own = std::array<std::uint64_t, kBlock>;
  /// What a record leads to. What it does not have is not looked at: the address is of a word here.
  struct Behind {
    const std::uint64_t* memory;     ///< where the storage has the address, and who frees it …
    const std::uint64_t* gradients;  ///< … and where the word with requires_grad is
    std::array<std::uint64_t, 3> memory_words;
    std::uint64_t gradients_word;
  };
  /// A word behind a record that few tensors have.
  struct Word {
    const std::uint64_t* at;
    std::uint64_t value;
  };

 private:
  std::uint32_t position_of(std::span<const std::uint64_t> rest);

  std::size_t handle_ = 0;  ///< of the record's address in the Python object, in words
  std::size_t rest_ = 0;    ///< words of a record behind its own
  std::uint64_t kind_ = 0;  ///< the first word of all records
  std::vector<Object> objects_;
  std::vector<Own> own_;
  std::vector<std::uint32_t> common_at_;  ///< the rest of its record among the common ones
  std::vector<std::uint64_t> common_;     ///< one behind the other
  std::vector<Behind> behind_;
  std::vector<Word> more_;
};

}  // namespace penstock::guards
