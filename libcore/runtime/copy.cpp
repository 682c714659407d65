#include "runtime/copy.h"

#include <fmt/format.h>

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

/// A copy into or from the row that the second input says.
class RowCopy : public LibraryKernel {
 public:
  RowCopy(const Operand& rows, const Operand& row, bool takes)
      : takes_(takes),
        count_(rows.sizes.front()),
        step_(rows.strides.front() * facts(rows.dtype).size),
        copy_(takes ? without_rows(rows) : row, takes ? row : without_rows(rows)) {}

  static Operand without_rows(Operand rows) {
    rows.sizes.erase(rows.sizes.begin());
    rows.strides.erase(rows.strides.begin());
    return rows;
  }

  std::size_t scratch_bytes() const override { return 0; }
  bool is_alone() const override { return true; }
  std::string_view implementation() const override { return "copy"; }

  Result<void> run(const LibraryMemory& memory) override {
    const std::int64_t turn = *static_cast<const std::int64_t*>(memory.inputs[1]);
    if (turn < 0 || turn >= count_)
      return failure(Code::PS0808, fmt::format("row {} of a tensor with {}", turn, count_));
    void* from = memory.inputs[0];
    void* to = memory.outputs[0];
    void*& rows = takes_ ? from : to;
    rows = static_cast<char*>(rows) + turn * step_;
    LibraryMemory one;
    one.inputs = {&from, 1};
    one.outputs = {&to, 1};
    return copy_.run(one);
  }

 private:
  bool takes_;
  std::int64_t count_, step_;
  Copy copy_;
};

}  // namespace

Result<std::unique_ptr<LibraryKernel>> make_copy(const LibraryCall& call,
                                                 const LibraryOperands& operands) {
  const std::size_t inputs = call.name == "copy" ? 1 : 2;
  if (operands.inputs.size() != inputs || operands.outputs.size() != 1 || !operands.present[0] ||
      !operands.present.back())
    return failure(Code::PS0708, call.name + ": the windows differ");
  const Operand &from = operands.inputs[0], &to = operands.outputs[0];
  const bool takes = call.name == "take_row";
  Operand source = from, target = to;
  Operand& rows = takes ? source : target;
  if (inputs == 2 && rows.sizes.empty()) return failure(Code::PS0708, call.name + ": no rows");
  if (inputs == 2) rows = RowCopy::without_rows(std::move(rows));
  if (source.dtype != target.dtype || source.sizes != target.sizes)
    return failure(Code::PS0708, call.name + ": the windows differ");
  if (inputs == 1) return std::make_unique<Copy>(from, to);
  return std::make_unique<RowCopy>(takes ? from : to, takes ? to : from, takes);
}

}  // namespace penstock::runtime
