#pragma once

#include <Python.h>

namespace penstock::record {

/// How resume_function() is to go over a container.
namespace resume {
inline constexpr const char* kItems =
    "iter";                       ///< as iter() does; of a dict: "keys", "values" or "items"
inline constexpr int kView = -1;  ///< in the place of the steps: the dict's view itself
}  // namespace resume

/// The C function that gives, of a container, a way to go over it and a number of steps, an
/// iterator of the container that has made so many steps: of the same type as one that the program
/// made and advanced, and over the container itself, so that it sees what the program changes in
/// it. Borrowed, there for good; null with a Python error set when there is no memory.
PyObject* resume_function();

}  // namespace penstock::record
