// Inline
//
// A pointwise value that is stored costs its write and its reads; one that is computed at each use
// costs its operands' reads and its arithmetic again. Going through the values in order, each one
// is dissolved into its users when
//   - it has one user that asks for each element once (the common chain), or
//   - the user asks for it again only in inner loops that it does not vary with (hoisted: once a
//     row), or
//   - asking again moves no more bytes than storing would, and costs a few additions at most.
// What several users share and is not cheap stays a root: nest and zip will often bring its users
// into one kernel, where it is computed once and never stored.
//
// Costs are counted per element, of the expression after inlining what is already inlined, so no
// expression grows without bound and no kernel becomes quadratic: a reduction is never inlined.
#include <algorithm>

#include "fusion/cost.h"
#include "fusion/loops.h"
#include "fusion/plan.h"
#include "fusion/product.h"
#include "fusion/rewrite.h"
#include "ir/size_estimate.h"
#include "ops/op.h"

namespace penstock::fusion {

namespace {

constexpr double kCheap = 3;          ///< additions that are always worth a store and a load
constexpr double kMaxWeight = 400;    ///< of one inlined expression: kernels stay readable
constexpr std::size_t kMaxParts = 4;  ///< of a cat that is a selection instead of copies

/// What computing one element takes.
struct Expense {
  double weight = 0;  ///< arithmetic, in additions
  int divisions = 0;  ///< of indices, one in the other
  double bytes = 0;   ///< read
};

class Inliner {
 public:
  explicit Inliner(FusionPlan& plan) : plan_(plan), expense_(plan.values.size()) {
    for (Use& use : collect_uses(plan)) {
      if (uses_.size() <= use.base) uses_.resize(use.base + 1);
      uses_[use.base].push_back(std::move(use));
    }
    uses_.resize(plan.values.size());
  }

  void run() {
    for (const Node& node : plan_.graph().nodes) {
      for (ValueId id : node.results) consider(id);
    }
  }

 private:
  double elements(const TensorType& type) const {
    return std::max(1.0, estimate(element_count(type.sizes), plan_.interface()));
  }

  void consider(ValueId value) {
    ValuePlan& facts = plan_.values[value];
    if (facts.node < 0 || (facts.role != Role::root && facts.role != Role::inlined)) return;
    measure(value);
    if (facts.role != Role::root || facts.needed || !can_inline(value)) return;
    if (!worth_inlining(value)) return;
    Root& root = plan_.roots[facts.root];
    plan_.groups[root.group].roots.clear();
    root.group = -1;
    facts.role = Role::inlined;
    facts.root = -1;
  }

  void measure(ValueId value) {
    const Node& node = plan_.node_of(value);
    Expense& expense = expense_[value];
    expense.weight = op_weight(std::string_view(node.op).substr(node.op.find('.') + 1));
    double count = elements(plan_.type(value));
    for (const NamedArgument& argument : node.args) {
      for_each_value(argument.value, [&](ValueId operand) {
        ValueId base = operand;
        int divisions = 0;
        while (plan_.values[base].role == Role::view) {
          const bool lies = plan_.values[base].window.has_value();
          if (!lies) divisions += index_divisions(plan_, plan_.node_of(base));
          base = operand_value(plan_.node_of(base), "self");
        }
        if (plan_.values[base].role == Role::inlined) {
          divisions += expense_[base].divisions;
          expense.weight += expense_[base].weight;
          expense.bytes += expense_[base].bytes;
        } else {
          double share = std::min(1.0, elements(plan_.type(base)) / count);
          expense.bytes += share * facts(plan_.type(base).dtype).size;
        }
        expense.divisions = std::max(expense.divisions, divisions);
      });
    }
  }

  bool can_inline(ValueId value) const {
    const Root& root = plan_.roots[plan_.values[value].root];
    const Node& node = plan_.node_of(root);
    if (expense_[value].weight > kMaxWeight || expense_[value].divisions > kMaxDivisions)
      return false;
    if (root.kind == RootKind::join) return operand_values(node, "tensors").size() <= kMaxParts;
    return root.kind == RootKind::pointwise && node.results.size() == 1;
  }

  /// How often the use asks for each element: hoisting out of loops that do not vary it included.
  double repetitions(ValueId value, const Use& use) const {
    const TensorType& operand = plan_.type(use.operand);
    double ratio = elements(operand) / elements(plan_.type(value));
    const Node& user = plan_.graph().nodes[use.node];
    const ops::OpFacts* op = ops::find_op(user.op);
    bool gathers = op == nullptr || op->group == ops::PrimGroup::index;
    if (ops::is_product(user.op)) {
      const auto [left, right, addend] = product_operands(user);
      // Every column asks for a row of the left factor, every row for a column of the right one.
      const Sizes& sizes = plan_.type(user.results.front()).sizes;
      const SymExpr& times = use.operand == left ? sizes.back() : sizes[sizes.size() - 2];
      if (use.operand != addend) return ratio * estimate(times, plan_.interface());
    }
    if (gathers && find_argument(user, "self") != nullptr &&
        operand_value(user, "self") == use.operand) {
      return elements(plan_.type(user.results.front())) / elements(plan_.type(value));
    }
    if (ratio <= 1 || operand.rank() == 0) return ratio;
    return std::max(1.0, ratio / hoisted(use));
  }

  /// How many elements of the operand, one behind the other, are one and the same: the loops over
  /// them do not compute it again.
  double hoisted(const Use& use) const {
    const Sizes& sizes = plan_.type(use.operand).sizes;
    const Index variables = domain_variables(sizes.size());
    SymExpr same = 1;
    for (std::size_t dim = sizes.size(); dim-- > 0;) {
      const std::string_view variable = variables[dim].symbol_name();
      const bool varies =
          std::ranges::any_of(use.index, [&](const SymExpr& e) { return mentions(e, variable); });
      if (varies && sizes[dim] != SymExpr(1)) break;
      same *= sizes[dim];
    }
    return std::max(1.0, estimate(same, plan_.interface()));
  }

  bool worth_inlining(ValueId value) const {
    const std::vector<Use>& uses = uses_[value];
    const Expense& expense = expense_[value];
    double size = facts(plan_.type(value).dtype).size;
    double repeated = 0, readers = 0;
    for (std::size_t i = 0; i < uses.size(); ++i) {
      // x * x asks once.
      if (i > 0 && uses[i].node == uses[i - 1].node && uses[i].index == uses[i - 1].index) continue;
      repeated += repetitions(value, uses[i]);
      ++readers;
    }
    if (readers <= 1 && repeated <= 1) return true;
    double again = std::max(repeated - 1, 0.0);
    if (elements(plan_.type(value)) <= 1) return expense.weight <= kCheap * 4;
    if (expense.weight > kCheap) return false;
    return again * expense.bytes <= size * (1 + repeated);
  }

  FusionPlan& plan_;
  std::vector<Expense> expense_;
  std::vector<std::vector<Use>> uses_;
};

}  // namespace

void inline_values(FusionPlan& plan) {
  Inliner(plan).run();
  find_accesses(plan);
}

}  // namespace penstock::fusion
