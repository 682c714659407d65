// Sorting along a dim, and the first few in sorted order: what oneDNN does not have.
//
// An element becomes a key, an unsigned number in the order of the elements: the sign bit of
// integers turned over, of floats all bits of those below zero; both zeros are one key, and NaN is
// the greatest. For falling order all keys are turned over. A record is a key and the element's
// position; one of at most four bytes and its position are one word.
//
// Of equal elements, which comes first is left open by ATen unless the order is stable. A program
// shows it all the same, so the algorithms are ATen's (aten/src/ATen/native/cpu/SortingKernel.cpp
// and TopKImpl.h): the C++ library's sort, partial_sort and nth_element, comparing keys alone, end
// in the same permutation wherever their comparisons do.
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ir/strides.h"
#include "runtime/library/onednn.h"
#include "runtime/library/thread_limit.h"

namespace penstock::runtime {

namespace {

/// A key of four bytes or fewer in front of a position.
struct ShortRecord {
  std::uint64_t word;
  ShortRecord() = default;
  ShortRecord(std::uint64_t key, std::int64_t position)
      : word(key << 32 | static_cast<std::uint64_t>(position)) {}
  std::uint64_t key() const { return word >> 32; }
  std::int64_t position() const { return static_cast<std::int64_t>(word & 0xffffffffU); }
};

struct LongRecord {
  std::uint64_t word;
  std::int64_t place;
  LongRecord() = default;
  LongRecord(std::uint64_t key, std::int64_t position) : word(key), place(position) {}
  std::uint64_t key() const { return word; }
  std::int64_t position() const { return place; }
};

/// Bits of floats in ascending order. `exponent`: the bits that are all set in infinity.
template <class Bits>
Bits float_key(Bits bits, Bits exponent) {
  constexpr Bits sign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
  const Bits size = static_cast<Bits>(bits & ~sign);
  if (size > exponent) return static_cast<Bits>(~Bits{0});
  if (size == 0) return sign;
  return static_cast<Bits>((bits & sign) != 0 ? ~bits : bits | sign);
}

/// How the elements of a dtype are read: their bits, and the key that these stand for.
template <class T, T (*order)(T)>
struct Element {
  using Bits = T;
  static std::uint64_t key(T bits, bool descending) {
    const T key = order(bits);
    return static_cast<T>(descending ? ~key : key);
  }
};

template <class T>
T unsigned_order(T bits) {
  return bits;
}
template <class T>
T signed_order(T bits) {
  return static_cast<T>(bits ^ static_cast<T>(T{1} << (8 * sizeof(T) - 1)));
}
template <class T, T exponent>
T float_order(T bits) {
  return float_key<T>(bits, exponent);
}

/// The strips of a tensor along one dim: an element's strides, and where each strip begins.
struct Strips {
  std::vector<std::int64_t> sizes, strides;  ///< of the other dims
  std::int64_t step = 1;                     ///< along the dim

  Strips(const Operand& operand, std::size_t dim) {
    for (std::size_t i = 0; i < operand.sizes.size(); ++i) {
      if (i == dim) {
        step = operand.strides[i];
      } else {
        sizes.push_back(operand.sizes[i]);
        strides.push_back(operand.strides[i]);
      }
    }
  }
  std::int64_t begin(std::int64_t strip) const { return offset_at(strip, sizes, strides); }
};

enum class Order : std::uint8_t { stable, unstable, first, first_unsorted };

/// Puts the first `count` of the records in their order.
template <class Record>
void put_in_order(std::span<Record> records, std::int64_t count, Order order) {
  const auto less = [](const Record& a, const Record& b) { return a.key() < b.key(); };
  const auto begin = records.begin(), end = records.end();
  switch (order) {
    case Order::stable:
      // Positions that settle what keys leave open make any order a stable one.
      return std::sort(begin, end, [](const Record& a, const Record& b) {
        if constexpr (std::is_same_v<Record, ShortRecord>) return a.word < b.word;
        return a.key() != b.key() ? a.key() < b.key() : a.position() < b.position();
      });
    case Order::unstable:
      return std::sort(begin, end, less);
    case Order::first:
    case Order::first_unsorted:
      break;
  }
  // ATen's bound between the two ways.
  constexpr std::int64_t kFew = 64;
  if (count * kFew <= static_cast<std::int64_t>(records.size()))
    return std::partial_sort(begin, begin + count, end, less);
  std::nth_element(begin, begin + count - 1, end, less);
  if (order == Order::first) std::sort(begin, begin + count - 1, less);
}

class Sorting : public LibraryKernel {
 public:
  Sorting(const LibraryOperands& operands, std::size_t dim, bool descending, Order order)
      : from_(operands.inputs[0], dim),
        values_(operands.outputs[0], dim),
        positions_(operands.outputs[1], dim),
        descending_(descending),
        order_(order) {
    const Operand &input = operands.inputs[0], &values = operands.outputs[0];
    length_ = input.sizes.empty() ? 1 : input.sizes[dim];
    count_ = values.sizes.empty() ? 1 : values.sizes[dim];
    for (const std::int64_t size : from_.sizes) strips_ *= size;
    run_strip_ = choose_strip(input.dtype);
    record_bytes_ = facts(input.dtype).size > 4 ? sizeof(LongRecord) : sizeof(ShortRecord);
    const double comparisons =
        static_cast<double>(strips_ * length_) * std::log2(2.0 + static_cast<double>(count_));
    threads_ = comparisons <= kAlone
                   ? 1
                   : static_cast<int>(std::clamp<std::int64_t>(strips_, 1, omp_get_max_threads()));
  }

