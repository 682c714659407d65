#pragma once

// Rules of calls (call.cpp, types.cpp, builtins.cpp, module.cpp, constant_call.cpp, copying.cpp,
// context_variable.cpp).

#include "record/walk.h"

namespace penstock::record {

using Keywords = std::vector<std::pair<PyObject*, Operand>>;

/// ContextVar.set, reset and get.
bool set_context(FrameShadow& frame, Operand variable, Operand value, int pops);
bool reset_context(Walk& walk, FrameShadow& frame, Operand variable, Operand token, int pops);
bool get_context(Walk& walk, FrameShadow& frame, Operand variable, int pops);
/// A call of any callable.
bool call(Walk& walk, FrameShadow& frame, Operand callable, std::vector<Operand> positional,
          Keywords keywords, int pops);
bool call_function(Walk& walk, FrameShadow& frame, Operand function,
                   std::vector<Operand> positional, Keywords keywords, int pops);
bool call_type(Walk& walk, FrameShadow& frame, Operand type, std::vector<Operand> positional,
               Keywords keywords, int pops);
bool call_builtin(Walk& walk, FrameShadow& frame, Operand function, std::vector<Operand> positional,
                  Keywords keywords, int pops);
bool bind_self(Walk& walk, Operand function, std::vector<Operand>& positional);
/// Runs a method that the type's slot finds; false without a reason when the type has none in
/// Python.
bool call_special(Walk& walk, FrameShadow& frame, Operand self, const char* name,
                  std::vector<Operand> arguments, int pops, bool& known);
/// callable(*generator), which lies at `arguments` below the top: the resumes are followed, then
/// the call.
bool call_unpacking(Walk& walk, FrameShadow& frame, Operand callable, int arguments, int pops);
bool call_weak_reference(Walk& walk, FrameShadow& frame, Operand reference, int pops);
Operand method_part(Walk& walk, Operand method, int part);
bool consume_function(Walk& walk, Operand function);
/// Guards which function or type of C it is. A method of a class is made anew by each look: it is
/// known by its class.
bool consume_c_function(Walk& walk, Operand function);
bool consume_all(Walk& walk, const std::vector<Operand>& positional, const Keywords& keywords);
bool call_partial(Walk& walk, FrameShadow& frame, Operand partial, std::vector<Operand> positional,
                  Keywords keywords, int pops);
bool call_class(Walk& walk, FrameShadow& frame, Operand type, std::vector<Operand> positional,
                Keywords keywords, int pops);
/// What type.__call__ does: the constructors of the class make an instance.
bool call_constructors(Walk& walk, FrameShadow& frame, Operand type,
                       std::vector<Operand> positional, Keywords keywords, int pops);
bool call_super(Walk& walk, FrameShadow& frame, const std::vector<Operand>& positional, int pops);
bool slice_module_list(Walk& walk, FrameShadow& frame, Operand function, Operand list,
                       Operand slice, int pops);
bool call_signature(Walk& walk, FrameShadow& frame, Operand function,
                    const std::vector<Operand>& positional, int pops);
/// Functions written in Python whose effect ends a segment.
std::optional<bool> call_compile_api(Walk& walk, FrameShadow& frame, policy::Served served,
                                     const std::vector<Operand>& positional, int pops);
/// Why no instance of the class is made in a segment; nothing: it may be.
std::optional<std::string> why_not_made(Walk& walk, PyTypeObject* type);
std::optional<Shadow> made_of_constants(Walk& walk, PyObject* object);
std::optional<bool> call_assumed(Walk& walk, FrameShadow& frame, Operand function,
                                 const std::vector<Operand>& positional, int pops);
bool call_once(Walk& walk, FrameShadow& frame, Operand function,
               const std::vector<Operand>& positional, const Keywords& keywords, int pops);
std::optional<bool> model_signature(Walk& walk, FrameShadow& frame, Operand function,
                                    const std::vector<Operand>& positional,
                                    const Keywords& keywords, int pops);
/// A function that has Dynamo look away while it calls another one.
std::optional<bool> model_hidden_from_dynamo(Walk& walk, FrameShadow& frame, Operand function,
                                             const std::vector<Operand>& positional,
                                             const Keywords& keywords, int pops);
/// functools.update_wrapper, of a function that the segment made (objects/wrapper.cpp).
std::optional<bool> model_update_wrapper(Walk& walk, FrameShadow& frame, Operand function,
                                         const std::vector<Operand>& positional,
                                         const Keywords& keywords, int pops);
std::optional<bool> model_copy(Walk& walk, FrameShadow& frame, Operand function,
                               const std::vector<Operand>& positional, const Keywords& keywords,
                               int pops);
std::optional<bool> model_module_list_item(Walk& walk, FrameShadow& frame, Operand function,
                                           const std::vector<Operand>& positional,
                                           const Keywords& keywords, int pops);
std::optional<bool> call_known_python(Walk& walk, FrameShadow& frame, Operand function,
                                      const std::vector<Operand>& positional,
                                      const Keywords& keywords, int pops);
std::optional<bool> model_check(Walk& walk, FrameShadow& frame, Operand function,
                                const std::vector<Operand>& positional, const Keywords& keywords,
                                int pops);
/// A function of functools.lru_cache: the guard asks it again, with the same arguments.
bool call_cached(Walk& walk, FrameShadow& frame, Operand function,
                 const std::vector<Operand>& positional, const Keywords& keywords, int pops);
/// copy.copy and copy.deepcopy (objects/copying.cpp)
bool call_copy(Walk& walk, FrameShadow& frame, Operand function, bool deep, Operand from, int pops);

}  // namespace penstock::record
