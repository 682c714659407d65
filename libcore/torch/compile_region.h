#pragma once

#include <Python.h>

namespace penstock::torch {

/// True while the current thread is inside a region that torch.compile made, and in no function in
/// it for which compilation is disabled: what torch.compiler.is_compiling() answers there. Guards
/// ask this instead of the Python function, for they must not run Python code.
bool in_compiled_region();

/// The program's function that compiles the graphs of the region around the current thread; null
/// where penstock does, and outside of regions. Borrowed: what stands around the region holds it.
PyObject* region_backend();

/// Set by the driver that conducts what stands around regions.
void set_in_compiled_region(bool inside, PyObject* backend);

/// True if functions of the program's can compile graphs: set once, by the driver that runs
/// entries.
bool runs_backends();
void set_runs_backends();

}  // namespace penstock::torch
