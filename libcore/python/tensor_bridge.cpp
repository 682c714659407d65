// Tensors without torch's headers.
//
// A tensor's Python object holds the address of its TensorImpl, and torch exports a C ABI whose
// handles are "the address of such an address" (at::Tensor*). So the place inside the Python object
// is the handle, once its offset is known: it is found by looking for the value of the public
// attribute
// `_cdata` in a tensor of ours. What the ABI lacks (the storage's identity, the mutation counter,
// whether there is autograd data at all) is found in the TensorImpl the same way: by changing one
// known thing and looking for the word that followed. Everything found is tried on other tensors
// before it is trusted; what is not found is read by attribute.
#include "python/tensor_bridge.h"

#include <dlfcn.h>
#include <malloc.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "ir/dtype.h"
#include "python/dlpack.h"

namespace penstock::python {
namespace {

using Handle = void*;
template <class T>
using Getter = std::int32_t (*)(Handle, T*);

/// DLPack's code and width of our dtypes.
struct DLPackType {
  DType dtype;
  std::uint8_t code;
  std::uint8_t bits;
};
constexpr DLPackType kTypes[] = {
    {DType::uint8, 1, 8},        {DType::int8, 0, 8},     {DType::int16, 0, 16},
    {DType::int32, 0, 32},       {DType::int64, 0, 64},   {DType::float16, 2, 16},
    {DType::float32, 2, 32},     {DType::float64, 2, 64}, {DType::complex64, 5, 64},
    {DType::complex128, 5, 128}, {DType::bool_, 6, 8},    {DType::bfloat16, 4, 16},
};

std::optional<dlpack::DataType> dlpack_type(int scalar_type) {
  const auto dtype = dtype_from_torch(scalar_type);
  if (!dtype) return std::nullopt;
  for (const DLPackType& row : kTypes) {
    if (row.dtype == *dtype) return dlpack::DataType{row.code, row.bits, 1};
  }
  return std::nullopt;
}

PyRef attribute(PyObject* object, const char* name) {
  return PyRef::steal(PyObject_GetAttrString(object, name));
}

/// The number behind an attribute; nothing (and no error) if there is none.
std::optional<std::uint64_t> number(PyObject* object, const char* name) {
  const PyRef value = attribute(object, name);
  const std::uint64_t result = value ? PyLong_AsUnsignedLongLong(value.get()) : 0;
  if (PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    return std::nullopt;
  }
  return result;
}

/// Reads memory that may not exist.
bool read_safely(const void* address, void* into, std::size_t size) {
  const iovec local{into, size};
  const iovec remote{const_cast<void*>(address), size};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(size);
}

constexpr int kImplWords = 24;  // of a TensorImpl, as far as we look
using ImplWords = std::array<std::uint64_t, kImplWords>;

constexpr int kUnknown = -1;
constexpr std::int32_t kMeta = 14;  // c10::DeviceType: has no memory

/// A managed tensor over memory of ours, with its shape behind it; made and freed as one block.
struct Managed {
  dlpack::VersionedTensor versioned{};
  dlpack::ManagedTensor managed{};
  void (*release)(void*) = nullptr;
  void* context = nullptr;
  std::unique_ptr<std::int64_t[]> extents;
};

void destroy(Managed* managed) {
  const std::unique_ptr<Managed> owner(managed);
  if (owner->release != nullptr) owner->release(owner->context);
}
void destroy_versioned(dlpack::VersionedTensor* tensor) {
  destroy(static_cast<Managed*>(tensor->context));
}
void destroy_managed(dlpack::ManagedTensor* tensor) {
  destroy(static_cast<Managed*>(tensor->context));
}

/// A capsule that torch did not take over still owns the tensor.
void destroy_capsule(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, "dltensor") == 0) return;
  auto* tensor = static_cast<dlpack::ManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
  tensor->release(tensor);
}

}  // namespace

struct TensorBridge::Abi {
  // torch's C ABI; all or none.
  Getter<std::int64_t> dim = nullptr;
  Getter<std::int64_t*> sizes = nullptr;
  Getter<std::int64_t*> strides = nullptr;
  Getter<std::int64_t> storage_offset = nullptr;
  Getter<std::int32_t> dtype = nullptr;
  Getter<std::int32_t> device_type = nullptr;
  Getter<std::int32_t> device_index = nullptr;
  Getter<std::int32_t> layout = nullptr;
  Getter<void*> data = nullptr;
  bool usable = false;

