#include "fusion/kernel_contract.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "fusion/access.h"
#include "fusion/loops.h"
#include "ops/op.h"

namespace penstock::fusion {

namespace {

/// Operands that an instruction takes; -1: no such instruction.
int operand_count(std::string_view op) {
  if (op == "constant" || op == "index") return 0;
  const ops::OpFacts* facts = ops::find_op("prim." + std::string(op));
  if (facts == nullptr) return -1;
  switch (facts->group) {
    case ops::PrimGroup::unary:
    case ops::PrimGroup::cast:
      return 1;
    case ops::PrimGroup::binary:
      return 2;
    case ops::PrimGroup::ternary:
      return 3;
    default:
      return -1;
  }
}

/// A way to combine the values of a loop's iterations, and the dtypes that it has a meaning for.
struct AccumulatorRow {
  std::string_view op;
  bool (*takes)(DType);
};
constexpr auto kAnyNumber = [](DType) { return true; };
constexpr auto kWhole = [](DType dtype) { return !is_floating(dtype); };
constexpr AccumulatorRow kAccumulators[] = {
    {"sum", kAnyNumber},    {"prod", kAnyNumber},   {"amax", kAnyNumber},
    {"amin", kAnyNumber},   {"any", kWhole},        {"all", kWhole},
    {"argmax", kAnyNumber}, {"argmin", kAnyNumber}, {"welford", is_floating}};

/// Whether the bits of a number are its meaning: no floating number is taken.
bool is_bitwise(std::string_view op) {
  return op == "and" || op == "or" || op == "xor" || op == "not" || op == "shl" || op == "shr";
}

constexpr std::int64_t kUnitsPerInstruction =
    64;  ///< of the budget: an access may take milliseconds to prove

/// Checks one kernel: scopes of scalars and variables, buffers, and indices.
class KernelChecker {
 public:
  KernelChecker(const LoopProgram& program, const LoopKernel& kernel, const RangeFacts& sizes,
                Budget* budget)
      : program_(program), kernel_(kernel), sizes_(sizes), budget_(budget) {
    for (const Symbol& symbol : program.interface.symbols) known_.insert(symbol.name);
  }

  Result<void> run() {
    for (const std::string& symbol : known_) check_name(symbol);
    for (const Symbol& symbol : program_.interface.symbols) {
      if (symbol.minimum < 0)
        broken(fmt::format("{} may be negative, which no size is", symbol.name));
    }
    body(kernel_.body);
    if (is_spent(budget_)) return check(budget_, "kernel " + kernel_.name);
    return std::move(result_);
  }

 private:
  void broken(std::string message) {
    if (result_) result_ = failure(Code::PS0205, std::move(message), "kernel " + kernel_.name);
  }

  /// The dtype of a scalar that is used.
  DType need(ScalarId scalar) {
    auto found = scalars_.find(scalar);
    if (found != scalars_.end()) return found->second;
    broken(fmt::format("v{} is not known where it is used", scalar));
    return DType::float32;
  }

  void define(ScalarId scalar, DType dtype, std::vector<ScalarId>& made) {
    if (scalar < 0 || !ever_.insert(scalar).second)
      broken(fmt::format("v{} is made twice", scalar));
    if (is_complex(dtype)) broken("kernels do not compute with complex numbers");
    scalars_.emplace(scalar, dtype);
    made.push_back(scalar);
  }

  void want(bool holds, const Instruction& instruction, std::string_view what) {
    if (!holds)
      broken(fmt::format("{} of {}: {}", instruction.op, facts(instruction.dtype).name, what));
  }

  /// Whether it divides by a number below 1.
  static bool divides_wrongly(const SymExpr& expression) {
    return std::ranges::any_of(expression.terms(), [](const SymTerm& term) {
      return std::ranges::any_of(term.atoms, [](const auto& atom) {
        if (atom->kind == SymAtom::Kind::symbol) return false;
        const bool divides =
            atom->kind == SymAtom::Kind::floordiv || atom->kind == SymAtom::Kind::mod;
        return (divides && atom->operands[1].constant().value_or(1) < 1) ||
               divides_wrongly(atom->operands[0]) || divides_wrongly(atom->operands[1]);
      });
    });
  }

