#pragma once

#include <Python.h>

#include <atomic>
#include <memory>
#include <mutex>

namespace penstock::python {

/// A value that is made once by code that may let the GIL go, as every function of torch's may. A
/// static local would not do: a thread that waits for another one to initialise it holds the GIL,
/// which that one needs to come to an end. Here whoever waits has let the GIL go.
///
/// Needs: the GIL; objects that live until the process ends. Code that asks for the value while it
/// makes it makes another one, of which the first that is ready stays.
template <class T>
class MadeOnce {
 public:
  template <class Make>
  const T& get(const Make& make) {
    if (const T* value = value_.load(std::memory_order_acquire)) return *value;
    if (!making_.try_lock()) {
      Py_BEGIN_ALLOW_THREADS;
      making_.lock();
      Py_END_ALLOW_THREADS;
    }
    const std::lock_guard held(making_, std::adopt_lock);
    if (value_.load(std::memory_order_acquire) == nullptr) {
      auto made = std::make_unique<T>(make());
      if (value_.load(std::memory_order_acquire) == nullptr)
        value_.store(made.release(), std::memory_order_release);
    }
    return *value_.load(std::memory_order_acquire);
  }

 private:
  std::recursive_mutex making_;
  std::atomic<const T*> value_ = nullptr;
};

}  // namespace penstock::python
