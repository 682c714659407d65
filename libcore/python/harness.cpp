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
  if (plan_.random_windows != 0 && random_ == 0) random_ = plan_.random_windows;
  const bool window = plan_.windows || (plan_.random_windows != 0 && next_random(random_) % 3 == 0);
  if (!window) return Directive::step;
  ++windows;
  return Directive::window;
}

std::vector<int> HarnessDriver::window_exits(Frame& frame, const Instruction& instruction) {
  if (plan_.random_windows == 0) return {};
  const Bytecode& code = frame.bytecode();
  std::vector<int> exits;
  for (std::uint32_t wanted = 1 + next_random(random_) % 4; wanted > 0; --wanted) {
    const std::size_t index = next_random(random_) % code.instructions().size();
    const Instruction& exit = code.instructions()[index];
    if (exit.opcode == Opcode::RESUME || exit.offset == instruction.offset ||
        code.depth(exit.offset) < 0) {
      continue;
    }
    exits.push_back(exit.offset);
  }
  return exits;
}

bool HarnessDriver::stepped(Frame&, const Instruction&, Outcome outcome) {
  if (!plan_.exit_when_raised || outcome != Outcome::raised) return false;
  ++exits;
  ++raised;
  return true;
}

}  // namespace penstock::python
