// The state of torch.autocast. A segment is cast in one way from its start to its end
// (objects/torch_casts.h): what it asks is asked again by guards, and what it sets is set already.

#include <optional>
#include <string>

#include "python/literal.h"
#include "record/objects/builtin_call.h"
#include "record/objects/call.h"
#include "record/results.h"

namespace penstock::record {

using python::PyRef;

namespace {

/// What the setter `name` sets is told by this function of torch's.
std::string getter_of(std::string_view name) {
  const std::string state(name.substr(name.find('_') + 1));
  return (state.ends_with("dtype") ? "get_" : "is_") + state;
}

/// Where the function that is called stands in torch, there is the other one.
std::optional<SourceId> beside(Walk& walk, Operand function, const std::string& name) {
  const SourceId source = function.shadow.source();
  if (source == kNoSource) return std::nullopt;
  const SourceStep step = walk.recorder.graph().interface.sources[source];
  if (step.kind != SourceKind::attribute) return std::nullopt;
  return walk.recorder.guards().source(SourceKind::attribute, step.base, name);
}

/// Guards what the function at `source` answers with these arguments, which are literals.
bool guard_answer(Walk& walk, SourceId source, PyObject* function,
                  std::span<const Operand> arguments, PyObject* answer) {
  auto literal = python::is_immutable_literal(answer) ? python::literal_of(answer) : std::nullopt;
  if (!literal) return false;
  PyRef values = PyRef::steal(PyTuple_New(static_cast<Py_ssize_t>(arguments.size())));
  const PyRef names = PyRef::steal(PyTuple_New(0));
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!python::is_immutable_literal(arguments[i].object)) return false;
    PyTuple_SET_ITEM(values.get(), static_cast<Py_ssize_t>(i),
                     PyRef::borrow(arguments[i].object).release());
  }
  PyRef asked = PyRef::steal(PyTuple_Pack(2, values.get(), names.get()));
  asked = walk.facts.asked_again(function, std::move(asked));
  walk.facts.add_guard(GuardKind::global_state, source, std::move(*literal), asked.get());
  return true;
}

/// A question about autocast: what it gives is known as long as it gives the same.
bool autocast_state(BuiltinCall& c) {
  const SourceId source = c.function.shadow.source();
  if (source == kNoSource || !consume_all(c.walk, c.positional, c.keywords) || !c.keywords.empty())
    return refuse(c);
  const PyRef held = PyRef::borrow(c.function.object);
  c.frame.finish = [pops = c.pops, source, held, given = c.positional](Walk& walk, FrameShadow& f) {
    f.pop(pops);
    const bool known = guard_answer(walk, source, held.get(), given, f.object());
    f.push(known ? Shadow::constant() : Shadow{});
  };
  return true;
}

/// A setter: of what is set already.
bool autocast_setter(BuiltinCall& c) {
  if (c.positional.empty() || !c.keywords.empty() || !consume_all(c.walk, c.positional, c.keywords))
    return refuse(c);
  const std::string name = getter_of(c.name);
  const auto source = beside(c.walk, c.function, name);
  PyObject* torch = PyDict_GetItemString(PyImport_GetModuleDict(), "torch");
  const PyRef getter =
      torch == nullptr ? PyRef() : PyRef::steal(PyObject_GetAttrString(torch, name.c_str()));
  const std::span<const Operand> asked(c.positional.data(), c.positional.size() - 1);
  const PyRef of = PyRef::steal(PyTuple_New(static_cast<Py_ssize_t>(asked.size())));
  for (std::size_t i = 0; i < asked.size(); ++i)
    PyTuple_SET_ITEM(of.get(), static_cast<Py_ssize_t>(i),
                     PyRef::borrow(asked[i].object).release());
  const PyRef now = getter ? PyRef::steal(PyObject_CallObject(getter.get(), of.get())) : PyRef();
  const int same =
      now ? PyObject_RichCompareBool(now.get(), c.positional.back().object, Py_EQ) : -1;
  if (same < 0) PyErr_Clear();
  if (same != 1 || !source || !guard_answer(c.walk, *source, getter.get(), asked, now.get()))
    return refuse(c);
  return gives_constant(c.frame, c.pops);
}

/// How deep regions are nested tells torch when to drop the weights that it has converted: an entry
/// leaves it as it was.
bool autocast_nesting(BuiltinCall& c) {
  const bool begins = c.name == "autocast_increment_nesting";
  if (!c.positional.empty() || !c.keywords.empty() ||
      !c.walk.context.nests_autocast(begins ? 1 : -1))
    return refuse(c);
  return gives_constant(c.frame, c.pops);
}

/// Where nothing is cast, nothing is there to drop.
bool autocast_cleared(BuiltinCall& c) {
  if (c.walk.context.autocast()) return refuse(c);
  return gives_constant(c.frame, c.pops);
}

constexpr FunctionModel kModels[] = {
    {"autocast_cleared", autocast_cleared},
    {"autocast_nesting", autocast_nesting},
    {"autocast_state", autocast_state},
    {"autocast_setter", autocast_setter},
};

}  // namespace

std::span<const FunctionModel> autocast_models() {
  return kModels;
}

}  // namespace penstock::record
