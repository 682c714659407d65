// The extension's entry: reads the settings, makes the mode's driver, installs the hook.
#include <Python.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "python/hook.h"
#include "python/last_collections.h"
#include "tools/common/launch_protocol.h"
#include "tools/extension/modes.h"

namespace penstock::tools {
namespace {

constexpr std::size_t kSharedBytes = sizeof(SharedBlock) + kModeMemory;

/// What lives as long as the process: CPython may call the hook until its very end.
struct Process {
  SharedBlock* shared = nullptr;
  const python::Mode* mode = nullptr;
  std::unique_ptr<python::FrameDriver> driver;
};
Process* g_process = nullptr;

/// Says why the extension does not start. Nonzero: the stub ends the program, or lets it run
/// plainly.
int refuse(const python::Settings& settings, const Diagnostic& diagnostic) {
  const CodeFacts& row = facts(diagnostic.code);
  const std::string id(row.id);
  if (settings.get("required") == "1") {
    const std::string refusal =
        (id + " " + diagnostic.message).substr(0, sizeof SharedBlock::refusal - 1);
    const int shared = std::atoi(std::string(settings.get("shared-descriptor", "-1")).c_str());
    (void)!pwrite(shared, refusal.c_str(), refusal.size() + 1, offsetof(SharedBlock, refusal));
  } else if (settings.get("quiet") != "1") {
    const std::string hint(diagnostic.hint.empty() ? std::string(row.hint) : diagnostic.hint);
    fprintf(stderr, "penstock: warning[%s]: %s; the program runs without penstock. %s\n",
            id.c_str(), diagnostic.message.c_str(), hint.c_str());
  }
  return 1;
}
int refuse(const python::Settings& settings, Code code, std::string message) {
  return refuse(settings, failure(code, std::move(message)).value());
}

/// The settings: "key\0value\0" pairs.
python::Settings read_settings(int descriptor) {
  std::map<std::string, std::string> values;
  struct stat facts {};
  if (descriptor < 0 || fstat(descriptor, &facts) != 0) return python::Settings{};
  std::string text(static_cast<std::size_t>(facts.st_size), '\0');
  const ssize_t size = pread(descriptor, text.data(), text.size(), 0);
  close(descriptor);
  text.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
  for (std::size_t at = 0; at < text.size();) {
    const std::string key(text.c_str() + at);
    at += key.size() + 1;
    if (at >= text.size()) break;
    const std::string value(text.c_str() + at);
    at += value.size() + 1;
    values[key] = value;
  }
  return python::Settings(std::move(values));
}

SharedBlock* map_shared(int descriptor) {
  if (descriptor < 0) return nullptr;
  void* memory = mmap(nullptr, kSharedBytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<SharedBlock*>(memory);
}

/// torch is installed if a folder of sys.path has it; asked without importing anything.
bool has_torch() {
  PyObject* path = PySys_GetObject("path");
  if (path == nullptr || !PyList_Check(path)) return false;
  for (Py_ssize_t index = 0; index < PyList_GET_SIZE(path); ++index) {
    const char* folder = PyUnicode_AsUTF8(PyList_GET_ITEM(path, index));
    if (folder == nullptr) {
      PyErr_Clear();
      continue;
    }
    if (access((std::string(folder) + "/torch/__init__.py").c_str(), R_OK) == 0) return true;
  }
  return false;
}

/// The path of the Python that runs, for people.
std::string this_python() {
  PyObject* path = PySys_GetObject("executable");
  const char* text = path != nullptr && PyUnicode_Check(path) ? PyUnicode_AsUTF8(path) : nullptr;
  PyErr_Clear();
  return text != nullptr && *text != '\0' ? text : "this Python";
}

PyObject* finish(PyObject*, PyObject*) {
  if (g_process->mode->finish) g_process->mode->finish(*g_process->driver);
  if (g_process->shared != nullptr) g_process->shared->finished = 1;
  python::spare_imports(PyThreadState_Get());
  Py_RETURN_NONE;
}
PyMethodDef g_finish = {"penstock_finish", finish, METH_NOARGS, nullptr};

/// Has `finish` called when the interpreter shuts down, after the program's own atexit functions.
bool register_finish() {
  const python::PyRef atexit = python::PyRef::steal(PyImport_ImportModule("atexit"));
  const python::PyRef function = python::PyRef::steal(PyCFunction_New(&g_finish, nullptr));
  if (!atexit || !function) return false;
  const python::PyRef done =
      python::PyRef::steal(PyObject_CallMethod(atexit.get(), "register", "O", function.get()));
  return static_cast<bool>(done);
}

/// A forked child counts for itself: the same address gets private memory with the same content.
void in_forked_child() {
  python::continue_in_child();
  if (g_process == nullptr || g_process->shared == nullptr) return;
  std::vector<char> content(kSharedBytes);
  memcpy(content.data(), g_process->shared, kSharedBytes);
  void* again = mmap(g_process->shared, kSharedBytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (again != MAP_FAILED) memcpy(again, content.data(), kSharedBytes);
}

int start(int settings_descriptor, int shared_descriptor, int output) {
  std::map<std::string, std::string> values = read_settings(settings_descriptor).values();
  values["output-descriptor"] = std::to_string(output);
  values["shared-descriptor"] = std::to_string(shared_descriptor);
  const python::Settings settings(std::move(values));
  const python::Mode* mode = find_mode(settings.get("mode", "idle"));
  if (mode == nullptr) {
    std::string message = "the extension has no mode ";
    message += settings.get("mode");
    return refuse(settings, Code::PS0115, std::move(message));
  }
  if (mode->needs_torch && !has_torch()) {
    return refuse(settings, Code::PS0113, this_python() + " has no torch");
  }
  g_process = new Process;
  g_process->mode = mode;
  g_process->shared = map_shared(shared_descriptor);
  auto driver = mode->start(settings);
  if (!driver) return refuse(settings, driver.error());
  g_process->driver = std::move(*driver);
  if (g_process->driver != nullptr) {
    const auto installed = python::install_hook(
        *g_process->driver, g_process->shared != nullptr ? &g_process->shared->frames : nullptr);
    if (!installed) return refuse(settings, installed.error());
  }
  pthread_atfork(nullptr, nullptr, in_forked_child);
  if (!register_finish()) PyErr_Clear();
  if (g_process->shared != nullptr) g_process->shared->reached = Reached::program;
  return 0;
}

}  // namespace

std::span<std::byte> mode_memory() {
  if (g_process == nullptr || g_process->shared == nullptr) return {};
  return {reinterpret_cast<std::byte*>(g_process->shared + 1), kModeMemory};
}

}  // namespace penstock::tools

extern "C" __attribute__((visibility("default"))) int penstock_start(int settings, int shared,
                                                                     int output) {
  return penstock::tools::start(settings, shared, output);
}

extern "C" __attribute__((visibility("default"))) void penstock_switch(int on) {
  using penstock::tools::g_process;
  if (g_process == nullptr || g_process->driver == nullptr) return;
  if (on != 0) {
    penstock::python::set_hook(*g_process->driver);
  } else {
    penstock::python::remove_hook();
  }
}
