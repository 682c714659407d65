// Define by run
//
// A kernel is not assembled from pieces: it is the trace of asking for the elements that it stores.
// element() walks from a value to what it is made of; views turn into other indices on the way and
// leave no code; an instruction goes into the outermost open loop whose variables it needs, so
// everything invariant is hoisted by construction. Memory that the kernel itself writes is not
// invariant in the loops that write it, whatever its index says: those reads stay inside. Each loop
// remembers which (value, index) pairs it holds, so a value that is asked for twice at one index is
// computed once, and the walk over a graph that shares subexpressions stays linear.
//
// A reduction is asked for like any other element. Its index says in which open loop it belongs;
// the loops inside that one are laid aside, the reduction's own loops are opened, filled and closed
// there, and the others are put back: they will follow it. Softmax needs no more than this: asking
// for the element [i, j] of the quotient inside loops i and j puts the maximum's and the sum's
// loops into i.
#include "fusion/kernel_builder.h"

#include <algorithm>
#include <string>

#include "ir/argument_text.h"
#include "ops/op.h"

namespace penstock::fusion {

KernelBuilder::KernelBuilder(const FusionPlan& plan, std::int32_t group, ReadRoot read_root)
    : plan_(plan),
      group_(group),
      read_root_(std::move(read_root)),
      facts_(plan.facts),
      scopes_(1) {}

bool KernelBuilder::shows_own_root(ValueId view) const {
  if (group_ < 0 || plan_.values[view].role != Role::view) return false;
  std::int32_t root = plan_.values[plan_.base_of(view)].root;
  return root >= 0 && plan_.roots[root].group == group_;
}

SymExpr KernelBuilder::open_loop(const SymExpr& extent, std::string name) {
  if (name.empty()) name = "i" + std::to_string(next_variable_++);
  facts_.set_index(name, extent);
  symbol_depth_.insert_or_assign(name, static_cast<int>(scopes_.size()));
  Scope scope;
  scope.loop.variable = name;
  scope.loop.extent = extent;
  scopes_.push_back(std::move(scope));
  return SymExpr::symbol(name);
}

void KernelBuilder::close_loop() {
  Loop loop = std::move(scopes_.back().loop);
  scopes_.pop_back();
  if (loop.body.empty() && loop.accumulators.empty()) return;
  scopes_.back().loop.body.emplace_back(std::vector<Loop>{std::move(loop)});
}

std::vector<Statement> KernelBuilder::finish() {
  return std::move(scopes_.front().loop.body);
}

int KernelBuilder::depth_of(const SymExpr& expression) const {
  int depth = 0;
  expression.for_each_symbol([&](std::string_view name) {
    auto found = symbol_depth_.find(name);
    if (found != symbol_depth_.end()) depth = std::max(depth, found->second);
  });
  return depth;
}

int KernelBuilder::depth_of(const Index& index) const {
  int depth = mask_ >= 0 ? scalar_depth_[mask_] : 0;
  for (const SymExpr& e : index) depth = std::max(depth, depth_of(e));
  return depth;
}

ScalarId KernelBuilder::new_scalar(int depth) {
  scalar_depth_.push_back(depth);
  return static_cast<ScalarId>(scalar_depth_.size() - 1);
}

const std::vector<ScalarId>* KernelBuilder::find(const std::string& key) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    auto found = scope->known.find(key);
    if (found != scope->known.end()) return &found->second;
  }
  return nullptr;
}

/// What is computed whatever the mask says is good under the mask too.
const std::vector<ScalarId>* KernelBuilder::find_computed(const std::string& key) const {
  const auto* known = find(key);
  return known != nullptr || mask_ < 0 ? known : find(key.substr(0, key.rfind('?')));
}

void KernelBuilder::remember(const std::string& key, int depth, std::vector<ScalarId> scalars) {
  scopes_[depth].known.insert_or_assign(key, std::move(scalars));
}

std::string KernelBuilder::key(std::string_view kind, std::int64_t id, const Index& index) const {
  std::string text(kind);
  text += std::to_string(id);
  for (const SymExpr& e : index) text += ',' + e.to_string();
  if (mask_ >= 0) text += '?' + std::to_string(mask_);
  return text;
}

