// What a guard program holds: numbers, which it computes with, and the values of sources and
// inputs.
#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "guards/apart_tensors.h"
#include "guards/guard_program.h"
#include "python/literal.h"
#include "python/type_lookup.h"
#include "torch/tensor_facts.h"

namespace penstock::guards {

std::optional<PythonNumber> GuardProgram::number_of(std::uint32_t slot) const {
  if (is_number_[slot] != 0) return numbers_[slot];
  return view_of_[slot] >= 0 ? torch::element_of(views_[view_of_[slot]])
                             : python::plain_number(slots_[slot]);
}

bool GuardProgram::integer_of(std::uint32_t slot, std::int64_t& value) const {
  const auto number = number_of(slot);
  if (!number || number->is_float) return false;
  value = number->integer;
  return true;
}

/// False where Python would raise or leave 64 bits: then the program computes for itself.
bool GuardProgram::compute_number(const GuardStep& step) {
  const auto operation = static_cast<NumberOp>(step.index);
  const auto left = number_of(step.base);
  if (!left) return false;
  PythonNumber right;
  if (facts(operation).takes_two()) {
    const auto second = number_of(static_cast<std::uint32_t>(step.number));
    if (!second) return false;
    right = *second;
  }
  const auto result = compute(operation, *left, right);
  if (result) numbers_[step.slot] = *result;
  return result.has_value();
}

bool GuardProgram::check_number(const GuardStep& step) const {
  const auto number = number_of(step.slot);
  if (!number) return false;
  switch (step.op) {
    case GuardOp::check_real:
      return number->is_float && std::bit_cast<std::int64_t>(number->real) == step.number;
    case GuardOp::check_nonzero: {
      const bool truth = number->is_float ? number->real != 0 : number->integer != 0;
      return truth == (step.number != 0);
    }
    case GuardOp::check_is_float:
      return number->is_float == (step.number != 0);
    default:
      return true;
  }
}

InputValue GuardProgram::input(std::size_t index) const {
  InputValue value;
  const SourceId source = interface_.inputs[index].source;
  if (source == kNoSource) return value;
  if (is_number_[source] != 0) {
    value.integer = numbers_[source].integer;
    value.real = numbers_[source].as_double();
    return value;
  }
  value.object = slots_[source];
  if (view_of_[source] >= 0) {
    value.view = &views_[view_of_[source]];
  } else if (PyFloat_Check(value.object)) {
    value.real = PyFloat_AS_DOUBLE(value.object);
  } else if (PyLong_Check(value.object)) {
    int overflow = 0;
    value.integer = PyLong_AsLongLongAndOverflow(value.object, &overflow);
    value.real = static_cast<double>(value.integer);
  }
  return value;
}

void GuardProgram::take_inputs(std::span<InputValue> values, std::vector<std::uint32_t>& changed) {
  const auto take = [&](std::uint32_t index) {
    values[index] = input(index);
    changed.push_back(index);
  };
  std::ranges::for_each(number_inputs_, take);
  for (GuardTree& tree : trees_) {
    if (std::exchange(tree.moved, false)) std::ranges::for_each(tree.inputs, take);
  }
}

python::PyRef GuardProgram::value(SourceId source) const {
  return is_number_[source] == 0 ? python::PyRef::borrow(slots_[source])
                                 : python::object_of(numbers_[source]);
}

bool GuardProgram::check_version(GuardStep& step, PyTypeObject* type) {
  if (type->tp_version_tag == static_cast<std::uint32_t>(step.number)) return true;
  if (step.index < 0 || !classes_[static_cast<std::size_t>(step.index)].are_of(type)) return false;
  step.number = python::version_of(type);
  return step.number != 0;
}

namespace {

/// Where a tensor lies, from its first element to behind its last one.
ApartTensor place_of(const torch::TensorView& view) {
  std::int64_t last = 0;
  bool empty = false;
  for (std::size_t i = 0; i < view.sizes.size(); ++i) {
    empty = empty || view.sizes[i] == 0;
    last += (view.sizes[i] - 1) * view.strides[i];
  }
  const auto dtype = dtype_from_torch(view.dtype);
  const std::int64_t size = dtype ? std::int64_t{facts(*dtype).size} : std::int64_t{16};
  const auto* begin = static_cast<const char*>(view.data);
  return {.begin = begin,
          .end = begin == nullptr || empty ? begin : begin + (last + 1) * size,
          .memory = view.storage};
}

}  // namespace

/// Of two tensors, or of any that is written and another one.
bool GuardProgram::overlaps(const GuardStep& step) const {
  if (step.op == GuardOp::check_apart) return overlapping_input().has_value();
  return overlap(place_of(views_[view_of_[step.slot]]), place_of(views_[view_of_[step.base]]));
}

/// The guard of a written input that shares memory with another one.
std::optional<std::int32_t> GuardProgram::overlapping_input() const {
  std::vector<ApartTensor> tensors;
  tensors.reserve(apart_.size());
  for (const ApartInput& input : apart_) {
    ApartTensor& tensor = tensors.emplace_back(place_of(views_[view_of_[input.source]]));
    tensor.storage = input.storage;
    tensor.written = input.guard >= 0;
  }
  const auto found = find_overlap(tensors);
  return found ? std::optional(apart_[*found].guard) : std::nullopt;
}

}  // namespace penstock::guards
