#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace penstock::tools {

/// One line at the foot of a terminal for what takes long: "penstock: compiling Net.forward (4 s)".
/// It comes after a second and is gone when the work ends, so that what the program prints is never
/// between. The line is written by a thread of its own, which knows nothing of Python and exists
/// from the first long work on.
class Progress {
 public:
  Progress() = default;
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

  /// Work begins, or goes on as something else. Cheap.
  void begins(std::string what);
  /// It has ended, and its line with it.
  void ends();

 private:
  using Clock = std::chrono::steady_clock;
  void watch();
  void show(const std::string& text);
  void erase();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread thread_;
  std::string what_;  ///< empty: nothing is being done
  Clock::time_point began_;
  bool shown_ = false;
  bool leaves_ = false;
  int owner_ = 0;  ///< process that the thread is in: none is in a fork's child
};

}  // namespace penstock::tools
