// The end of a frame that we have run.
//
// Up to 3.11 the caller clears the frame of a call, and nothing is to be done. Since 3.12 the
// evaluator clears and pops what it has run. 3.13 exports the function that does it. In 3.12 only
// the evaluator itself can: it is given the frame once more, at an instruction that returns, with
// the result on the stack, or with the error set, where nothing in the frame handles it. The entry
// that it adds to the traceback then is taken off again, for the frame has its own.
#include "python/versions/raw_frame.h"

#if PY_VERSION_HEX >= 0x030d0000

extern "C" PyAPI_FUNC(void) _PyEval_FrameClearAndPop(PyThreadState*, _PyInterpreterFrame*);

namespace penstock::python {

PyObject* end_frame(PyThreadState* thread, _PyInterpreterFrame* raw, PyObject* result) {
  _PyEval_FrameClearAndPop(thread, raw);
  return result;
}

}  // namespace penstock::python

#elif PY_VERSION_HEX >= 0x030c0000

#include "python/object.h"

namespace penstock::python {
namespace {

/// A copy of the code with another attribute; null where none can be made.
PyRef copy_with(PyCodeObject* code, const char* attribute, PyObject* value) {
  const PyRef replace =
      PyRef::steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(code), "replace"));
  const PyRef names = PyRef::steal(Py_BuildValue("{sO}", attribute, value));
  const PyRef nothing = PyRef::steal(PyTuple_New(0));
  if (!replace || !names || !nothing) return nullptr;
  return PyRef::steal(PyObject_Call(replace.get(), nothing.get(), names.get()));
}

/// The unit of an instruction that returns the result: the one where the frame stands, or any.
/// RETURN_CONST returns a constant of its own, which `takes` the result's place; -1: there is none.
int returning_unit(const Bytecode& code, int place, PyObject* result, bool& takes) {
  takes = false;
  const Instruction& here = code.containing(place);
  if (here.opcode == Opcode::RETURN_VALUE) return here.offset;
  const auto gives = [&](const Instruction& one) {
    return one.opcode == Opcode::RETURN_CONST &&
           PyTuple_GET_ITEM(code.code()->co_consts, one.argument) == result;
  };
  takes = gives(here);
  if (takes) return here.offset;
  for (const Instruction& one : code.instructions()) {
    if (one.opcode == Opcode::RETURN_VALUE) return one.offset;
    if (!gives(one)) continue;
    takes = true;
    return one.offset;
  }
  return -1;
}

/// A frame object that outlives the frame names the place where the frame stood.
class KeptPlace {
 public:
  explicit KeptPlace(_PyInterpreterFrame* raw)
      : object_(PyRef::borrow(reinterpret_cast<PyObject*>(raw->frame_obj))),
        unit_(next_unit(raw)) {}
  ~KeptPlace() {
    if (object_) set_next_unit(reinterpret_cast<PyFrameObject*>(object_.get())->f_frame, unit_);
  }
  KeptPlace(const KeptPlace&) = delete;
  KeptPlace& operator=(const KeptPlace&) = delete;

 private:
  PyRef object_;
  int unit_;
};

/// Makes the frame run a copy of its code while this lives. A frame object that outlives the frame
/// has its own code again afterwards.
class OtherCode {
 public:
  OtherCode(_PyInterpreterFrame* raw, PyRef copy)
      : own_(PyRef::steal(reinterpret_cast<PyObject*>(code_of(raw)))),
        object_(PyRef::borrow(reinterpret_cast<PyObject*>(raw->frame_obj))),
        copy_(copy),
        unit_(next_unit(raw)) {
    set_code(raw, reinterpret_cast<PyCodeObject*>(copy.release()));
    set_next_unit(raw, unit_);
  }
  ~OtherCode() {
    if (!object_) return;
    _PyInterpreterFrame* kept = reinterpret_cast<PyFrameObject*>(object_.get())->f_frame;
    if (code_of(kept) != reinterpret_cast<PyCodeObject*>(copy_.get())) return;
    set_code(kept, reinterpret_cast<PyCodeObject*>(own_.release()));
    set_next_unit(kept, unit_);
    Py_DECREF(copy_.get());
  }
  OtherCode(const OtherCode&) = delete;
  OtherCode& operator=(const OtherCode&) = delete;

 private:
  PyRef own_, object_, copy_;
  int unit_;
};

PyObject* end_with(PyThreadState* thread, _PyInterpreterFrame* raw, PyObject* result) {
  PyCodeObject* code = code_of(raw);
  const int place = next_unit(raw) - 1;
  bool takes = false;
  const int unit = returning_unit(bytecode_of(code), place < 0 ? 0 : place, result, takes);
  if (takes) {
    Py_DECREF(result);
  } else {
    raw->localsplus[raw->stacktop++] = result;
  }
  if (unit >= 0) {
    const KeptPlace kept(raw);
    set_next_unit(raw, unit);
    return evaluate_frame(thread, raw, 0);
  }
  // The code returns constants only, and another object stands for one of them.
  const char bytes[2] = {static_cast<char>(opcode_number(Opcode::RETURN_VALUE)), 0};
  const PyRef own = PyRef::steal(PyCode_GetCode(code));
  PyRef longer = PyRef::steal(PyBytes_FromStringAndSize(bytes, 2));
  if (own && longer) longer = PyRef::steal(PySequence_Concat(own.get(), longer.get()));
  PyRef copy = own && longer ? copy_with(code, "co_code", longer.get()) : nullptr;
  if (!copy) Py_FatalError("penstock: no memory to end a frame");
  const OtherCode other(raw, std::move(copy));
  set_next_unit(raw, static_cast<int>(PyBytes_GET_SIZE(own.get()) / 2));
  return evaluate_frame(thread, raw, 0);
}

/// Puts back the traceback that the error had.
void forget_entry(PyObject* before) {
  const PyRef error = PyRef::steal(PyErr_GetRaisedException());
  if (!error) return;
  const PyRef now = PyRef::steal(PyException_GetTraceback(error.get()));
  if (now && now.get() != before) {
    PyException_SetTraceback(error.get(), before != nullptr ? before : Py_None);
  }
  PyErr_SetRaisedException(PyRef(error).release());
}

PyObject* end_raising(PyThreadState* thread, _PyInterpreterFrame* raw) {
  PyCodeObject* code = code_of(raw);
  const bool handled = bytecode_of(code).handler(next_unit(raw) - 1) != nullptr;
  PyRef error = PyRef::steal(PyErr_GetRaisedException());
  const PyRef before = PyRef::steal(PyException_GetTraceback(error.get()));
  PyRef copy;
  if (handled) {
    const PyRef nothing = PyRef::steal(PyBytes_FromStringAndSize(nullptr, 0));
    copy = nothing ? copy_with(code, "co_exceptiontable", nothing.get()) : nullptr;
    if (!copy) Py_FatalError("penstock: no memory to end a frame");
  }
  PyErr_SetRaisedException(error.release());
  if (handled) {
    const OtherCode other(raw, std::move(copy));
    evaluate_frame(thread, raw, 1);
  } else {
    evaluate_frame(thread, raw, 1);
  }
  forget_entry(before.get());
  return nullptr;
}

}  // namespace

PyObject* end_frame(PyThreadState* thread, _PyInterpreterFrame* raw, PyObject* result) {
  return result != nullptr ? end_with(thread, raw, result) : end_raising(thread, raw);
}

}  // namespace penstock::python

#else

namespace penstock::python {

PyObject* end_frame(PyThreadState*, _PyInterpreterFrame*, PyObject* result) {
  return result;
}

}  // namespace penstock::python

#endif
