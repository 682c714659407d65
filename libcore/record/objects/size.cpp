// Sizes of tensors that are symbols. What Python reads of such a size is a real int, whose shadow
// is the source that the size is read from, or, for the size of a tensor that the graph makes, a
// number computed of such sources. So arithmetic and comparisons go the way of all numbers that
// change (number.cpp); where torch takes a size, the graph gets the symbolic expression instead of
// the number.

#include <algorithm>
#include <array>
#include <cmath>

#include "ops/number_arguments.h"
#include "python/literal.h"
#include "record/objects/number.h"
#include "record/objects/torch_call.h"
#include "record/objects/torch_tensor.h"
#include "record/results.h"
#include "record/walk.h"
#include "torch/methods.h"

namespace penstock::record {

using python::plain_number;
using torch::ResolvedCall;

namespace {

/// True for expressions that stay within 64 bits for all sizes of tensors: Python's numbers have no
/// end.
bool is_tame(const SymExpr& expression) {
  constexpr std::int64_t kMost = std::int64_t{1} << 20;
  constexpr std::size_t kMostFactors = 4, kMostTerms = 32;
  if (std::llabs(expression.constant_term()) > kMost * kMost) return false;
  const auto& terms = expression.terms();
  return terms.size() <= kMostTerms && std::ranges::all_of(terms, [](const SymTerm& term) {
           return std::llabs(term.coefficient) <= kMost && term.atoms.size() <= kMostFactors;
         });
}

std::optional<Condition> condition_of(NumberOp op, const SymExpr& left, const SymExpr& right) {
  using Relation = Condition::Relation;
  switch (op) {
    case NumberOp::equal:
      return Condition{left, Relation::equal, right};
    case NumberOp::not_equal:
      return Condition{left, Relation::not_equal, right};
    case NumberOp::less:
      return Condition{left, Relation::less, right};
    case NumberOp::less_equal:
      return Condition{left, Relation::less_equal, right};
    case NumberOp::greater:
      return Condition{right, Relation::less, left};
    case NumberOp::greater_equal:
      return Condition{right, Relation::less_equal, left};
    default:
      return std::nullopt;
  }
}

/// Facts that a tensor's sizes and strides decide.
bool depends_on_sizes(std::string_view fact) {
  constexpr std::string_view kFacts[] = {"shape",          "nbytes",        "size",
                                         "numel",          "nelement",      "stride",
                                         "storage_offset", "is_contiguous", "is_same_size"};
  return std::ranges::find(kFacts, fact) != std::end(kFacts);
}

}  // namespace

/// The type of a tensor that is a value of the graph, or of an input that `tensor` is already.
const TensorType* Sizes::known_type(Operand tensor) const {
  if (tensor.shadow.is(Shadow::Kind::node)) return &walk_.recorder.value(tensor.shadow.index).type;
  const SourceId source = tensor.shadow.source();
  if (source == kNoSource) return nullptr;
  const auto input = walk_.recorder.input_at(source);
  return input ? &walk_.recorder.value(*input).type : nullptr;
}

bool is_of_grid(Walk& walk, Operand tensor) {
  const bool inside = tensor.shadow.is(Shadow::Kind::node) && walk.is_tensor(tensor.object) &&
                      walk.recorder.grid.has(tensor.shadow.index);
  if (inside)
    walk.verdict.broke(Code::PS0306, "a number that stands for a grid of them is asked what it is");
  return inside;
}

bool Sizes::name_sizes(Operand tensor) {
  if (is_of_grid(walk_, tensor)) return false;
  if (!tensor.shadow.is(Shadow::Kind::sourced)) return true;
  if (!walk_.recorder.wants_symbols(tensor.object, tensor.shadow.index)) return true;
  return argument(walk_, tensor).has_value();
}

std::optional<SymExpr> Sizes::expression_of(SourceId source, bool as_size) {
  if (const auto known = expressions_.find(source); known != expressions_.end())
    return known->second;
  auto expression = find_expression(source, as_size);
  if (!expression || !is_tame(*expression)) return std::nullopt;
  expressions_.emplace(source, *expression);
  return expression;
}

std::optional<SymExpr> Sizes::find_expression(SourceId source, bool as_size) {
  const SourceStep step = walk_.recorder.graph().interface.sources[source];
  if (step.kind == SourceKind::number) {
    const auto* whole = step.key.as<std::int64_t>();
    return whole == nullptr ? std::nullopt : std::optional(SymExpr(*whole));
  }
  if (step.kind == SourceKind::size) {
    const auto input = walk_.recorder.input_at(step.base);
    if (!input) return std::nullopt;
    return walk_.recorder.value(*input).type.sizes[static_cast<std::size_t>(step.index)];
  }
  const auto number = followed_numbers_.find(source);
  if (step.kind != SourceKind::computed || number != followed_numbers_.end()) {
    if (!as_size || number == followed_numbers_.end()) return std::nullopt;
    if (step.kind != SourceKind::computed)
      walk_.facts.consume_type({Shadow::sourced(source), number->second.get()});
    return size_number(source, number->second.get());
  }
  const auto left = expression_of(step.base, as_size);
  if (!left) return std::nullopt;
  const NumberOp op = step.operation();
  if (op == NumberOp::negative) return -*left;
  if (op == NumberOp::to_int) return left;
  const auto right = step.other == kNoSource ? std::nullopt : expression_of(step.other, as_size);
  if (!right) return std::nullopt;
  switch (op) {
    case NumberOp::add:
      return *left + *right;
    case NumberOp::subtract:
      return *left - *right;
    case NumberOp::multiply:
      return *left * *right;
    case NumberOp::minimum:
      return minimum(*left, *right);
    case NumberOp::maximum:
      return maximum(*left, *right);
    case NumberOp::floordiv:
    case NumberOp::modulo: {
      // Python raises for a divisor of 0; an expression cannot.
      const auto positive = walk_.recorder.sizes().decide({0, Condition::Relation::less, *right});
      if (!positive.value_or(false)) return std::nullopt;
      return op == NumberOp::floordiv ? floordiv(*left, *right) : mod(*left, *right);
    }
    default:
      return std::nullopt;
  }
}

/// A symbol for an int that is read, or computed, before each run. Sizes of 0 and 1 are constants
/// everywhere, and so is such a number, and -1, which often has a meaning of its own.
std::optional<SymExpr> Sizes::size_number(SourceId source, PyObject* number) {
  const std::int64_t value = plain_number(number)->integer;
  if (value >= -1 && value <= 1) {
    walk_.facts.add_guard(GuardKind::equals, source, value);
    return SymExpr(value);
  }
  if (value > 0) return walk_.recorder.size_number(number, value, source);
  // A symbol is positive: of a number below 0 the opposite is one.
  const auto opposite = python::PyRef::steal(PyNumber_Negative(number));
  const auto symbol =
      opposite ? walk_.recorder.size_number(opposite.get(), -value,
                                            computed(NumberOp::negative, source, kNoSource))
               : std::nullopt;
  if (!opposite) PyErr_Clear();
  return symbol ? std::optional(-*symbol) : std::nullopt;
}

/// Of a number that is not followed its value: it must be guarded. One that is computed in a way
/// that no expression has (a quotient that is rounded, say) is a symbol of its own once it was seen
/// to change: most are one number for all sizes, as the batch that windows are counted back to.
std::optional<SymExpr> Sizes::expression_of(Operand number, bool as_size) {
  if (!PyLong_CheckExact(number.object)) return std::nullopt;
  if (is_followed(number)) {
    const SourceId source = number_source(number);
    auto expression = expression_of(source, as_size);
    const auto changes = [&] {
      return is_computed(number) && !walk_.recorder.guards().is_decided(source) &&
             changed_ != nullptr && changed_->contains(walk_.recorder.guards().text(source));
    };
    if (expression || !as_size || !changes()) return expression;
    auto* type = reinterpret_cast<PyObject*>(&PyLong_Type);
    walk_.facts.add_live_guard(GuardKind::type_is, source, type);
    expression = size_number(source, number.object);
    if (expression) expressions_.emplace(source, *expression);
    return expression;
  }
  const auto plain = plain_number(number.object);
  return plain ? std::optional(SymExpr(plain->integer)) : std::nullopt;
}

SourceId Sizes::source_of_term(const SymTerm& term) {
  SourceId product = kNoSource;
  const auto multiply = [&](SourceId factor) {
    product = product == kNoSource ? factor : computed(NumberOp::multiply, product, factor);
  };
  for (const auto& atom : term.atoms) {
    if (atom->kind == SymAtom::Kind::symbol) {
      SourceId source = walk_.recorder.sizes().source_of(atom->text);
      if (source == kNoSource) {
        source = walk_.recorder.guards().source(SourceKind::decided, kNoSource, atom->text);
        expressions_.emplace(source, SymExpr::symbol(atom->text));
      }
      multiply(source);
      continue;
    }
    const SourceId left = source_of(atom->operands[0]), right = source_of(atom->operands[1]);
    NumberOp op = NumberOp::floordiv;
    if (atom->kind == SymAtom::Kind::mod) op = NumberOp::modulo;
    if (atom->kind == SymAtom::Kind::minimum) op = NumberOp::minimum;
    if (atom->kind == SymAtom::Kind::maximum) op = NumberOp::maximum;
    multiply(computed(op, left, right));
  }
  if (term.coefficient != 1) multiply(number_constant(Argument(term.coefficient)));
  return product;
}

SourceId Sizes::number_constant(Argument value) {
  return walk_.recorder.guards().source(
      SourceStep{SourceKind::number, kNoSource, {}, 0, std::move(value)});
}

SourceId Sizes::source_of(const SymExpr& expression) {
  SourceId sum = kNoSource;
  for (const SymTerm& term : expression.terms()) {
    const SourceId one = source_of_term(term);
    sum = sum == kNoSource ? one : computed(NumberOp::add, sum, one);
  }
  if (sum == kNoSource) return number_constant(Argument(expression.constant_term()));
  if (expression.constant_term() != 0) {
    sum = computed(NumberOp::add, sum, number_constant(Argument(expression.constant_term())));
  }
  expressions_.emplace(sum, expression);
  return sum;
}

Shadow Sizes::size_shadow(const SymExpr& size) {
  if (size.is_constant()) return Shadow::constant();
  return Shadow::sourced(source_of(size));
}

std::optional<bool> Sizes::compare_sizes(NumberOp op, Operand left, Operand right) {
  const auto one = expression_of(left, false), other = expression_of(right, false);
  if (!one || !other) return std::nullopt;
  const auto condition = condition_of(op, *one, *other);
  return condition ? walk_.recorder.sizes().decide(*condition) : std::nullopt;
}

bool tensor_shape(Walk& walk, FrameShadow& f, Operand tensor, int pops, bool method) {
  if (!walk.sizes.name_sizes(tensor)) return false;
  std::vector<Shadow> shadows;
  if (const TensorType* type = walk.sizes.known_type(tensor)) {
    const std::vector<SymExpr> all = type->sizes;
    for (const SymExpr& size : all) shadows.push_back(walk.sizes.size_shadow(size));
  } else {
    torch::TensorView view;
    if (!walk.recorder.bridge().read(tensor.object, view)) {
      PyErr_Clear();
      return walk.verdict.broke(
          Code::PS0308,
          "a tensor whose elements are not its memory (sparse, quantized, a conjugate view)");
    }
    const SourceId source = tensor.shadow.index;
    walk.facts.add_guard(GuardKind::equals,
                         walk.recorder.guards().source(SourceKind::attribute, source, "ndim"),
                         static_cast<std::int64_t>(view.sizes.size()));
    for (std::size_t i = 0; i < view.sizes.size(); ++i) {
      shadows.push_back(Shadow::sourced(walk.recorder.guards().source(
          SourceKind::size, source, {}, static_cast<std::int64_t>(i))));
    }
  }
  f.finish = [pops, method, shadows](Walk& walk, FrameShadow& f) {
    f.pop(pops);
    const Shadow made = walk.objects.fresh(f.loaded(method), shadows);
    if (method) {
      f.push_called(made);
    } else {
      f.push(made);
    }
  };
  return true;
}

bool Sizes::has_symbolic_sizes(Operand tensor) const {
  const TensorType* type = known_type(tensor);
  return type != nullptr && has_symbols(*type);
}

void Sizes::guard_offset(ValueId tensor) {
  for (const auto& [source, offset] : walk_.recorder.offsets_around(tensor)) {
    walk_.facts.add_guard(GuardKind::equals,
                          walk_.recorder.guards().source(SourceKind::offset, source), offset);
  }
}

bool tell_size(Walk& walk, FrameShadow& f, std::string_view fact,
               const std::vector<Operand>& positional, int pops, std::optional<bool>& done) {
  for (Operand operand : positional) {
    if (walk.is_tensor(operand.object) && !walk.sizes.name_sizes(operand)) return false;
  }
  const Operand tensor = positional[0];
  if (!depends_on_sizes(fact) || !walk.is_tensor(tensor.object) ||
      !walk.sizes.has_symbolic_sizes(tensor))
    return true;
  const TensorType type = *walk.sizes.known_type(tensor);
  if (fact == "size" && positional.size() == 1) {
    done = tensor_shape(walk, f, tensor, pops, false);
  } else if (fact == "size" && positional.size() == 2 && PyLong_CheckExact(positional[1].object)) {
    if (!walk.facts.consume(positional[1])) return false;
    const auto rank = static_cast<long>(type.rank());
    const long dim = PyLong_AsLong(positional[1].object);
    if (dim < -rank || dim >= rank) return true;  // it raises
    done = gives(
        f, pops,
        walk.sizes.size_shadow(type.sizes[static_cast<std::size_t>(dim < 0 ? dim + rank : dim)]));
  } else if ((fact == "numel" || fact == "nelement") && positional.size() == 1) {
    done = gives(f, pops, walk.sizes.size_shadow(element_count(type.sizes)));
  } else if (fact == "is_contiguous" && positional.size() == 1 && is_contiguous(type)) {
    return true;
  } else {
    for (Operand operand : positional) {
      if (const TensorType* known =
              walk.is_tensor(operand.object) ? walk.sizes.known_type(operand) : nullptr) {
        walk.recorder.sizes().specialise(TensorType(*known));
      }
    }
  }
  return true;
}

bool tensor_length(Walk& walk, FrameShadow& f, Operand tensor, int pops) {
  if (!walk.sizes.name_sizes(tensor) || !consume_tensor_type(walk, tensor)) return false;
  const TensorType* type = walk.sizes.known_type(tensor);
  if (type == nullptr || type->sizes.empty()) return gives_constant(f, pops);
  return gives(f, pops, walk.sizes.size_shadow(SymExpr(type->sizes[0])));
}

namespace {

bool has_expression(const Argument& argument) {
  if (argument.as<SymExpr>() != nullptr) return true;
  const auto* sequence = argument.as<Argument::Sequence>();
  return sequence != nullptr && std::ranges::any_of(sequence->items, has_expression);
}

}  // namespace

bool Sizes::takes_size(const ResolvedCall& call, std::string_view name) const {
  for (const torch::Parameter& parameter : call.schema->parameters) {
    if (parameter.name != name) continue;
    return parameter.type_text.starts_with("SymInt") || ops::takes_size(call.schema->op(), name);
  }
  return false;
}

/// Where an op takes no symbols, those that its arguments have are constants.
Argument Sizes::without_symbols(const Argument& argument) {
  if (const auto* expression = argument.as<SymExpr>()) {
    walk_.recorder.sizes().specialise(*expression);
    return Argument(walk_.recorder.sizes().value(*expression).value_or(0));
  }
  const auto* sequence = argument.as<Argument::Sequence>();
  if (sequence == nullptr) return argument;
  Argument::Sequence plain{sequence->kind, {}};
  for (const Argument& item : sequence->items) plain.items.push_back(without_symbols(item));
  return Argument(std::move(plain));
}

namespace {

/// True for ops that clone all that their argument's memory holds: the result starts in its own
/// where the argument does.
bool keeps_offset(std::string_view op) {
  return op.starts_with("aten.select_scatter") || op.starts_with("aten.slice_scatter") ||
         op.starts_with("aten.diagonal_scatter") || op.starts_with("aten.as_strided_scatter");
}

}  // namespace

/// `aten.as_strided` counts from the start of the storage where it is told an offset.
void Sizes::check_offset(const ResolvedCall& call) {
  if (keeps_offset(call.schema->op()) && !call.args.empty()) {
    if (const auto* self = call.args.front().value.as<Argument::Value>()) guard_offset(self->id);
  }
  if (!call.schema->op().starts_with("aten.as_strided")) return;
  const auto told = std::ranges::find(call.args, "storage_offset", &NamedArgument::name);
  const auto* self = call.args.empty() ? nullptr : call.args.front().value.as<Argument::Value>();
  if (self != nullptr && told != call.args.end() && !told->value.is_none()) guard_offset(self->id);
}

void Sizes::check_sizes(ResolvedCall& call) {
  for (NamedArgument& argument : call.args) {
    if (!has_expression(argument.value) || takes_size(call, argument.name)) continue;
    argument.value = without_symbols(argument.value);
  }
}

}  // namespace penstock::record
