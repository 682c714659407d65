#pragma once

#include <vector>

#include "python/object.h"

namespace penstock::jit {

/// A function of torch's, by its module and name; null with a Python error set.
python::PyRef torch_function(const char* module, const char* name);

/// Gradient mode on, until this goes.
class GradMode {
 public:
  GradMode();
  ~GradMode();
  GradMode(const GradMode&) = delete;
  GradMode& operator=(const GradMode&) = delete;

 private:
  static void set(bool enabled);
  bool before_;
};

/// No hooks on what torch saves, until this goes: those of backward are none of forward's.
class NoSavingHooks {
 public:
  NoSavingHooks();
  ~NoSavingHooks();
  NoSavingHooks(const NoSavingHooks&) = delete;
  NoSavingHooks& operator=(const NoSavingHooks&) = delete;

 private:
  std::vector<python::PyRef> hooks_;  ///< the innermost first
};

}  // namespace penstock::jit
