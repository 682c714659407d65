// The children of a torch.nn.Module, which its __getattr__ finds.

#include "python/literal.h"
#include "record/objects/attribute.h"
#include "record/walk.h"

namespace penstock::record {

using python::PyRef;

std::optional<Shadow> module_child(Walk& walk, Operand self, PyObject* name, bool& present) {
  const ObjectId own = walk.objects.instance_dict(self);
  if (own == kNoSource) return std::nullopt;
  PyObject* attributes = walk.objects.object(own).object.get();
  for (const char* table : {"_parameters", "_buffers", "_modules"}) {
    PyRef key = PyRef::steal(PyUnicode_InternFromString(table));
    PyObject* dict = PyDict_GetItemWithError(attributes, key.get());
    if (dict == nullptr || !PyDict_Check(dict)) return std::nullopt;
    const Operand operand{walk.objects.dict_value(own, key.get(), dict), dict};
    PyObject* value = PyDict_GetItemWithError(dict, name);
    const Shadow found = walk.objects.dict_value(walk.objects.contents(operand), name, value);
    present = value != nullptr;
    if (present) return found;
  }
  return Shadow::null();
}

}  // namespace penstock::record
