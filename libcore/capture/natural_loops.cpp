#include "capture/natural_loops.h"

#include <algorithm>

#include "python/literal.h"

namespace penstock::capture {

using python::Instruction;
using python::Opcode;

namespace {

/// Loops of one code object that are looked at: each takes time in proportion to the code.
constexpr std::size_t kMostLoops = 64;

using Predecessors = std::vector<std::vector<std::int32_t>>;

/// By index of an instruction those from which control comes to it, exceptions included.
Predecessors predecessors(const python::Bytecode& code) {
  const std::vector<Instruction>& all = code.instructions();
  Predecessors found(all.size());
  const auto add = [&](int unit, const Instruction& from) {
    if (const Instruction* to = code.at(unit))
      found[static_cast<std::size_t>(to->index)].push_back(from.index);
  };
  for (const Instruction& one : all) {
    if (!python::facts(one.opcode).ends) add(one.next, one);
    if (one.target >= 0) add(one.target, one);
    if (const python::Handler* handler = code.handler(one.at)) add(handler->target, one);
  }
  return found;
}

/// Takes in what comes to the instruction without passing the head.
void take_in(NaturalLoop& loop, std::int32_t index, const Predecessors& before) {
  std::vector<std::int32_t> open{index};
  while (!open.empty()) {
    const auto at = static_cast<std::size_t>(open.back());
    open.pop_back();
    if (loop.instructions[at]) continue;
    loop.instructions[at] = true;
    ++loop.size;
    open.insert(open.end(), before[at].begin(), before[at].end());
  }
}

/// How many comprehensions' iterators lie above the list, set or dict to which the instruction
/// adds.
std::int32_t comprehensions_around(const Instruction& one) {
  switch (one.opcode) {
    case Opcode::LIST_APPEND:
    case Opcode::SET_ADD:
    case Opcode::MAP_ADD:
      return one.argument - 1;
    default:
      return 0;
  }
}

bool is_of_statements(const NaturalLoop& loop) {
  return loop.head->opcode != Opcode::SEND && loop.head->opcode != Opcode::GET_ANEXT;
}

/// Since 3.12 comprehensions are in the code of the function around them.
void leave_out_comprehensions(std::vector<NaturalLoop>& loops,
                              const std::vector<Instruction>& all) {
  for (const Instruction& one : all) {
    for (std::int32_t left = comprehensions_around(one); left > 0; --left) {
      const auto inner = std::find_if(loops.rbegin(), loops.rend(),
                                      [&](const NaturalLoop& loop) { return loop.holds(one); });
      if (inner == loops.rend()) break;
      loops.erase(std::next(inner).base());
    }
  }
}

}  // namespace

NaturalLoops::NaturalLoops(const python::Bytecode& code) {
  const std::vector<Instruction>& all = code.instructions();
  const Predecessors before = predecessors(code);
  for (const Instruction& jump : all) {
    const bool back = jump.target >= 0 && jump.target <= jump.offset;
    const Instruction* head = back ? code.at(jump.target) : nullptr;
    if (head == nullptr) continue;
    auto known = std::ranges::find(loops_, head, &NaturalLoop::head);
    if (known == loops_.end()) {
      if (loops_.size() == kMostLoops) break;
      const bool iterates = head->opcode == Opcode::FOR_ITER;
      loops_.push_back(
          {head, iterates ? head->next : head->offset, std::vector<bool>(all.size(), false), 1});
      known = loops_.end() - 1;
      known->instructions[static_cast<std::size_t>(head->index)] = true;
    }
    take_in(*known, jump.index, before);
  }
  std::erase_if(loops_, [](const NaturalLoop& one) { return !is_of_statements(one); });
  std::ranges::stable_sort(loops_, std::ranges::greater(), &NaturalLoop::size);
  leave_out_comprehensions(loops_, all);
  innermost_.assign(all.size(), -1);
  for (std::size_t i = 0; i < loops_.size(); ++i) {
    for (const Instruction& one : all) {
      if (loops_[i].holds(one))
        innermost_[static_cast<std::size_t>(one.index)] = static_cast<std::int16_t>(i);
    }
  }
}

std::vector<std::string> changing_sources(const NaturalLoop& loop, const python::Bytecode& code) {
  std::vector<std::string> found;
  const auto add = [&](const char* kind, PyObject* name) {
    found.push_back(std::string(kind) + "['" + python::text_of(name) + "']");
  };
  const auto local = [&](int slot) { add("L", python::slot_name(code.code(), slot)); };
  for (const Instruction& one : code.instructions()) {
    if (!loop.holds(one)) continue;
    switch (one.opcode) {
      case Opcode::STORE_FAST:
        local(one.argument);
        break;
      case Opcode::STORE_FAST_STORE_FAST:
        local(python::second_of_two(one));
        [[fallthrough]];
      case Opcode::STORE_FAST_LOAD_FAST:
        local(python::first_of_two(one));
        break;
      case Opcode::STORE_NAME:
      case Opcode::STORE_GLOBAL:
        add("G", PyTuple_GET_ITEM(code.code()->co_names, one.argument));
        break;
      default:
        break;
    }
  }
  if (loop.head->opcode == Opcode::FOR_ITER)
    found.push_back("S[" + std::to_string(code.depth(loop.begin) - 1) + "]");
  return found;
}

}  // namespace penstock::capture
