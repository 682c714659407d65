#include "python/op_counter.h"

#include <dlfcn.h>

#include <array>
#include <memory>

#include "python/object.h"
#include "python/torch_library.h"

namespace penstock::python {
namespace {

bool g_counting = false;
thread_local std::int64_t g_ops = 0;
thread_local int g_depth = 0;  // ops around the one that runs

/// at::ObserverContext: what a start callback hands to its end callback; ours hand nothing.
struct ObserverContext {
  virtual ~ObserverContext() = default;
};

std::unique_ptr<ObserverContext> op_starts(const void*) {
  if (g_depth++ == 0) ++g_ops;
  return nullptr;
}

void op_ends(const void*, ObserverContext*) { --g_depth; }

/// at::RecordFunctionCallback. The flags are one per scope and three more; only the first, for ops, is
/// set, and there is room for scopes that later versions add.
struct Callback {
  std::unique_ptr<ObserverContext> (*start)(const void*) = op_starts;
  void (*end)(const void*, ObserverContext*) = op_ends;
  double sampling_probability = 1;
  std::array<bool, 40> flags{true};
};

/// One op that runs others (zeros: empty and zero_) has to count as one.
bool counts_rightly(PyObject* torch) {
  const std::int64_t before = g_ops;
  const PyRef zeros = PyRef::steal(PyObject_CallMethod(torch, "zeros", "i", 1));
  if (!zeros) PyErr_Clear();
  return zeros && g_ops == before + 1 && g_depth == 0;
}

bool install() {
  PyObject* torch = PyDict_GetItemString(PyImport_GetModuleDict(), "torch");
  void* library = torch == nullptr ? nullptr : torch_library(torch, "libtorch_cpu.so");
  if (library == nullptr) return false;
  const auto add = reinterpret_cast<std::uint64_t (*)(Callback)>(
      dlsym(library, "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE"));
  const auto remove = reinterpret_cast<void (*)(std::uint64_t)>(
      dlsym(library, "_ZN2at14removeCallbackEm"));
  if (add == nullptr || remove == nullptr) return false;
  const std::uint64_t handle = add(Callback{});
  if (counts_rightly(torch)) return true;
  remove(handle);
  g_ops = 0;
  return false;
}

}  // namespace

bool count_ops() {
  static const bool installed = install();
  g_counting = installed;
  return installed;
}

void count_op_as_run() { g_ops += g_counting ? 1 : 0; }

std::int64_t ops_run() { return g_ops; }

}  // namespace penstock::python
