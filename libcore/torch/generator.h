#pragma once

#include "python/object.h"

namespace penstock::torch {

/// What random numbers are drawn from: torch.default_generator on the CPU (`gpu` < 0), else that of
/// torch.cuda.default_generators; null (no error set): torch is not imported, or has not used the
/// GPU. Needs the GIL.
python::PyRef default_generator(int gpu = -1);
/// Its state, as get_state() gives it; null likewise.
python::PyRef generator_state(const python::PyRef& generator);
/// Puts such a state back. False (no error set) where torch refuses it.
bool set_generator_state(const python::PyRef& generator, PyObject* state);

}  // namespace penstock::torch
