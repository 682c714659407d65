// Rules of comparisons: by value, by the methods of classes, and by identity.

#include "python/type_lookup.h"
#include "record/objects/asked_methods.h"
#include "record/objects/number.h"
#include "record/objects/torch_tensor.h"
#include "record/objects/truth.h"
#include "record/results.h"
#include "record/rules/rules.h"

namespace penstock::record {

using python::Instruction;
using python::Opcode;

void guard_sameness(Walk& walk, Operand one, Operand other) {
  if (one.shadow == other.shadow) return;
  const bool same = one.object == other.object;
  Guard guard{same ? GuardKind::same_object : GuardKind::distinct_object,
              one.shadow.index,
              other.shadow.index,
              {},
              {},
              {},
              {},
              -1};
  guard.expected = walk.recorder.guards().text(other.shadow.index);
  walk.recorder.guards().add(std::move(guard), [&] { return walk.here(); });
}

namespace {

#define PS_RULE(name) bool name(Walk& walk, FrameShadow& f, const Instruction& i)
#pragma GCC diagnostic ignored "-Wunused-parameter"

/// True for an object that is equal to itself alone, as its class has no __eq__ of its own.
bool is_compared_by_identity(Operand operand) {
  const PyTypeObject* type = Py_TYPE(operand.object);
  return PyType_HasFeature(Py_TYPE(operand.object), Py_TPFLAGS_HEAPTYPE) &&
         type->tp_richcompare == PyBaseObject_Type.tp_richcompare;
}

/// Whether the two objects on top are one, which guards determine.
bool compare_identity(Walk& walk, FrameShadow& f) {
  const auto origin = [&](Operand one) {
    if (one.shadow.is(Shadow::Kind::fresh))
      one.shadow = walk.objects.object(one.shadow.index).origin;
    return one;
  };
  const Operand left = origin(f.operand(1)), right = origin(f.operand());
  if (left.shadow.is(Shadow::Kind::unknown) || right.shadow.is(Shadow::Kind::unknown)) {
    return walk.facts.consume(left) && walk.facts.consume(right);
  }
  const bool none = left.object == Py_None || right.object == Py_None;
  if (!none && (walk.sizes.is_computed(left) || walk.sizes.is_computed(right))) {
    return walk.verdict.broke(Code::PS0303, "whether numbers are one object is not followed");
  }
  for (auto [one, other] : {std::pair{left, right}, std::pair{right, left}}) {
    if (!one.shadow.is(Shadow::Kind::sourced)) continue;
    if (one.object == Py_None) {
      walk.facts.add_guard(GuardKind::is_none, one.shadow.index, {});
    } else if (none) {
      walk.facts.add_guard(GuardKind::not_none, one.shadow.index, {});
    } else if (other.shadow.is(Shadow::Kind::sourced)) {
      guard_sameness(walk, one, other);
      break;
    } else if (other.shadow.is(Shadow::Kind::constant)) {
      // Of another type it is another object, whichever of that type it is.
      const bool told_by_type = Py_TYPE(one.object) != Py_TYPE(other.object);
      if (!(told_by_type ? walk.facts.consume_type(one) : walk.facts.consume_identity(one)))
        return false;
    }
  }
  return gives_constant(f, 2);
}

PS_RULE(is_op) {
  return compare_identity(walk, f);
}

PS_RULE(compare_op) {
  Operand left = f.operand(1), right = f.operand();
  if (walk.is_tensor(left.object) || walk.is_tensor(right.object)) {
    return compare_tensor(walk, f, i.argument);
  }
  static constexpr NumberOp kNumberOps[] = {NumberOp::less,    NumberOp::less_equal,
                                            NumberOp::equal,   NumberOp::not_equal,
                                            NumberOp::greater, NumberOp::greater_equal};
  if (const auto done = number_operation(walk, f, kNumberOps[i.argument], left, &right, 2)) {
    return *done;
  }
  const bool asks_equality = i.argument == Py_EQ || i.argument == Py_NE;
  if (asks_equality && is_compared_by_identity(left) && is_compared_by_identity(right)) {
    walk.facts.guard_type_version(left);
    walk.facts.guard_type_version(right);
    return compare_identity(walk, f);
  }
  if (!is_plain_value(left.object) || !is_plain_value(right.object)) {
    bool known = false;
    if (ask_comparison(walk, f, i.argument, known)) return true;
    if (known) return false;
  }
  if (!walk.facts.consume(left) || !walk.facts.consume(right)) return false;
  return gives_constant(f, 2);
}

/// A comparison and its truth, which nothing asks at once (`not not a < b`).
PS_RULE(compare_to_bool) {
  if (walk.is_tensor(f.object(1)) || walk.is_tensor(f.object()))
    return walk.verdict.broke(Code::PS0301, "the truth of a comparison of tensors", true);
  if (!compare_op(walk, f, i)) return false;
  if (f.expected.function == nullptr) return true;
  for (Expected* asked = &f.expected; asked != nullptr; asked = asked->declined.get())
    asked->asks_truth = true;
  f.finish = [compared = std::move(f.finish)](Walk& walk, FrameShadow& f) {
    compared(walk, f);
    f.top() = Shadow::constant();
  };
  return true;
}

constexpr RuleRow kRows[] = {
    {Opcode::COMPARE_OP, compare_op},
    {Opcode::COMPARE_TO_BOOL, compare_to_bool},
    {Opcode::IS_OP, is_op},
};

}  // namespace

std::span<const RuleRow> comparison_rules() {
  return kRows;
}

}  // namespace penstock::record
