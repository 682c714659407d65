#include "fusion/contract.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "fusion/access.h"
#include "fusion/loops.h"
#include "ir/memory_verify.h"
#include "ir/size_facts.h"
#include "ops/op.h"

namespace penstock {

namespace {

/// Operands that an instruction takes; -1: no such instruction.
int operand_count(std::string_view op) {
  if (op == "constant" || op == "index") return 0;
  const ops::OpFacts* facts = ops::find_op("prim." + std::string(op));
  if (facts == nullptr) return -1;
  switch (facts->group) {
    case ops::PrimGroup::unary:
    case ops::PrimGroup::cast: return 1;
    case ops::PrimGroup::binary: return 2;
    case ops::PrimGroup::ternary: return 3;
    default: return -1;
  }
}

constexpr std::string_view kAccumulators[] = {"sum", "prod",   "amax",   "amin",   "any",
                                              "all", "argmax", "argmin", "welford"};

constexpr std::int64_t kUnitsPerInstruction = 64;  ///< of the budget: an access may take milliseconds to prove

/// Checks one kernel: scopes of scalars and variables, buffers, and indices.
class KernelChecker {
 public:
  KernelChecker(const LoopProgram& program, const LoopKernel& kernel, const RangeFacts& sizes, Budget* budget)
      : program_(program), kernel_(kernel), sizes_(sizes), budget_(budget) {
    for (const Symbol& symbol : program.interface.symbols) known_.insert(symbol.name);
  }

  Result<void> run() {
    body(kernel_.body);
    if (is_spent(budget_)) return check(budget_, "kernel " + kernel_.name);
    return std::move(result_);
  }

 private:
  void broken(std::string message) {
    if (result_) result_ = failure(Code::PS0205, std::move(message), "kernel " + kernel_.name);
  }

  void need(ScalarId scalar) {
    if (!scalars_.contains(scalar)) broken(fmt::format("v{} is not known where it is used", scalar));
  }

  void define(ScalarId scalar, std::vector<ScalarId>& made) {
    if (!ever_.insert(scalar).second) broken(fmt::format("v{} is made twice", scalar));
    scalars_.insert(scalar);
    made.push_back(scalar);
  }

  void check_symbols(const SymExpr& expression) {
    expression.for_each_symbol([&](std::string_view name) {
      if (known_.contains(std::string(name))) return;
      ScalarId scalar = fusion::scalar_of_symbol(name);
      if (scalar < 0 || !scalars_.contains(scalar)) {
        broken(fmt::format("{} is not known where an index uses it", name));
      }
    });
  }

  /// Scalars of a body are known in it and in the loops inside; `yields` are used at its end.
  void body(const fusion::Body& statements, const std::vector<Accumulator>& yields = {}) {
    std::vector<ScalarId> made;
    for (const Statement& statement : statements) {
      if (is_spent(budget_, kUnitsPerInstruction)) break;
      if (const Loop* inner = fusion::as_loop(statement)) {
        loop(*inner, made);
      } else {
        instruction(*fusion::as_instruction(statement), made);
      }
    }
    for (const Accumulator& accumulator : yields) need(accumulator.value);
    for (ScalarId scalar : made) scalars_.erase(scalar);
  }

  void loop(const Loop& loop, std::vector<ScalarId>& outer) {
    check_symbols(loop.extent);
    if (!known_.insert(loop.variable).second) {
      broken(fmt::format("loop variable {} is used twice", loop.variable));
    }
    accesses_.enter(loop);
    const Schedule& schedule = loop.schedule;
    if (schedule.grain < 1 || schedule.unroll < 1 || schedule.tile < 0) {
      broken(fmt::format("loop {}: grain and unroll are at least 1, tile at least 0", loop.variable));
    }
    if (schedule.tile > 0 && !loop.accumulators.empty()) {
      broken(fmt::format("loop {}: a loop with accumulators has no tile", loop.variable));
    }
    body(loop.body, loop.accumulators);
    accesses_.leave(loop);
    known_.erase(loop.variable);
    for (const Accumulator& accumulator : loop.accumulators) {
      bool known = std::find(std::begin(kAccumulators), std::end(kAccumulators), accumulator.op) !=
                   std::end(kAccumulators);
      if (!known) broken(fmt::format("no accumulator is called {}", accumulator.op));
      if (accumulator.results.size() != (accumulator.op == "welford" ? 3U : 1U)) {
        broken(fmt::format("{} has a wrong number of results", accumulator.op));
      }
      for (ScalarId result : accumulator.results) define(result, outer);
    }
  }

