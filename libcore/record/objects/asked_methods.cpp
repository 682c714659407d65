// The methods of classes that an operator asks. CPython asks a class in turn, until one answers
// with other than NotImplemented: the method in place, the right operand's where its class is a
// subclass of the left one's, the left operand's, and the right operand's. So the classes of both
// operands decide, also where the method that answers looks at one of them alone; and what a method
// returns may be no result. Each is expected with the next one behind it (Expected::declined).

#include "record/objects/asked_methods.h"

#include <algorithm>

#include "python/numpy_scalar.h"
#include "python/type_lookup.h"
#include "record/objects/attribute.h"
#include "record/objects/call.h"
#include "record/results.h"
#include "record/rules/rules.h"

namespace penstock::record {

using python::PyRef;
using python::type_lookup;

namespace {

struct AskedMethod {
  Operand self, other;
  const char* name;
  bool contrary = false;  ///< object.__ne__ asks it, and gives the contrary
};

PyObject* of_object(const char* name) {
  return type_lookup(&PyBaseObject_Type, name);
}

PyObject* found(const AskedMethod& asked) {
  return type_lookup(Py_TYPE(asked.self.object), asked.name);
}

bool is_of_python(const AskedMethod& asked) {
  PyObject* method = found(asked);
  if (method == nullptr || !PyFunction_Check(method)) return false;
  const int flags = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(method))->co_flags;
  return (flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) == 0;
}

std::vector<AskedMethod> asked_by_operator(Operand left, Operand right, const OperatorName& names,
                                           bool in_place) {
  PyTypeObject *of_left = Py_TYPE(left.object), *of_right = Py_TYPE(right.object);
  const bool reflects = of_left != of_right;
  const bool right_first =
      reflects && PyType_IsSubtype(of_right, of_left) &&
      type_lookup(of_right, names.reflected) != type_lookup(of_left, names.reflected);
  std::vector<AskedMethod> asked;
  if (in_place) asked.push_back({left, right, names.in_place});
  if (right_first) asked.push_back({right, left, names.reflected});
  asked.push_back({left, right, names.special});
  if (reflects && !right_first) asked.push_back({right, left, names.reflected});
  std::erase_if(asked, [](const AskedMethod& one) { return found(one) == nullptr; });
  return asked;
}

std::vector<AskedMethod> asked_by_comparison(Operand left, Operand right, int comparison) {
  static constexpr const char* kNames[] = {"__lt__", "__le__", "__eq__",
                                           "__ne__", "__gt__", "__ge__"};
  static constexpr int kReflected[] = {Py_GT, Py_GE, Py_EQ, Py_NE, Py_LT, Py_LE};
  const bool right_first = Py_TYPE(left.object) != Py_TYPE(right.object) &&
                           PyType_IsSubtype(Py_TYPE(right.object), Py_TYPE(left.object));
  std::vector<AskedMethod> asked;
  const auto ask = [&](Operand self, Operand other, int by) {
    AskedMethod one{self, other, kNames[by]};
    if (by == Py_NE && found(one) == of_object(one.name)) one = {self, other, "__eq__", true};
    asked.push_back(one);
  };
  if (right_first) ask(right, left, kReflected[comparison]);
  ask(left, right, comparison);
  if (!right_first) ask(right, left, kReflected[comparison]);
  return asked;
}

/// C code that does not answer for an object of another class. NumPy's does, by asking that object.
bool declines(const AskedMethod& asked) {
  return Py_TYPE(asked.self.object) != Py_TYPE(asked.other.object) &&
         (found(asked) == of_object(asked.name) ||
          (is_plain_value(asked.self.object) && !python::is_numpy_scalar(asked.self.object)));
}

bool guard_class(Walk& walk, Operand operand) {
  if (!PyType_HasFeature(Py_TYPE(operand.object), Py_TPFLAGS_HEAPTYPE))
    return walk.facts.consume_type(operand);
  if (operand.shadow.is(Shadow::Kind::unknown)) return walk.facts.consume(operand);
  walk.facts.guard_type_version(operand);
  return true;
}

/// Those behind the first: what runs where the one before returned NotImplemented.
std::shared_ptr<Expected> expected_behind(Walk& walk, std::span<const AskedMethod> asked) {
  if (asked.empty() || !is_of_python(asked[0])) return nullptr;
  auto next = std::make_shared<Expected>();
  const Operand self = asked[0].self;
  next->function = found(asked[0]);
  next->function_shadow = class_attribute(walk, self, asked[0].name);
  if (!consume_function(walk, {next->function_shadow, next->function})) return nullptr;
  next->positional = {self, asked[0].other};
  next->asks_truth = asked[0].contrary;
  next->may_decline = true;
  next->declined = expected_behind(walk, asked.subspan(1));
  return next;
}

bool ask_in_turn(Walk& walk, FrameShadow& f, std::vector<AskedMethod> asked, bool& known) {
  if (asked.empty() || !is_of_python(asked[0])) return false;
  known = true;
  for (const Operand& operand : {f.operand(1), f.operand()}) {
    if (!guard_class(walk, operand)) return false;
  }
  const AskedMethod& first = asked[0];
  if (!call_special(walk, f, first.self, first.name, {first.other}, 2, known)) return false;
  if (f.expected.function == nullptr) return true;  // a rule covers it
  f.expected.asks_truth = first.contrary;
  f.expected.may_decline = true;
  f.expected.declined = expected_behind(walk, std::span(asked).subspan(1));
  return true;
}

}  // namespace

bool ask_operator(Walk& walk, FrameShadow& f, const OperatorName& names, bool in_place,
                  bool& known) {
  if (!ask_in_turn(walk, f, asked_by_operator(f.operand(1), f.operand(), names, in_place), known))
    return false;
  f.finish = [answered = std::move(f.finish)](Walk& walk, FrameShadow& f) {
    if (f.expected.unanswered) {
      walk.verdict.spoil("an operator that a method in Python declines is answered by C code");
    }
    answered(walk, f);
  };
  return true;
}

bool ask_comparison(Walk& walk, FrameShadow& f, int comparison, bool& known) {
  std::vector<AskedMethod> asked = asked_by_comparison(f.operand(1), f.operand(), comparison);
  std::erase_if(asked, [](const AskedMethod& one) { return !is_of_python(one) && declines(one); });
  const bool all = std::all_of(asked.begin(), asked.end(), is_of_python);
  if (!ask_in_turn(walk, f, std::move(asked), known)) return false;
  const Operand left = f.operand(1), right = f.operand();
  f.finish = [answered = std::move(f.finish), all, left, right, one = PyRef::borrow(left.object),
              other = PyRef::borrow(right.object)](Walk& walk, FrameShadow& f) {
    if (!f.expected.unanswered) return answered(walk, f);
    // Whether they are one object is what == and != say then.
    if (!all) walk.verdict.spoil("a comparison that a method in Python declines is C code's");
    const bool sourced =
        left.shadow.is(Shadow::Kind::sourced) && right.shadow.is(Shadow::Kind::sourced);
    if (sourced) guard_sameness(walk, left, right);
    f.pop(2);
    f.push(Shadow::constant());
  };
  return true;
}

}  // namespace penstock::record
