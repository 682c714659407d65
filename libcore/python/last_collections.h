#pragma once

#include <Python.h>

#include "python/object.h"

// What imports made, at the end of the process.
//
// Problem. As it ends, CPython looks for garbage in all containers there are, three times, and
// takes apart all that libraries have made when they were imported, object by object: a tenth to a
// quarter of what a short program takes. Nothing shows of it but what finalisers do, and hardly any
// of those objects has one.
//
// Idea. Behind the program's last function (atexit) these objects join those that gc.freeze() took
// out of all collections. They are found without a look at any: each import's stand in a row in the
// oldest generation, between two markers, until a collection of everything has mixed them.
//
// What they keep alive is not finalised when modules are, or not at all. So this is done for what
// can be reached from the libraries' modules only (the rest is garbage of imports, the frames of
// caught errors above all, and those hold the program), and only where neither the program's module
// can be reached from there, nor anything that has a finaliser and that no import made, nor what
// the program watches by a weak reference with a callback, nor what a library's binding counts when
// the interpreter has ended. Standard streams are flushed in any case, and what imports made and
// Python code finalises is finalised here. What every module can be reached through is no way: sys
// and builtins outlive the collections, and sys.modules is emptied before.

namespace penstock::python {

/// The import of the module of that name made what stands between `first` and `last` in the oldest
/// generation.
void import_ended(PyInterpreterState* interpreter, PyRef name, PyRef first, PyRef last);

/// The interpreter is about to end, and nothing of the program's runs any more but finalisers.
/// False: the last collections look at everything.
bool spare_imports(PyThreadState* thread);

}  // namespace penstock::python
