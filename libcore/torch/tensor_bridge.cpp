#include "torch/tensor_bridge.h"

#include <algorithm>
#include <optional>

#include "ir/dtype.h"
#include "python/literal.h"
#include "torch/library.h"
#include "torch/state.h"
#include "torch/tensor_abi.h"

namespace penstock::torch {

using python::PyRef;

namespace {

constexpr std::uint64_t kBackendBits = 0xffff;  // of a dispatch key set (c10/core/DispatchKeySet.h)
constexpr std::int32_t kMeta = 14;              // c10::DeviceType: has no memory

/// Why this torch is none that is known here.
Diagnostic of_this_torch(PyObject* torch, Diagnostic why) {
  const PyRef version = attribute(torch, "__version__");
  PyErr_Clear();
  const bool told = version && PyUnicode_Check(version.get());
  why.message = "torch " + (told ? python::text_of(version.get()) : "of no version") +
                " is none that is known: " + why.message;
  why.hint = "Use torch 2.11 to 2.15.";
  return why;
}

}  // namespace

TensorBridge::TensorBridge() : abi_(std::make_unique<Abi>()) {}
TensorBridge::~TensorBridge() = default;

Result<TensorBridge*> TensorBridge::get() {
  // One per process, as torch is; kept until the end, when its memory goes with the process.
  static TensorBridge* bridge = nullptr;
  if (bridge != nullptr) return bridge;
  // A torch that keeps its tensors otherwise does so until the process ends.
  static std::optional<Diagnostic> unknown;
  if (unknown) return tl::unexpected(*unknown);
  // An attribute that is not there may be looked for by Python code, whose frames ask as well.
  static bool asking = false;
  if (asking) return nullptr;
  PyObject* torch = PyDict_GetItemString(PyImport_GetModuleDict(), "torch");
  if (torch == nullptr || !PyModule_Check(torch)) return nullptr;
  PyObject* names = PyModule_GetDict(torch);
  PyObject* tensor = PyDict_GetItemString(names, "Tensor");
  const PyRef spec = attribute(torch, "__spec__");
  const PyRef initializing = spec ? attribute(spec.get(), "_initializing") : PyRef();
  PyErr_Clear();
  const bool importing = initializing && PyObject_IsTrue(initializing.get()) != 0;
  if (importing || tensor == nullptr || !PyType_Check(tensor)) return nullptr;

  auto made = std::unique_ptr<TensorBridge>(new TensorBridge);
  made->tensor_type_ = reinterpret_cast<PyTypeObject*>(PyRef::borrow(tensor).release());
  asking = true;
  Result<void> set_up = made->set_up(torch);
  if (!set_up) unknown = of_this_torch(torch, set_up.error());
  asking = false;
  if (unknown) return tl::unexpected(*unknown);
  bridge = made.release();
  return bridge;
}

const TensorBridge& TensorBridge::absent() {
  static const TensorBridge* const bridge = new TensorBridge;
  return *bridge;
}

Result<void> TensorBridge::set_up(PyObject* torch) {
  const PyRef nn = attribute(torch, "nn");
  const PyRef parameter = nn ? attribute(nn.get(), "Parameter") : PyRef();
  const PyRef internals = attribute(torch, "_C");
  abi_->from_dlpack = internals ? attribute(internals.get(), "_from_dlpack") : PyRef();
  const PyRef capsule =
      attribute(reinterpret_cast<PyObject*>(tensor_type_), "__dlpack_c_exchange_api__");
  PyErr_Clear();
  parameter_type_ = reinterpret_cast<PyTypeObject*>(
      PyRef(parameter ? parameter : PyRef::borrow(reinterpret_cast<PyObject*>(tensor_type_)))
          .release());
  if (capsule && PyCapsule_IsValid(capsule.get(), "dlpack_exchange_api") != 0) {
    abi_->exchange = static_cast<const dlpack::ExchangeApi*>(
        PyCapsule_GetPointer(capsule.get(), "dlpack_exchange_api"));
  }
  if (!abi_->from_dlpack) return failure(Code::PS0110, "torch._C._from_dlpack is missing");

  // Two tensors over memory of ours; they die here, before the memory.
  static float memory[2][8];
  constexpr std::int64_t kSizes[] = {2, 3}, kStrides[] = {4, 1};
  TensorSpec spec{.sizes = kSizes, .strides = kStrides, .data = memory[0]};
  const PyRef scratch = make(spec);
  spec.data = memory[1];
  const PyRef other = make(spec);
  if (!scratch || !other) {
    PyErr_Clear();
    return failure(Code::PS0110, "torch does not make a tensor from DLPack memory");
  }
  abi_->load(torch_library(torch, "libtorch_cpu.so"));
  abi_->calibrate(scratch.get(), other.get());
  if (abi_->handle_offset == Abi::kUnknown) {
    return failure(Code::PS0110, "a tensor's address is not found in its Python object");
  }
  if (!state_is_known())
    return failure(Code::PS0110, "its record of what changes ops (autocast, modes) is not found");
  abi_->usable = abi_->usable && abi_->self_test(other.get(), spec);
  calibrate_resizing();
  return {};
}

bool TensorBridge::fast_abi() const {
  return abi_->usable;
}
bool TensorBridge::fast_version() const {
  return abi_->version_word != Abi::kUnknown;
}
bool TensorBridge::fast_requires_grad() const {
  return abi_->autograd_word != Abi::kUnknown;
}

void* TensorBridge::handle(PyObject* tensor) const {
  return const_cast<std::uint64_t*>(abi_->words(tensor));
}

std::uint32_t TensorBridge::version(PyObject* tensor) const {
  bool has_version = false;
  if (fast_version()) return abi_->version_at(tensor, has_version);
  return static_cast<std::uint32_t>(number_attribute(tensor, "_version").value_or(0));
}

bool TensorBridge::make_writable(PyObject* tensor, const TensorView& view) const {
  void* data = nullptr;
  if (!abi_->usable || view.data == nullptr ||
      abi_->writable_data(abi_->handle(tensor), &data) != 0)
    return true;
  return data == view.data;
}

bool TensorBridge::watch(PyObject* tensor, const TensorView& view, TensorWatch& watch) const {
  const Abi& abi = *abi_;
  const std::uint64_t* words = abi.words(tensor);
  if (abi.record_words == 0 || !abi.usable || words[0] != abi.record_kind) return false;
  // Sizes of many dimensions stand outside the record.
  const auto* sizes = reinterpret_cast<const std::uint64_t*>(view.sizes.data());
  if (view.extents != nullptr || sizes < words || sizes >= words + abi.record_words) return false;
  if (!fast_requires_grad()) return false;
  const int grad_state = abi.grad_state(words);
  if (grad_state != (view.requires_grad ? 1 : 0)) return false;
  watch.handle = static_cast<const std::uint64_t*>(abi.handle(tensor));
  watch.record = {words + 2, static_cast<std::size_t>(abi.record_words) - 2};
  if (view.device_type != kMeta) {
    const auto dtype = dtype_from_torch(view.dtype);
    if (abi.storage_word == Abi::kUnknown || abi.data_word == Abi::kUnknown || !dtype) return false;
    const auto* storage = reinterpret_cast<const std::uint64_t*>(words[abi.storage_word]);
    const std::int64_t start = view.storage_offset * facts(*dtype).size;
    const auto* data = static_cast<const char*>(view.data);
    if (data == nullptr || reinterpret_cast<const char*>(storage[abi.data_word]) + start != data)
      return false;
    watch.memory = {storage + abi.data_word, 3};
  }
  if (const std::uint64_t gradients = words[abi.autograd_word]; gradients != 0) {
    const auto* record = reinterpret_cast<const std::uint64_t*>(gradients);
    watch.gradients = record + abi.requires_grad_byte / 8;
    for (int i = 0; grad_state == 0 && i < abi.graph_word_count; ++i) {
      watch.graph[watch.graph_count++] = record + abi.graph_words[i];
    }
    if (abi.tangent_word != Abi::kUnknown)
      watch.graph[watch.graph_count++] = record + abi.tangent_word;
  }
  return true;
}

bool TensorBridge::requires_grad(PyObject* tensor) const {
  if (fast_requires_grad()) {
    const int state = abi_->grad_state(abi_->words(tensor));
    if (state >= 0) return state != 0;
  }
  const PyRef value = attribute(tensor, "requires_grad");
  PyErr_Clear();
  return value.get() == Py_True;
}

const std::uint64_t* TensorBridge::gradient_record(PyObject* tensor) const {
  if (!fast_requires_grad()) return nullptr;
  return reinterpret_cast<const std::uint64_t*>(abi_->words(tensor)[abi_->autograd_word]);
}

bool TensorBridge::is_gradient_leaf(PyObject* tensor) const {
  const std::uint64_t* record = gradient_record(tensor);
  if (record == nullptr || abi_->graph_word_count == 0 || record[0] == abi_->view_record ||
      abi_->grad_state(abi_->words(tensor)) != 1)
    return false;
  const std::span<const int> graph(abi_->graph_words.data(),
                                   static_cast<std::size_t>(abi_->graph_word_count));
  return std::ranges::all_of(graph, [&](int word) { return record[word] == 0; });
}

/// Through the C ABI; false (and no error) where it has no answer. The layout is asked first: torch
/// prints what it throws behind this ABI.
bool TensorBridge::read_abi(PyObject* tensor, TensorView& view) const {
  const Abi& abi = *abi_;
  const Abi::Handle at = abi.handle(tensor);
  std::int64_t dimensions = 0;
  std::int64_t* sizes = nullptr;
  std::int64_t* strides = nullptr;
  std::int32_t layout = -1;
  constexpr std::int32_t kStrided = 0;  // c10::Layout
  const bool answered =
      abi.layout(at, &layout) == 0 && layout == kStrided && abi.dim(at, &dimensions) == 0 &&
      abi.sizes(at, &sizes) == 0 && abi.strides(at, &strides) == 0 &&
      abi.storage_offset(at, &view.storage_offset) == 0 && abi.dtype(at, &view.dtype) == 0 &&
      abi.device_type(at, &view.device_type) == 0 && abi.device_index(at, &view.device_index) == 0;
  if (!answered) return false;
  view.sizes = {sizes, static_cast<std::size_t>(dimensions)};
  view.strides = {strides, static_cast<std::size_t>(dimensions)};
  view.data = nullptr;
  if (view.device_type != kMeta && abi.data(at, &view.data) != 0) view.data = nullptr;
  return true;
}

bool TensorBridge::is_dense(PyObject* tensor) const {
  const Abi& abi = *abi_;
  if (abi.has_tangent(tensor)) return false;
  if (abi.keys_word != Abi::kUnknown && abi.record_kind != 0) {
    const std::uint64_t* words = abi.words(tensor);
    // A tensor elsewhere than in the CPU's memory has other keys, and the same class.
    const bool on_cpu = (words[abi.keys_word] & abi.plain_keys & kBackendBits) != 0;
    const std::uint64_t strange = on_cpu ? ~abi.plain_keys : abi.view_keys;
    return words[0] == abi.record_kind && (words[abi.keys_word] & strange) == 0;
  }
  for (const char* question : {"is_sparse", "is_mkldnn", "is_quantized", "is_nested"}) {
    const PyRef answer = attribute(tensor, question);
    if (!answer || PyObject_IsTrue(answer.get()) != 0) return PyErr_Clear(), false;
  }
  for (const char* question : {"is_conj", "is_neg", "_is_zerotensor"}) {
    const PyRef answer = PyRef::steal(PyObject_CallMethod(tensor, question, nullptr));
    if (!answer || PyObject_IsTrue(answer.get()) != 0) return PyErr_Clear(), false;
  }
  return true;
}

bool TensorBridge::read(PyObject* tensor, TensorView& view) const {
  if (!is_dense(tensor)) {
    PyErr_SetString(PyExc_TypeError, "the tensor's elements are not its memory");
    return false;
  }
  const bool read = abi_->usable && read_abi(tensor, view);
  if (!read && !read_attributes(tensor, view)) return false;
  const std::uint64_t storage = abi_->storage_word == Abi::kUnknown
                                    ? storage_attribute(tensor).value_or(0)
                                    : abi_->words(tensor)[abi_->storage_word];
  view.storage = reinterpret_cast<const void*>(storage);
  view.has_version =
      fast_version() ? abi_->has_version(tensor) : number_attribute(tensor, "_version").has_value();
  view.requires_grad = requires_grad(tensor);
  return true;
}

bool TensorBridge::read_attributes(PyObject* tensor, TensorView& view) const {
  const PyRef shape = attribute(tensor, "shape");
  const PyRef steps =
      shape ? PyRef::steal(PyObject_CallMethod(tensor, "stride", nullptr)) : PyRef();
  const PyRef offset =
      steps ? PyRef::steal(PyObject_CallMethod(tensor, "storage_offset", nullptr)) : PyRef();
  const PyRef device = offset ? attribute(tensor, "device") : PyRef();
  const PyRef type = device ? attribute(device.get(), "type") : PyRef();
  const PyRef dtype = type ? attribute(tensor, "dtype") : PyRef();
  const PyRef dtype_text = dtype ? PyRef::steal(PyObject_Str(dtype.get())) : PyRef();
  if (!dtype_text) return false;
  const Py_ssize_t dimensions = PyTuple_Size(shape.get());
  view.extents = std::make_shared<std::int64_t[]>(2 * static_cast<std::size_t>(dimensions) + 1);
  for (Py_ssize_t index = 0; index < dimensions; ++index) {
    view.extents[index] = PyLong_AsLongLong(PyTuple_GET_ITEM(shape.get(), index));
    view.extents[dimensions + index] = PyLong_AsLongLong(PyTuple_GetItem(steps.get(), index));
  }
  view.sizes = {view.extents.get(), static_cast<std::size_t>(dimensions)};
  view.strides = {view.extents.get() + dimensions, static_cast<std::size_t>(dimensions)};
  view.storage_offset = PyLong_AsLongLong(offset.get());
  const std::string_view device_name = PyUnicode_AsUTF8(type.get());
  view.device_type = device_name == "cpu" ? 0 : device_name == "cuda" ? 1 : kMeta;
  view.device_index = view.device_type == 0 ? -1 : 0;
  std::string_view name = PyUnicode_AsUTF8(dtype_text.get());  // "torch.float32"
  name.remove_prefix(std::min(name.size(), name.find('.') + 1));
  const auto known = dtype_from_name(name);
  view.dtype = known ? facts(*known).torch_scalar_type : -1;
  view.data = nullptr;
  if (view.device_type != kMeta) {
    const PyRef address = PyRef::steal(PyObject_CallMethod(tensor, "data_ptr", nullptr));
    view.data = address ? PyLong_AsVoidPtr(address.get()) : nullptr;
  }
  return PyErr_Occurred() == nullptr;
}

}  // namespace penstock::torch
