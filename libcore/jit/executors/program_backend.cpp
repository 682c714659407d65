#include "jit/executors/program_backend.h"

#include <cstdio>

#include "python/hook.h"
#include "python/literal.h"
#include "torch/compile_region.h"

namespace penstock::jit {

using python::PyRef;

namespace {

/// The globals of fx_module_source.py; null with a Python error set.
PyObject* source_globals() {
  static PyObject* globals = nullptr;  // until the process ends
  if (globals != nullptr) return globals;
  PyRef made = PyRef::steal(PyDict_New());
  PyRef name = PyRef::steal(PyUnicode_FromString("penstock.backend"));
  PyRef code = PyRef::steal(Py_CompileString(kFxModuleSource, "<penstock>", Py_file_input));
  const bool ready = made && name && code &&
                     PyDict_SetItemString(made.get(), "__builtins__", PyEval_GetBuiltins()) == 0 &&
                     PyDict_SetItemString(made.get(), "__name__", name.get()) == 0 &&
                     PyRef::steal(PyEval_EvalCode(code.get(), made.get(), made.get()));
  if (ready) globals = made.release();
  return globals;
}

PyRef text_object(const std::string& text) {
  return PyRef::steal(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape"));
}

/// Makes of a graph what fx_module_source.py takes. Null results: a Python error is set, or the
/// graph holds what a module cannot.
class Description {
 public:
  explicit Description(PyObject* globals) : value_(PyDict_GetItemString(globals, "Value")) {}

  PyRef inputs(const record::CapturedSegment& segment) const {
    const Interface& interface = segment.graph.interface;
    PyRef list = PyRef::steal(PyList_New(0));
    for (std::size_t i = 0; list && i < interface.inputs.size(); ++i) {
      const PyRef source = text_object(interface.sources.text(interface.inputs[i].source));
      PyRef pair =
          source ? PyRef::steal(PyTuple_Pack(2, source.get(), segment.inputs[i].get())) : PyRef();
      if (!pair || PyList_Append(list.get(), pair.get()) < 0) return nullptr;
    }
    return list;
  }

  PyRef calls(const record::CapturedSegment& segment) const {
    PyRef list = PyRef::steal(PyList_New(0));
    for (std::size_t i = 0; i < segment.graph.calls.size(); ++i) {
      PyRef row =
          list ? of(segment.graph.calls[i], segment.written_down.callables[i].get()) : PyRef();
      if (!row || PyList_Append(list.get(), row.get()) < 0) return nullptr;
    }
    return list;
  }

  static PyRef objects(const std::vector<PyRef>& all) {
    PyRef list = PyRef::steal(PyList_New(0));
    for (const PyRef& one : all) {
      if (!list || PyList_Append(list.get(), one ? one.get() : Py_None) < 0) return nullptr;
    }
    return list;
  }

  static PyRef outputs(const Graph& graph) {
    PyRef list = PyRef::steal(PyList_New(0));
    for (const ValueId id : graph.outputs) {
      PyRef number = list ? PyRef::steal(PyLong_FromUnsignedLong(id)) : PyRef();
      if (!number || PyList_Append(list.get(), number.get()) < 0) return nullptr;
    }
    return list;
  }

  PyRef types(const Graph& graph) const {
    PyRef dict = PyRef::steal(PyDict_New());
    for (std::size_t id = 0; dict && id < graph.values.size(); ++id) {
      if (graph.values[id].is_scalar) continue;
      const PyRef key = PyRef::steal(PyLong_FromSize_t(id));
      const PyRef type = of(graph.values[id].type);
      if (!type) {
        PyErr_Clear();  // it has no example
        continue;
      }
      if (!key || PyDict_SetItem(dict.get(), key.get(), type.get()) < 0) return nullptr;
    }
    return dict;
  }

 private:
  PyRef of(const Call& call, PyObject* callable) const {
    PyRef kwargs = PyRef::steal(PyDict_New());
    for (const NamedArgument& argument : call.kwargs) {
      const PyRef item = kwargs ? of(argument.value) : PyRef();
      if (!item || PyDict_SetItemString(kwargs.get(), argument.name.c_str(), item.get()) < 0)
        return nullptr;
    }
    const PyRef args = of_all(call.args, Argument::Sequence::Kind::tuple);
    const PyRef result = of(call.result);
    const PyRef opcode = text_object(call.opcode), name = text_object(call.name);
    const PyRef target = callable != nullptr ? PyRef::borrow(callable) : text_object(call.target);
    const PyRef stack = of(call.stack);
    if (!kwargs || !args || !result || !opcode || !name || !target || !stack) return nullptr;
    return PyRef::steal(PyTuple_Pack(7, opcode.get(), name.get(), target.get(), args.get(),
                                     kwargs.get(), result.get(), stack.get()));
  }

  PyRef of(const Argument& argument) const {
    if (const auto* value = argument.as<Argument::Value>()) {
      return PyRef::steal(
          PyObject_CallFunction(value_, "k", static_cast<unsigned long>(value->id)));
    }
    if (const auto* sequence = argument.as<Argument::Sequence>())
      return of_all(sequence->items, sequence->kind);
    if (const auto* dict = argument.as<Argument::Dict>()) return of(*dict);
    return python::object_of(argument);
  }

  PyRef of(const Argument::Dict& dict) const {
    PyRef made = PyRef::steal(PyDict_New());
    for (const auto& [key, value] : dict.items) {
      const PyRef key_object = made ? of(key) : PyRef(),
                  value_object = key_object ? of(value) : PyRef();
      if (!value_object || PyDict_SetItem(made.get(), key_object.get(), value_object.get()) < 0)
        return nullptr;
    }
    return made;
  }

  PyRef of_all(const std::vector<Argument>& items, Argument::Sequence::Kind kind) const {
    using Kind = Argument::Sequence::Kind;
    PyRef list = PyRef::steal(PyList_New(0));
    for (const Argument& item : items) {
      const PyRef made = list ? of(item) : PyRef();
      if (!made || PyList_Append(list.get(), made.get()) < 0) return nullptr;
    }
    if (!list || kind == Kind::list) return list;
    if (kind == Kind::tuple) return PyRef::steal(PyList_AsTuple(list.get()));
    if (PyList_GET_SIZE(list.get()) != 3) return nullptr;
    return PyRef::steal(PySlice_New(PyList_GET_ITEM(list.get(), 0), PyList_GET_ITEM(list.get(), 1),
                                    PyList_GET_ITEM(list.get(), 2)));
  }

  static PyRef of(const TensorType& type) {
    const auto numbers = [](const std::vector<SymExpr>& all) {
      PyRef tuple = PyRef::steal(PyTuple_New(static_cast<Py_ssize_t>(all.size())));
      for (std::size_t i = 0; tuple && i < all.size(); ++i) {
        const auto constant = all[i].constant();
        if (!constant) return PyRef();
        PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), PyLong_FromLongLong(*constant));
      }
      return tuple;
    };
    const PyRef sizes = numbers(type.sizes), strides = numbers(type.strides);
    const PyRef dtype = python::object_of(Argument(type.dtype)), device = text_object(type.device);
    if (!sizes || !strides || !dtype || !device) return nullptr;
    return PyRef::steal(PyTuple_Pack(5, dtype.get(), sizes.get(), strides.get(), device.get(),
                                     type.requires_grad ? Py_True : Py_False));
  }

