#pragma once

// Exceptions that a segment makes, and what it asks those that it catches (exception.cpp).

#include <optional>
#include <utility>
#include <vector>

#include "record/walk.h"

namespace penstock::record {

/// A call of a class of exceptions; nothing where `type` is none, or makes its instances in a way
/// of its own.
std::optional<bool> call_exception(Walk& walk, FrameShadow& frame, Operand type,
                                   const std::vector<Operand>& positional,
                                   const std::vector<std::pair<PyObject*, Operand>>& keywords,
                                   int pops);
/// True for a class whose instances keep the arguments that they were made of, and no more.
bool keeps_arguments(PyTypeObject* type);
/// Notes what is in `args` of a new exception, and what follows from it.
void know_arguments(Walk& walk, PyObject* exception, std::vector<Shadow> arguments);
/// What is known of a caught exception.
Shadow caught_exception(Walk& walk, PyObject* exception);
/// A member of C of an exception whose shadow does not hold it.
std::optional<Shadow> exception_member(Walk& walk, Operand exception, PyObject* name);
/// True where str() of the exception follows from its arguments, which guards determine then;
/// false (with the reason) where it does not.
bool consume_message(Walk& walk, Operand exception);

}  // namespace penstock::record
