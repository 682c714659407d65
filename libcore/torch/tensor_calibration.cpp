// Tensors without torch's headers.
//
// A tensor's Python object holds the address of its TensorImpl, and torch exports a C ABI whose
// handles are "the address of such an address" (at::Tensor*). So the place inside the Python object
// is the handle, once its offset is known: it is found by looking for the value of the public
// attribute `_cdata` in a tensor of ours. What the ABI lacks (the storage's identity, the mutation
// counter, whether there is autograd data at all) is found in the TensorImpl the same way: by
// changing one known thing and looking for the word that followed. Everything found is tried on
// other tensors before it is trusted; what is not found is read by attribute.
#include <dlfcn.h>
#include <malloc.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "torch/tensor_abi.h"

namespace penstock::torch {

using python::PyRef;

namespace {

/// Reads memory that may not exist: the kernel refuses to write from a bad address. By the bare
/// system call, for sanitizers would take the question for an access.
bool read_safely(const void* address, void* into, std::size_t size) {
  int ends[2];
  if (pipe(ends) != 0) return false;
  const bool read_all = syscall(SYS_write, ends[1], address, size) == static_cast<long>(size) &&
                        read(ends[0], into, size) == static_cast<ssize_t>(size);
  close(ends[0]);
  close(ends[1]);
  return read_all;
}

constexpr int kImplWords = 24;  // of a TensorImpl, as far as we look
using ImplWords = std::array<std::uint64_t, kImplWords>;

}  // namespace

std::optional<std::uint64_t> number_attribute(PyObject* object, const char* name) {
  const PyRef value = attribute(object, name);
  const std::uint64_t result = value ? PyLong_AsUnsignedLongLong(value.get()) : 0;
  if (PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    return std::nullopt;
  }
  return result;
}
std::optional<std::uint64_t> storage_attribute(PyObject* tensor) {
  const PyRef storage = PyRef::steal(PyObject_CallMethod(tensor, "untyped_storage", nullptr));
  if (storage) return number_attribute(storage.get(), "_cdata");
  PyErr_Clear();
  return std::nullopt;
}

void TensorBridge::Abi::load(void* library) {
  if (library == nullptr) return;
  bool complete = true;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
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
  find(writable_data, "aoti_torch_get_data_ptr");
  usable = complete;
  find(data, "torch_get_const_data_ptr");
  if (data == nullptr) data = writable_data;
}

/// Finds the handle's offset and, where possible, the rest. `scratch` and `other` are two tensors
/// of ours that share nothing.
void TensorBridge::Abi::calibrate(PyObject* scratch, PyObject* other) {
  const auto impl = number_attribute(scratch, "_cdata");
  const auto other_impl = number_attribute(other, "_cdata");
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
  find_data(scratch, other);
  find_version(scratch, other);
  find_autograd(scratch, other);
  find_requires_grad(scratch);
  find_graph_words(scratch);
  find_view_record(scratch);
  find_tangent(scratch, other);
  find_keys(scratch, other);
  find_record(scratch, other);
}

void TensorBridge::Abi::find_storage(PyObject* scratch, PyObject* other) {
  const auto mine = storage_attribute(scratch), others = storage_attribute(other);
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

/// The first word of a storage that holds the address of its memory. The next may hold the same:
/// what to free; behind that stands the function that frees it.
void TensorBridge::Abi::find_data(PyObject* scratch, PyObject* other) {
  constexpr int kStorageWords = 8;  // of a StorageImpl, as far as we look
  using Words = std::array<std::uint64_t, kStorageWords>;
  if (storage_word == kUnknown || !usable) return;
  const auto read = [&](PyObject* tensor, Words& storage, void*& address) {
    const auto* at = reinterpret_cast<const void*>(words(tensor)[storage_word]);
    return read_safely(at, storage.data(), sizeof storage) && data(handle(tensor), &address) == 0;
  };
  Words mine{}, others{};
  void *address = nullptr, *other_address = nullptr;
  if (!read(scratch, mine, address) || !read(other, others, other_address)) return;
  for (int word = 0; word + 2 < kStorageWords; ++word) {
    if (mine[word] != reinterpret_cast<std::uint64_t>(address) ||
        others[word] != reinterpret_cast<std::uint64_t>(other_address)) {
      continue;
    }
    data_word = word;
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
  const auto start = number_attribute(scratch, "_version");
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
                     number_attribute(other, "_version") == version_at(other, has_version) &&
                     has_version;
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

namespace {

/// Grad mode is on as long as this lives.
class GradMode {
 public:
  GradMode() {
    PyObject* torch = PyDict_GetItemString(PyImport_GetModuleDict(), "torch");
    before_ = PyRef::steal(PyObject_CallMethod(torch, "is_grad_enabled", nullptr));
    module_ = PyRef::steal(PyObject_GetAttrString(torch, "_C"));
    is_on_ = before_ && set(Py_True);
  }
  ~GradMode() {
    if (before_) set(before_.get());
    PyErr_Clear();
  }
  GradMode(const GradMode&) = delete;
  GradMode& operator=(const GradMode&) = delete;
  bool is_on() const { return is_on_; }

 private:
  bool set(PyObject* mode) const {
    return module_ && static_cast<bool>(PyRef::steal(
                          PyObject_CallMethod(module_.get(), "_set_grad_enabled", "O", mode)));
  }

  PyRef before_, module_;
  bool is_on_ = false;
};

}  // namespace

/// The words that follow when an op in place makes a leaf a result. Others hold whatever was in the
/// memory before: a result of its own could not be compared with a leaf.
void TensorBridge::Abi::find_graph_words(PyObject* scratch) {
  if (requires_grad_byte == kUnknown) return;
  const GradMode mode;
  std::array<std::uint64_t, 32> leaf{}, result{};
  const PyRef written = PyRef::steal(PyObject_CallMethod(scratch, "clone", nullptr));
  const auto mark = [](PyObject* tensor, PyObject* value) {
    return PyObject_SetAttrString(tensor, "requires_grad", value) == 0;
  };
  if (mode.is_on() && written && mark(written.get(), Py_True) && mark(written.get(), Py_False) &&
      mark(scratch, Py_True)) {
    auto* record = reinterpret_cast<void*>(words(written.get())[autograd_word]);
    const std::size_t length = malloc_usable_size(record) / 8;
    const std::size_t looked_at = length <= leaf.size() ? length : 0;
    std::memcpy(leaf.data(), record, looked_at * 8);
    const PyRef made = PyRef::steal(PyObject_CallMethod(written.get(), "mul_", "O", scratch));
    const bool same = reinterpret_cast<void*>(words(written.get())[autograd_word]) == record;
    if (made && same) std::memcpy(result.data(), record, looked_at * 8);
    for (std::size_t word = 1; word < looked_at; ++word) {
      if (leaf[word] != 0 || result[word] == 0) continue;
      if (graph_word_count == static_cast<int>(graph_words.size())) {
        graph_word_count = 0;
        break;
      }
      graph_words[graph_word_count++] = static_cast<int>(word);
    }
  }
  mark(scratch, Py_False);
  PyErr_Clear();
}

/// The record of a view is an object of a class of its own (DifferentiableViewMeta).
void TensorBridge::Abi::find_view_record(PyObject* scratch) {
  if (graph_word_count == 0) return;
  const auto* plain = reinterpret_cast<const std::uint64_t*>(words(scratch)[autograd_word]);
  const GradMode mode;
  const PyRef view =
      mode.is_on() ? PyRef::steal(PyObject_CallMethod(scratch, "view_as", "O", scratch)) : PyRef();
  const auto* record =
      view ? reinterpret_cast<const std::uint64_t*>(words(view.get())[autograd_word]) : nullptr;
  if (plain != nullptr && record != nullptr && record[0] != plain[0]) {
    view_record = record[0];
  } else {
    graph_word_count = 0;  // a view could not be told: torch is asked about every tensor
  }
}

namespace {

/// The level of forward-mode differentiation that is open, or one that is open as long as this
/// lives.
class DualLevel {
 public:
  explicit DualLevel(PyObject* internals) : internals_(internals) {
    const PyRef level = PyRef::steal(PyObject_CallMethod(internals, "_enter_dual_level", nullptr));
    if (level) number_ = PyLong_AsLong(level.get());
    entered_ = static_cast<bool>(level);
    PyErr_Clear();  // the program's own is open: the first
  }
  ~DualLevel() {
    if (!entered_) return;
    const PyRef exit = attribute(internals_, "_exit_dual_level");
    const PyRef names = PyRef::steal(Py_BuildValue("{s:l}", "level", number_));
    const PyRef nothing = PyRef::steal(PyTuple_New(0));
    if (exit && names && nothing)
      PyRef::steal(PyObject_Call(exit.get(), nothing.get(), names.get()));
    PyErr_Clear();
  }
  DualLevel(const DualLevel&) = delete;
  DualLevel& operator=(const DualLevel&) = delete;
  long number() const { return number_; }

 private:
  PyObject* internals_;
  bool entered_ = false;
  long number_ = 0;
};

}  // namespace

/// What a view with a tangent has in the record behind the autograd word and a plain view has not:
/// a pointer, and who owns what that points to.
void TensorBridge::Abi::find_tangent(PyObject* scratch, PyObject* other) {
  if (autograd_word == kUnknown) return;
  PyObject* torch = PyDict_GetItemString(PyImport_GetModuleDict(), "torch");
  const PyRef internals = attribute(torch, "_C");
  if (!internals) return PyErr_Clear();
  const DualLevel level(internals.get());
  const PyRef view = PyRef::steal(PyObject_CallMethod(scratch, "view_as", "O", scratch));
  const PyRef dual = view ? PyRef::steal(PyObject_CallMethod(torch, "_make_dual", "OOl", scratch,
                                                             other, level.number()))
                          : view;
  PyErr_Clear();
  if (!dual || words(view.get())[autograd_word] == 0 || words(dual.get())[autograd_word] == 0)
    return;
  const auto* plain = reinterpret_cast<const std::uint64_t*>(words(view.get())[autograd_word]);
  const auto* record = reinterpret_cast<const std::uint64_t*>(words(dual.get())[autograd_word]);
  const std::size_t length = std::min(malloc_usable_size(const_cast<std::uint64_t*>(plain)),
                                      malloc_usable_size(const_cast<std::uint64_t*>(record))) /
                             8;
  std::vector<int> set;
  for (std::size_t word = 1; word < length; ++word) {
    if (plain[word] == 0 && record[word] != 0) set.push_back(static_cast<int>(word));
  }
  if (set.size() == 2 && set[1] == set[0] + 1) tangent_word = set[0];
}

/// Where the record does not tell, whatever has one may have a tangent while a level is open.
bool TensorBridge::Abi::has_tangent(PyObject* tensor) const {
  const auto* record = autograd_word == kUnknown
                           ? nullptr
                           : reinterpret_cast<const std::uint64_t*>(words(tensor)[autograd_word]);
  if (autograd_word != kUnknown && record == nullptr) return false;
  if (record != nullptr && tangent_word != kUnknown) return record[tangent_word] != 0;
  PyObject* module = PyDict_GetItemString(PyImport_GetModuleDict(), "torch.autograd.forward_ad");
  PyObject* level = module == nullptr
                        ? nullptr
                        : PyDict_GetItemString(PyModule_GetDict(module), "_current_level");
  return level != nullptr && PyLong_Check(level) && PyLong_AsLong(level) >= 0;
}

/// The word that is what torch says of a tensor's keys, for an ordinary tensor and for a conjugate
/// view, which has one key more.
void TensorBridge::Abi::find_keys(PyObject* scratch, PyObject* other) {
  PyObject* torch = PyDict_GetItemString(PyImport_GetModuleDict(), "torch");
  const PyRef internals = attribute(torch, "_C");
  const auto keys_of = [&](PyObject* tensor) -> std::optional<std::uint64_t> {
    const PyRef keys =
        PyRef::steal(PyObject_CallMethod(internals.get(), "_dispatch_keys", "O", tensor));
    const PyRef raw =
        keys ? PyRef::steal(PyObject_CallMethod(keys.get(), "raw_repr", nullptr)) : keys;
    if (!raw) return std::nullopt;
    return PyLong_AsUnsignedLongLong(raw.get());
  };
  const PyRef complex =
      internals ? PyRef::steal(PyObject_CallMethod(torch, "complex", "OO", scratch, other))
                : PyRef();
  const PyRef view =
      complex ? PyRef::steal(PyObject_CallMethod(complex.get(), "conj", nullptr)) : complex;
  ImplWords words{}, view_words{};
  const auto keys = view ? keys_of(scratch) : std::nullopt;
  const auto view_keys_seen = keys ? keys_of(view.get()) : std::nullopt;
  const auto keys_named = [&](const char* name) -> std::uint64_t {
    const PyRef kinds = attribute(internals.get(), "DispatchKey");
    const PyRef key = kinds ? attribute(kinds.get(), name) : kinds;
    const PyRef set =
        key ? PyRef::steal(PyObject_CallMethod(internals.get(), "DispatchKeySet", "O", key.get()))
            : key;
    const PyRef raw = set ? PyRef::steal(PyObject_CallMethod(set.get(), "raw_repr", nullptr)) : set;
    const std::uint64_t bits = raw ? PyLong_AsUnsignedLongLong(raw.get()) : 0;
    PyErr_Clear();
    return bits;
  };
  PyErr_Clear();
  if (!keys || !view_keys_seen || *view_keys_seen == *keys ||
      !read_safely(this->words(scratch), words.data(), sizeof words) ||
      !read_safely(this->words(view.get()), view_words.data(), sizeof view_words)) {
    return;
  }
  for (int word = 0; word < kImplWords; ++word) {
    if (words[word] != *keys || view_words[word] != *view_keys_seen) continue;
    keys_word = word;
    plain_keys = *keys;
    view_keys = (*view_keys_seen | keys_named("Negative") | keys_named("ZeroTensor")) & ~plain_keys;
    return;
  }
}

/// How long a TensorImpl is, as its allocation says.
void TensorBridge::Abi::find_record(PyObject* scratch, PyObject* other) {
  const std::size_t length = malloc_usable_size(const_cast<std::uint64_t*>(words(scratch)));
  constexpr std::size_t kMost = 320;
  if (length < 64 || length > kMost || version_word == kUnknown) return;
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

}  // namespace penstock::torch