  /// The frames, outermost first: (file, line, last line, column, last column, function).
  static PyRef of(const CallStack& stack) {
    PyRef frames = PyRef::steal(PyList_New(0));
    for (const StackFrame* frame = stack.get(); frames && frame != nullptr;
         frame = frame->caller.get()) {
      const Location& at = frame->location;
      const PyRef file = text_object(std::string(at.file.text()));
      const PyRef function = text_object(std::string(frame->function.text()));
      const PyRef one =
          file && function
              ? PyRef::steal(Py_BuildValue("(OiiiiO)", file.get(), at.line, at.end_line, at.column,
                                           at.end_column, function.get()))
              : PyRef();
      if (!one || PyList_Append(frames.get(), one.get()) < 0) return nullptr;
    }
    if (frames && PyList_Reverse(frames.get()) < 0) return nullptr;
    return frames;
  }

  PyObject* value_;
};

/// Calls what a backend of the program's made of a graph.
class ProgramBackend final : public Executor {
 public:
  explicit ProgramBackend(PyRef function) : function_(std::move(function)) {}

  Result<void> run(const ExecutorCall& call, std::span<PyRef> outputs, bool& written) override {
    PyRef arguments = PyRef::steal(PyTuple_New(static_cast<Py_ssize_t>(call.inputs.size())));
    for (std::size_t i = 0; arguments && i < call.inputs.size(); ++i) {
      Py_INCREF(call.inputs[i].object);
      PyTuple_SET_ITEM(arguments.get(), static_cast<Py_ssize_t>(i), call.inputs[i].object);
    }
    // What goes wrong is the program's own, and may have happened behind what it wrote.
    written = true;
    const python::HookPause pause;
    PyRef result = arguments
                       ? PyRef::steal(PyObject_Call(function_.get(), arguments.get(), nullptr))
                       : PyRef();
    PyRef items = result ? PyRef::steal(PySequence_Fast(
                               result.get(), "a backend's function gave no tuple of outputs"))
                         : PyRef();
    if (items && PySequence_Fast_GET_SIZE(items.get()) != static_cast<Py_ssize_t>(outputs.size())) {
      PyErr_Format(PyExc_RuntimeError, "a backend's function gave %zd outputs, not %zu",
                   PySequence_Fast_GET_SIZE(items.get()), outputs.size());
      items = nullptr;
    }
    if (!items) {
      auto failed = failure(Code::PS0505, "a backend's function raised");
      failed.value().severity = Severity::note;
      return failed;
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      outputs[i] = PyRef::borrow(PySequence_Fast_GET_ITEM(items.get(), static_cast<Py_ssize_t>(i)));
    }
    return {};
  }

