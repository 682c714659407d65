#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "record/frame_shadow.h"

namespace penstock::record {

/// True for the globals of polyfills_source.py: code of ours that stands for functions of C.
bool is_polyfill(PyObject* globals);

/// The outermost call under way that runs such code: nothing can go on inside it, for another call
/// runs C code.
std::optional<RaisePlace> open_polyfill(const FrameShadow* innermost);

/// Follows a call of a function or iterator of C (itertools.chain, functools.reduce, operator.add)
/// as a call of the Python function that does the same: the instruction calls that one. What it
/// gives differs in its type where that is an iterator's. Nothing where there is none, or the
/// callable is not the instruction's own.
std::optional<bool> call_polyfill(Walk& walk, FrameShadow& frame, Operand callable,
                                  std::vector<Operand> positional,
                                  std::vector<std::pair<PyObject*, Operand>> keywords, int pops);

/// The same for an object of C that is called: a function of Python is made that does the same.
/// Nothing where there is none.
std::optional<bool> call_python_form(Walk& walk, FrameShadow& frame, Operand callable,
                                     const std::vector<Operand>& positional, int pops);
/// The same for a function of Python that calls what is not followed: `name` is that of the
/// function of ours that stands for it.
std::optional<bool> call_stand_in(Walk& walk, FrameShadow& frame, Operand function,
                                  const char* name, std::vector<Operand> positional,
                                  std::vector<std::pair<PyObject*, Operand>> keywords, int pops);
/// The same for a function of Python, whatever code it has. Nothing where it is null, or the
/// original is not the instruction's own.
std::optional<bool> call_in_place_of(Walk& walk, FrameShadow& frame, Operand original,
                                     PyObject* function, std::vector<Operand> positional,
                                     std::vector<std::pair<PyObject*, Operand>> keywords, int pops);
/// The function of ours with that name, or null.
PyObject* polyfill(const char* name);
/// Puts it in the place of the instruction's callable; false: that stands elsewhere.
bool calls_instead(FrameShadow& frame, Operand function, const char* name);
/// Sets the error by which a stand-in learns that the original is to be called.
void set_abandoned();
/// The same of a function of torch's that is written in Python, by means that cannot be followed.
std::optional<bool> model_python_form(Walk& walk, FrameShadow& frame, Operand function,
                                      const std::vector<Operand>& positional,
                                      const std::vector<std::pair<PyObject*, Operand>>& keywords,
                                      int pops);
/// Functions of polyfills_source.py: from the call of as_grid to that of of_grid the tensors that
/// the first got are numbers of a grid (record/grid_values.h).
std::optional<bool> model_as_grid(Walk& walk, FrameShadow& frame, Operand function,
                                  const std::vector<Operand>& positional,
                                  const std::vector<std::pair<PyObject*, Operand>>& keywords,
                                  int pops);
std::optional<bool> model_of_grid(Walk& walk, FrameShadow& frame, Operand function,
                                  const std::vector<Operand>& positional,
                                  const std::vector<std::pair<PyObject*, Operand>>& keywords,
                                  int pops);

/// The Python code behind it: polyfills_source.py.
extern const char kPolyfillsSource[];

}  // namespace penstock::record
