// Numbers of the program that change from call to call. Where one is met, it is not taken for a
// constant: torch gets it as an input of the graph, arithmetic on it gives a number that is
// computed anew before each run (SourceKind::computed), and a comparison guards its outcome.
// Wherever else its value counts, it is guarded by value as any other.

#include <algorithm>
#include <bit>
#include <cmath>

#include "ir/float_format.h"
#include "python/literal.h"
#include "record/objects/number.h"
#include "record/objects/torch_call.h"
#include "record/results.h"
#include "record/walk.h"
#include "torch/tensor_facts.h"

namespace penstock::record {

using python::plain_number;
using python::PyRef;

namespace {

constexpr int kMostOperands = 64;  // of one computed number: its text must stay readable

bool is_size(SourceKind kind) {
  return kind == SourceKind::size || kind == SourceKind::stride || kind == SourceKind::offset;
}

bool same_number(PythonNumber a, PythonNumber b) {
  if (a.is_float != b.is_float) return false;
  if (std::isnan(a.real) && std::isnan(b.real)) return true;
  return a.is_float ? std::bit_cast<std::uint64_t>(a.real) == std::bit_cast<std::uint64_t>(b.real)
                    : a.integer == b.integer;
}

}  // namespace

bool Sizes::is_computed(Operand operand) const {
  return operand.shadow.is(Shadow::Kind::sourced) &&
         walk_.recorder.guards().source_kind(operand.shadow.index) == SourceKind::computed;
}

bool Sizes::is_followed(Operand number) {
  if (!number.shadow.is(Shadow::Kind::sourced)) return false;
  if (is_element(number.shadow.index)) return plain_number(number.object).has_value();
  if (changed_ == nullptr && changing_.empty() && !walk_.recorder.sizes().any()) return false;
  if (!plain_number(number.object)) return false;
  const SourceKind kind = walk_.recorder.guards().source_kind(number.shadow.index);
  if (kind == SourceKind::computed) return true;
  // The sizes of a tensor are guarded with it, but for symbols.
  if (kind == SourceKind::size) {
    const SourceStep& step = walk_.recorder.graph().interface.sources[number.shadow.index];
    const auto input = walk_.recorder.input_at(step.base);
    return input && !walk_.recorder.value(*input)
                         .type.sizes[static_cast<std::size_t>(step.index)]
                         .is_constant();
  }
  if (is_size(kind)) return false;
  const SourceStep& own = walk_.recorder.graph().interface.sources[number.shadow.index];
  return changing_.contains(number.shadow.index) ||
         (kind == SourceKind::item && changing_.contains(own.base)) ||
         (changed_ != nullptr &&
          changed_->contains(walk_.recorder.guards().text(number.shadow.index)));
}

bool Sizes::is_element(SourceId number) const {
  return of_elements_.contains(number) || walk_.recorder.guards().is_decided(number);
}

int Sizes::operands_of(SourceId number) const {
  const auto found = operand_counts_.find(number);
  return found == operand_counts_.end() ? 1 : found->second;
}

/// The source of an operand; kNoSource (with the reason set) when its value cannot be known.
SourceId Sizes::number_source(Operand number) {
  if (!is_followed(number)) {
    if (!walk_.facts.consume(number)) return kNoSource;
    SourceStep plain{SourceKind::number, kNoSource, {}, 0, *python::literal_of(number.object)};
    return walk_.recorder.guards().source(std::move(plain));
  }
  const SourceKind kind = walk_.recorder.guards().source_kind(number.shadow.index);
  const bool is_int = kind == SourceKind::computed || kind == SourceKind::length || is_size(kind);
  if (!is_int) walk_.facts.consume_type(number);
  if (PyLong_CheckExact(number.object) && kind != SourceKind::computed && !is_size(kind)) {
    follow(number.shadow.index, number.object);
  }
  return number.shadow.index;
}

SourceId Sizes::computed(NumberOp op, SourceId left, SourceId right) {
  SourceStep step{SourceKind::computed, left, {}, static_cast<std::int64_t>(op), {}, right};
  const SourceId id = walk_.recorder.guards().source(std::move(step));
  operand_counts_[id] = operands_of(left) + (right == kNoSource ? 0 : operands_of(right));
  if (is_element(left) || is_element(right)) of_elements_.insert(id);
  return id;
}

SourceId Sizes::element(SourceId tensor) {
  const SourceId id = computed(NumberOp::to_int, tensor, kNoSource);
  of_elements_.insert(id);
  return id;
}

std::optional<bool> element_number(Walk& walk, FrameShadow& f, Operand tensor, int pops) {
  const bool old = tensor.shadow.is(Shadow::Kind::sourced) &&
                   walk.recorder.bridge().is_plain_tensor(tensor.object);
  torch::TensorView view;
  if (!old || !walk.recorder.sizes().takes_numbers() ||
      !walk.recorder.bridge().read(tensor.object, view)) {
    PyErr_Clear();
    return std::nullopt;
  }
  const auto element = torch::element_of(view);
  if (!element) return std::nullopt;
  if (!argument(walk, tensor)) return false;
  const auto input = walk.recorder.input_at(tensor.shadow.index);
  if (!input || walk.recorder.is_written(*input)) return std::nullopt;
  const SourceId id = walk.sizes.element(tensor.shadow.index);
  f.finish = [pops, id](Walk& walk, FrameShadow& f) {
    f.pop(pops);
    walk.sizes.follow(id, f.object());
    f.push(Shadow::sourced(id));
  };
  return true;
}

std::optional<bool> number_operation(Walk& walk, FrameShadow& f, NumberOp op, Operand left,
                                     const Operand* right, int pops) {
  if (!walk.sizes.is_followed(left) && (right == nullptr || !walk.sizes.is_followed(*right)))
    return std::nullopt;
  const auto a = plain_number(left.object);
  const auto b = right == nullptr ? PythonNumber{} : plain_number(right->object);
  if (!a || !b) return std::nullopt;
  const auto result = compute(op, *a, *b);
  if (result && is_comparison(op)) {
    if (!walk.sizes.is_followed(left) && !walk.facts.consume(left)) return false;
    if (!walk.sizes.is_followed(*right) && !walk.facts.consume(*right)) return false;
    if (walk.sizes.compare_sizes(op, left, *right)) return gives_constant(f, pops);
  }
  if (!result) return std::nullopt;  // it raises, or the result is no number that is followed
  const SourceId one = walk.sizes.number_source(left);
  const SourceId other = right == nullptr ? kNoSource : walk.sizes.number_source(*right);
  if (one == kNoSource || (right != nullptr && other == kNoSource)) return false;
  if (walk.sizes.operands_of(one) + (right == nullptr ? 0 : walk.sizes.operands_of(other)) >
      kMostOperands) {
    return std::nullopt;
  }
  const SourceId id = walk.sizes.computed(op, one, other);
  if (walk.recorder.guards().is_decided(id) && !walk.sizes.decided_expression(id))
    return walk.verdict.broke(Code::PS0301, "a size that elements decide is computed with");
  if (is_comparison(op)) {
    walk.facts.add_guard(GuardKind::truth, id, result->integer != 0);
    return gives_constant(f, pops);
  }
  f.finish = [pops, id, expected = *result](Walk& walk, FrameShadow& f) {
    f.pop(pops);
    const auto actual = plain_number(f.object());
    if (!actual || !same_number(*actual, expected)) {
      walk.verdict.spoil("Python computes another number than " + walk.recorder.guards().text(id));
    }
    f.push(Shadow::sourced(id));
  };
  return true;
}

Shadow Sizes::followed_length(Operand container) {
  PyObject* object = container.object;
  const bool known = PyList_CheckExact(object) || PyTuple_CheckExact(object) ||
                     PyDict_CheckExact(object) || PyAnySet_CheckExact(object);
  if (changed_ == nullptr || !known || !container.shadow.is(Shadow::Kind::sourced)) return {};
  const ObjectShadow* contents = walk_.objects.find(object);
  if (contents != nullptr && (contents->listed || contents->written || contents->keys)) return {};
  SourceId length = walk_.recorder.guards().source(SourceKind::length, container.shadow.index);
  if (!changed_->contains(walk_.recorder.guards().text(length))) return {};
  walk_.facts.consume_type(container);
  if (contents != nullptr && !contents->items.empty()) {  // what was appended to it
    const auto count = static_cast<std::int64_t>(contents->items.size());
    SourceStep added{SourceKind::number, kNoSource, {}, 0, Argument(count)};
    length = computed(NumberOp::add, length, walk_.recorder.guards().source(std::move(added)));
  }
  return Shadow::sourced(length);
}

/// True when the comparison of the number holds, now and, by the guard that this adds, wherever an
/// entry runs.
bool Sizes::holds(Operand number, ops::NumberBound bound) {
  const auto now =
      compute(bound.comparison, *plain_number(number.object), PythonNumber::of(bound.than));
  if (!now || now->integer == 0) return false;
  const SourceId limit = number_constant(Argument(bound.than));
  const SourceId compared = computed(bound.comparison, number_source(number), limit);
  walk_.facts.add_guard(GuardKind::truth, compared, true);
  return true;
}

/// True when torch takes the number for a tensor of `dtype` as it is now and whenever the guard
/// that this adds holds: an overflow is an error of torch's, and some kernels have rules of their
/// own for infinity and NaN.
bool Sizes::fits_dtype(Operand number, DType dtype) {
  if (!PyFloat_CheckExact(number.object) && dtype == DType::int64) return true;
  if (!is_floating(dtype)) return false;
  const double largest = penstock::largest(dtype);
  const auto size = compute(NumberOp::absolute, *plain_number(number.object));
  const auto fits =
      size ? compute(NumberOp::less_equal, *size, PythonNumber::of(largest)) : std::nullopt;
  if (!fits || fits->integer == 0) return false;
  const SourceId limit = number_constant(Argument(largest));
  const SourceId absolute = computed(NumberOp::absolute, number_source(number), kNoSource);
  walk_.facts.add_guard(GuardKind::truth, computed(NumberOp::less_equal, absolute, limit), true);
  return true;
}

/// True when an entry may take other numbers in this one's place, as far as the guards that this
/// adds hold.
bool Sizes::may_change(Operand number, const ops::NumberTaken& taken, std::optional<DType> self) {
  using enum ops::NumberArgument;
  const bool whole = !PyFloat_CheckExact(number.object);
  const bool of_integers = whole && self && !is_floating(*self);
  if (taken.how == refused) return false;
  DType dtype = self.value_or(whole ? DType::int64 : DType::float32);
  const bool promotes = taken.how == promoted || taken.how == exponent;
  if (promotes && !whole && !is_floating(dtype)) dtype = DType::float32;
  if ((promotes || taken.how == checked) && !fits_dtype(number, dtype)) return false;
  // As an element of fewer bits a number may be 0 that is none.
  if (taken.how == divisor && of_integers)
    return self == DType::int64 && holds(number, {NumberOp::not_equal, 0});
  if (taken.how == exponent && of_integers && !holds(number, {NumberOp::greater_equal, 0}))
    return false;
  return std::ranges::all_of(taken.bounds, [&](const std::optional<ops::NumberBound>& bound) {
    return !bound || holds(number, *bound);
  });
}

ops::NumberTaken number_taken(const torch::ResolvedCall& call, std::string_view argument) {
  const auto& parameters = call.schema->parameters;
  const auto found = std::ranges::find(parameters, argument, &torch::Parameter::name);
  if (found == parameters.end()) return {};
  return ops::number_argument(call.schema->op(), argument, found->type_text);
}

std::optional<Argument> Sizes::number_input(Operand number, const ops::NumberTaken& taken,
                                            std::optional<DType> self) {
  if (!is_followed(number)) return std::nullopt;
  if (walk_.recorder.guards().is_decided(number.shadow.index)) {
    const auto size = decided_expression(number.shadow.index);
    return size ? std::optional(Argument(*size)) : std::nullopt;
  }
  if (!may_change(number, taken, self)) return std::nullopt;
  const SourceId source = number_source(number);
  if (is_computed(number)) {
    auto* type = reinterpret_cast<PyObject*>(Py_TYPE(number.object));
    walk_.facts.add_live_guard(GuardKind::type_is, source, type);
  }
  return Argument(Argument::Value{walk_.recorder.number(number.object, source)});
}

}  // namespace penstock::record
