// Stands in for a free-threaded CPython, as far as the launcher sees it before it loads anything.
#include <cstdio>

namespace {

using Hook = int (*)(const char*, void*, void*);
Hook g_hook = nullptr;
void* g_data = nullptr;

}  // namespace

extern "C" {

const char* Py_GetVersion() {
  return "3.14.0 free-threading build (main)";
}

int PySys_AddAuditHook(Hook hook, void* data) {
  g_hook = hook;
  g_data = data;
  return 0;
}
}

int main() {
  if (g_hook != nullptr && g_hook("cpython.run_file", nullptr, g_data) != 0) return 1;
  std::puts("plain");
  return 4;
}