  std::size_t scratch_bytes() const override {
    return static_cast<std::size_t>(threads_) * strip_bytes();
  }
  bool is_alone() const override { return threads_ == 1; }
  std::string_view implementation() const override {
    return order_ == Order::stable || order_ == Order::unstable ? "sorted records"
                                                                : "selected records";
  }

  Result<void> run(const LibraryMemory& memory) override {
    if (count_ == 0) return {};
    if (threads_ == 1) {
      for (std::int64_t strip = 0; strip < strips_; ++strip)
        (this->*run_strip_)(memory, strip, memory.scratch);
      return {};
    }
    const int threads = std::min(threads_, omp_get_max_threads());
#pragma omp parallel for num_threads(threads) schedule(static)
    for (std::int64_t strip = 0; strip < strips_; ++strip) {
      (this->*run_strip_)(memory, strip,
                          static_cast<char*>(memory.scratch) +
                              static_cast<std::size_t>(omp_get_thread_num()) * strip_bytes());
    }
    return {};
  }

 private:
  using RunStrip = void (Sorting::*)(const LibraryMemory&, std::int64_t, void*) const;

  std::size_t strip_bytes() const {
    return (static_cast<std::size_t>(length_) * record_bytes_ + 63) / 64 * 64;
  }

  template <class Kind>
  void run_strip(const LibraryMemory& memory, std::int64_t strip, void* scratch) const {
    using Bits = typename Kind::Bits;
    using Record = std::conditional_t<(sizeof(Bits) > 4), LongRecord, ShortRecord>;
    const Bits* from = static_cast<const Bits*>(memory.inputs[0]) + from_.begin(strip);
    Bits* values = static_cast<Bits*>(memory.outputs[0]) + values_.begin(strip);
    auto* positions = static_cast<std::int64_t*>(memory.outputs[1]) + positions_.begin(strip);
    const std::span<Record> records(static_cast<Record*>(scratch),
                                    static_cast<std::size_t>(length_));
    for (std::int64_t i = 0; i < length_; ++i) {
      records[static_cast<std::size_t>(i)] =
          Record(Kind::key(from[i * from_.step], descending_), i);
    }
    put_in_order(records, count_, order_);
    for (std::int64_t i = 0; i < count_; ++i) {
      const std::int64_t position = records[static_cast<std::size_t>(i)].position();
      values[i * values_.step] = from[position * from_.step];
      positions[i * positions_.step] = position;
    }
  }

  static RunStrip choose_strip(DType dtype) {
    using std::uint16_t, std::uint32_t, std::uint64_t, std::uint8_t;
    switch (dtype) {
      case DType::bool_:
      case DType::uint8:
        return &Sorting::run_strip<Element<uint8_t, unsigned_order<uint8_t>>>;
      case DType::int8:
        return &Sorting::run_strip<Element<uint8_t, signed_order<uint8_t>>>;
      case DType::int16:
        return &Sorting::run_strip<Element<uint16_t, signed_order<uint16_t>>>;
      case DType::int32:
        return &Sorting::run_strip<Element<uint32_t, signed_order<uint32_t>>>;
      case DType::int64:
        return &Sorting::run_strip<Element<uint64_t, signed_order<uint64_t>>>;
      case DType::float16:
        return &Sorting::run_strip<Element<uint16_t, float_order<uint16_t, 0x7c00>>>;
      case DType::bfloat16:
        return &Sorting::run_strip<Element<uint16_t, float_order<uint16_t, 0x7f80>>>;
      case DType::float32:
        return &Sorting::run_strip<Element<uint32_t, float_order<uint32_t, 0x7f800000U>>>;
      case DType::float64:
        return &Sorting::run_strip<Element<uint64_t, float_order<uint64_t, 0x7ff0000000000000U>>>;
      case DType::complex64:
      case DType::complex128:
        break;  // have no order: partition leaves them to torch
    }
    return nullptr;
  }

  Strips from_, values_, positions_;
  bool descending_;
  Order order_;
  RunStrip run_strip_ = nullptr;
  std::int64_t length_ = 1, count_ = 1, strips_ = 1;
  std::size_t record_bytes_ = 0;
  int threads_ = 1;
};

/// ATen sorts a long list of integers by their digits, which is stable, asked or not.
bool sorts_by_digits(const Operand& input, bool descending) {
  constexpr std::int64_t kLong = 32768;
  const DTypeFacts& dtype = facts(input.dtype);
  return !descending && input.sizes.size() == 1 && input.sizes[0] >= kLong &&
         input.strides[0] == 1 && dtype.category == DTypeCategory::integral;
}

}  // namespace

Result<std::unique_ptr<LibraryKernel>> make_sorting(const LibraryCall& call,
                                                    const LibraryOperands& operands) {
  const Operand& input = operands.inputs[0];
  const auto dim = static_cast<std::size_t>(integer(call, "dim", 0));
  if (!input.sizes.empty() && input.sizes[dim] >= std::int64_t{1} << 32) {
    return failure(Code::PS0708, call.name + " of " + call.op + ": a dim of 2^32 elements or more");
  }
  const bool descending = flag(call, "descending");
  Order order = flag(call, "sorted") ? Order::first : Order::first_unsorted;
  if (call.name == "sort") {
    order = flag(call, "stable") || sorts_by_digits(input, descending) ? Order::stable
                                                                       : Order::unstable;
  }
  return std::make_unique<Sorting>(operands, dim, descending, order);
}

}  // namespace penstock::runtime
