// Tensors of ours whose storage may be given other memory, as that of any tensor on the CPU.
//
// torch resizes a storage that has a flag set and knows an allocator; for memory that comes through
// DLPack neither is. Both stand in torch's record of a storage (StorageImpl), whose layout no
// header tells us: they are found by comparing the storages of tensors that torch allocated with
// those of tensors that we made, and tried on scratch tensors before they are trusted. Where they
// are not found, our tensors keep the memory that they were made with.
#include <malloc.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "torch/tensor_abi.h"

namespace penstock::torch {

using python::PyRef;

namespace {

constexpr std::size_t kElements = 8;
constexpr std::size_t kPairs = 4, kMostPairs = 32;
using Memory = std::array<float, kElements>;

/// The numbers that tests look for behind a resize.
Memory numbers() {
  Memory memory{};
  for (std::size_t i = 0; i < kElements; ++i) memory[i] = static_cast<float>(i) + 0.5F;
  return memory;
}

TensorSpec spec_of(Memory& memory, int& released) {
  static constexpr std::int64_t kSizes[] = {kElements}, kStrides[] = {1};
  return {.sizes = kSizes,
          .strides = kStrides,
          .data = memory.data(),
          .resizable = true,
          .release = [](void* count) { ++*static_cast<int*>(count); },
          .context = &released};
}

/// `tensor.NAME(size)`, or of its storage; false where it raised.
bool resize(PyObject* object, const char* name, std::size_t size) {
  const bool done = static_cast<bool>(
      PyRef::steal(PyObject_CallMethod(object, name, "n", static_cast<Py_ssize_t>(size))));
  PyErr_Clear();
  return done;
}

/// Whether torch says that the storage can be resized.
bool says_resizable(PyObject* storage) {
  const PyRef answer = PyRef::steal(PyObject_CallMethod(storage, "resizable", nullptr));
  PyErr_Clear();
  return answer.get() == Py_True;
}

/// Whether torch says so once this byte of the storage's record is 1, which none but the flag
/// decides. Asking reads nothing else of the record.
bool decides_resizing(PyObject* storage, unsigned char* byte) {
  const unsigned char before = std::exchange(*byte, 1);
  const bool decides = says_resizable(storage);
  *byte = before;
  return decides;
}

/// The tensor's memory, when its storage has `bytes` of it; null otherwise.
const float* memory_of(PyObject* tensor, PyObject* storage, std::size_t bytes) {
  const PyRef seen = PyRef::steal(PyObject_CallMethod(storage, "nbytes", nullptr));
  const PyRef address = PyRef::steal(PyObject_CallMethod(tensor, "data_ptr", nullptr));
  const bool as_many = seen && PyLong_AsSize_t(seen.get()) == bytes;
  const void* memory = address ? PyLong_AsVoidPtr(address.get()) : nullptr;
  PyErr_Clear();
  return as_many ? static_cast<const float*>(memory) : nullptr;
}

}  // namespace

std::uint64_t* TensorBridge::Abi::storage_words(PyObject* tensor) const {
  return reinterpret_cast<std::uint64_t*>(words(tensor)[storage_word]);
}

void TensorBridge::Abi::let_resize(PyObject* tensor) const {
  std::uint64_t* storage = storage_words(tensor);
  reinterpret_cast<unsigned char*>(storage)[resizable_byte] = 1;
  storage[allocator_word] = allocator;
}

/// The one byte that is 1 in every storage of torch's and 0 in all of ours and decides what torch
/// says (a byte of the addresses in a record may be 1 and 0 as well, for as long as the process
/// lives), and the one word that is the same address in every one of torch's and null in all of
/// ours. Returns whether more pairs could tell: the padding of a record and the rest of its block
/// hold what was there before, so that by chance a second word fits as well.
bool TensorBridge::Abi::find_resizable(std::span<PyObject* const> torchs,
                                       std::span<PyObject* const> ours) {
  std::size_t length = malloc_usable_size(storage_words(ours[0])) / 8;
  const auto shorten = [&](PyObject* tensor) {
    length = std::min(length, malloc_usable_size(storage_words(tensor)) / 8);
  };
  std::ranges::for_each(torchs, shorten);
  std::ranges::for_each(ours, shorten);
  const auto all = [&](std::span<PyObject* const> tensors, std::size_t word, std::uint64_t mask,
                       std::uint64_t value) {
    return std::ranges::all_of(
        tensors, [&](PyObject* tensor) { return (storage_words(tensor)[word] & mask) == value; });
  };
  const PyRef asked = PyRef::steal(PyObject_CallMethod(ours[0], "untyped_storage", nullptr));
  PyErr_Clear();
  if (!asked) return false;
  auto* record = reinterpret_cast<unsigned char*>(storage_words(ours[0]));
  int bytes = 0, words = 0;
  for (std::size_t word = 0; word < length; ++word) {
    for (int byte = 0; byte < 8; ++byte) {
      const int shift = 8 * byte;
      if (!all(torchs, word, 0xffULL << shift, 1ULL << shift) ||
          !all(ours, word, 0xffULL << shift, 0) ||
          !decides_resizing(asked.get(), record + word * 8 + byte))
        continue;
      resizable_byte = static_cast<int>(word) * 8 + byte;
      ++bytes;
    }
    const std::uint64_t first = storage_words(torchs[0])[word];
    if (first < 0x10000 || first % 8 != 0 || !all(torchs, word, ~0ULL, first) ||
        !all(ours, word, ~0ULL, 0))
      continue;
    allocator_word = static_cast<int>(word);
    allocator = first;
    ++words;
  }
  if (bytes != 1 || words != 1) resizable_byte = allocator_word = kUnknown;
  return bytes > 0 && words > 0 && bytes + words > 2;
}

void TensorBridge::calibrate_resizing() {
  if (abi_->storage_word == Abi::kUnknown || abi_->handle_offset == Abi::kUnknown) return;
  // All of them live until all were compared, so that no two stand in the same place.
  std::array<Memory, kMostPairs> memory{};
  int released = 0;
  std::vector<PyRef> owners;
  std::vector<PyObject*> torchs, ours;
  bool ambiguous = true;
  for (std::size_t pair = 0; ambiguous && pair < kMostPairs; ++pair) {
    PyRef made = make(spec_of(memory[pair], released));
    if (!made) return PyErr_Clear();
    // On the same device whatever the program's default is.
    PyRef allocated = PyRef::steal(PyObject_CallMethod(
        made.get(), "new_zeros", "n", static_cast<Py_ssize_t>(kElements << (pair % kPairs))));
    TensorView view;
    const bool plain = allocated && Py_TYPE(allocated.get()) == tensor_type_ &&
                       read(allocated.get(), view) && view.device_type == 0 &&
                       view.storage != nullptr;
    if (!plain) return PyErr_Clear();
    torchs.push_back(allocated.get());
    ours.push_back(made.get());
    owners.push_back(std::move(made));
    owners.push_back(std::move(allocated));
    if (pair + 1 >= kPairs) ambiguous = abi_->find_resizable(torchs, ours);
  }
  if (abi_->resizable_byte == Abi::kUnknown) return;
  if (!prove_resizing()) abi_->resizable_byte = abi_->allocator_word = Abi::kUnknown;
  PyErr_Clear();
}

/// Tries what was found: a storage takes other memory as often as it is asked to, keeps its
/// elements, and lets go of ours exactly once, then or at its end.
bool TensorBridge::prove_resizing() const {
  Memory memory = numbers(), kept = numbers();
  const Memory expected = numbers();
  int released = 0, kept_released = 0;
  bool sound = false;
  {
    const PyRef other = make(spec_of(kept, kept_released));
    const PyRef tensor = make(spec_of(memory, released));
    const PyRef storage =
        tensor ? PyRef::steal(PyObject_CallMethod(tensor.get(), "untyped_storage", nullptr))
               : PyRef();
    const auto holds = [&](std::size_t elements, std::size_t bytes) {
      const float* now = memory_of(tensor.get(), storage.get(), bytes);
      return now != nullptr && now != memory.data() &&
             std::memcmp(now, expected.data(), elements * sizeof(float)) == 0;
    };
    sound = other && storage && says_resizable(storage.get()) &&
            memory_of(tensor.get(), storage.get(), sizeof memory) == memory.data();
    if (!sound && storage) abi_->forbid_resize(tensor.get());
    if (!sound && other) abi_->forbid_resize(other.get());
    sound = sound && resize(tensor.get(), "resize_", 64 * kElements) &&
            holds(kElements, 64 * sizeof memory) && released == 1;
    sound = sound && resize(tensor.get(), "resize_", 2) && holds(2, 64 * sizeof memory);
    sound = sound && resize(storage.get(), "resize_", sizeof memory) && holds(2, sizeof memory);
    sound =
        sound && resize(tensor.get(), "resize_", 4096) && holds(kElements, 4096 * sizeof(float));
    sound = sound && resize(storage.get(), "resize_", 0) && released == 1 && kept_released == 0;
  }
  return sound && released == 1 && kept_released == 1;
}

void TensorBridge::Abi::forbid_resize(PyObject* tensor) const {
  std::uint64_t* storage = storage_words(tensor);
  reinterpret_cast<unsigned char*>(storage)[resizable_byte] = 0;
  storage[allocator_word] = 0;
}

bool TensorBridge::resizes() const {
  return abi_->resizable_byte != Abi::kUnknown;
}

}  // namespace penstock::torch
