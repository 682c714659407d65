// NumPy's functions of plain numbers: np.sqrt(64), np.prod(x.shape), np.float32(0.5). What they
// give is a scalar that the guards on their arguments determine. Of arrays nothing is followed.

#include <algorithm>

#include "python/numpy_scalar.h"
#include "record/objects/builtin_call.h"
#include "record/objects/call.h"

namespace penstock::record {

using python::is_numpy_scalar;

namespace {

bool is_number(PyObject* object) {
  return PyBool_Check(object) || PyLong_CheckExact(object) || PyFloat_CheckExact(object) ||
         is_numpy_scalar(object);
}

/// What NumPy makes no array of that anybody could keep: a number, a type, or a sequence of
/// numbers.
bool is_plain(PyObject* object) {
  if (!PyTuple_Check(object) && !PyList_CheckExact(object))
    return object == Py_None || is_number(object) || PyType_Check(object);
  PyObject** items = PySequence_Fast_ITEMS(object);
  return std::all_of(items, items + PySequence_Fast_GET_SIZE(object), is_number);
}

bool number_of_numbers(BuiltinCall& c) {
  const bool plain =
      std::ranges::all_of(c.positional, [](const Operand& one) { return is_plain(one.object); }) &&
      std::ranges::all_of(c.keywords, [](const auto& one) { return is_plain(one.second.object); });
  if (!plain)
    return c.walk.verdict.broke(Code::PS0306,
                                std::string(c.shown) + " of what is no number is not followed");
  if (!consume_all(c.walk, c.positional, c.keywords)) return false;
  c.frame.finish = [pops = c.pops](Walk& walk, FrameShadow& f) {
    if (!is_number(f.object())) walk.verdict.spoil_here("a function of NumPy's gives an array");
    f.pop(pops);
    f.push(Shadow::constant());
  };
  return true;
}

constexpr FunctionModel kModels[] = {{"number_of_numbers", number_of_numbers}};

}  // namespace

std::span<const FunctionModel> numpy_models() {
  return kModels;
}

}  // namespace penstock::record
