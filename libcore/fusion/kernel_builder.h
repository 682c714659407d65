#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "fusion/fusion_plan.h"

namespace penstock::fusion {

/// Makes the loops of one kernel by running its definition: whoever asks for an element of a value
/// gets the scalar that holds it, and the instructions that compute it appear in the outermost loop
/// where all they need is known. Asking twice gives the same scalar.
class KernelBuilder {
 public:
  /// Called for an element of a root; returns nothing to have it computed in place.
  using ReadRoot = std::function<std::optional<ScalarId>(KernelBuilder&, ValueId, const Index&)>;

  /// `plan` must outlive the builder. `group`: whose kernel it is, -1 for none: views of its roots
  /// are looked through even where memory would show them.
  KernelBuilder(const FusionPlan& plan, std::int32_t group, ReadRoot read_root);

  /// Opens a loop inside the innermost open one and returns its variable.
  SymExpr open_loop(const SymExpr& extent, std::string name = {});
  /// Ends the innermost loop. Without statements it leaves no trace.
  void close_loop();
  std::vector<Statement> finish();

  /// The element `index` of `value`.
  ScalarId element(ValueId value, const Index& index);
  /// The same, of a root, computed here whatever `read_root` says.
  ScalarId compute(ValueId value, const Index& index);
  /// The same, for an element that exists whatever mask is open here: computed once for all who ask
  /// under masks of theirs.
  ScalarId compute_unmasked(ValueId value, const Index& index);
  /// Whether element() reads the value from memory, so that a mask leaves the fill.
  bool is_loaded(ValueId value) const;
  void store(const Window& window, const Index& index, ScalarId value, DType dtype);

  // For lowerings.

  /// An argument that is a tensor, or a number that stands for a splat of it.
  ScalarId operand(const Node& node, std::string_view name, DType dtype, const Index& index);
  ScalarId emit(std::string_view op, DType dtype, std::vector<ScalarId> operands);
  ScalarId constant(Argument number, DType dtype);
  /// `expression` over loop variables and sizes, as a number.
  ScalarId integer(const SymExpr& expression, DType dtype = DType::int64);
  /// An integer scalar as a symbol for index expressions, with its range [0, size).
  SymExpr as_index(ScalarId scalar, const SymExpr& size);
  /// Whether low <= e < high, as a bool scalar; -1 when that is known to be true.
  ScalarId within(const SymExpr& e, const SymExpr& low, const SymExpr& high);
  /// Runs `body` where memory is read only if `condition` holds; -1: as it is.
  ScalarId masked(ScalarId condition, Argument otherwise, const std::function<ScalarId()>& body);
  /// `inside`: of so many open loops at least, where the kernel itself writes that memory in them;
  /// else the index alone says in which loop memory is read.
  ScalarId load(const Window& window, const Index& index, DType dtype, int inside = 0);
  int open_loops() const { return static_cast<int>(scopes_.size()) - 1; }
  /// Combines elements over the loops of `extents`, inside the loops that `outer` names; `body`
  /// gives the element at the loops' variables. `owner` and `outer` identify the reduction.
  /// Results: one scalar; welford: mean, M2 and count.
  std::vector<ScalarId> reduce(std::string_view op, DType dtype, ValueId owner,
                               const Sizes& extents, const Index& outer,
                               const std::function<ScalarId(const Index&)>& body);

  const FusionPlan& plan() const { return plan_; }
  const RangeFacts& facts() const { return facts_; }
  /// The nodes that were computed here.
  const std::set<std::int32_t>& nodes() const { return nodes_; }

 private:
  struct Scope {
    Loop loop;
    std::unordered_map<std::string, std::vector<ScalarId>> known;
  };

  int depth_of(const SymExpr& expression) const;
  int depth_of(const Index& index) const;
  ScalarId append(Instruction instruction, int depth);
  ScalarId new_scalar(int depth);
  const std::vector<ScalarId>* find(const std::string& key) const;
  const std::vector<ScalarId>* find_computed(const std::string& key) const;
  void remember(const std::string& key, int depth, std::vector<ScalarId> scalars);
  std::string key(std::string_view kind, std::int64_t id, const Index& index) const;
  std::vector<ScalarId> reduce_level(std::string_view op, DType dtype, const Sizes& extents,
                                     Index& variables,
                                     const std::function<ScalarId(const Index&)>&);

  bool shows_own_root(ValueId view) const;

  const FusionPlan& plan_;
  std::int32_t group_;
  ReadRoot read_root_;
  RangeFacts facts_;
  std::vector<Scope> scopes_;
  std::vector<int> scalar_depth_;
  std::map<std::string, int, std::less<>> symbol_depth_;
  ScalarId mask_ = -1;
  Argument masked_value_;
  int next_variable_ = 0;
  std::set<std::int32_t> nodes_;
};

/// What computes an element of result number `result` of a node.
using Lowering = ScalarId (*)(KernelBuilder&, const Node&, std::size_t result, const Index&);

// One per group of prims; lower/*.cpp.
ScalarId lower_pointwise(KernelBuilder&, const Node&, std::size_t result, const Index&);
ScalarId lower_cast(KernelBuilder&, const Node&, std::size_t result, const Index&);
ScalarId lower_create(KernelBuilder&, const Node&, std::size_t result, const Index&);
ScalarId lower_view(KernelBuilder&, const Node&, std::size_t result, const Index&);
ScalarId lower_join(KernelBuilder&, const Node&, std::size_t result, const Index&);
ScalarId lower_index(KernelBuilder&, const Node&, std::size_t result, const Index&);
ScalarId lower_reduce(KernelBuilder&, const Node&, std::size_t result, const Index&);
ScalarId lower_product(KernelBuilder&, const Node&, std::size_t result, const Index&);

/// The element of `index` at `at` as a position along a dim of `size`: negative ones count from the
/// end, and what is still outside is moved to the nearest element, so that no memory is touched
/// that is not the tensor's.
SymExpr element_position(KernelBuilder& builder, ValueId index, const Index& at,
                         const SymExpr& size);

/// The lowering of an op; null for those that only a kernel's frame can run (scan, scatter, copy_).
Lowering lowering_of(std::string_view op);

}  // namespace penstock::fusion
