// The preload stub. It has no Python symbol of its own, so that it can be loaded into any process
// on the way to Python (a shell shim, env): there it does nothing. In a Python it waits, by a C
// audit hook, for the moment just before the program starts (site has run, the GIL is held), and
// loads the extension for exactly this Python.
//
// Nothing here may rely on constructors of this library having run: ours is one of the first.
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tools/common/launch_protocol.h"
#include "tools/preload/thread_exit.h"

namespace {

using namespace penstock::tools;

struct Launch {
  int settings = -1;
  int shared = -1;
  int output = -1;
  int required = 0;
  bool attached = false;  ///< to a Python that ran already: it goes on in any case
  char extensions[4096] = {};
  bool started = false;
};
Launch g_launch;

// -- the audit hook ------------------------------------------------------------------------------

using AuditHook = int (*)(const char*, void*, void*);
using AddAuditHook = int (*)(AuditHook, void*);

/// What PySys_AddAuditHook() makes for a hook: the same since Python 3.8.
struct AuditEntry {
  AuditEntry* next;
  AuditHook hook;
  void* data;
};
/// Where CPython keeps the first entry; null while it is not known, or another's hook came first.
AuditEntry** g_first_entry = nullptr;

/// Copies an entry that may be anything but one; false if nothing can be read there. By the bare
/// system call, for sanitizers would take the question for an access.
bool read_entry(const void* from, AuditEntry& entry) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  const bool good =
      syscall(SYS_write, ends[1], from, sizeof entry) == sizeof entry &&  // EFAULT, not a fault
      read(ends[0], &entry, sizeof entry) == sizeof entry;
  close(ends[0]);
  close(ends[1]);
  return good;
}

/// The words of CPython's runtime state.
struct RuntimeWords {
  void** first = nullptr;
  std::size_t count = 0;
};
RuntimeWords runtime_words() {
  void* runtime = dlsym(RTLD_DEFAULT, "_PyRuntime");
  Dl_info object;
  void* symbol = nullptr;
  if (runtime == nullptr || dladdr1(runtime, &object, &symbol, RTLD_DL_SYMENT) == 0 ||
      symbol == nullptr)
    return {};
  return {static_cast<void**>(runtime),
          static_cast<const ElfW(Sym)*>(symbol)->st_size / sizeof(void*)};
}

/// Adds the hook and finds its entry: the word of the runtime state that has come to point to it.
void add_hook(AddAuditHook add, AuditHook hook) {
  const RuntimeWords runtime = runtime_words();
  auto* before = static_cast<void**>(malloc(runtime.count * sizeof(void*)));
  if (before != nullptr) memcpy(before, runtime.first, runtime.count * sizeof(void*));
  add(hook, &g_launch);
  for (std::size_t i = 0; before != nullptr && i < runtime.count; ++i) {
    AuditEntry entry;
    if (runtime.first[i] == before[i] || !read_entry(runtime.first[i], entry)) continue;
    if (entry.hook != hook || entry.data != &g_launch) continue;
    g_first_entry = reinterpret_cast<AuditEntry**>(runtime.first + i);
    break;
  }
  free(before);
}

/// Takes our entry out of the list. It was allocated before Python had read PYTHONMALLOC: Python
/// must not free it by the allocator that it has chosen since. Besides, a hook that has done its
/// work costs every audited call time.
void remove_hook() {
  if (g_first_entry != nullptr && *g_first_entry != nullptr &&
      (*g_first_entry)->data == &g_launch) {
    *g_first_entry = (*g_first_entry)->next;
  }
}

void record(Reached reached, const char* refusal = nullptr) {
  void* memory =
      mmap(nullptr, sizeof(SharedBlock), PROT_READ | PROT_WRITE, MAP_SHARED, g_launch.shared, 0);
  if (memory == MAP_FAILED) return;
  auto* block = static_cast<SharedBlock*>(memory);
  block->reached = reached;
  if (refusal != nullptr) strncpy(block->refusal, refusal, sizeof block->refusal - 1);
  munmap(memory, sizeof(SharedBlock));
}

/// No extension for this Python: the program runs plainly, or not at all.
int refuse(const char* why, const char* detail) {
  char refusal[sizeof SharedBlock::refusal];
  snprintf(refusal, sizeof refusal, "PS0112 %s%s", why, detail);
  record(Reached::refused, refusal);
  if (g_launch.attached) return 1;
  if (g_launch.required != 0) _exit(6);
  fprintf(stderr, "penstock: warning[PS0112]: %s%s; the program runs without penstock\n", why,
          detail);
  return 0;
}

