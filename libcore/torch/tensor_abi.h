#pragma once

#include <Python.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "torch/dlpack.h"
#include "torch/tensor_bridge.h"

namespace penstock::torch {

/// An attribute's value; null with a Python error set if there is none.
inline python::PyRef attribute(PyObject* object, const char* name) {
  return python::PyRef::steal(PyObject_GetAttrString(object, name));
}
/// The number behind an attribute; nothing (and no error) if there is none.
std::optional<std::uint64_t> number_attribute(PyObject* object, const char* name);

/// The identity of a tensor's storage, by attribute; nothing (and no error) if it has none.
std::optional<std::uint64_t> storage_attribute(PyObject* tensor);

/// torch's C ABI and what calibration found; see tensor_calibration.cpp.
struct TensorBridge::Abi {
  using Handle = void*;
  template <class T>
  using Getter = std::int32_t (*)(Handle, T*);
  static constexpr int kUnknown = -1;

  // torch's C ABI; all or none.
  Getter<std::int64_t> dim = nullptr;
  Getter<std::int64_t*> sizes = nullptr;
  Getter<std::int64_t*> strides = nullptr;
  Getter<std::int64_t> storage_offset = nullptr;
  Getter<std::int32_t> dtype = nullptr;
  Getter<std::int32_t> device_type = nullptr;
  Getter<std::int32_t> device_index = nullptr;
  Getter<std::int32_t> layout = nullptr;
  Getter<void*> data =
      nullptr;  ///< to be read: memory that is shared until it is written stays shared
  Getter<void*> writable_data = nullptr;  ///< gives such a tensor memory of its own
  bool usable = false;

  int handle_offset = kUnknown;  ///< bytes into the Python object
  int storage_word = kUnknown;   ///< words into the TensorImpl
  int data_word = kUnknown;      ///< words into what that points to: the address of the memory
  int version_word = kUnknown;   ///< word of the TensorImpl that points to the counter …
  int version_half = kUnknown;   ///< … and the 32-bit word of its target
  int autograd_word = kUnknown;  ///< null: neither requires_grad nor grad_fn
  /// Words of what the autograd word points to that are set where an op made the tensor and not on
  /// a leaf: grad_fn is one of them.
  std::array<int, 8> graph_words{};
  int graph_word_count = 0;  ///< 0: not known
  /// First word of what it points to for views, which may require gradients by their base.
  std::uint64_t view_record = 0;
  /// Word of what the autograd word points to that is set once a tangent of forward mode was
  /// attached.
  int tangent_word = kUnknown;
  int requires_grad_byte = kUnknown;  ///< of what that word points to: set on such leaves
  int keys_word = kUnknown;           ///< word of the TensorImpl: its dispatch keys
  std::uint64_t plain_keys = 0;       ///< keys of an ordinary tensor on the CPU
  std::uint64_t view_keys =
      0;                 ///< keys of tensors whose memory holds other numbers: conjugate views …
  int record_words = 0;  ///< length of a TensorImpl; 0: unknown
  std::uint64_t record_kind = 0;  ///< first word of a plain tensor's TensorImpl
  int resizable_byte =
      kUnknown;  ///< of a storage: may be given other memory; both or none of this …
  int allocator_word = kUnknown;  ///< … and the word of a storage that says where that comes from,
  std::uint64_t allocator = 0;    ///< as it stands in tensors that torch allocated

  const dlpack::ExchangeApi* exchange = nullptr;
  python::PyRef from_dlpack;

  void load(void* library);
  void calibrate(PyObject* scratch, PyObject* other);
  void find_storage(PyObject* scratch, PyObject* other);
  void find_data(PyObject* scratch, PyObject* other);
  void find_version(PyObject* scratch, PyObject* other);
  void find_autograd(PyObject* scratch, PyObject* other);
  void find_requires_grad(PyObject* scratch);
  void find_graph_words(PyObject* scratch);
  void find_view_record(PyObject* scratch);
  void find_tangent(PyObject* scratch, PyObject* other);
  void find_keys(PyObject* scratch, PyObject* other);
  void find_record(PyObject* scratch, PyObject* other);
  bool find_resizable(std::span<PyObject* const> torchs, std::span<PyObject* const> ours);
  std::uint64_t* storage_words(PyObject* tensor) const;
  /// Has torch resize the storage of a tensor of ours like any other, and no longer.
  void let_resize(PyObject* tensor) const;
  void forbid_resize(PyObject* tensor) const;
  bool self_test(PyObject* scratch, const TensorSpec& spec) const;

  /// True if the tensor has, or had, a tangent of forward-mode differentiation.
  bool has_tangent(PyObject* tensor) const;
  Handle handle(PyObject* tensor) const { return reinterpret_cast<char*>(tensor) + handle_offset; }
  const std::uint64_t* words(PyObject* tensor) const {
    return *static_cast<const std::uint64_t* const*>(handle(tensor));
  }
  /// Whether a tensor requires gradients: 1, 0, or -1 where its record does not tell. It does if it
  /// is a leaf marked so, if it has a grad_fn, which stands in one of the graph words, or if it is
  /// a view whose base has come to require them since.
  int grad_state(const std::uint64_t* words) const {
    const auto* record = reinterpret_cast<const std::uint64_t*>(words[autograd_word]);
    if (record == nullptr) return 0;
    if (requires_grad_byte == kUnknown || graph_word_count == 0) return -1;
    if (reinterpret_cast<const unsigned char*>(record)[requires_grad_byte] != 0) return 1;
    if (record[0] == view_record) return -1;
    for (int i = 0; i < graph_word_count; ++i) {
      if (record[graph_words[i]] != 0) return -1;
    }
    return 0;
  }
  bool has_version(PyObject* tensor) const { return words(tensor)[version_word] != 0; }
  std::uint32_t version_at(PyObject* tensor, bool& has_version) const {
    const auto* counter = reinterpret_cast<const std::uint32_t*>(words(tensor)[version_word]);
    has_version = counter != nullptr;
    return counter == nullptr ? 0 : counter[version_half];
  }
};

}  // namespace penstock::torch