  void check_symbols(const SymExpr& expression) {
    if (divides_wrongly(expression))
      broken(fmt::format("{} divides by what is no size", expression.to_string()));
    expression.for_each_symbol([&](std::string_view name) {
      if (known_.contains(std::string(name))) return;
      const auto scalar = scalars_.find(scalar_of_symbol(name));
      if (scalar == scalars_.end())
        return broken(fmt::format("{} is not known where an index uses it", name));
      if (is_floating(scalar->second))
        broken(fmt::format("{} is no integer, and an index uses it", name));
    });
  }

  /// What an index calls a scalar is no other name.
  void check_name(std::string_view name) {
    if (scalar_of_symbol(name) >= 0) broken(fmt::format("{} is the name of a scalar", name));
  }

  /// Scalars of a body are known in it and in the loops inside; `yields` are used at its end.
  void body(const Body& statements, const std::vector<Accumulator>& yields = {}) {
    std::vector<ScalarId> made;
    for (const Statement& statement : statements) {
      if (is_spent(budget_, kUnitsPerInstruction)) break;
      if (const Loop* inner = as_loop(statement)) {
        loop(*inner, made);
      } else {
        instruction(*as_instruction(statement), made);
      }
    }
    for (const Accumulator& accumulator : yields) need(accumulator.value);
    for (ScalarId scalar : made) scalars_.erase(scalar);
  }

  void loop(const Loop& loop, std::vector<ScalarId>& outer) {
    check_symbols(loop.extent);
    check_name(loop.variable);
    if (!known_.insert(loop.variable).second) {
      broken(fmt::format("loop variable {} is used twice", loop.variable));
    }
    accesses_.enter(loop);
    const Schedule& schedule = loop.schedule;
    if (schedule.grain < 1 || schedule.unroll < 1 || schedule.tile < 0) {
      broken(
          fmt::format("loop {}: grain and unroll are at least 1, tile at least 0", loop.variable));
    }
    if (schedule.tile > 0 && !loop.accumulators.empty()) {
      broken(fmt::format("loop {}: a loop with accumulators has no tile", loop.variable));
    }
    body(loop.body, loop.accumulators);
    accesses_.leave(loop);
    known_.erase(loop.variable);
    for (const Accumulator& accumulator : loop.accumulators) check_accumulator(accumulator, outer);
  }

  void check_accumulator(const Accumulator& accumulator, std::vector<ScalarId>& outer) {
    const auto row = std::ranges::find(kAccumulators, accumulator.op, &AccumulatorRow::op);
    if (row == std::end(kAccumulators))
      return broken(fmt::format("no accumulator is called {}", accumulator.op));
    if (!row->takes(accumulator.dtype)) {
      broken(
          fmt::format("{} has no meaning for {}", accumulator.op, facts(accumulator.dtype).name));
    }
    if (accumulator.results.size() != (accumulator.op == "welford" ? 3U : 1U)) {
      broken(fmt::format("{} has a wrong number of results", accumulator.op));
    }
    const DType dtype = accumulator.op.starts_with("arg") ? DType::int64 : accumulator.dtype;
    for (ScalarId result : accumulator.results) define(result, dtype, outer);
  }

  void instruction(const Instruction& instruction, std::vector<ScalarId>& made) {
    std::vector<DType> operands;
    for (ScalarId operand : instruction.operands) operands.push_back(need(operand));
    check_symbols(instruction.index);
    const std::string_view op = instruction.op;
    const bool store = op == "store";
    if (op == "load" || store) {
      check_mask(instruction, operands);
      check_access(instruction, store);
    } else {
      check_computation(instruction, operands);
    }
    if (!store) define(instruction.result, instruction.dtype, made);
    accesses_.learn(instruction);
  }

