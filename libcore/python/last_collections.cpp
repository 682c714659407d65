#include "python/last_collections.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "python/collector_lists.h"
#include "python/hook.h"
#include "python/object.h"

namespace penstock::python {
namespace {

struct Import {
  PyRef name, first, last;
};

// Guarded by the GIL.
std::vector<Import>& g_imports = *new std::vector<Import>;  // outlives the interpreter
Py_ssize_t g_full_collections = 0;                          ///< before the imports

Py_ssize_t full_collections(const _gc_runtime_state& collector) {
  return collector.generation_stats[NUM_GENERATIONS - 1].collections;
}

bool is_tracked(PyObject* object) {
  return PyObject_IS_GC(object) && _PyObject_GC_IS_TRACKED(object);
}

/// What finalises it is Python code: a generator's, or a method of its class.
bool is_finalised_in_python(PyObject* object) {
  if (PyGen_CheckExact(object) || PyCoro_CheckExact(object) || PyAsyncGen_CheckExact(object))
    return true;
  const PyRef name = PyRef::steal(PyUnicode_InternFromString("__del__"));
  PyObject* method = name ? _PyType_Lookup(Py_TYPE(object), name.get()) : nullptr;
  return method != nullptr && PyFunction_Check(method);
}

/// It is of a library whose binding (nanobind) tells of each function and type of its own that is
/// there when the interpreter is not: they have to go.
bool is_counted_at_the_end(const PyTypeObject* type) {
  return std::string_view(type->tp_name).starts_with("nanobind.");
}

/// All that can be reached from modules. The marks are the collector's, which has them only while
/// it runs.
class Reach {
 public:
  explicit Reach(PyInterpreterState* interpreter) {
    for (const char* name : {"__stdin__", "__stdout__", "__stderr__"}) add_stream(name);
    for (PyObject* end : {interpreter->modules, interpreter->sysdict, interpreter->builtins}) {
      if (is_tracked(end)) mark(end);
    }
    next_ = marked_.size();
  }
  ~Reach() {
    for (PyObject* one : marked_) {
      _Py_AS_GC(one)->_gc_prev &= ~std::uintptr_t{_PyGC_PREV_MASK_COLLECTING};
    }
  }
  Reach(const Reach&) = delete;
  Reach& operator=(const Reach&) = delete;

  static bool has(PyObject* object) {
    return is_tracked(object) && (_Py_AS_GC(object)->_gc_prev & _PyGC_PREV_MASK_COLLECTING) != 0;
  }
  void add_all_behind(PyObject* module) {
    visit(module, this);
    while (next_ < marked_.size()) {
      PyObject* object = marked_[next_++];
      const traverseproc traverse = Py_TYPE(object)->tp_traverse;
      if (traverse != nullptr) traverse(object, visit, this);
    }
  }
  /// Those that something finalises, the standard streams apart.
  const std::vector<PyObject*>& finalised() const { return finalised_; }
  /// What one of them is made by counts what is left of its own.
  bool any_counted() const { return any_counted_; }
  /// A weak reference to one of them has a callback in Python that is none of them.
  bool is_watched_from_elsewhere() const { return std::ranges::any_of(marked_, has_watcher); }

