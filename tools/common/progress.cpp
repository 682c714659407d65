#include "tools/common/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include "diag/render.h"
#include "tools/common/terminal.h"

namespace penstock::tools {
namespace {

constexpr auto kDelay = std::chrono::seconds(1);
constexpr auto kStep = std::chrono::milliseconds(250);

/// A status line that cannot be written is no failure.
void put(const std::string& text) {
  static_cast<void>(!::write(STDERR_FILENO, text.data(), text.size()));
}

}  // namespace

Progress::~Progress() {
  if (owner_ != getpid()) {
    if (thread_.joinable()) thread_.detach();  // it is in another process
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    leaves_ = true;
    erase();
  }
  changed_.notify_all();
  thread_.join();
}

void Progress::begins(std::string what) {
  if (owner_ != 0 && owner_ != getpid()) return;
  {
    const std::lock_guard lock(mutex_);
    if (what_.empty()) began_ = Clock::now();
    what_ = std::move(what);
  }
  if (owner_ == 0) {
    owner_ = getpid();
    thread_ = std::thread([this] { watch(); });
  }
  changed_.notify_all();
}

void Progress::ends() {
  if (owner_ != getpid()) return;
  const std::lock_guard lock(mutex_);
  what_.clear();
  erase();
}

void Progress::watch() {
  std::unique_lock lock(mutex_);
  while (!leaves_) {
    if (what_.empty()) {
      changed_.wait(lock, [this] { return leaves_ || !what_.empty(); });
      continue;
    }
    const auto spent = Clock::now() - began_;
    if (spent >= kDelay) {
      show(fmt::format("penstock: {} ({} s)", printable(what_),
                       std::chrono::duration_cast<std::chrono::seconds>(spent).count()));
    }
    changed_.wait_for(lock, spent < kDelay ? std::chrono::nanoseconds(kDelay - spent) : kStep,
                      [this] { return leaves_ || what_.empty(); });
  }
}

void Progress::show(const std::string& text) {
  const auto width = static_cast<std::size_t>(terminal_width(STDERR_FILENO));
  put("\r\033[K" + text.substr(0, width - 1));
  shown_ = true;
}

void Progress::erase() {
  if (shown_) put("\r\033[K");
  shown_ = false;
}

}  // namespace penstock::tools
