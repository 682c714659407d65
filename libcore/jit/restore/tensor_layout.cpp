#include "jit/restore/tensor_layout.h"

#include <algorithm>
#include <cstring>

namespace penstock::jit {

using python::PyRef;

namespace {

PyRef tuple_of(std::span<const std::int64_t> numbers) {
  PyRef tuple = PyRef::steal(PyTuple_New(static_cast<Py_ssize_t>(numbers.size())));
  for (std::size_t i = 0; tuple && i < numbers.size(); ++i) {
    PyObject* number = PyLong_FromLongLong(numbers[i]);
    if (number == nullptr) return {};
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), number);
  }
  return tuple;
}

}  // namespace

PyRef strided(PyObject* tensor, std::span<const std::int64_t> sizes,
              std::span<const std::int64_t> strides, std::int64_t offset) {
  const PyRef size = tuple_of(sizes), stride = tuple_of(strides);
  if (!size || !stride) return {};
  return PyRef::steal(PyObject_CallMethod(tensor, "as_strided", "OOL", size.get(), stride.get(),
                                          static_cast<long long>(offset)));
}

void copy_elements(const Elements& from, void* to, std::span<const std::int64_t> strides) {
  const std::size_t rank = from.sizes.size();
  const auto step = [&](std::int64_t stride) {
    return stride * static_cast<std::int64_t>(from.bytes);
  };
  if (std::ranges::find(from.sizes, 0) != from.sizes.end()) return;
  const auto* source = static_cast<const char*>(from.data);
  auto* target = static_cast<char*>(to);
  std::vector<std::int64_t> index(rank);
  for (;;) {
    std::memcpy(target, source, from.bytes);
    std::size_t dim = rank;
    while (dim-- > 0) {
      source += step(from.strides[dim]);
      target += step(strides[dim]);
      if (++index[dim] < from.sizes[dim]) break;
      source -= step(from.strides[dim] * from.sizes[dim]);
      target -= step(strides[dim] * from.sizes[dim]);
      index[dim] = 0;
    }
    if (dim == static_cast<std::size_t>(-1)) return;
  }
}

TensorLayout::TensorLayout(const TensorType& type,
                           const std::function<int(std::string_view)>& position)
    : rank_(type.rank()), numbers_(2 * type.rank() + 1) {
  for (const SymExpr& size : type.sizes) programs_.emplace_back(size, position);
  for (const SymExpr& stride : type.strides) programs_.emplace_back(stride, position);
  programs_.emplace_back(type.storage_offset, position);
  for (std::size_t i = 0; i < programs_.size(); ++i) {
    constant_ = constant_ && programs_[i].is_constant();
    if (programs_[i].is_constant()) numbers_[i] = programs_[i].constant();
  }
}

bool TensorLayout::valid() const {
  return std::all_of(programs_.begin(), programs_.end(),
                     [](const guards::SizeProgram& program) { return program.valid(); });
}

void TensorLayout::evaluate(const std::int64_t* symbols) {
  if (constant_) return;
  for (std::size_t i = 0; i < programs_.size(); ++i) numbers_[i] = programs_[i].evaluate(symbols);
}

bool TensorLayout::lies_as(std::span<const std::int64_t> sizes,
                           std::span<const std::int64_t> strides) const {
  if (!std::ranges::equal(this->sizes(), sizes)) return false;
  if (std::ranges::find(sizes, 0) != sizes.end()) return true;
  for (std::size_t i = 0; i < rank_; ++i) {
    if (sizes[i] != 1 && this->strides()[i] != strides[i]) return false;
  }
  return true;
}

std::int64_t TensorLayout::extent() const {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < rank_; ++i) {
    if (sizes()[i] == 0) return 0;
    last += (sizes()[i] - 1) * strides()[i];
  }
  return last + 1;
}

PyRef TensorLayout::view_of(PyObject* base, std::int64_t start) {
  static PyObject* const name = PyUnicode_InternFromString("as_strided");
  if (!constant_ || !size_tuple_ || !stride_tuple_) {
    size_tuple_ = tuple_of(sizes());
    stride_tuple_ = tuple_of(strides());
  }
  PyRef offset = PyRef::steal(PyLong_FromLongLong(start + this->offset()));
  if (base == nullptr || !size_tuple_ || !stride_tuple_ || !offset) return {};
  PyObject* arguments[] = {base, size_tuple_.get(), stride_tuple_.get(), offset.get()};
  return PyRef::steal(PyObject_VectorcallMethod(name, arguments, 4, nullptr));
}

}  // namespace penstock::jit
