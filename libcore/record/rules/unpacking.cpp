// Rules of a, b = … and a, *b = …: of what is gone over, tensors too.

#include "record/objects/iteration.h"
#include "record/objects/torch_tensor.h"
#include "record/rules/rules.h"

namespace penstock::record {

using python::Instruction;
using python::Opcode;

namespace {

/// Where the instruction put the items of the operand on top: the first so many on the stack, then,
/// of UNPACK_EX, those between as a list, then the last.
struct Places {
  std::size_t before;
  std::optional<std::size_t> behind;
};

/// The shadows of what the instruction unpacked, which lies on the stack, the first on top.
void put_items(Walk& walk, FrameShadow& f, Places places,
               const std::function<Shadow(PyObject*)>& next) {
  f.pop();
  std::vector<Shadow> all;
  int at = 0;
  for (std::size_t k = 0; k < places.before; ++k) all.push_back(next(f.object(at++)));
  if (places.behind) {
    PyObject* list = f.object(at++);
    std::vector<Shadow> middle;
    for (Py_ssize_t k = 0; k < PyList_GET_SIZE(list); ++k)
      middle.push_back(next(PyList_GET_ITEM(list, k)));
    all.push_back(walk.objects.fresh(list, std::move(middle)));
  }
  for (std::size_t k = 0; k < places.behind.value_or(0); ++k) all.push_back(next(f.object(at++)));
  f.stack.insert(f.stack.end(), all.rbegin(), all.rend());
}

bool unpack(Walk& walk, FrameShadow& f, Places places) {
  const Operand iterable = f.operand();
  if (walk.is_tensor(iterable.object)) {
    if (!iterate_tensor(walk, f)) return false;
    f.finish = [places](Walk& walk, FrameShadow& f) {
      put_items(walk, f, places, items_of_result(walk, f));
    };
    return true;
  }
  auto over = iteration_of(walk, iterable);
  if (over == nullptr) return not_iterable(walk, iterable);
  if (!goes_over_all(walk, f, *over)) return false;
  f.finish = [places, over = std::shared_ptr<IteratorShadow>(std::move(over))](Walk& walk,
                                                                               FrameShadow& f) {
    put_items(walk, f, places, items_gone_over(walk, f, *over));
  };
  return true;
}

bool unpack_sequence(Walk& walk, FrameShadow& f, const Instruction& i) {
  return unpack(walk, f, {static_cast<std::size_t>(i.argument), std::nullopt});
}

bool unpack_ex(Walk& walk, FrameShadow& f, const Instruction& i) {
  return unpack(
      walk, f,
      {static_cast<std::size_t>(i.argument & 0xff), static_cast<std::size_t>(i.argument >> 8)});
}

constexpr RuleRow kRows[] = {{Opcode::UNPACK_SEQUENCE, unpack_sequence},
                             {Opcode::UNPACK_EX, unpack_ex}};

}  // namespace

std::span<const RuleRow> unpacking_rules() {
  return kRows;
}

}  // namespace penstock::record
