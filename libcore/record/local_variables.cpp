// What code does with the local variables of its frames.
#include "record/local_variables.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "python/literal.h"

namespace penstock::record {

using python::Instruction;
using python::Opcode;

Access access_of(const Instruction& one, int slot) {
  const auto alone = [&](Access access) { return one.argument == slot ? access : Access::none; };
  const bool first = python::first_of_two(one) == slot, second = python::second_of_two(one) == slot;
  switch (one.opcode) {
    case Opcode::LOAD_FAST:
    case Opcode::LOAD_FAST_CHECK:
    case Opcode::LOAD_FAST_BORROW:
      return alone(Access::loads);
    case Opcode::STORE_FAST:
    case Opcode::DELETE_FAST:
      return alone(Access::stores);
    case Opcode::LOAD_FAST_LOAD_FAST:
    case Opcode::LOAD_FAST_BORROW_LOAD_FAST_BORROW:
      return first ? Access::other : second ? Access::loads : Access::none;
    case Opcode::STORE_FAST_LOAD_FAST:
      return second ? Access::loads : first ? Access::stores : Access::none;
    case Opcode::STORE_FAST_STORE_FAST:
      return first || second ? Access::stores : Access::none;
    default:
      return python::facts(one.opcode).operand == python::Operand::local ? alone(Access::other)
                                                                         : Access::none;
  }
}

bool may_see_variables(PyCodeObject* code) {
  constexpr std::array<std::string_view, 6> names = {"locals",       "vars", "_getframe",
                                                     "currentframe", "eval", "exec"};
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(code->co_names); ++i) {
    if (std::ranges::count(names, python::text_of(PyTuple_GET_ITEM(code->co_names, i))) > 0)
      return true;
  }
  return false;
}

bool is_read_behind(const python::Bytecode& code, int unit, int slot) {
  std::vector<bool> seen(code.instructions().size());
  std::vector<const Instruction*> open;
  const auto go_to = [&](int to) {
    const Instruction* one = code.at(to);
    if (one == nullptr || seen[static_cast<std::size_t>(one->index)]) return;
    seen[static_cast<std::size_t>(one->index)] = true;
    open.push_back(one);
  };
  go_to(unit);
  while (!open.empty()) {
    const Instruction& one = *open.back();
    open.pop_back();
    const Access access = access_of(one, slot);
    if (access == Access::loads || access == Access::other) return true;
    if (const python::Handler* handler = code.handler(one.at)) go_to(handler->target);
    if (access == Access::stores) continue;
    if (one.target >= 0) go_to(one.target);
    if (!python::facts(one.opcode).ends) go_to(one.next);
  }
  return false;
}

}  // namespace penstock::record