 private:
  void mark(PyObject* object) {
    _Py_AS_GC(object)->_gc_prev |= _PyGC_PREV_MASK_COLLECTING;
    marked_.push_back(object);
  }
  void add_stream(const char* name) {
    PyRef stream = PyRef::borrow(PySys_GetObject(name));
    for (const char* inside : {"buffer", "raw", "closed"}) {
      if (!stream || stream.get() == Py_None) break;
      streams_.push_back(stream.get());
      stream = PyRef::steal(PyObject_GetAttrString(stream.get(), inside));
    }
    PyErr_Clear();
  }
  static int visit(PyObject* object, void* argument) {
    Reach& reach = *static_cast<Reach*>(argument);
    if (has(object)) return 0;
    const PyTypeObject* type = Py_TYPE(object);
    reach.any_counted_ |= is_counted_at_the_end(type);
    if ((type->tp_finalize != nullptr || type->tp_del != nullptr) &&
        std::ranges::find(reach.streams_, object) == reach.streams_.end())
      reach.finalised_.push_back(object);
    if (is_tracked(object)) reach.mark(object);
    return 0;
  }
  static bool has_watcher(PyObject* object) {
    if (!PyType_SUPPORTS_WEAKREFS(Py_TYPE(object))) return false;
    const char* place = reinterpret_cast<char*>(object) + Py_TYPE(object)->tp_weaklistoffset;
    const auto* reference = *reinterpret_cast<PyWeakReference* const*>(place);
    for (; reference != nullptr; reference = reference->wr_next) {
      PyObject* callback = reference->wr_callback;
      if (callback == nullptr || has(callback)) continue;
      const bool function = PyFunction_Check(callback) || PyMethod_Check(callback);
      if (function || (Py_TYPE(callback)->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0) return true;
    }
    return false;
  }

  std::vector<PyObject*> streams_, marked_, finalised_;
  bool any_counted_ = false;
  std::size_t next_ = 0;  ///< of those that are marked; the first ones are no way further
};

/// Calls `use` with each object that an import made; it may take it out of its list.
template <class Use>
void for_each_imported(Use use) {
  for (const Import& import : g_imports) {
    PyGC_Head* next = nullptr;
    PyGC_Head* last = _Py_AS_GC(import.last.get());
    for (auto* one = _PyGCHead_NEXT(_Py_AS_GC(import.first.get())); one != last; one = next) {
      next = _PyGCHead_NEXT(one);
      use(object_of(one));
    }
  }
}

/// Goes on from every module that was imported.
void add_modules(Reach& reach, PyObject* loaded) {
  for (const Import& import : g_imports) {
    PyObject* module = PyDict_GetItemWithError(loaded, import.name.get());
    if (module != nullptr) reach.add_all_behind(module);
  }
  std::vector<PyObject*> modules;
  PyObject *name = nullptr, *module = nullptr;
  for (Py_ssize_t i = 0; PyDict_Next(loaded, &i, &name, &module) != 0;) modules.push_back(module);
  std::ranges::sort(modules);
  for_each_imported([&](PyObject* object) {
    if (std::ranges::binary_search(modules, object)) reach.add_all_behind(object);
  });
}

/// What imports made and no module of theirs has: it stays with the collector, and nothing that
/// does not can be reached from elsewhere. And what is finalised of the rest. None: nothing may be
/// spared.
struct Apart {
  std::vector<PyObject*> others;
  std::vector<PyRef> finalised;
};
std::optional<Apart> what_stays(PyInterpreterState* interpreter) {
  PyObject* program = PyDict_GetItemString(interpreter->modules, "__main__");
  if (program == nullptr || !PyModule_Check(program)) return std::nullopt;
  Reach reach(interpreter);
  add_modules(reach, interpreter->modules);
  if (reach.has(program) || reach.has(PyModule_GetDict(program)) || reach.any_counted() ||
      reach.is_watched_from_elsewhere())
    return std::nullopt;
  std::vector<PyObject*> finalised = reach.finalised();
  std::ranges::sort(finalised);
  Apart apart;
  for_each_imported([&](PyObject* object) {
    if (!reach.has(object)) return apart.others.push_back(object);
    if (std::ranges::binary_search(finalised, object) && is_finalised_in_python(object))
      apart.finalised.push_back(PyRef::borrow(object));
  });
  // What is the program's, or a file, is finalised when it always is.
  if (apart.finalised.size() != finalised.size()) return std::nullopt;
  return apart;
}

}  // namespace

void import_ended(PyInterpreterState* interpreter, PyRef name, PyRef first, PyRef last) {
  const Py_ssize_t collections = full_collections(interpreter->gc);
  if (collections != g_full_collections) g_imports.clear();
  g_full_collections = collections;
  g_imports.push_back({std::move(name), std::move(first), std::move(last)});
}

bool spare_imports(PyThreadState* thread) {
  _gc_runtime_state& collector = thread->interp->gc;
  const bool mixed = full_collections(collector) != g_full_collections;
  if (g_imports.empty() || mixed || is_watched(collector) || !is_only_thread(thread)) return false;
  const std::optional<Apart> apart = what_stays(thread->interp);
  if (!apart) return false;
  PyGC_Head& oldest = collector.generations[NUM_GENERATIONS - 1].head;
  for (PyObject* object : apart->others) {
    move_to_end(_Py_AS_GC(object), _Py_AS_GC(object), oldest);
  }
  for (const Import& import : g_imports) {
    move_to_end(_Py_AS_GC(import.first.get()), _Py_AS_GC(import.last.get()),
                collector.permanent_generation.head);
  }
  for (const PyRef& object : apart->finalised) PyObject_CallFinalizer(object.get());
  return true;
}

}  // namespace penstock::python