  int handle_offset = kUnknown;  ///< bytes into the Python object
  int storage_word = kUnknown;   ///< words into the TensorImpl
  int version_word = kUnknown;   ///< word of the TensorImpl that points to the counter …
  int version_half = kUnknown;   ///< … and the 32-bit word of its target
  int autograd_word = kUnknown;  ///< null: neither requires_grad nor grad_fn
  int requires_grad_byte = kUnknown;  ///< of what the autograd word points to: set on such leaves
  int record_words = 0;          ///< length of a TensorImpl; 0: unknown
  std::uint64_t record_kind = 0; ///< first word of a plain tensor's TensorImpl

  const dlpack::ExchangeApi* exchange = nullptr;
  PyRef from_dlpack;

  void load(const std::string& library);
  void calibrate(PyObject* scratch, PyObject* other);
  void find_storage(PyObject* scratch, PyObject* other);
  void find_version(PyObject* scratch, PyObject* other);
  void find_autograd(PyObject* scratch, PyObject* other);
  void find_requires_grad(PyObject* scratch);
  void find_record(PyObject* scratch, PyObject* other);
  bool self_test(PyObject* scratch, const TensorSpec& spec) const;

  Handle handle(PyObject* tensor) const { return reinterpret_cast<char*>(tensor) + handle_offset; }
  const std::uint64_t* words(PyObject* tensor) const {
    return *static_cast<const std::uint64_t* const*>(handle(tensor));
  }
  /// A leaf that requires gradients; false is no answer.
  bool is_marked(const std::uint64_t* words) const {
    const auto* record = reinterpret_cast<const unsigned char*>(words[autograd_word]);
    return requires_grad_byte != kUnknown && record[requires_grad_byte] == 1;
  }
  std::uint32_t version_at(PyObject* tensor, bool& has_version) const {
    const auto* counter = reinterpret_cast<const std::uint32_t*>(words(tensor)[version_word]);
    has_version = counter != nullptr;
    return counter == nullptr ? 0 : counter[version_half];
  }
};

void TensorBridge::Abi::load(const std::string& library) {
  void* opened = dlopen(library.c_str(), RTLD_NOLOAD | RTLD_LAZY);
  if (opened == nullptr) return;
  bool complete = true;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(opened, name));
    complete = complete && function != nullptr;
  };
  find(dim, "aoti_torch_get_dim");
  find(sizes, "aoti_torch_get_sizes");
  find(strides, "aoti_torch_get_strides");
  find(storage_offset, "aoti_torch_get_storage_offset");
  find(dtype, "aoti_torch_get_dtype");
  find(device_type, "aoti_torch_get_device_type");
  find(device_index, "aoti_torch_get_device_index");
  find(layout, "aoti_torch_get_layout");
  find(data, "aoti_torch_get_data_ptr");
  usable = complete;
}

/// Finds the handle's offset and, where possible, the rest. `scratch` and `other` are two tensors
/// of ours that share nothing.
void TensorBridge::Abi::calibrate(PyObject* scratch, PyObject* other) {
  const auto impl = number(scratch, "_cdata");
  const auto other_impl = number(other, "_cdata");
  if (!impl || !other_impl) return;
  const auto* object = reinterpret_cast<const std::uint64_t*>(scratch);
  const auto* other_object = reinterpret_cast<const std::uint64_t*>(other);
  const int words = static_cast<int>(Py_TYPE(scratch)->tp_basicsize / 8);
  for (int word = 2; word < words; ++word) {
    if (object[word] != *impl || other_object[word] != *other_impl) continue;
    handle_offset = word * 8;
    break;
  }
  if (handle_offset == kUnknown) return;
  find_storage(scratch, other);
  find_version(scratch, other);
  find_autograd(scratch, other);
  find_requires_grad(scratch);
  find_record(scratch, other);
}

void TensorBridge::Abi::find_storage(PyObject* scratch, PyObject* other) {
  const auto storage_of = [](PyObject* tensor) -> std::optional<std::uint64_t> {
    const PyRef storage = PyRef::steal(PyObject_CallMethod(tensor, "untyped_storage", nullptr));
    if (!storage) {
      PyErr_Clear();
      return std::nullopt;
    }
    return number(storage.get(), "_cdata");
  };
  const auto mine = storage_of(scratch), others = storage_of(other);
  ImplWords words{}, other_words{};
  if (!mine || !others || !read_safely(this->words(scratch), words.data(), sizeof words) ||
      !read_safely(this->words(other), other_words.data(), sizeof other_words)) {
    return;
  }
  for (int word = 0; word < kImplWords; ++word) {
    if (words[word] != *mine || other_words[word] != *others) continue;
    storage_word = word;
    return;
  }
}

