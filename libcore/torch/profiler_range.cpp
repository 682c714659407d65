#include "torch/profiler_range.h"

#include <Python.h>
#include <dlfcn.h>

#include "python/made_once.h"
#include "torch/library.h"

namespace penstock::torch {
namespace {

/// Of torch; all null where one of them is not there.
struct Profiler {
  bool (*is_on)() = nullptr;
  std::int32_t (*start)(const char* name, void* arguments, const void* const* inputs,
                        std::uint64_t count, void** range) = nullptr;
  std::int32_t (*end)(void* range) = nullptr;
};

Profiler find_profiler() {
  PyObject* torch = PyDict_GetItemString(PyImport_GetModuleDict(), "torch");
  void* library = torch == nullptr ? nullptr : torch_library(torch, "libtorch_cpu.so");
  if (library == nullptr) return {};
  Profiler found;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
    return function != nullptr;
  };
  const bool all = find(found.is_on, "_ZN5torch8profiler4impl15profilerEnabledEv") &&
                   find(found.start, "aoti_record_function_start") &&
                   find(found.end, "aoti_record_function_end");
  return all ? found : Profiler{};
}

const Profiler& profiler() {
  static auto& found = *new python::MadeOnce<Profiler>;  // asks torch
  return found.get(find_profiler);
}

}  // namespace

ProfilerRange::ProfilerRange(const EntryId& id, const std::string& name, std::string_view part) {
  const Profiler& torch = profiler();
  if (torch.is_on == nullptr || !torch.is_on()) return;
  std::string title = "penstock [" + to_string(id) + "] " + name;
  if (!part.empty()) title.append(" ").append(part);
  if (torch.start(title.c_str(), nullptr, nullptr, 0, &range_) != 0) range_ = nullptr;
}

ProfilerRange::~ProfilerRange() {
  if (range_ != nullptr) profiler().end(range_);
}

}  // namespace penstock::torch
