#include "runtime/index_check.h"

#include <algorithm>

#include "ir/index_range.h"
#include "ir/strides.h"

namespace penstock::runtime {

namespace {

/// Elements `step` apart.
template <class T>
struct Row {
  const T* first;
  std::int64_t count, step;
};

/// Whether all are at least `least` and fewer than `inside` above it, or `ignored`: one comparison
/// of unsigned numbers each, of all in any case, so that it is done in vectors.
template <class T>
[[gnu::always_inline]] inline bool all_inside(Row<T> row, std::int64_t least, std::uint64_t inside,
                                              std::int64_t ignored) {
  const auto is_beyond = [=](std::int64_t element) -> std::uint64_t {
    const std::uint64_t from_least =
        static_cast<std::uint64_t>(element) - static_cast<std::uint64_t>(least);
    return static_cast<std::uint64_t>(from_least >= inside) &
           static_cast<std::uint64_t>(element != ignored);
  };
  std::uint64_t beyond = 0;
  if (row.step == 1) {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < row.count; ++i) beyond |= is_beyond(row.first[i]);
  } else {
    for (std::int64_t i = 0; i < row.count; ++i) beyond |= is_beyond(row.first[i * row.step]);
  }
  return beyond == 0;
}

/// For the CPUs that kernels are made for, and for others.
template <class T>
[[gnu::target("avx2"), gnu::optimize("O3")]] bool row_inside_avx2(Row<T> row, std::int64_t least,
                                                                  std::uint64_t inside,
                                                                  std::int64_t ignored) {
  return all_inside(row, least, inside, ignored);
}
template <class T>
bool row_inside(Row<T> row, std::int64_t least, std::uint64_t inside, std::int64_t ignored) {
  return all_inside(row, least, inside, ignored);
}

const bool kHasAvx2 = __builtin_cpu_supports("avx2") != 0;

class IndexCheck : public LibraryKernel {
 public:
  IndexCheck(const Operand& elements, IndexRange range, std::string op)
      : range_(range), op_(std::move(op)) {
    // Dims that one stride walks are one.
    for (std::size_t i = 0; i < elements.sizes.size(); ++i) {
      if (elements.sizes[i] == 1) continue;
      const bool continues =
          !sizes_.empty() && strides_.back() == elements.sizes[i] * elements.strides[i];
      if (continues) {
        sizes_.back() *= elements.sizes[i];
        strides_.back() = elements.strides[i];
      } else {
        sizes_.push_back(elements.sizes[i]);
        strides_.push_back(elements.strides[i]);
      }
    }
    if (!sizes_.empty()) {
      columns_ = sizes_.back();
      step_ = strides_.back();
      sizes_.pop_back();
      strides_.pop_back();
    }
    for (const std::int64_t size : sizes_) rows_ *= size;
    look_ = choose(elements.dtype);
  }

  std::size_t scratch_bytes() const override { return 0; }
  bool is_alone() const override { return true; }
  std::string_view implementation() const override { return "comparison"; }

  Result<void> run(const LibraryMemory& memory) override {
    if (columns_ == 0) return {};
    for (std::int64_t row = 0; row < rows_; ++row) {
      if (auto found = (this->*look_)(memory.inputs[0], offset_at(row, sizes_, strides_))) {
        return failure(Code::PS0808, beyond_message(op_, *found, range_));
      }
    }
    return {};
  }

 private:
  using Look = std::optional<std::int64_t> (IndexCheck::*)(const void*, std::int64_t) const;

  /// The first element of a row that is beyond.
  template <class T>
  std::optional<std::int64_t> look(const void* data, std::int64_t place) const {
    const Row<T> row{static_cast<const T*>(data) + place, columns_, step_};
    const std::int64_t least = range_.wraps ? -range_.size : 0;
    const auto inside = static_cast<std::uint64_t>(range_.size - least);
    // Without one to be ignored, one that cannot be there or is good.
    const std::int64_t ignored = range_.ignored.value_or(inside == 0 ? INT64_MIN : least);
    const bool good = kHasAvx2 ? row_inside_avx2(row, least, inside, ignored)
                               : row_inside(row, least, inside, ignored);
    if (good) return std::nullopt;
    for (std::int64_t i = 0; i < columns_; ++i) {
      const std::int64_t element = row.first[i * step_];
      if (!range_.holds(element)) return element;
    }
    return std::nullopt;
  }

  static Look choose(DType dtype) {
    switch (dtype) {
      case DType::uint8:
        return &IndexCheck::look<std::uint8_t>;
      case DType::int8:
        return &IndexCheck::look<std::int8_t>;
      case DType::int16:
        return &IndexCheck::look<std::int16_t>;
      case DType::int32:
        return &IndexCheck::look<std::int32_t>;
      default:
        return &IndexCheck::look<std::int64_t>;
    }
  }

  IndexRange range_;
  std::string op_;
  std::vector<std::int64_t> sizes_, strides_;  ///< of the rows
  std::int64_t rows_ = 1, columns_ = 1, step_ = 1;
  Look look_ = nullptr;
};

}  // namespace

std::unique_ptr<LibraryKernel> make_index_check(const LibraryCall& call,
                                                const LibraryOperands& operands) {
  return std::make_unique<IndexCheck>(operands.inputs[0], index_range(call.attributes), call.op);
}

}  // namespace penstock::runtime