/// Appends the instruction to the body of loop `depth`, unless that body holds its equal.
ScalarId KernelBuilder::append(Instruction instruction, int depth) {
  std::string name = instruction.op + '.' + std::to_string(static_cast<int>(instruction.dtype));
  for (ScalarId operand : instruction.operands) name += ' ' + std::to_string(operand);
  name += '@' + std::to_string(instruction.buffer) + '[' + instruction.index.to_string() + ']' +
          to_string(instruction.immediate);
  if (const auto* same = find(name)) return same->front();
  instruction.result = new_scalar(depth);
  ScalarId result = instruction.result;
  scopes_[depth].loop.body.emplace_back(std::move(instruction));
  remember(name, depth, {result});
  return result;
}

ScalarId KernelBuilder::emit(std::string_view op, DType dtype, std::vector<ScalarId> operands) {
  int depth = 0;
  for (ScalarId operand : operands) depth = std::max(depth, scalar_depth_[operand]);
  Instruction instruction;
  instruction.op = op;
  instruction.dtype = dtype;
  instruction.operands = std::move(operands);
  return append(std::move(instruction), depth);
}

ScalarId KernelBuilder::constant(Argument number, DType dtype) {
  Instruction instruction;
  instruction.op = "constant";
  instruction.dtype = dtype;
  instruction.immediate = std::move(number);
  return append(std::move(instruction), 0);
}

ScalarId KernelBuilder::integer(const SymExpr& expression, DType dtype) {
  if (auto value = expression.constant()) return constant(*value, dtype);
  Instruction instruction;
  instruction.op = "index";
  instruction.dtype = dtype;
  instruction.index = simplify_index(expression, facts_);
  int depth = depth_of(instruction.index);
  return append(std::move(instruction), depth);
}

SymExpr KernelBuilder::as_index(ScalarId scalar, const SymExpr& size) {
  std::string name = "v" + std::to_string(scalar);
  symbol_depth_.insert_or_assign(name, scalar_depth_[scalar]);
  facts_.set_index(name, size);
  return SymExpr::symbol(name);
}

ScalarId KernelBuilder::within(const SymExpr& e, const SymExpr& low, const SymExpr& high) {
  ScalarId result = -1;
  if (!prove_less_equal(low, e, facts_).value_or(false)) {
    result = emit("ge", DType::bool_, {integer(e), integer(low)});
  }
  if (!prove_less(e, high, facts_).value_or(false)) {
    ScalarId below = emit("lt", DType::bool_, {integer(e), integer(high)});
    result = result < 0 ? below : emit("and", DType::bool_, {result, below});
  }
  return result;
}

ScalarId KernelBuilder::masked(ScalarId condition, Argument otherwise,
                               const std::function<ScalarId()>& body) {
  if (condition < 0) return body();
  ScalarId outer = mask_;
  Argument outer_value = std::exchange(masked_value_, std::move(otherwise));
  mask_ = outer < 0 ? condition : emit("and", DType::bool_, {outer, condition});
  ScalarId result = body();
  mask_ = outer;
  masked_value_ = std::move(outer_value);
  return result;
}

ScalarId KernelBuilder::load(const Window& window, const Index& index, DType dtype, int inside) {
  Instruction instruction;
  instruction.op = "load";
  instruction.dtype = dtype;
  instruction.buffer = window.base;
  instruction.index = simplify_index(linear_index(window, index), facts_);
  int depth = std::max(std::min(inside, open_loops()), depth_of(instruction.index));
  if (mask_ >= 0) {
    instruction.operands = {mask_};
    instruction.immediate = masked_value_;
    depth = std::max(depth, scalar_depth_[mask_]);
  }
  return append(std::move(instruction), depth);
}

void KernelBuilder::store(const Window& window, const Index& index, ScalarId value, DType dtype) {
  Instruction instruction;
  instruction.op = "store";
  instruction.dtype = dtype;
  instruction.operands = {value};
  if (mask_ >= 0) instruction.operands.push_back(mask_);
  instruction.buffer = window.base;
  instruction.index = simplify_index(linear_index(window, index), facts_);
  scopes_.back().loop.body.emplace_back(std::move(instruction));
}