int start() {
  using Version = const char* (*)();
  const auto version = reinterpret_cast<Version>(dlsym(RTLD_DEFAULT, "Py_GetVersion"));
  int major = 0, minor = 0;
  if (version == nullptr || sscanf(version(), "%d.%d", &major, &minor) != 2) {
    return refuse("this Python does not tell its version", "");
  }
  char named[64];
  snprintf(named, sizeof named, "Python %d.%d", major, minor);
  if (dlsym(RTLD_DEFAULT, "_Py_RefTotal") != nullptr) {
    return refuse("there is no extension for debug builds of ", named);
  }
  if (strstr(version(), "free-threading") != nullptr) {  // its objects are laid out in other ways
    return refuse("there is no extension for free-threaded builds of ", named);
  }
  char path[4200];
  snprintf(path, sizeof path, "%s/_penstock%d%d.so", g_launch.extensions, major, minor);
  if (access(path, R_OK) != 0) return refuse("there is no extension for ", named);
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return refuse("the extension cannot be loaded: ", dlerror());
  const auto entry = reinterpret_cast<StartFunction>(dlsym(library, kStartSymbol));
  if (entry == nullptr) return refuse("the extension has no entry: ", path);
  if (entry(g_launch.settings, g_launch.shared, g_launch.output) == 0) return 0;
  record(Reached::refused);
  if (g_launch.attached) return 1;
  if (g_launch.required != 0) _exit(6);
  return 0;
}

int on_audit(const char* event, void*, void*) {
  if (strcmp(event, "cpython._PySys_ClearAuditHooks") == 0) remove_hook();
  if (g_launch.started || strncmp(event, "cpython.run_", 12) != 0) return 0;
  g_launch.started = true;
  remove_hook();
  return start();
}

/// The environment as the user had it.
void restore_environment() {
  const char* preload = getenv(kPreloadVariable);
  if (preload != nullptr) {
    setenv("LD_PRELOAD", preload, 1);
  } else {
    unsetenv("LD_PRELOAD");
  }
  unsetenv(kPreloadVariable);
  unsetenv(kLaunchVariable);
  unsetenv(kExtensionsVariable);
}

__attribute__((constructor)) void prepare() {
  const char* launch = getenv(kLaunchVariable);
  const char* extensions = getenv(kExtensionsVariable);
  if (launch == nullptr || extensions == nullptr) return;
  const auto add = reinterpret_cast<AddAuditHook>(dlsym(RTLD_DEFAULT, "PySys_AddAuditHook"));
  if (add == nullptr) return;  // not a Python yet: stay in the environment
  sscanf(launch, "%d %d %d %d", &g_launch.settings, &g_launch.shared, &g_launch.output,
         &g_launch.required);
  strncpy(g_launch.extensions, extensions, sizeof g_launch.extensions - 1);
  restore_environment();
  const int descriptors[] = {g_launch.settings, g_launch.shared, g_launch.output};
  for (const int descriptor : descriptors) {
    if (descriptor >= 0) fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  }
  record(Reached::python);
  add_hook(add, on_audit);
}

/// True once Python shuts down, in a thread that it ends by pthread_exit().
bool is_finalizing() {
  using IsFinalizing = int (*)();
  auto ask = reinterpret_cast<IsFinalizing>(dlsym(RTLD_DEFAULT, "_Py_IsFinalizing"));
  if (ask == nullptr) ask = reinterpret_cast<IsFinalizing>(dlsym(RTLD_DEFAULT, "Py_IsFinalizing"));
  return ask != nullptr && ask() != 0;
}

/// While Python shuts down, a thread that asks for the GIL is ended by pthread_exit(), which
/// unwinds its stack: through C++ frames of ours (and of torch), whose destructors must not run
/// without the GIL. Such a thread sleeps until the process ends instead, as it does since
/// Python 3.14.
[[noreturn]] void leave_thread(void* value) {
  while (g_launch.started && is_finalizing()) pause();
  const auto leave = reinterpret_cast<void (*)(void*)>(dlsym(RTLD_NEXT, "pthread_exit"));
  leave(value);
  abort();  // not reached
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int penstock_attach(int settings, int shared,
                                                                      int output,
                                                                      const char* extensions) {
  if (g_launch.started) return 1;
  g_launch.settings = settings;
  g_launch.shared = shared;
  g_launch.output = output;
  g_launch.attached = g_launch.started = true;
  strncpy(g_launch.extensions, extensions, sizeof g_launch.extensions - 1);
  redirect_thread_exit(leave_thread);
  return start();
}

/// Found before the C library's, where this library is loaded before it.
extern "C" __attribute__((visibility("default"), noreturn)) void pthread_exit(void* value) {
  leave_thread(value);
}
