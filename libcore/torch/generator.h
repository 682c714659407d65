#pragma once

#include "python/object.h"

namespace penstock::torch {

/// torch.default_generator, which random numbers on the CPU are drawn from; null (no error set):
/// torch is not imported. Needs the GIL.
python::PyRef default_generator();
/// Its state, as get_state() gives it; null likewise.
python::PyRef generator_state(const python::PyRef& generator);
/// Puts such a state back. False (no error set) where torch refuses it.
bool set_generator_state(const python::PyRef& generator, PyObject* state);

}  // namespace penstock::torch
