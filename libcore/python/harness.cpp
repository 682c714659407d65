#include "python/harness.h"

namespace penstock::python {
namespace {

// Frame::attachment holds the number of instructions executed so far.
std::uintptr_t executed(const Frame& frame) {
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
  if (plan_.random_exit != 0) {
    if (random_ == 0) random_ = plan_.random_exit;
    plan_.exit_after = static_cast<int>(next_random(random_) % 60);
  }
  return Entry::conduct;
}

Directive HarnessDriver::instruction(Frame& frame, const Instruction&) {
  const std::uintptr_t count = executed(frame);
  if (plan_.exit_after >= 0 && count >= static_cast<std::uintptr_t>(plan_.exit_after)) {
    ++exits;
    return Directive::exit;
  }
  frame.attachment = reinterpret_cast<void*>(count + 1);
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
