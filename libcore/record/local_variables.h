#pragma once

#include <Python.h>

#include <cstdint>

#include "python/bytecode.h"

namespace penstock::record {

/// What an instruction does with a local variable: `loads` pushes its value last of all, `other` is
/// any other way to read it.
enum class Access : std::uint8_t { none, stores, loads, other };

/// What is done last with the variable in `slot` by an instruction.
Access access_of(const python::Instruction& one, int slot);

/// True for code with a name by which it may see the variables of a frame without naming them.
bool may_see_variables(PyCodeObject* code);

/// Whether some way from the instruction at `unit` on, exceptions' handlers among them, reads what
/// the variable in `slot` holds there. Takes a time linear in the code.
bool is_read_behind(const python::Bytecode& code, int unit, int slot);

}  // namespace penstock::record
