#pragma once

#include <Python.h>

#include <cstdint>
#include <vector>

#include "guards/size_program.h"
#include "ir/guard.h"

namespace penstock::guards {

/// What a step of a guard program does. Loads put what a source holds into a slot; checks look at a
/// slot; the rest binds symbols and compares sizes.
enum class GuardOp : std::uint8_t {
  // loads: slot = from the frame, or from what `base` holds
  load_local,
  load_free,     ///< a free variable before the prologue ran: in the function's closure
  load_content,  ///< content of the cell in localsplus[index]
  load_stack,
  load_global,
  load_builtin,
  load_module,
  load_attribute,  ///< table attributes
  load_instance,
  load_dict_item,
  load_tensor_item,  ///< what the dict has for the tensor in slot `number`
  load_item,
  load_type,
  load_code,
  load_defaults,
  load_kwdefaults,
  load_closure_item,
  load_self,
  load_function,
  load_size,  ///< numbers[slot] = size `index` of the tensor in `base`
  load_stride,
  load_offset,
  load_length,
  compute_number,  ///< numbers[slot] = NumberOp `index` of the numbers in `base` and slot `number`
  read_tensor,     ///< views[index] = the tensor in `slot`
  // checks of `slot`
  check_identity,  ///< with `object`, or what the weak reference `object` leads to
  check_not_none,
  check_same,  ///< with slot `base`
  check_distinct,
  check_type,
  check_literal,   ///< table literals
  check_call,      ///< literals[index] equals what calling the C function in `slot` gives, with the
                   ///< arguments `object` where there are any
  check_richly,    ///< equals `object` by its (C) type's comparison: torch.device
  check_number,    ///< an integer source equals `number`
  check_real,      ///< a number is the float whose bits are `number`
  check_nonzero,   ///< the truth of a number is `number`
  check_is_float,  ///< a number is a float (`number` 1) or an int (0)
  check_is_plain,  ///< an int of 64 bits or a float
  check_truth,
  check_length,
  check_keys,
  check_has_key,
  check_lacks_key,
  check_has_attribute,
  check_lacks_attribute,
  check_type_version,
  check_dict_version,
  check_tensor,  ///< table tensors
  check_no_overlap,
  check_apart,  ///< table apart: all of them
  check_grad_mode,
  check_is_compiling,
  // sizes
  bind_size,         ///< table sizes: the symbol gets the size
  check_size,        ///< table sizes: the size equals the expression
  bind_number,       ///< table sizes: the symbol gets the integer in `slot`
  check_expression,  ///< table sizes: the integer in `slot` equals the expression
  check_condition,   ///< table conditions
};

/// One step. Borrowed pointers belong to the program.
struct GuardStep {
  GuardOp op = GuardOp::load_local;
  bool weak = false;       ///< `object` is a weak reference
  std::uint32_t hint = 0;  ///< where the key was found the last time (python::DictHint)
  std::uint32_t slot = 0;
  std::uint32_t base = 0;   ///< slot of the base or of the other side
  std::int32_t guard = -1;  ///< position in Interface::guards; -1: a load that a guard needs
  std::int32_t index = 0;   ///< position in the frame, a sequence or one of the tables
  PyObject* object = nullptr;
  std::int64_t number = 0;  ///< a key's hash, an expected number or version
};

/// check_type_version: the class at the source itself where that is what is known, else its type.
inline PyTypeObject* versioned_type(const GuardStep& step, PyObject* object) {
  return object == step.object ? reinterpret_cast<PyTypeObject*>(object) : Py_TYPE(object);
}

/// What a tensor must look like; symbolic dimensions are checked by steps of their own.
struct TensorCheck {
  std::int32_t dtype;
  std::int32_t device_type;
  std::int32_t device_index;
  bool requires_grad;
  bool fixed;  ///< all sizes and strides are numbers: compare them at once
  std::vector<std::int64_t> sizes, strides;
};

/// A size, stride, offset or integer against a symbol or an expression.
struct SizeCheck {
  enum class Part : std::uint8_t { size, stride, offset };
  std::int32_t view = -1;
  Part part = Part::size;
  std::int32_t dimension = 0;
  std::int32_t symbol = -1;                       ///< bind: its place
  std::int64_t minimum = 0, maximum = INT64_MAX;  ///< bind: the symbol's range
  SizeProgram expected;                           ///< check
};

struct ConditionCheck {
  SizeProgram left, right;
  Condition::Relation relation;
};

/// A tensor input, where written ones may share memory with no other.
struct ApartInput {
  SourceId source;
  std::int32_t guard = -1;    ///< that says so of this one; -1: it is not written
  std::int32_t storage = -1;  ///< as in its type
};

/// How an attribute is found on the type seen last, valid while the type's version stays.
struct AttributePath {
  enum class Kind : std::uint8_t {
    unresolved,
    missing,
    instance,  ///< the instance's own value, else `value`
    member,    ///< a slot at `offset`
    constant,  ///< `value`
    dict,      ///< __dict__: the instance's dict itself
    computed,  ///< by `getter`, a C function of a type that is not made in Python, or from the C
               ///< member `field`
    held,      ///< by `getter`, which gives an object that the base holds besides
  };
  PyTypeObject* type = nullptr;  ///< borrowed, compared only; for a class as base: that class
  std::uint32_t version = 0;
  Kind kind = Kind::unresolved;
  PyObject* value = nullptr;  ///< constant, instance: what the type has; borrowed from it
  Py_ssize_t offset = 0;      ///< member: where the pointer stands in the instance
  bool null_is_none = false;  ///< member: an unset slot reads as None
  const PyGetSetDef* getter = nullptr;
  PyMemberDef* field =
      nullptr;  ///< computed: a number or a text of C, of which each read makes an object
  PyObject* kept = nullptr;  ///< computed: the result, until the next one; owned by the program
};

}  // namespace penstock::guards
