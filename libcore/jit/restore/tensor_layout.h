#pragma once

#include <Python.h>

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "guards/size_program.h"
#include "ir/tensor_type.h"
#include "python/object.h"

namespace penstock::jit {

/// tensor.as_strided(sizes, strides, offset). Null with a Python error set.
python::PyRef strided(PyObject* tensor, std::span<const std::int64_t> sizes,
                      std::span<const std::int64_t> strides, std::int64_t offset);

/// Elements that lie in any order.
struct Elements {
  const void* data;   ///< the first one
  std::size_t bytes;  ///< of one
  std::span<const std::int64_t> sizes, strides;
};

/// Writes the elements so that they lie by other strides.
void copy_elements(const Elements& from, void* to, std::span<const std::int64_t> strides);

/// Sizes, strides and offset of a tensor, counted in elements, as numbers of the call at hand.
class TensorLayout {
 public:
  /// `position` gives a symbol's place in the row of their values, or -1.
  TensorLayout(const TensorType& type, const std::function<int(std::string_view)>& position);

  /// False if a symbol has no place.
  bool valid() const;
  /// Works the numbers out. `symbols` is the row of values.
  void evaluate(const std::int64_t* symbols);

  std::span<const std::int64_t> sizes() const { return {numbers_.data(), rank_}; }
  std::span<const std::int64_t> strides() const { return {numbers_.data() + rank_, rank_}; }
  std::int64_t offset() const { return numbers_.back(); }

  /// The numbers are those of `sizes` and `strides`; a stride that is never taken does not count.
  bool lies_as(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides) const;
  /// Elements from the first to the last, both included; 0 for a tensor without elements.
  std::int64_t extent() const;

  /// A view with this layout of the storage of `base`, as torch makes it; `start` is added to the
  /// offset. Null with a Python error set.
  python::PyRef view_of(PyObject* base, std::int64_t start);

 private:
  std::size_t rank_;
  std::vector<guards::SizeProgram> programs_;  // sizes, strides, offset
  std::vector<std::int64_t> numbers_;          // likewise
  bool constant_ = true;
  python::PyRef size_tuple_, stride_tuple_;  // kept where the numbers never change
};

}  // namespace penstock::jit