 private:
  PyRef function_;
};

tl::unexpected<Diagnostic> not_shown() {
  const PyRef error = take_python_error();
  const PyRef text = error ? PyRef::steal(PyObject_Str(error.get())) : PyRef();
  PyErr_Clear();
  return failure(Code::PS0505, "the graph cannot be handed to the program's backend" +
                                   (text ? ": " + python::text_of(text.get()) : std::string()));
}

}  // namespace

PyRef take_python_error() {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  if (type == nullptr) return {};
  PyErr_NormalizeException(&type, &value, &traceback);
  if (traceback != nullptr) PyException_SetTraceback(value, traceback);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  return PyRef::steal(value);
}

Result<std::unique_ptr<Executor>> make_program_backend(const record::CapturedSegment& segment,
                                                       PyRef& raised) {
  const python::HookPause pause;
  PyObject* globals = source_globals();
  if (globals == nullptr) return not_shown();
  const Description description(globals);
  const PyRef inputs = description.inputs(segment), calls = description.calls(segment);
  const PyRef outputs = Description::outputs(segment.graph),
              types = description.types(segment.graph);
  if (!inputs || !calls || !outputs || !types) return not_shown();
  const PyRef module = PyRef::steal(
      PyObject_CallFunctionObjArgs(PyDict_GetItemString(globals, "make_module"), inputs.get(),
                                   calls.get(), outputs.get(), types.get(), nullptr));
  if (!module) return not_shown();
  PyRef function = PyRef::steal(
      PyObject_CallFunctionObjArgs(PyDict_GetItemString(globals, "compile"),
                                   torch::region_backend(), module.get(), inputs.get(), nullptr));
  if (!function) return nullptr;
  const PyRef written = Description::objects(segment.written_down.written),
              made = Description::objects(segment.outputs);
  const PyRef state = segment.written_down.random_state ? segment.written_down.random_state
                                                        : PyRef::borrow(Py_None);
  const bool ran = written && made &&
                   PyRef::steal(PyObject_CallFunctionObjArgs(
                       PyDict_GetItemString(globals, "run_first"), function.get(), inputs.get(),
                       written.get(), state.get(), made.get(), nullptr));
  if (!ran) raised = take_python_error();
  return std::make_unique<ProgramBackend>(std::move(function));
}

}  // namespace penstock::jit
