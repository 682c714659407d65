#include "fusion/loops.h"

#include <algorithm>
#include <charconv>

#include "ir/control_steps.h"

namespace penstock::fusion {

ScalarId scalar_of_symbol(std::string_view name) {
  if (name.size() < 2 || name.front() != 'v') return -1;
  ScalarId scalar = -1;
  auto [end, error] = std::from_chars(name.data() + 1, name.data() + name.size(), scalar);
  return error == std::errc() && end == name.data() + name.size() ? scalar : -1;
}

namespace {

ScalarId renamed(const Renaming& renaming, ScalarId scalar) {
  auto found = renaming.scalars.find(scalar);
  return found == renaming.scalars.end() ? scalar : found->second;
}

SymExpr renamed(const Renaming& renaming, const SymExpr& expression) {
  if (expression.is_constant()) return expression;
  return expression.substitute([&](std::string_view name) -> std::optional<SymExpr> {
    if (auto found = renaming.symbols.find(name); found != renaming.symbols.end()) {
      return found->second;
    }
    ScalarId scalar = scalar_of_symbol(name);
    if (scalar < 0) return std::nullopt;
    return SymExpr::symbol("v" + std::to_string(renamed(renaming, scalar)));
  });
}

void rename(Loop& loop, const Renaming& renaming) {
  if (auto found = renaming.symbols.find(loop.variable); found != renaming.symbols.end()) {
    loop.variable = std::string(found->second.symbol_name());
  }
  loop.extent = renamed(renaming, loop.extent);
  for (Accumulator& accumulator : loop.accumulators) {
    accumulator.value = renamed(renaming, accumulator.value);
    for (ScalarId& result : accumulator.results) result = renamed(renaming, result);
  }
  rename(loop.body, renaming);
}

}  // namespace

void rename(Body& body, const Renaming& renaming) {
  for (Statement& statement : body) {
    if (Loop* loop = as_loop(statement)) {
      rename(*loop, renaming);
      continue;
    }
    Instruction& instruction = *as_instruction(statement);
    if (instruction.result >= 0) instruction.result = renamed(renaming, instruction.result);
    for (ScalarId& operand : instruction.operands) operand = renamed(renaming, operand);
    instruction.index = renamed(renaming, instruction.index);
  }
}

bool is_innermost(const Loop& loop) {
  return std::ranges::none_of(
      loop.body, [](const Statement& statement) { return as_loop(statement) != nullptr; });
}

bool is_short(const SymExpr& extent) {
  return extent.constant().value_or(kFewIterations) < kFewIterations;
}

bool varies_in_length(const Body& body, std::string_view variable) {
  return std::ranges::any_of(body, [&](const Statement& statement) {
    const Loop* inner = as_loop(statement);
    if (inner == nullptr) return false;
    bool varies = false;
    inner->extent.for_each_symbol(
        [&](std::string_view name) { varies |= name == variable || scalar_of_symbol(name) >= 0; });
    return varies || varies_in_length(inner->body, variable);
  });
}

bool mentions(const SymExpr& expression, std::string_view name) {
  bool found = false;
  expression.for_each_symbol([&](std::string_view symbol) { found |= symbol == name; });
  return found;
}

bool carries_memory(const Loop& loop) {
  bool carries = false;
  // A place that is computed once for the whole loop is like any other place.
  std::set<ScalarId> made;
  for_each_instruction(loop.body, [&](const Instruction& instruction) {
    if (instruction.result >= 0) made.insert(instruction.result);
  });
  for_each_instruction(loop.body, [&](const Instruction& store) {
    if (store.op != "store") return;
    bool computed = false;
    store.index.for_each_symbol(
        [&](std::string_view name) { computed |= made.contains(scalar_of_symbol(name)); });
    if (computed || !mentions(store.index, loop.variable)) carries = true;
    for_each_instruction(loop.body, [&](const Instruction& other) {
      bool touches = (other.op == "load" || other.op == "store") && other.buffer == store.buffer;
      if (touches && other.index != store.index) carries = true;
    });
  });
  return carries;
}

std::optional<std::int64_t> stride_of(const SymExpr& index, std::string_view variable) {
  SymExpr next = index.substitute([&](std::string_view name) -> std::optional<SymExpr> {
    if (name != variable) return std::nullopt;
    return SymExpr::symbol(name) + 1;
  });
  return (next - index).constant();
}

namespace {

void number(const Body& body, Renaming& renaming, int& loops) {
  auto name_scalar = [&](ScalarId scalar) {
    if (scalar >= 0) {
      renaming.scalars.emplace(scalar, static_cast<ScalarId>(renaming.scalars.size()));
    }
  };
  for (const Statement& statement : body) {
    if (const Instruction* instruction = as_instruction(statement)) {
      name_scalar(instruction->result);
      continue;
    }
    const Loop& loop = *as_loop(statement);
    renaming.symbols.emplace(loop.variable, SymExpr::symbol("i" + std::to_string(loops++)));
    number(loop.body, renaming, loops);
    for (const Accumulator& accumulator : loop.accumulators) {
      for (ScalarId result : accumulator.results) name_scalar(result);
    }
  }
}

}  // namespace

void renumber(LoopKernel& kernel) {
  Renaming renaming;
  int loops = 0;
  number(kernel.body, renaming, loops);
  rename(kernel.body, renaming);
}

StepUses uses_of(const LoopProgram& program, const ProgramStep& step) {
  StepUses uses;
  auto base = [&](BufferId id) {
    return program.buffers[id].kind == Buffer::Kind::view ? program.buffers[id].base : id;
  };
  auto add = [&](std::set<BufferId>& set, BufferId id) {
    if (id != kNoBuffer) set.insert(base(id));
  };
  if (const auto* kernel = std::get_if<LoopKernel>(&step)) {
    for_each_instruction(kernel->body, [&](const Instruction& instruction) {
      if (instruction.op == "load") add(uses.reads, instruction.buffer);
      if (instruction.op == "store") add(uses.writes, instruction.buffer);
    });
  } else if (const auto* call = std::get_if<LibraryCall>(&step)) {
    for (BufferId id : call->inputs) add(uses.reads, id);
    for (const PostOp& op : call->post_ops) add(uses.reads, op.operand);
    for (BufferId id : call->outputs) add(uses.writes, id);
  } else {
    const auto& fallback = std::get<FallbackCall>(step);
    for (const NamedArgument& argument : fallback.arguments) {
      for_each_value(argument.value,
                     [&](ValueId id) { add(uses.reads, static_cast<BufferId>(id)); });
    }
    for (BufferId id : fallback.outputs) add(uses.writes, id);
  }
  return uses;
}

std::vector<int> last_uses(const LoopProgram& program, const std::vector<StepUses>& uses) {
  std::vector<int> first(program.buffers.size(), -1), last = first;
  for (std::size_t s = 0; s < uses.size(); ++s) {
    for (const auto* set : {&uses[s].reads, &uses[s].writes}) {
      for (BufferId id : *set) {
        const auto at = static_cast<std::size_t>(id);
        last[at] = static_cast<int>(s);
        if (first[at] < 0) first[at] = static_cast<int>(s);
      }
    }
  }
  const ControlSteps control = control_steps_of(program.steps);
  for (std::size_t s = 0; s < uses.size(); ++s) {
    if (!control[s] || !control[s]->repeats()) continue;
    const auto end = s + static_cast<std::size_t>(control[s]->first + control[s]->second);
    for (std::size_t inside = s; inside <= end && inside < uses.size(); ++inside) {
      for (const auto* set : {&uses[inside].reads, &uses[inside].writes}) {
        for (BufferId id : *set) {
          const auto at = static_cast<std::size_t>(id);
          if (first[at] <= static_cast<int>(s))
            last[at] = std::max(last[at], static_cast<int>(end) + 1);
        }
      }
    }
  }
  return last;
}

bool reads_then_writes(const Body& body, BufferId from, BufferId to) {
  const SymExpr *read = nullptr, *written = nullptr;
  bool fits = true;
  for_each_instruction(body, [&](const Instruction& instruction) {
    if (instruction.buffer == to) {
      fits &= instruction.op == "store" && written == nullptr;
      written = &instruction.index;
    } else if (instruction.buffer == from) {
      // Behind the store, the element is another one.
      fits &= instruction.op == "load" && written == nullptr &&
              (read == nullptr || *read == instruction.index);
      read = &instruction.index;
    }
  });
  // Loops of their own have variables of their own: equal indices stand in one body.
  return fits && written != nullptr && (read == nullptr || *read == *written);
}

}  // namespace penstock::fusion
