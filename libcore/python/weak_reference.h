#pragma once

#include <Python.h>

#include "python/object.h"

namespace penstock::python {

/// A weak reference of ours: weakref.getweakrefs() and getweakrefcount() do not tell of it, for the
/// program has not made it (torch.utils.swap_tensors refuses tensors that have any). To be read by
/// PyWeakref_GET_OBJECT. Null, with no Python error, for an object that takes none.
PyRef weak_reference(PyObject* object);

}  // namespace penstock::python