void TensorBridge::Abi::find_version(PyObject* scratch, PyObject* other) {
  constexpr int kHalves = 8;  // of the counter object, as far as we look
  struct Snapshot {
    std::array<std::array<std::uint32_t, kHalves>, kImplWords> halves{};
    std::array<bool, kImplWords> readable{};
  };
  const auto take = [&](PyObject* tensor) {
    Snapshot snapshot;
    ImplWords words{};
    if (!read_safely(this->words(tensor), words.data(), sizeof words)) return snapshot;
    for (int word = 0; word < kImplWords; ++word) {
      if (words[word] < 0x10000 || words[word] % 8 != 0) continue;
      snapshot.readable[word] =
          read_safely(reinterpret_cast<const void*>(words[word]), snapshot.halves[word].data(),
                      sizeof snapshot.halves[word]);
    }
    return snapshot;
  };
  const auto bump = [](PyObject* tensor, int times) {
    for (int count = 0; count < times; ++count) {
      Py_XDECREF(PyObject_CallMethod(tensor, "zero_", nullptr));
    }
    const bool failed = PyErr_Occurred() != nullptr;
    PyErr_Clear();
    return !failed;
  };
  constexpr std::uint32_t kBumps = 5;
  const auto start = number(scratch, "_version");
  const Snapshot before = take(scratch);
  if (!start || !bump(scratch, kBumps)) return;
  const Snapshot after = take(scratch);
  int found = 0;
  for (int word = 0; word < kImplWords; ++word) {
    if (!before.readable[word] || !after.readable[word]) continue;
    for (int half = 0; half < kHalves; ++half) {
      if (before.halves[word][half] != *start || after.halves[word][half] != *start + kBumps) {
        continue;
      }
      version_word = word;
      version_half = half;
      ++found;
    }
  }
  bool has_version = false;
  const bool sound = found == 1 && bump(other, 2) &&
                     number(other, "_version") == version_at(other, has_version) && has_version;
  if (!sound) version_word = version_half = kUnknown;
}

void TensorBridge::Abi::find_autograd(PyObject* scratch, PyObject* other) {
  ImplWords before{}, after{};
  if (!read_safely(words(scratch), before.data(), sizeof before)) return;
  if (PyObject_SetAttrString(scratch, "requires_grad", Py_True) < 0) {
    PyErr_Clear();
    return;
  }
  const bool read = read_safely(words(scratch), after.data(), sizeof after);
  if (PyObject_SetAttrString(scratch, "requires_grad", Py_False) < 0) PyErr_Clear();
  if (!read) return;
  int found = 0;
  for (int word = 0; word < kImplWords; ++word) {
    if (before[word] != 0 || after[word] == 0) continue;
    autograd_word = word;
    ++found;
  }
  if (found != 1 || words(other)[autograd_word] != 0) autograd_word = kUnknown;
}

/// The byte behind the autograd word that follows requires_grad on a leaf.
void TensorBridge::Abi::find_requires_grad(PyObject* scratch) {
  constexpr int kBytes = 256;
  if (autograd_word == kUnknown) return;
  std::array<std::array<unsigned char, kBytes>, 3> seen{};
  for (std::size_t round = 0; round < seen.size(); ++round) {
    PyObject* value = round == 1 ? Py_False : Py_True;
    if (PyObject_SetAttrString(scratch, "requires_grad", value) < 0) return PyErr_Clear();
    const auto* record = reinterpret_cast<const void*>(words(scratch)[autograd_word]);
    if (!read_safely(record, seen[round].data(), kBytes)) return;
  }
  if (PyObject_SetAttrString(scratch, "requires_grad", Py_False) < 0) return PyErr_Clear();
  int found = 0;
  for (int byte = 0; byte < kBytes; ++byte) {
    if (seen[0][byte] != 1 || seen[1][byte] != 0 || seen[2][byte] != 1) continue;
    requires_grad_byte = byte;
    ++found;
  }
  if (found != 1) requires_grad_byte = kUnknown;
}

