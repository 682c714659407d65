#pragma once

#include <Python.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "diag/diagnostic.h"
#include "python/object.h"

namespace penstock::torch {

/// What can be read of a tensor without running torch code. Numbers are torch's own: dtype is a
/// c10::ScalarType, device_type a c10::DeviceType. Pointers stay valid while the tensor is alive
/// and its sizes are not changed.
struct TensorView {
  std::span<const std::int64_t> sizes;
  std::span<const std::int64_t> strides;  ///< in elements
  std::int64_t storage_offset = 0;        ///< in elements
  void* data = nullptr;                   ///< first element (offset included); null on meta
  const void* storage = nullptr;          ///< identity of the storage: equal for aliases
  std::int32_t dtype = 0;
  std::int32_t device_type = 0;
  std::int32_t device_index = 0;
  bool has_version = true;  ///< writes are counted: not those of inference tensors
  bool requires_grad = false;
  /// Holds sizes and strides where they had to be read by attribute.
  std::shared_ptr<std::int64_t[]> extents;
};

/// A tensor to make over memory of ours. sizes and strides are copied.
struct TensorSpec {
  std::span<const std::int64_t> sizes;
  std::span<const std::int64_t> strides;
  std::int32_t dtype = 6;  ///< c10::ScalarType (6: float32)
  void* data = nullptr;
  std::int32_t device_index = -1;  ///< of the GPU that the memory is on; -1: the host's
  /// Whether the storage may be given other memory later, as that of a tensor which torch
  /// allocated.
  bool resizable = false;
  /// Runs when the last user of the storage is gone, or it is given other memory: on any thread,
  /// perhaps without the GIL.
  void (*release)(void* context) = nullptr;
  void* context = nullptr;
};

/// Memory that says whether a tensor is as it was when it was read: while all of it holds the same,
/// and the Python object is of the same type, so does its view. To be compared in this order: what
/// comes later may be read only where what comes before is unchanged.
struct TensorWatch {
  using Words = std::span<const std::uint64_t>;
  const std::uint64_t* handle =
      nullptr;  ///< in the Python object: where the tensor's record (its TensorImpl) is
  /// The record behind its reference count. Its first two words stand before: what class of C++ it
  /// is, which must be compared too, and the count.
  Words record;
  Words memory;  ///< where the elements are, and who frees them (memory may be shared lazily); none
                 ///< on meta
  const std::uint64_t* gradients =
      nullptr;  ///< the word that holds requires_grad; null: there is none
  std::array<const std::uint64_t*, 9>
      graph{};  ///< null while no op made the tensor, and no tangent was attached
  std::size_t graph_count = 0;
};

/// Access to the program's torch, without its headers: through the C ABI that libtorch_cpu exports
/// and an offset found by calibration on a scratch tensor, tested at start; by attribute access
/// where a part is missing. Exists only after the program imported torch: we never import it.
class TensorBridge {
 public:
  /// Null (no error set) while sys.modules has no complete torch. Calibrates on first success;
  /// later calls return the same object. Needs the GIL.
  static Result<TensorBridge*> get();
  /// For a process without torch: nothing is a tensor.
  static const TensorBridge& absent();
  ~TensorBridge();

  /// True for torch.Tensor and subclasses.
  bool is_tensor(PyObject* object) const { return PyObject_TypeCheck(object, tensor_type_); }
  /// True for torch.Tensor and torch.nn.Parameter themselves: types whose behaviour we know.
  bool is_plain_tensor(PyObject* object) const {
    return Py_TYPE(object) == tensor_type_ || Py_TYPE(object) == parameter_type_;
  }
  PyTypeObject* tensor_type() const { return tensor_type_; }
  PyTypeObject* parameter_type() const { return parameter_type_; }

  /// True if the tensor's elements are its memory seen through its strides: not for sparse,
  /// quantized, nested and opaque tensors, nor for a conjugate or negative view, whose memory holds
  /// the numbers before that, nor for what a functorch transform wraps. A tensor that carries a
  /// tangent of forward-mode differentiation is not dense either: there is more to it than its
  /// memory.
  bool is_dense(PyObject* tensor) const;
  /// Fills `view`. False with a Python error set if the tensor is not dense.
  /// Meant for plain tensors: a subclass may hide what it is behind what it reports.
  bool read(PyObject* tensor, TensorView& view) const;
  /// Makes sure that what read() filled `view` with may be written. False where the tensor's memory
  /// was shared until it is written (torch._lazy_clone) and had to be copied: what was read is out
  /// of date then.
  bool make_writable(PyObject* tensor, const TensorView& view) const;
  /// Says where to look whether the tensor is still what read() filled `view` with just now. False
  /// where that cannot be done: torch's layout was not found out, or is another for this tensor.
  bool watch(PyObject* tensor, const TensorView& view, TensorWatch& watch) const;
  /// Sizes, strides, offset, dtype, device and address by attribute: where the C ABI has no answer.
  bool read_attributes(PyObject* tensor, TensorView& view) const;
  /// The TensorImpl's address: what the identity of a tensor is to torch.
  void* handle(PyObject* tensor) const;
  /// The mutation counter alone (1 ns); 0 for inference tensors.
  std::uint32_t version(PyObject* tensor) const;
  bool requires_grad(PyObject* tensor) const;
  /// What torch keeps about the gradients of a tensor (its AutogradMeta), where that is known and
  /// there is one; else null.
  const std::uint64_t* gradient_record(PyObject* tensor) const;
  /// True where it is seen that the tensor requires gradients and that no op made it.
  bool is_gradient_leaf(PyObject* tensor) const;

  /// A new torch.Tensor over `spec.data`; null with a Python error set, `release` not called then.
  python::PyRef make(const TensorSpec& spec) const;

  /// Which parts work without attribute access, for --stats: "abi", "version", "requires_grad".
  bool fast_abi() const;
  bool fast_version() const;
  bool fast_requires_grad() const;
  /// Whether tensors that are made resizable are.
  bool resizes() const;

 private:
  TensorBridge();
  struct Abi;
  Result<void> set_up(PyObject* torch);
  void calibrate_resizing();
  bool prove_resizing() const;
  bool read_abi(PyObject* tensor, TensorView& view) const;
  std::unique_ptr<Abi> abi_;
  PyTypeObject* tensor_type_ = nullptr;
  PyTypeObject* parameter_type_ = nullptr;
};

}  // namespace penstock::torch
