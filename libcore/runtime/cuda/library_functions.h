#pragma once

#include <dlfcn.h>

#include <span>
#include <type_traits>

namespace penstock::runtime::cuda {

/// The functions of a shared library of the vendor's, which is opened at run time: nothing is
/// linked with it. It stays open until the process ends.
class LibraryFunctions {
 public:
  /// Opens the first of these names that there is. Two versions in one process would each load
  /// their kernels: one that is open goes first.
  explicit LibraryFunctions(std::span<const char* const> names) {
    for (const int flags : {RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD, RTLD_NOW | RTLD_LOCAL}) {
      for (const char* name : names) {
        if (library_ == nullptr) library_ = dlopen(name, flags);
      }
    }
    all_ = library_ != nullptr;
  }

  /// Sets `function` to the one of that name; null where there is none.
  template <class Function>
  void find(Function& function, const char* name) {
    if (library_ == nullptr) return;
    function = reinterpret_cast<Function>(dlsym(library_, name));
    all_ = all_ && function != nullptr;
  }

  /// The library is there, and all that was asked of it so far.
  bool all() const { return all_; }

 private:
  void* library_ = nullptr;
  bool all_ = false;
};

}  // namespace penstock::runtime::cuda
