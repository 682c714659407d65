// Context variables. One that is still set where a segment ends is set again behind it: that gives
// the token which the program holds.

#include "python/literal.h"
#include "record/objects/call.h"
#include "record/results.h"
#include "record/walk.h"

namespace penstock::record {

using python::PyRef;

bool set_context(FrameShadow& f, Operand variable, Operand value, int pops) {
  const RaisePlace place{f.frame->code(), f.instruction->offset};
  f.finish = [pops, place, held = PyRef::borrow(variable.object), value = value.shadow,
              object = PyRef::borrow(value.object)](Walk& walk, FrameShadow& f) {
    f.pop(pops);
    walk.context.variables().push_back({held, PyRef::borrow(f.object()), value, object, place});
    f.push(walk.objects.fresh(f.object()));
  };
  return true;
}

bool reset_context(Walk& walk, FrameShadow& f, Operand variable, Operand token, int pops) {
  const std::vector<OpenContext>& open = walk.context.variables();
  const bool last = !open.empty() && open.back().token.get() == token.object &&
                    open.back().variable.get() == variable.object;
  if (!last)
    return walk.verdict.broke(Code::PS0306, "a context variable that was set before is reset");
  f.finish = [pops](Walk& walk, FrameShadow& f) {
    walk.context.variables().pop_back();
    f.pop(pops);
    f.push(Shadow::constant());
  };
  return true;
}

bool get_context(Walk& walk, FrameShadow& f, Operand variable, int pops) {
  const std::vector<OpenContext>& open = walk.context.variables();
  for (auto at = open.rbegin(); at != open.rend(); ++at) {
    if (at->variable.get() == variable.object) return gives(f, pops, at->value);
  }
  // The guard asks again.
  PyObject* value = nullptr;
  const bool asked = PyContextVar_Get(variable.object, nullptr, &value) == 0 && value != nullptr;
  if (!asked) PyErr_Clear();
  PyRef held = PyRef::steal(value);
  auto literal = asked ? python::literal_of(value) : std::nullopt;
  const SourceId source = variable.shadow.source();
  if (!literal || source == kNoSource) {
    return walk.verdict.broke(
        Code::PS0306, "what a context variable holds cannot be checked before the segment runs");
  }
  walk.facts.add_guard(GuardKind::global_state, source, std::move(*literal));
  return gives_constant(f, pops);
}

}  // namespace penstock::record
