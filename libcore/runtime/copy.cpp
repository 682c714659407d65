#include "runtime/copy.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace penstock::runtime {

namespace {

/// A dim of both windows; strides in bytes.
struct Dim {
  std::int64_t size, from, to;
};

/// `count` elements of type T, each `from` and `to` bytes behind the one before.
template <class T>
void copy_row(const char* source, char* target, const Dim& dim) {
  for (std::int64_t i = 0; i < dim.size; ++i, source += dim.from, target += dim.to)
    std::memcpy(target, source, sizeof(T));
}

class Copy : public LibraryKernel {
 public:
  Copy(const Operand& from, const Operand& to) {
    const std::int64_t size = facts(to.dtype).size;
    std::vector<Dim> dims;
    for (std::size_t i = 0; i < to.sizes.size(); ++i) {
      empty_ |= to.sizes[i] == 0;
      if (to.sizes[i] != 1)
        dims.push_back({to.sizes[i], from.strides[i] * size, to.strides[i] * size});
    }
    std::ranges::stable_sort(dims, std::greater<>(),
                             [](const Dim& dim) { return std::abs(dim.to); });
    // Dims that one step walks in both windows are one.
    for (const Dim& dim : dims) {
      Dim* before = dims_.empty() ? nullptr : &dims_.back();
      const bool continues = before != nullptr && before->from == dim.size * dim.from &&
                             before->to == dim.size * dim.to;
      if (continues)
        *before = {before->size * dim.size, dim.from, dim.to};
      else
        dims_.push_back(dim);
    }
    // A row of neighbours is one block of bytes.
    if (!dims_.empty() && dims_.back().from == size && dims_.back().to == size) {
      block_ = size * dims_.back().size;
      dims_.pop_back();
    } else {
      block_ = size;
    }
  }

  std::size_t scratch_bytes() const override { return 0; }
  bool is_alone() const override { return true; }
  std::string_view implementation() const override { return "copy"; }

  Result<void> run(const LibraryMemory& memory) override {
    if (!empty_ && memory.inputs[0] != memory.outputs[0]) {
      copy(static_cast<const char*>(memory.inputs[0]), static_cast<char*>(memory.outputs[0]), 0);
    }
    return {};
  }

 private:
  void copy(const char* source, char* target, std::size_t level) const {
    if (level == dims_.size()) {
      std::memcpy(target, source, static_cast<std::size_t>(block_));
      return;
    }
    const Dim& dim = dims_[level];
    if (level + 1 == dims_.size()) {
      switch (block_) {
        case 1:
          return copy_row<std::uint8_t>(source, target, dim);
        case 2:
          return copy_row<std::uint16_t>(source, target, dim);
        case 4:
          return copy_row<std::uint32_t>(source, target, dim);
        case 8:
          return copy_row<std::uint64_t>(source, target, dim);
        default:
          break;
      }
    }
    for (std::int64_t i = 0; i < dim.size; ++i)
      copy(source + i * dim.from, target + i * dim.to, level + 1);
  }

  std::vector<Dim> dims_;   ///< the longest steps first
  std::int64_t block_ = 0;  ///< bytes
  bool empty_ = false;
};

}  // namespace

Result<std::unique_ptr<LibraryKernel>> make_copy(const LibraryOperands& operands) {
  const bool two =
      operands.inputs.size() == 1 && operands.outputs.size() == 1 && operands.present.front();
  if (!two || operands.inputs[0].dtype != operands.outputs[0].dtype ||
      operands.inputs[0].sizes != operands.outputs[0].sizes) {
    return failure(Code::PS0708, "copy: the windows differ");
  }
  return std::make_unique<Copy>(operands.inputs[0], operands.outputs[0]);
}

}  // namespace penstock::runtime
