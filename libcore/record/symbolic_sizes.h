#pragma once

#include <Python.h>

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/graph.h"
#include "ops/shape_context.h"
#include "policy/shown_code.h"
#include "record/changed_numbers.h"

namespace penstock::record {

/// Which sizes of inputs become symbols: the option --dynamic.
enum class DynamicSizes : std::uint8_t {
  off,        ///< none
  declared,   ///< those that the export says, and those that elements decide
  automatic,  ///< those that were found to change, and those that the program marks
  all,        ///< every one of at least 2
};

/// What the program says of one tensor's sizes: torch._dynamo.mark_dynamic, maybe_mark_dynamic and
/// mark_static, which leave sets of dimensions on the tensor.
struct SizeMarks {
  std::unordered_set<std::int64_t> dynamic, fixed;
};
SizeMarks marks_of(PyObject* tensor);

/// The symbols of one segment that is being recorded. An input's size becomes a symbol when it was
/// seen to change (the policy); equal sizes share one; 0 and 1 are never symbols, for torch itself
/// treats them apart. The sizes of what ops make follow by the ops' shape rules, whose questions
/// become guards; where no rule knows, the symbols that the op was given are constants after all,
/// by a guard.
class SymbolicSizes {
 public:
  /// `interface` gets symbols and guards; `here` says which line asks. `changed` may be null.
  /// `arguments`, by which declared sizes name their inputs, must outlive it.
  SymbolicSizes(Interface& interface, const ChangedNumbers* changed, DynamicSizes policy,
                const policy::ShownArguments& arguments, std::function<Location()> here)
      : interface_(interface),
        changed_(changed),
        policy_(policy),
        arguments_(arguments),
        here_(std::move(here)),
        shapes_(interface) {}

  bool any() const { return !interface_.symbols.empty(); }
  /// True if numbers of the program may be symbols.
  bool takes_numbers() const;
  /// True if elements may decide sizes.
  bool decides_sizes() const;
  /// True if a size of the tensor, reached by `source`, is to be a symbol.
  bool wants(PyObject* tensor, const TensorType& type, SourceId source) const;
  /// True if tensors of other sizes have come by the source.
  bool has_changed(const TensorType& type, SourceId source) const;
  /// Makes symbols of the sizes in an input's type, and strides that follow from them.
  void name_sizes(PyObject* tensor, TensorType& type, SourceId source);
  /// A symbol for a number of the program that says how large something is, other than any before.
  /// Nothing for one that stays a constant: 0, 1, negative, or symbols are not wanted.
  std::optional<SymExpr> name_number(std::int64_t number, SourceId source);
  /// What elements decide to be `size`: a symbol that no input gives, or a number less than two.
  /// It is `least` or more; two or more where torch may record gradients.
  SymExpr name_element(std::int64_t size, std::int64_t least);
  /// The least number of elements' that is a size: none of what is exported, elsewhere two, as
  /// Python tells numbers apart that are not yet known to be other than none.
  std::int64_t least_number() const { return policy_ == DynamicSizes::declared ? 0 : 2; }
  /// The types of a node's results by its shape rule. `types` holds the real ones: their sizes,
  /// strides and offsets are replaced where they depend on symbols. `node` is not in `graph` yet.
  void infer(const Node& node, const Graph& graph, std::vector<TensorType>& types);
  /// The truth of a comparison, which holds of every size or becomes a guard.
  std::optional<bool> decide(const Condition& condition);
  /// The symbols in it are constants from now on, by guards.
  void specialise(const SymExpr& expression);
  void specialise(const TensorType& type);
  /// The value in this recording.
  std::optional<std::int64_t> value(const SymExpr& expression) const;
  /// Where a symbol's value is read; kNoSource for one that elements decide.
  SourceId source_of(std::string_view symbol) const;
  /// Puts constants in the place of the symbols that were specialised, and what a guard says that
  /// others are equal to in theirs.
  void finish(Graph& graph);

 private:
  bool is_wanted(std::int64_t size, SourceId source, std::size_t dim, const SizeMarks& marks) const;
  bool has_changed(SourceId source, std::size_t dim) const;
  SymExpr symbol_for(std::int64_t size, SourceId source, std::size_t dim);
  void add_symbol(const std::string& name, std::int64_t value, SourceId source,
                  std::int64_t least = 2);
  void make_constant(Graph& graph);
  void make_equal(Graph& graph);
  /// The types of a node whose results are as large as elements say: a size of at least two is a
  /// symbol that the graph decides, which is none of an input's.
  void name_decided(const Node& node, const Graph& graph, std::vector<TensorType>& types);
  bool infer_parts(const Node& node, const Graph& graph, std::vector<TensorType>& types);
  void keep_from_empty(const TensorType& type);
  bool is_decided(std::string_view symbol) const;
  /// Where the node, or how a result lies, is not the same for none and one of what elements
  /// decide, there are at least two: others are entries of their own. What is exported serves empty
  /// results however they lie, of which strides say nothing.
  void tell_few_apart(const Node& node, const Graph& graph, const std::vector<TensorType>& types);
  bool replaces(const std::vector<TensorType>& inferred,
                const std::vector<TensorType>& types) const;
  void locate(std::size_t first_guard);

  Interface& interface_;
  const ChangedNumbers* changed_;
  DynamicSizes policy_;
  const policy::ShownArguments& arguments_;
  std::function<Location()> here_;
  ops::GuardingShapes shapes_;
  std::unordered_map<std::int64_t, std::string> by_value_;
  std::unordered_map<std::string, std::int64_t> values_;
  std::unordered_map<std::string, SourceId> sources_;
  std::unordered_map<std::string, Location> specialised_;  ///< and which line asked for it
};

/// True if a size, stride or offset of the type has a symbol in it.
bool has_symbols(const TensorType& type);

}  // namespace penstock::record
