#pragma once

#include <Python.h>

namespace penstock::python {

/// True for what operator.itemgetter, attrgetter or methodcaller made.
bool is_getter(PyObject* object);
/// True for one that was made of plain values alone.
bool is_getter_of_literals(PyObject* object);

}  // namespace penstock::python
