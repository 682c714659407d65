#pragma once

#include <Python.h>

#include "python/object.h"

namespace penstock::guards {

/// What calling the function gives, null if it raised. `arguments`, where there are any: a tuple of
/// their values, those given by name behind the others and what is no plain value as a weak
/// reference, and a tuple of the names. One of functools.lru_cache is called only where its cache
/// has the result: it would run code of the program. Of a context variable: what it holds;
/// of a tensor: the answer where `arguments` is a question about its elements.
python::PyRef call_again(PyObject* function, PyObject* arguments);

}  // namespace penstock::guards
