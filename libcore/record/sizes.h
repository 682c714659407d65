#pragma once

#include <Python.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "ir/graph.h"
#include "ops/number_arguments.h"
#include "record/frame_shadow.h"
#include "torch/overload.h"

namespace penstock::record {

class ChangedNumbers;
class Walk;

/// Sizes of tensors that are symbols (objects/size.cpp), and numbers of the program that change
/// from call to call (objects/number.cpp).
class Sizes {
 public:
  /// `changed` may be null.
  Sizes(Walk& walk, const ChangedNumbers* changed) : walk_(walk), changed_(changed) {}

  // -- sizes
  const TensorType* known_type(Operand tensor) const;
  /// Makes the tensor an input if a size of it is to be a symbol.
  bool name_sizes(Operand tensor);
  bool has_symbolic_sizes(Operand tensor) const;
  /// An int as an expression of symbolic sizes, or a constant; nothing for other numbers.
  /// `as_size`: it says how large something is, so numbers that change become symbols too.
  std::optional<SymExpr> expression_of(Operand number, bool as_size);
  Shadow size_shadow(const SymExpr& size);
  /// The expression of a number that elements decide (RecordedGuards::is_decided).
  std::optional<SymExpr> decided_expression(SourceId number) { return expression_of(number, true); }
  /// The truth of a comparison of sizes, guarded if it depends on them; nothing when they are none.
  std::optional<bool> compare_sizes(NumberOp op, Operand left, Operand right);
  /// Holds the segment to inputs that lie where they do in the storage of `tensor`: they may lie
  /// anywhere in it.
  void guard_offset(ValueId tensor);
  bool takes_size(const torch::ResolvedCall& call, std::string_view parameter) const;
  void check_sizes(torch::ResolvedCall& call);
  void check_offset(const torch::ResolvedCall& call);

  // -- numbers
  /// True for a number that changes from call to call, and for what is computed of one.
  bool is_followed(Operand number);
  /// The number at this source, or those in the tuple there, will change: it is followed from the
  /// first recording on.
  void expect_change(SourceId numbers) { changing_.insert(numbers); }
  bool is_computed(Operand operand) const;
  /// True for a number that is an element of a tensor, or a size that elements decide, or computed
  /// of one.
  bool is_element(SourceId number) const;
  /// The number that the tensor at this source holds.
  SourceId element(SourceId tensor);
  /// Remembers the object for a number that is no size of a tensor.
  void follow(SourceId number, PyObject* object) {
    followed_numbers_.try_emplace(number, python::PyRef::borrow(object));
  }
  SourceId number_source(Operand number);
  SourceId computed(NumberOp op, SourceId left, SourceId right);
  /// Of how many numbers that one is computed.
  int operands_of(SourceId number) const;
  /// The value of a number that an op takes as an input, beside a tensor of dtype `self`; nothing
  /// when it must be a constant.
  std::optional<Argument> number_input(Operand number, const ops::NumberTaken& taken,
                                       std::optional<DType> self);
  /// The length of a container that was found to change; unknown when it is a constant or the
  /// segment has changed more of it than its end.
  Shadow followed_length(Operand container);

 private:
  std::optional<SymExpr> expression_of(SourceId number, bool as_size);
  std::optional<SymExpr> find_expression(SourceId number, bool as_size);
  std::optional<SymExpr> size_number(SourceId source, PyObject* number);
  /// Where Python's number for an expression is read.
  SourceId source_of(const SymExpr& expression);
  SourceId source_of_term(const SymTerm& term);
  SourceId number_constant(Argument value);
  Argument without_symbols(const Argument& argument);
  bool holds(Operand number, ops::NumberBound bound);
  bool fits_dtype(Operand number, DType dtype);
  bool may_change(Operand number, const ops::NumberTaken& taken, std::optional<DType> self);

  Walk& walk_;
  const ChangedNumbers* changed_;
  std::unordered_map<SourceId, int> operand_counts_;   ///< of computed numbers
  std::unordered_map<SourceId, SymExpr> expressions_;  ///< of numbers made of sizes
  std::unordered_set<SourceId>
      of_elements_;  ///< numbers that are elements of tensors, or computed of such
  std::unordered_set<SourceId> changing_;                         ///< what expect_change() told of
  std::unordered_map<SourceId, python::PyRef> followed_numbers_;  ///< that are no sizes of tensors
};

}  // namespace penstock::record
