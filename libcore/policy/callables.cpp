#include "policy/callables.h"

#include <array>
#include <cstring>

#include "policy/roots.h"
#include "python/literal.h"
#include "python/numpy_scalar.h"
#include "python/type_lookup.h"

namespace penstock::policy {

using python::PyRef;
using python::text_of;

namespace {

/// The name under which torch shows what a class or module of its C code holds.
struct Namespace {
  std::string_view holder, shown;
};
constexpr Namespace kNamespaces[] = {
    {"torch._C._VariableFunctionsClass", "torch."}, {"torch._C._nn", "torch.nn.functional."},
    {"torch._C._linalg", "torch.linalg."},          {"torch._C._fft", "torch.fft."},
    {"torch._C._special", "torch.special."},
};
constexpr std::string_view kTensorMethods = "torch.Tensor.";

bool is_descriptor(PyObject* object) {
  return Py_TYPE(object) == &PyMethodDescr_Type || Py_TYPE(object) == &PyWrapperDescr_Type ||
         Py_TYPE(object) == &PyClassMethodDescr_Type;
}

/// Where a function stands that is no descriptor: a module or class.
std::string owner_of(PyCFunctionObject* c, PyRef& holder) {
  if (c->m_self == nullptr) return {};
  if (PyModule_Check(c->m_self)) {
    const char* name = PyModule_GetName(c->m_self);
    if (name == nullptr) PyErr_Clear();
    return name == nullptr ? "" : name;
  }
  if (PyType_Check(c->m_self)) {
    const std::string_view type = reinterpret_cast<PyTypeObject*>(c->m_self)->tp_name;
    for (const Namespace& row : kNamespaces) {
      if (row.holder == type) return std::string(type);
    }
  }
  // pybind11's functions hold a record of theirs where others hold the module.
  if (c->m_module != nullptr && PyUnicode_Check(c->m_module)) return text_of(c->m_module);
  // A method is named by the class in which it stands, not by the subclass that it was bound to.
  const bool of_class = PyType_Check(c->m_self) && (c->m_ml->ml_flags & METH_CLASS) != 0;
  PyObject* order =
      (of_class ? reinterpret_cast<PyTypeObject*>(c->m_self) : Py_TYPE(c->m_self))->tp_mro;
  const PyTypeObject* kind = of_class ? &PyClassMethodDescr_Type : &PyMethodDescr_Type;
  for (Py_ssize_t i = 0; order != nullptr && i < PyTuple_GET_SIZE(order); ++i) {
    auto* type = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(order, i));
    PyObject* own = python::type_dict(type) == nullptr
                        ? nullptr
                        : PyDict_GetItemString(python::type_dict(type), c->m_ml->ml_name);
    const bool found = own != nullptr && Py_TYPE(own) == kind &&
                       reinterpret_cast<PyMethodDescrObject*>(own)->d_method == c->m_ml;
    if (!found) continue;
    // A class may have another one's method as its own attribute.
    PyTypeObject* defining = reinterpret_cast<PyMethodDescrObject*>(own)->d_common.d_type;
    holder = PyRef::borrow(reinterpret_cast<PyObject*>(defining));
    return defining->tp_name;
  }
  return Py_TYPE(c->m_self)->tp_name;
}

/// Under which rules know Python code: where it is defined, and what torch shows it as.
std::array<std::string, 2> names_of(PyCodeObject* code, PyObject* globals) {
  const std::string name = text_of(code->co_qualname);
  const std::string module(module_name(globals));
  const std::string full = module.empty() ? name : module + "." + name;
  return {full,
          full.starts_with("torch._tensor.Tensor.") ? "torch.Tensor" + full.substr(20) : full};
}

/// True for a class that code of Python's made, and may change.
bool is_made_in_python(const PyTypeObject* type) {
  return PyType_HasFeature(const_cast<PyTypeObject*>(type), Py_TPFLAGS_HEAPTYPE) &&
         !PyType_HasFeature(const_cast<PyTypeObject*>(type), Py_TPFLAGS_IMMUTABLETYPE);
}

/// Under which rules know a class. Nothing that its metaclass may answer is asked for.
std::string name_of(PyTypeObject* type) {
  const std::string_view own = type->tp_name;
  if (!PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE))
    return (own.find('.') == std::string_view::npos ? "builtins." : "") + std::string(own);
  static PyObject* const key = PyUnicode_InternFromString("__module__");
  PyObject* module = PyDict_GetItemWithError(python::type_dict(type), key);
  const std::string name = text_of(reinterpret_cast<PyHeapTypeObject*>(type)->ht_qualname);
  return module != nullptr && PyUnicode_Check(module) ? text_of(module) + "." + name : name;
}

