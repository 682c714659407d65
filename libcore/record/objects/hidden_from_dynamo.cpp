// What torch hides from Dynamo: functions of its own (zero_grad of optimizers, checkpoint) in a
// function of Python that has Dynamo look away while it calls them. Nothing of Dynamo runs here, so
// that what is hidden is called in its place. Where the program asks for torch.compile it stays a
// break, as it is to Dynamo.

#include "record/objects/call.h"
#include "record/objects/checkpoint.h"
#include "record/polyfills.h"
#include "torch/compile_region.h"

namespace penstock::record {

std::optional<bool> model_hidden_from_dynamo(Walk& walk, FrameShadow& f, Operand function,
                                             const std::vector<Operand>& positional,
                                             const Keywords& keywords, int pops) {
  if (const auto done = model_checkpoint(walk, f, function, positional, keywords, pops))
    return done;
  if (torch::in_compiled_region() || walk.context.for_backend()) return std::nullopt;
  const python::PyRef hidden =
      python::PyRef::steal(PyObject_GetAttrString(function.object, "__wrapped__"));
  PyErr_Clear();
  if (!hidden || !is_plain_function(hidden.get())) return std::nullopt;
  // All of them have the same code.
  if (!walk.facts.consume_identity(function)) return false;
  return call_in_place_of(walk, f, function, hidden.get(), positional, keywords, pops);
}

}  // namespace penstock::record