  static bool is_constant(const Argument& immediate) {
    return immediate.as<bool>() != nullptr || immediate.as<std::int64_t>() != nullptr ||
           immediate.as<double>() != nullptr;
  }

  void check_mask(const Instruction& instruction, const std::vector<DType>& operands) {
    const bool store = instruction.op == "store";
    want(operands.size() <= (store ? 2U : 1U) && operands.size() >= (store ? 1U : 0U), instruction,
         "has a wrong number of operands");
    want(!is_complex(instruction.dtype), instruction,
         "kernels do not compute with complex numbers");
    const bool masked = operands.size() == (store ? 2U : 1U);
    want(!masked || is_boolean(operands.back()), instruction, "its mask is not bool");
    want(instruction.immediate.is_none() || is_constant(instruction.immediate), instruction,
         "its immediate is no number");
  }

  /// Operands of one dtype, which decides that of the result; no promotion.
  void check_computation(const Instruction& instruction, const std::vector<DType>& operands) {
    const std::string_view op = instruction.op;
    const int count = operand_count(op);
    if (count < 0) return broken(fmt::format("no instruction is called {}", op));
    if (count != static_cast<int>(operands.size()))
      return broken(fmt::format("{} takes {} operands", op, count));
    if (op == "constant")
      return want(is_constant(instruction.immediate), instruction, "its immediate is no number");
    if (op == "index" || op == "convert") return;
    const std::size_t first = op == "where" ? 1 : 0;
    want(first == 0 || is_boolean(operands[0]), instruction, "its condition is not bool");
    const DType dtype = operands[first];
    for (std::size_t i = first; i < operands.size(); ++i)
      want(operands[i] == dtype, instruction, "its operands differ in dtype");
    const bool is_test = ops::find_op("prim." + instruction.op)->result == ops::PrimResult::bool_;
    want(instruction.dtype == (is_test ? DType::bool_ : dtype), instruction,
         fmt::format("does not follow from operands of {}", facts(dtype).name));
    want(!is_floating(dtype) || !is_bitwise(op), instruction,
         "has no meaning for floating numbers");
  }

  /// Refuses what is not known to be inside.
  void check_access(const Instruction& instruction, bool store) {
    std::size_t most = store ? 2 : 1;
    if (instruction.buffer < 0 ||
        instruction.buffer >= static_cast<BufferId>(program_.buffers.size())) {
      return broken(fmt::format("buffer {} does not exist", instruction.buffer));
    }
    const Buffer& buffer = program_.buffers[instruction.buffer];
    if (buffer.dtype != instruction.dtype) {
      broken(fmt::format("{} of {} accesses a buffer of {}", instruction.op,
                         facts(instruction.dtype).name, facts(buffer.dtype).name));
    }
    SymExpr first = buffer.offset, last = buffer.offset;
    for (std::size_t i = 0; i < buffer.sizes.size(); ++i) {
      SymExpr reach = (buffer.sizes[i] - 1) * buffer.strides[i];
      (is_nonnegative(-buffer.strides[i], sizes_) ? first : last) += reach;
    }
    ScalarId mask = instruction.operands.size() == most ? instruction.operands.back() : -1;
    if (!accesses_.inside(instruction.index, first, last, mask)) {
      broken(
          fmt::format("{} of element {} may be outside of buffer {}, which has elements {} to {}",
                      instruction.op, instruction.index.to_string(), buffer.name, first.to_string(),
                      last.to_string()));
    }
  }

  const LoopProgram& program_;
  const LoopKernel& kernel_;
  const RangeFacts& sizes_;
  Budget* budget_;
  AccessProver accesses_{sizes_};
  std::set<std::string> known_;
  std::map<ScalarId, DType> scalars_;  ///< in scope
  std::set<ScalarId> ever_;
  Result<void> result_;
};

}  // namespace

Result<void> verify_kernel(const LoopProgram& program, const LoopKernel& kernel,
                           const RangeFacts& sizes, Budget* budget) {
  return KernelChecker(program, kernel, sizes, budget).run();
}

}  // namespace penstock::fusion
