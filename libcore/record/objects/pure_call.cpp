// What builtins of plain values give: values that guards determine, objects that the same call
// gives again, and what a method in Python gives in their place.

#include <algorithm>

#include "python/literal.h"
#include "python/type_lookup.h"
#include "record/objects/builtin_call.h"
#include "record/objects/call.h"

namespace penstock::record {

using python::PyRef;

namespace {

/// True for what a method of C code gives whose results have no contents that could change.
bool is_made_again(PyObject* object) {
  return std::string_view(Py_TYPE(object)->tp_name) == "re.Match";
}

/// The method that the call is of, as its type has it, and what it was given.
std::unique_ptr<PureCall> pure_call(const BuiltinCall& c) {
  if (c.positional.empty() || !c.keywords.empty()) return nullptr;
  PyObject* method =
      python::type_lookup(Py_TYPE(c.positional[0].object), std::string(c.name).c_str());
  if (method == nullptr) return nullptr;
  auto call = std::make_unique<PureCall>();
  call->function = PyRef::borrow(method);
  for (const Operand& one : c.positional)
    call->arguments.emplace_back(one.shadow, PyRef::borrow(one.object));
  return call;
}

}  // namespace

bool gives_value(BuiltinCall& c) {
  const std::shared_ptr<PureCall> call = pure_call(c);
  c.frame.finish = [pops = c.pops, call](Walk& walk, FrameShadow& f) {
    f.pop(pops);
    if (call != nullptr && is_made_again(f.object())) {
      f.push(walk.objects.fresh(f.object()));
      walk.objects.find(f.object())->made_by = std::make_unique<PureCall>(*call);
      return;
    }
    f.push(made_of_constants(walk, f.object()).value_or(Shadow::constant()));
  };
  return true;
}

std::optional<bool> method_of_builtin(BuiltinCall& c) {
  constexpr std::string_view kNames[] = {"repr", "abs", "round", "divmod", "format"};
  const bool known_builtin =
      c.owner == "builtins" && std::ranges::find(kNames, c.name) != std::end(kNames);
  if (!known_builtin || !c.keywords.empty() || c.positional.empty()) return std::nullopt;
  const Operand self = c.positional[0];
  // Of what is known by its identity the result is a constant.
  PyObject* meta = reinterpret_cast<PyObject*>(Py_TYPE(Py_TYPE(self.object)));
  if (meta != reinterpret_cast<PyObject*>(&PyType_Type) || c.walk.is_tensor(self.object))
    return std::nullopt;
  bool known = false;
  const std::string special = "__" + std::string(c.name) + "__";
  const std::vector<Operand> rest(c.positional.begin() + 1, c.positional.end());
  if (call_special(c.walk, c.frame, self, special.c_str(), rest, c.pops, known)) return true;
  return known ? std::optional(false) : std::nullopt;
}

}  // namespace penstock::record