Served served_by(const CallRule& rule) {
  if (rule.action != CallAction::serve) return Served::none;
  if (rule.handler == "is_compiling") return Served::is_compiling;
  return rule.handler == "graph_break" ? Served::graph_break : Served::handler;
}

}  // namespace

PyRef python_constructor(PyTypeObject* type, const char* name) {
  PyRef found = PyRef::borrow(python::type_lookup(type, name));
  if (found && Py_TYPE(found.get()) == &PyStaticMethod_Type)
    found = PyRef::steal(PyObject_GetAttrString(found.get(), "__func__"));
  PyErr_Clear();
  return found && PyFunction_Check(found.get()) ? found : PyRef();
}

bool is_tensor_base(PyTypeObject* type) {
  return std::strcmp(type->tp_name, "torch._C.TensorBase") == 0 ||
         std::strcmp(type->tp_name, "torch._C._TensorBase") == 0;
}

Callables::Callables(CallRules rules)
    : rules_(std::make_unique<const CallRules>(std::move(rules))) {
  for (const std::string& attribute : rules_->attributes()) {
    attributes_.push_back(PyRef::steal(PyUnicode_InternFromString(attribute.c_str() + 1)));
  }
}

Result<Callables> Callables::make(const std::string& path) {
  CallRules rules;
  if (!path.empty()) {
    if (auto read = rules.add_file(path); !read) return tl::unexpected(std::move(read.error()));
  }
  if (auto read = rules.add(kBuiltInRules, "capture.rules", true); !read) {
    return tl::unexpected(std::move(read.error()));
  }
  return Callables(std::move(rules));
}

KnownFunction Callables::resolve(PyObject* object) const {
  KnownFunction known;
  if (is_descriptor(object)) {
    auto* descriptor = reinterpret_cast<PyDescrObject*>(object);
    known.owner = descriptor->d_type->tp_name;
    known.name = text_of(descriptor->d_name);
    known.holder = PyRef::borrow(reinterpret_cast<PyObject*>(descriptor->d_type));
    known.method = is_tensor_base(descriptor->d_type);
  } else if (PyCFunction_Check(object)) {
    auto* c = reinterpret_cast<PyCFunctionObject*>(object);
    known.owner = owner_of(c, known.holder);
    known.name = c->m_ml->ml_name;
    known.method =
        known.holder && is_tensor_base(reinterpret_cast<PyTypeObject*>(known.holder.get()));
    if (!known.holder) known.holder = PyRef::borrow(object);
  } else if (python::is_numpy_function(object)) {
    const PyRef name = PyRef::steal(PyObject_GetAttrString(object, "__name__"));
    PyErr_Clear();
    known.owner =
        std::string_view(Py_TYPE(object)->tp_name) == "numpy.ufunc" ? "numpy.ufunc" : "numpy";
    known.name = text_of(name.get());
    known.holder = PyRef::borrow(object);
  }
  std::array<std::string, 2> names;
  names[0] = known.owner.empty() ? known.name : known.owner + "." + known.name;
  for (const Namespace& row : kNamespaces) {
    if (row.holder == known.owner) known.shown = std::string(row.shown) + known.name;
  }
  if (known.method) known.shown = std::string(kTensorMethods) + known.name;
  if (!known.shown.empty()) {
    known.kind = CallableKind::op;
    names[1] = known.shown;
  } else {
    known.shown = known.owner == "builtins" ? known.name : python::qualified_name(object);
    names[1] = "builtins." + names[0];
  }
  known.rule = rules_->find(names, known.kind);
  return known;
}

/// How a function is found again.
struct Callables::Key {
  const void* address = nullptr;  ///< null: it is not kept
  PyTypeObject* bound_to =
      nullptr;  ///< the address is its method table's: of the class that it was taken from
};

Callables::Key Callables::key_of(PyObject* object) {
  if (Py_TYPE(object) == &PyMethodDescr_Type) {
    return {reinterpret_cast<PyMethodDescrObject*>(object)->d_method,
            reinterpret_cast<PyDescrObject*>(object)->d_type};
  }
  if (!PyCFunction_Check(object)) return {object};
  auto* c = reinterpret_cast<PyCFunctionObject*>(object);
  if (c->m_self == nullptr || PyModule_Check(c->m_self)) return {object};
  if (PyType_Check(c->m_self)) {
    // Functions of torch; else methods of a class, which are made anew by every look.
    const std::string_view type = reinterpret_cast<PyTypeObject*>(c->m_self)->tp_name;
    return {type.starts_with("torch.") ? object : nullptr};
  }
  if (c->m_module == nullptr) return {c->m_ml, Py_TYPE(c->m_self)};
  const bool of_torch = PyUnicode_Check(c->m_module) && text_of(c->m_module).starts_with("torch.");
  return {of_torch ? object : nullptr};
}