  void instruction(const Instruction& instruction, std::vector<ScalarId>& made) {
    for (ScalarId operand : instruction.operands) need(operand);
    check_symbols(instruction.index);
    bool load = instruction.op == "load", store = instruction.op == "store";
    if (load || store) {
      check_access(instruction, store);
    } else if (int count = operand_count(instruction.op); count < 0) {
      broken(fmt::format("no instruction is called {}", instruction.op));
    } else if (count != static_cast<int>(instruction.operands.size())) {
      broken(fmt::format("{} takes {} operands", instruction.op, count));
    }
    if (!store) define(instruction.result, made);
    accesses_.learn(instruction);
  }

  /// Refuses what is not known to be inside.
  void check_access(const Instruction& instruction, bool store) {
    std::size_t most = store ? 2 : 1;
    if (instruction.operands.size() > most || (store && instruction.operands.empty())) {
      broken(fmt::format("{} has a wrong number of operands", instruction.op));
    }
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
      broken(fmt::format("{} of element {} may be outside of buffer {}, which has elements {} to {}",
                         instruction.op, instruction.index.to_string(), buffer.name,
                         first.to_string(), last.to_string()));
    }
  }

  const LoopProgram& program_;
  const LoopKernel& kernel_;
  const RangeFacts& sizes_;
  Budget* budget_;
  fusion::AccessProver accesses_{sizes_};
  std::set<std::string> known_;
  std::set<ScalarId> scalars_;  ///< in scope
  std::set<ScalarId> ever_;
  Result<void> result_;
};

Result<void> broken(const LoopProgram& program, std::string message) {
  return failure(Code::PS0205, std::move(message),
                 fmt::format("graph {}", to_string(program.interface.id)));
}

Result<void> check_buffers(const LoopProgram& program) {
  auto count = static_cast<BufferId>(program.buffers.size());
  for (const Buffer& buffer : program.buffers) {
    if (buffer.sizes.size() != buffer.strides.size()) {
      return broken(program, fmt::format("buffer {} has not one stride a size", buffer.name));
    }
    bool view = buffer.kind == Buffer::Kind::view;
    bool base = buffer.base >= 0 && buffer.base < count &&
                program.buffers[buffer.base].kind != Buffer::Kind::view;
    if (view != base) return broken(program, fmt::format("buffer {} has a wrong base", buffer.name));
    if (buffer.kind == Buffer::Kind::input &&
        (buffer.index < 0 || buffer.index >= static_cast<int>(program.interface.inputs.size()))) {
      return broken(program, fmt::format("buffer {} is no input of the graph", buffer.name));
    }
    if (buffer.kind == Buffer::Kind::output &&
        (buffer.index < 0 || buffer.index >= static_cast<int>(program.interface.outputs.size()))) {
      return broken(program, fmt::format("buffer {} is no output of the graph", buffer.name));
    }
  }
  if (program.outputs.size() != program.interface.outputs.size()) {
    return broken(program, "the number of outputs differs from the interface");
  }
  for (BufferId id : program.outputs) {
    if (id < 0 || id >= count) return broken(program, "an output names no buffer");
  }
  return {};
}

Result<void> check_library(const LoopProgram& program, const LibraryCall& call) {
  const LibraryCallFacts* facts = find_library_call(call.name);
  if (facts == nullptr) return broken(program, fmt::format("the library has no {}", call.name));
  auto count = static_cast<BufferId>(program.buffers.size());
  auto outside = [&](BufferId id) { return id < kNoBuffer || id >= count; };
  bool wrong = std::any_of(call.inputs.begin(), call.inputs.end(), outside) ||
               std::any_of(call.outputs.begin(), call.outputs.end(), outside);
  const auto names = [](std::string_view list) {
    return list.empty() ? 0 : static_cast<std::size_t>(std::ranges::count(list, ' ')) + 1;
  };
  const std::size_t most = names(facts->inputs);
  auto optional = static_cast<std::size_t>(std::count(facts->inputs.begin(), facts->inputs.end(), '?'));
  wrong |= call.inputs.size() > most || call.inputs.size() < most - optional;
  if (wrong || call.outputs.size() != names(facts->outputs)) {
    return broken(program, fmt::format("{} has wrong inputs or outputs", call.name));
  }
  if (call.name == "copy") {
    const Buffer &from = program.buffers[call.inputs[0]], &to = program.buffers[call.outputs[0]];
    if (from.dtype != to.dtype || from.sizes != to.sizes) return broken(program, "copy has windows that differ");
  }
  return {};
}

/// Temporaries are written before they are read, and share bytes of the arena only if they never live
/// together, or the step where one ends and the other begins reads each element before it writes it.
class MemoryChecker {
 public:
  explicit MemoryChecker(const LoopProgram& program) : program_(program) {}

