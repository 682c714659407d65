#include "torch/op_counter.h"

#include <dlfcn.h>

#include <array>
#include <memory>
#include <string_view>

#include "python/made_once.h"
#include "python/object.h"
#include "torch/library.h"

namespace penstock::torch {

using python::PyRef;

namespace {

int g_counting = 0;  // how many ask for it
std::uint64_t g_callback = 0;
bool (*g_is_factory)(std::string_view) = nullptr;
const char* (*g_name)(const void* record) = nullptr;
thread_local std::int64_t g_ops = 0;
thread_local std::int64_t g_factory_ops = 0;
thread_local int g_apart = 0;
thread_local int g_depth = 0;  // ops around the one that runs

/// at::ObserverContext: what a start callback hands to its end callback; ours hand nothing.
struct ObserverContext {
  virtual ~ObserverContext() = default;
};

std::unique_ptr<ObserverContext> op_starts(const void* record) {
  if (g_depth++ > 0 || g_apart > 0) return nullptr;
  ++g_ops;
  std::string_view name = g_name(record);
  if (name.starts_with("aten::")) name.remove_prefix(6);
  g_factory_ops += g_is_factory(name) ? 1 : 0;
  return nullptr;
}

void op_ends(const void*, ObserverContext*) {
  --g_depth;
}

/// at::RecordFunctionCallback. The flags are one per scope and three more; only the first, for ops,
/// is set, and there is room for scopes that later versions add.
struct Callback {
  std::unique_ptr<ObserverContext> (*start)(const void*) = op_starts;
  void (*end)(const void*, ObserverContext*) = op_ends;
  double sampling_probability = 1;
  std::array<bool, 40> flags{true};
};

/// One op that runs others (zeros: empty and zero_) has to count as one, and by its name as a
/// factory.
bool counts_rightly(PyObject* torch) {
  const std::int64_t before = g_ops, factories = g_factory_ops;
  const PyRef zeros = PyRef::steal(PyObject_CallMethod(torch, "zeros", "i", 1));
  if (!zeros) PyErr_Clear();
  return zeros && g_ops == before + 1 && g_factory_ops == factories + 1 && g_depth == 0;
}

/// at::addGlobalCallback and at::removeCallback.
struct Registry {
  std::uint64_t (*add)(Callback) = nullptr;
  void (*remove)(std::uint64_t) = nullptr;
};

/// What tells of ops as we think, or nothing.
Registry find_registry() {
  PyObject* torch = PyDict_GetItemString(PyImport_GetModuleDict(), "torch");
  void* library = torch == nullptr ? nullptr : torch_library(torch, "libtorch_cpu.so");
  if (library == nullptr) return {};
  const Registry found{
      reinterpret_cast<std::uint64_t (*)(Callback)>(
          dlsym(library, "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE")),
      reinterpret_cast<void (*)(std::uint64_t)>(dlsym(library, "_ZN2at14removeCallbackEm"))};
  g_name = reinterpret_cast<const char* (*)(const void*)>(
      dlsym(library, "_ZNK2at14RecordFunction4nameEv"));
  if (found.add == nullptr || found.remove == nullptr || g_name == nullptr) return {};
  const std::uint64_t handle = found.add(Callback{});
  const bool right = counts_rightly(torch);
  found.remove(handle);
  g_ops = g_factory_ops = 0;
  return right ? found : Registry{};
}

const Registry& registry() {
  static auto& found = *new python::MadeOnce<Registry>;  // asks torch
  return found.get(find_registry);
}

}  // namespace

bool start_counting_ops(bool (*is_factory)(std::string_view name)) {
  g_is_factory = is_factory;
  if (registry().add == nullptr) return false;
  if (g_counting++ == 0) g_callback = registry().add(Callback{});
  return true;
}

void stop_counting_ops() {
  if (--g_counting == 0) registry().remove(g_callback);
}

bool count_ops(bool (*is_factory)(std::string_view name)) {
  static auto& counts = *new python::MadeOnce<bool>;  // asks torch
  return counts.get([&] { return start_counting_ops(is_factory); });
}

void count_op_as_run() {
  g_ops += g_counting != 0 ? 1 : 0;
}

std::int64_t ops_run() {
  return g_ops;
}

std::int64_t factory_ops_run() {
  return g_factory_ops;
}

void begin_ops_apart() {
  ++g_apart;
}

void end_ops_apart() {
  --g_apart;
}

}  // namespace penstock::torch
