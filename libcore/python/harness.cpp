#include "python/harness.h"

namespace penstock::python {
namespace {

// Frame::attachment counts down to the exit: 1 is "exit now", 0 "never".
std::uintptr_t countdown(const Frame& frame) {
  return reinterpret_cast<std::uintptr_t>(frame.attachment);
}

std::uint32_t next_random(std::uint32_t& state) {  // xorshift32
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  return state;
}

}  // namespace

Entry HarnessDriver::enter(Frame& frame) {
  if (plan_.code != nullptr && plan_.code != frame.code()) return Entry::native;
  int limit = plan_.exit_after;
  if (plan_.random_exit != 0) {
    if (random_ == 0) random_ = plan_.random_exit;
    limit = static_cast<int>(next_random(random_) % 60);
  }
  frame.attachment = reinterpret_cast<void*>(static_cast<std::uintptr_t>(limit + 1));
  return Entry::conduct;
}

Directive HarnessDriver::instruction(Frame& frame, const Instruction&) {
  const std::uintptr_t left = countdown(frame);
  if (left == 1) {
    ++exits;
    return Directive::exit;
  }
  if (left > 1) frame.attachment = reinterpret_cast<void*>(left - 1);
  if (!plan_.windows) return Directive::step;
  ++windows;
  return Directive::window;
}

bool HarnessDriver::stepped(Frame&, const Instruction&, Outcome outcome) {
  if (!plan_.exit_when_raised || outcome != Outcome::raised) return false;
  ++exits;
  ++raised;
  return true;
}

}  // namespace penstock::python