  Result<void> run() {
    std::vector<fusion::StepUses> uses;
    for (const ProgramStep& step : program_.steps) {
      uses.push_back(fusion::uses_of(program_, step));
      for (BufferId id : uses.back().reads) last_[id] = uses.size() - 1;
      for (BufferId id : uses.back().writes) last_[id] = uses.size() - 1;
    }
    for (std::size_t s = 0; s < uses.size(); ++s) {
      for (BufferId id : uses[s].reads) {
        bool temporary = program_.buffers[id].kind == Buffer::Kind::temporary;
        if (temporary && !begun_.contains(id) && !uses[s].writes.contains(id)) {
          return broken(program_, fmt::format("temporary {} is read before it is written",
                                              program_.buffers[id].name));
        }
      }
      for (BufferId id : uses[s].writes) {
        if (auto checked = begin(id, s); !checked) return checked;
      }
      for (const auto* set : {&uses[s].reads, &uses[s].writes}) {
        for (BufferId id : *set) end(id, s);
      }
    }
    return {};
  }

 private:
  /// Places with symbols stand behind the constant ones and are compared as text.
  Result<void> begin(BufferId id, std::size_t step) {
    const Buffer& buffer = program_.buffers[id];
    if (buffer.kind != Buffer::Kind::temporary || !begun_.insert(id).second) return {};
    auto start = buffer.arena_offset.constant(), bytes = buffer.bytes.constant();
    if (!start || !bytes) return {};
    auto next = live_.lower_bound(*start);
    for (auto at = next == live_.begin() ? next : std::prev(next); at != live_.end() && at->first < *start + *bytes;) {
      auto other = at++;
      const Buffer& before = program_.buffers[other->second];
      if (other->first + *before.bytes.constant() <= *start) continue;
      const auto* kernel = std::get_if<LoopKernel>(&program_.steps[step]);
      bool takes_over = kernel != nullptr && last_[other->second] == step &&
                        fusion::reads_then_writes(kernel->body, other->second, id);
      if (!takes_over) {
        return broken(program_, fmt::format("temporaries {} and {} share memory while both live",
                                            before.name, buffer.name));
      }
      live_.erase(other);
    }
    live_.emplace(*start, id);
    return {};
  }

  void end(BufferId id, std::size_t step) {
    if (last_[id] != step || program_.buffers[id].kind != Buffer::Kind::temporary) return;
    auto start = program_.buffers[id].arena_offset.constant();
    auto found = start ? live_.find(*start) : live_.end();
    if (found != live_.end() && found->second == id) live_.erase(found);
  }

  const LoopProgram& program_;
  std::map<BufferId, std::size_t> last_;
  std::set<BufferId> begun_;
  std::map<std::int64_t, BufferId> live_;  ///< by first byte
};

}  // namespace

Result<void> verify_contract(const LoopProgram& program, Budget* budget) {
  if (auto checked = check_buffers(program); !checked) return checked;
  auto sizes = recorded_sizes(program.interface.symbols);
  auto memory = verify_memory(program.interface, program.buffers, program.arena_bytes, sizes, false);
  if (!memory) return memory;
  const RangeFacts facts = size_facts(program.interface);
  for (const ProgramStep& step : program.steps) {
    Result<void> checked;
    if (const auto* kernel = std::get_if<LoopKernel>(&step)) {
      checked = KernelChecker(program, *kernel, facts, budget).run();
    } else if (const auto* call = std::get_if<LibraryCall>(&step)) {
      checked = check_library(program, *call);
    }
    if (!checked) return checked;
  }
  return MemoryChecker(program).run();
}

}  // namespace penstock