ScalarId KernelBuilder::operand(const Node& node, std::string_view name, DType dtype,
                                const Index& index) {
  const Argument* argument = find_argument(node, name);
  if (argument == nullptr) return constant(std::int64_t{0}, dtype);
  if (const auto* value = argument->as<Argument::Value>()) return element(value->id, index);
  if (const auto* expression = argument->as<SymExpr>()) {
    ScalarId number = integer(*expression);
    return dtype == DType::int64 ? number : emit("convert", dtype, {number});
  }
  return constant(*argument, dtype);
}

ScalarId KernelBuilder::element(ValueId value, const Index& index) {
  const ValuePlan& plan = plan_.values[value];
  const Value& facts = plan_.graph().values[value];
  if (facts.is_scalar) {
    ScalarId number = integer(facts.expression);
    return facts.type.dtype == DType::int64 ? number : emit("convert", facts.type.dtype, {number});
  }
  if (plan.role == Role::root) {
    if (auto read = read_root_(*this, value, index)) return *read;
    return compute(value, index);
  }
  if (plan.window && !shows_own_root(value)) return load(*plan.window, index, facts.type.dtype);
  return compute(value, index);
}

bool KernelBuilder::is_loaded(ValueId value) const {
  const ValuePlan& plan = plan_.values[value];
  if (!plan.window) return false;
  return plan.role == Role::root ? plan_.roots[plan.root].group != group_ : !shows_own_root(value);
}

ScalarId KernelBuilder::compute_unmasked(ValueId value, const Index& index) {
  const ScalarId outer = std::exchange(mask_, -1);
  const ScalarId result = compute(value, index);
  mask_ = outer;
  return result;
}

ScalarId KernelBuilder::compute(ValueId value, const Index& index) {
  std::string name = key("%", value, index);
  if (const auto* known = find_computed(name)) return known->front();
  // What comes of this is thrown away: whoever runs the pass asks the budget behind it.
  if (is_spent(plan_.budget)) return constant(std::int64_t{0}, plan_.type(value).dtype);
  const Node& node = plan_.node_of(value);
  nodes_.insert(plan_.values[value].node);
  std::size_t result = 0;
  while (node.results[result] != value) ++result;
  ScalarId scalar = lowering_of(node.op)(*this, node, result, index);
  remember(name, scalar_depth_[scalar], {scalar});
  return scalar;
}

std::vector<ScalarId> KernelBuilder::reduce_level(
    std::string_view op, DType dtype, const Sizes& extents, Index& variables,
    const std::function<ScalarId(const Index&)>& body) {
  std::size_t level = variables.size();
  variables.push_back(open_loop(extents[level]));
  ScalarId value = level + 1 == extents.size()
                       ? body(variables)
                       : reduce_level(op, dtype, extents, variables, body).front();
  variables.pop_back();
  int depth = static_cast<int>(scopes_.size()) - 2;
  Accumulator accumulator{std::string(op), dtype, value, {}};
  for (int i = 0; i < (op == "welford" ? 3 : 1); ++i) {
    accumulator.results.push_back(new_scalar(depth));
  }
  scopes_.back().loop.accumulators.push_back(accumulator);
  close_loop();
  return accumulator.results;
}

std::vector<ScalarId> KernelBuilder::reduce(std::string_view op, DType dtype, ValueId owner,
                                            const Sizes& extents, const Index& outer,
                                            const std::function<ScalarId(const Index&)>& body) {
  std::string name = key("reduce", owner, outer);
  if (const auto* known = find_computed(name)) return *known;
  int depth = depth_of(outer);
  auto kept = static_cast<std::size_t>(depth) + 1;
  std::vector<Scope> aside(std::make_move_iterator(scopes_.begin() + static_cast<int>(kept)),
                           std::make_move_iterator(scopes_.end()));
  scopes_.resize(kept);
  Index variables;
  std::vector<ScalarId> results = reduce_level(op, dtype, extents, variables, body);
  remember(name, depth, results);
  std::move(aside.begin(), aside.end(), std::back_inserter(scopes_));
  return results;
}

}  // namespace penstock::fusion