std::shared_ptr<const KnownFunction> Callables::of(PyObject* object) {
  PyRef slot;
  if (Py_TYPE(object) == python::method_wrapper_type()) {
    // The slot's descriptor from which it was bound.
    PyRef owner = PyRef::steal(PyObject_GetAttrString(object, "__objclass__"));
    PyRef name = PyRef::steal(PyObject_GetAttrString(object, "__name__"));
    if (owner && name && PyType_Check(owner.get())) {
      slot = PyRef::borrow(PyDict_GetItemWithError(
          python::type_dict(reinterpret_cast<PyTypeObject*>(owner.get())), name.get()));
    }
    PyErr_Clear();
    if (slot && is_descriptor(slot.get())) object = slot.get();
  }
  const Key key = key_of(object);
  const auto found = key.address == nullptr ? functions_.end() : functions_.find(key.address);
  if (found != functions_.end()) {
    PyObject* holder = found->second->holder.get();
    const bool same = key.bound_to == nullptr ||
                      (PyType_Check(holder) &&
                       PyType_IsSubtype(key.bound_to, reinterpret_cast<PyTypeObject*>(holder)));
    if (same) return found->second;
  }
  auto known = std::make_shared<KnownFunction>(resolve(object));
  if (key.bound_to == nullptr) known->holder = PyRef::borrow(object);  // its address stays its own
  const bool keeps = key.address != nullptr && found == functions_.end() &&
                     (key.bound_to == nullptr || PyType_Check(known->holder.get()));
  if (keeps) functions_.emplace(key.address, known);
  return known;
}

KnownCode& Callables::of(PyCodeObject* code, PyObject* globals) const {
  python::Bytecode& bytecode = python::bytecode_of(code);
  if (auto* known = bytecode.data(python::CodeSlot::rule)) return static_cast<KnownCode&>(*known);
  auto made = std::make_unique<KnownCode>();
  made->rule = rules_->find(names_of(code, globals), CallableKind::python);
  made->served = served_by(*made->rule);
  KnownCode& known = *made;
  bytecode.set_data(python::CodeSlot::rule, std::move(made));
  return known;
}

KnownCode& Callables::of_function(PyObject* function) const {
  return of(reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function)),
            PyFunction_GET_GLOBALS(function));
}

const CallRule& Callables::rule_of(PyObject* function) const {
  const CallRule& rule = *of_function(function).rule;
  PyObject* own = reinterpret_cast<PyFunctionObject*>(function)->func_dict;
  if (own == nullptr || PyDict_GET_SIZE(own) == 0) return rule;
  std::vector<std::string> names;
  for (const PyRef& attribute : attributes_) {
    PyObject* value = PyDict_GetItemWithError(own, attribute.get());
    // What is neither is of the program's, and could run its code.
    if (value == Py_True) names.push_back("." + text_of(attribute.get()));
  }
  if (names.empty()) return rule;
  const auto own_names = names_of(reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function)),
                                  PyFunction_GET_GLOBALS(function));
  names.insert(names.end(), own_names.begin(), own_names.end());
  return *rules_->find(names, CallableKind::python);
}

const CallRule& Callables::of_class(PyTypeObject* type) {
  const CallRule& rule = of_class_name(type);
  if (!follows_code(rule.action) && rule.action != CallAction::inner) return rule;
  for (const char* name : {"__new__", "__init__"}) {
    const PyRef function = python_constructor(type, name);
    if (!function) continue;
    const CallRule& own = rule_of(function.get());
    if (leaves_to_python(own.action)) return own;
  }
  return rule;
}

const CallRule& Callables::of_class_name(PyTypeObject* type) {
  const auto known = class_rules_.find(type);
  if (known != class_rules_.end()) return *known->second;
  const std::array<std::string, 1> names = {name_of(type)};
  const CallRule* rule = rules_->find(names, CallableKind::type);
  if (is_made_in_python(type)) {
    // What is said of a class of C does not hold for one that the program calls the same.
    const bool of_c = rule->built_in && !follows_code(rule->action) &&
                      rule->action != CallAction::inner && rule->action != CallAction::native;
    const std::array<std::string, 1> any = {""};
    return of_c ? *rules_->find(any, CallableKind::type) : *rule;
  }
  if (!PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) class_rules_.emplace(type, rule);
  return *rule;
}

const CallRule& Callables::of_tensor(const std::string& name) {
  auto [place, added] = tensor_rules_.try_emplace(name, nullptr);
  if (added) {
    const std::array<std::string, 2> names = {"torch._C.TensorBase." + name,
                                              std::string(kTensorMethods) + name};
    place->second = rules_->find(names, CallableKind::op);
  }
  return *place->second;
}

}  // namespace penstock::policy