/// How long a TensorImpl is, as its allocation says.
void TensorBridge::Abi::find_record(PyObject* scratch, PyObject* other) {
  const std::size_t length = malloc_usable_size(const_cast<std::uint64_t*>(words(scratch)));
  const std::size_t most = TensorStamp{}.words.size();
  if (length < 64 || length / 8 > most || version_word == kUnknown) return;
  if (words(scratch)[0] != words(other)[0]) return;
  record_words = static_cast<int>(length / 8);
  record_kind = words(scratch)[0];
}

bool TensorBridge::Abi::self_test(PyObject* scratch, const TensorSpec& spec) const {
  std::int64_t dimensions = 0, offset = -1;
  std::int64_t* extents = nullptr;
  std::int64_t* steps = nullptr;
  std::int32_t type = -1, device = -1;
  void* address = nullptr;
  const Handle at = handle(scratch);
  const bool answered = dim(at, &dimensions) == 0 && sizes(at, &extents) == 0 &&
                        strides(at, &steps) == 0 && storage_offset(at, &offset) == 0 &&
                        dtype(at, &type) == 0 && device_type(at, &device) == 0 &&
                        data(at, &address) == 0;
  if (!answered || dimensions != static_cast<std::int64_t>(spec.sizes.size())) return false;
  const std::size_t bytes = spec.sizes.size() * sizeof(std::int64_t);
  return std::memcmp(extents, spec.sizes.data(), bytes) == 0 &&
         std::memcmp(steps, spec.strides.data(), bytes) == 0 && offset == 0 && type == spec.dtype &&
         device == 0 && address == spec.data;
}

TensorBridge::TensorBridge() : abi_(std::make_unique<Abi>()) {}
TensorBridge::~TensorBridge() = default;

Result<TensorBridge*> TensorBridge::get() {
  // One per process, as torch is; kept until the end, when its memory goes with the process.
  static TensorBridge* bridge = nullptr;
  if (bridge != nullptr) return bridge;
  PyObject* torch = PyDict_GetItemString(PyImport_GetModuleDict(), "torch");
  if (torch == nullptr || !PyModule_Check(torch)) return nullptr;
  PyObject* names = PyModule_GetDict(torch);
  PyObject* tensor = PyDict_GetItemString(names, "Tensor");
  PyObject* file = PyDict_GetItemString(names, "__file__");
  const PyRef spec = attribute(torch, "__spec__");
  const PyRef initializing = spec ? attribute(spec.get(), "_initializing") : PyRef();
  PyErr_Clear();
  const bool importing = initializing && PyObject_IsTrue(initializing.get()) != 0;
  if (importing || tensor == nullptr || !PyType_Check(tensor) || file == nullptr) return nullptr;

  auto made = std::unique_ptr<TensorBridge>(new TensorBridge);
  made->tensor_type_ = reinterpret_cast<PyTypeObject*>(PyRef::borrow(tensor).release());
  if (Result<void> set_up = made->set_up(torch, file); !set_up) {
    return tl::unexpected(set_up.error());
  }
  bridge = made.release();
  return bridge;
}

Result<void> TensorBridge::set_up(PyObject* torch, PyObject* file) {
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
  const char* path = PyUnicode_AsUTF8(file);
  if (path != nullptr) {
    const std::string folder(path, std::string_view(path).rfind('/'));
    abi_->load(folder + "/lib/libtorch_cpu.so");
  }
  PyErr_Clear();
  abi_->calibrate(scratch.get(), other.get());
  if (abi_->handle_offset == kUnknown) {
    return failure(Code::PS0110, "a tensor's address is not found in its Python object");
  }
  abi_->usable = abi_->usable && abi_->self_test(other.get(), spec);
  return {};
}

bool TensorBridge::fast_abi() const {
  return abi_->usable;
}
bool TensorBridge::fast_version() const {
  return abi_->version_word != kUnknown;
}
bool TensorBridge::fast_requires_grad() const {
  return abi_->autograd_word != kUnknown;
}

void* TensorBridge::handle(PyObject* tensor) const {
  return const_cast<std::uint64_t*>(abi_->words(tensor));
}

std::uint32_t TensorBridge::version(PyObject* tensor) const {
  bool has_version = false;
  if (fast_version()) return abi_->version_at(tensor, has_version);
  return static_cast<std::uint32_t>(number(tensor, "_version").value_or(0));
}

