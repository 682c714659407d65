// The state travels as torch gives it away: get_state() and set_state() take the generator's lock,
// so that threads that draw meanwhile read whole states (ATen/CPUGeneratorImpl.cpp).
#include "jit/executors/torch_random.h"

#include <array>
#include <cstring>

#include "jit/executors/torch_fallback.h"
#include "torch/generator.h"
#include "torch/tensor_bridge.h"

namespace penstock::jit {

using python::PyRef;
using runtime::RandomState;

namespace {

/// What get_state() gives begins so.
struct GivenState {
  std::uint64_t seed;
  std::int32_t left;  ///< one more than the words of the block that have not been read
  std::int32_t seeded;
  std::uint64_t next;  ///< the first of those; 0 before the first block
  std::uint64_t words[RandomState::kWords];
};
constexpr std::size_t kLeast = sizeof(GivenState), kMost = 8192;

/// The bytes of a tensor of them; empty where it is something else.
std::span<std::uint8_t> bytes_of(PyObject* tensor) {
  auto bridge = torch::TensorBridge::get();
  torch::TensorView view;
  if (!bridge || *bridge == nullptr || !(*bridge)->is_plain_tensor(tensor) ||
      !(*bridge)->read(tensor, view))
    return {};
  const bool bytes = view.sizes.size() == 1 && view.dtype == facts(DType::uint8).torch_scalar_type;
  if (!bytes || view.data == nullptr) return {};
  return {static_cast<std::uint8_t*>(view.data), static_cast<std::size_t>(view.sizes[0])};
}

/// Lets torch draw into the memory.
bool draw_by_torch(double probability, std::span<std::uint8_t> elements) {
  auto bridge = torch::TensorBridge::get();
  if (!bridge || *bridge == nullptr) return false;
  const std::array<std::int64_t, 1> sizes{static_cast<std::int64_t>(elements.size())}, strides{1};
  const PyRef target =
      TorchFallback(**bridge).tensor_over({elements.data(), DType::bool_, sizes, strides});
  const PyRef drawn =
      target ? PyRef::steal(PyObject_CallMethod(target.get(), "bernoulli_", "d", probability))
             : PyRef();
  return drawn.get() != nullptr;
}

Result<void> refused() {
  PyErr_Clear();
  return failure(Code::PS0505, "torch's generator of random numbers could not be used");
}

}  // namespace

bool TorchRandom::find_generator() {
  if (!generator_) generator_ = torch::default_generator();
  return generator_.get() != nullptr;
}

std::optional<RandomState> TorchRandom::read(PyRef& state) const {
  state = torch::generator_state(generator_);
  const std::span<std::uint8_t> bytes = state ? bytes_of(state.get()) : std::span<std::uint8_t>();
  if (bytes.size() < kLeast || bytes.size() > kMost) return std::nullopt;
  GivenState given;
  std::memcpy(&given, bytes.data(), sizeof(given));
  if (given.left < 1 || given.left > static_cast<std::int32_t>(RandomState::kWords) + 1)
    return std::nullopt;
  RandomState read(0);
  for (std::size_t i = 0; i < RandomState::kWords; ++i)
    read.words[i] = static_cast<std::uint32_t>(given.words[i]);
  read.next = RandomState::kWords - static_cast<std::size_t>(given.left - 1);
  return read;
}

bool TorchRandom::write(const RandomState& state, PyObject* tensor) const {
  const std::span<std::uint8_t> bytes = bytes_of(tensor);
  GivenState given;
  std::memcpy(&given, bytes.data(), sizeof(given));
  for (std::size_t i = 0; i < RandomState::kWords; ++i) given.words[i] = state.words[i];
  given.left = static_cast<std::int32_t>(RandomState::kWords - state.next) + 1;
  given.next = state.next;
  std::memcpy(bytes.data(), &given, sizeof(given));
  return torch::set_generator_state(generator_, tensor);
}

bool TorchRandom::test() {
  constexpr double kProbability = 0.3;
  constexpr std::size_t kCount = 701;  // more than two blocks
  PyRef before, behind, again;
  auto state = read(before);
  if (!state) return false;
  const PyRef kept = PyRef::steal(PyObject_CallMethod(before.get(), "clone", nullptr));
  std::array<std::uint8_t, kCount> drawn{}, expected{};
  if (!kept || !draw_by_torch(kProbability, expected)) return false;
  auto left = read(behind);
  runtime::draw_bernoulli(*state, kProbability, drawn);
  const bool put_back = torch::set_generator_state(generator_, kept.get());
  return put_back && left && drawn == expected && left->words == state->words &&
         left->next == state->next;
}

Result<void> TorchRandom::bernoulli(double probability, std::span<std::uint8_t> elements) {
  if (!find_generator()) return refused();
  if (!same_stream_) same_stream_ = test();
  if (PyErr_Occurred() != nullptr) PyErr_Clear();
  if (!*same_stream_) {
    if (!draw_by_torch(probability, elements)) return refused();
    return {};
  }
  PyRef tensor;
  auto state = read(tensor);
  if (!state) return refused();
  runtime::draw_bernoulli(*state, probability, elements);
  if (!write(*state, tensor.get())) return refused();
  return {};
}

}  // namespace penstock::jit