bool TensorBridge::take_stamp(PyObject* tensor, const TensorView& view, TensorStamp& stamp) const {
  constexpr std::size_t kInlineRank = 5;  // sizes of more dimensions stand outside the record
  const std::uint64_t* words = abi_->words(tensor);
  stamp.handle = nullptr;
  if (abi_->record_words == 0 || !abi_->usable || words[0] != abi_->record_kind) return false;
  if (view.sizes.size() > kInlineRank || view.extents != nullptr) return false;
  if (!fast_requires_grad()) return false;
  if (words[abi_->autograd_word] != 0 && !abi_->is_marked(words)) return false;
  std::memcpy(stamp.words.data(), words, static_cast<std::size_t>(abi_->record_words) * 8);
  stamp.handle = words;
  return true;
}

bool TensorBridge::unchanged(PyObject* tensor, const TensorStamp& stamp, TensorView& view) const {
  const std::uint64_t* words = abi_->words(tensor);
  if (words != stamp.handle) return false;
  // The second word counts references.
  std::uint64_t different = words[0] ^ stamp.words[0];
  for (int word = 2; word < abi_->record_words; ++word) different |= words[word] ^ stamp.words[word];
  if (different != 0) return false;
  if (words[abi_->autograd_word] != 0 && !abi_->is_marked(words)) return false;
  if (view.device_type != kMeta && abi_->data(abi_->handle(tensor), &view.data) != 0) return false;
  view.version = abi_->version_at(tensor, view.has_version);
  return true;
}

bool TensorBridge::requires_grad(PyObject* tensor) const {
  if (fast_requires_grad()) {
    const std::uint64_t* words = abi_->words(tensor);
    if (words[abi_->autograd_word] == 0) return false;
    if (abi_->is_marked(words)) return true;
  }
  const PyRef value = attribute(tensor, "requires_grad");
  PyErr_Clear();
  return value.get() == Py_True;
}

/// Through the C ABI; false (and no error) where it has no answer. The layout is asked first: torch
/// prints what it throws behind this ABI.
bool TensorBridge::read_abi(PyObject* tensor, TensorView& view) const {
  const Abi& abi = *abi_;
  const Handle at = abi.handle(tensor);
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

bool TensorBridge::read(PyObject* tensor, TensorView& view) const {
  const bool read = abi_->usable && read_abi(tensor, view);
  if (!read && !read_attributes(tensor, view)) return false;
  view.storage = abi_->storage_word == kUnknown
                     ? nullptr
                     : reinterpret_cast<const void*>(abi_->words(tensor)[abi_->storage_word]);
  if (fast_version()) {
    view.version = abi_->version_at(tensor, view.has_version);
  } else {
    const auto version = number(tensor, "_version");
    view.has_version = version.has_value();
    view.version = static_cast<std::uint32_t>(version.value_or(0));
  }
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

PyRef TensorBridge::make(const TensorSpec& spec) const {
  const auto dtype = dlpack_type(spec.dtype);
  if (!dtype) {
    PyErr_SetString(PyExc_TypeError, "a dtype that DLPack does not carry");
    return nullptr;
  }
  const std::size_t dimensions = spec.sizes.size();
  auto made = std::make_unique<Managed>();
  made->extents = std::make_unique<std::int64_t[]>(2 * dimensions);
  std::copy(spec.sizes.begin(), spec.sizes.end(), made->extents.get());
  std::copy(spec.strides.begin(), spec.strides.end(), made->extents.get() + dimensions);
  const dlpack::Tensor tensor{spec.data,
                              {1, 0},
                              static_cast<std::int32_t>(dimensions),
                              *dtype,
                              made->extents.get(),
                              made->extents.get() + dimensions,
                              0};
  Managed* block = made.get();
  PyRef result;
  if (abi_->exchange != nullptr) {
    block->versioned = {{1, 0}, block, destroy_versioned, 0, tensor};
    void* object = nullptr;
    if (abi_->exchange->to_object(&block->versioned, &object) == 0) {
      result = PyRef::steal(static_cast<PyObject*>(object));
    }
  } else {
    block->managed = {tensor, block, destroy_managed};
    const PyRef capsule = PyRef::steal(PyCapsule_New(&block->managed, "dltensor", destroy_capsule));
    if (!capsule) return nullptr;
    made.release();  // the capsule owns it now
    result = PyRef::steal(PyObject_CallOneArg(abi_->from_dlpack.get(), capsule.get()));
  }
  if (!result) return nullptr;
  made.release();  // torch owns it now
  block->release = spec.release;
  block->context = spec.context;
  return result;
}

}  // namespace penstock::python
