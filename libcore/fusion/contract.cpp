#include "fusion/contract.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "fusion/device_contract.h"
#include "fusion/kernel_contract.h"
#include "fusion/loops.h"
#include "ir/control_steps.h"
#include "ir/library_verify.h"
#include "ir/memory_verify.h"
#include "ir/size_facts.h"

namespace penstock {

namespace {

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
    if (view != base)
      return broken(program, fmt::format("buffer {} has a wrong base", buffer.name));
    if (buffer.kind == Buffer::Kind::input &&
        (buffer.index < 0 || buffer.index >= static_cast<int>(program.interface.inputs.size()))) {
      return broken(program, fmt::format("buffer {} is no input of the graph", buffer.name));
    }
    if (buffer.host &&
        ((buffer.kind != Buffer::Kind::input && buffer.kind != Buffer::Kind::constant) ||
         !buffer.sizes.empty() || program.device == "cpu")) {
      return broken(program, fmt::format("buffer {} is no number of the host", buffer.name));
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

/// Temporaries are written before they are read, and share bytes of the arena only if they never
/// live together, or the step where one ends and the other begins reads each element before it
/// writes it.
class MemoryChecker {
 public:
  explicit MemoryChecker(const LoopProgram& program) : program_(program) {}

  Result<void> run() {
    std::vector<fusion::StepUses> uses;
    for (const ProgramStep& step : program_.steps) {
      uses.push_back(fusion::uses_of(program_, step));
    }
    last_ = fusion::last_uses(program_, uses);
    std::vector<std::vector<BufferId>> ending(uses.size() + 1);
    for (std::size_t id = 0; id < last_.size(); ++id) {
      if (last_[id] >= 0)
        ending[static_cast<std::size_t>(last_[id])].push_back(static_cast<BufferId>(id));
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
      for (BufferId id : ending[s]) end(id);
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
    for (auto at = next == live_.begin() ? next : std::prev(next);
         at != live_.end() && at->first < *start + *bytes;) {
      auto other = at++;
      const Buffer& before = program_.buffers[other->second];
      if (other->first + *before.bytes.constant() <= *start) continue;
      const auto* kernel = std::get_if<LoopKernel>(&program_.steps[step]);
      bool takes_over = kernel != nullptr && last_[other->second] == static_cast<int>(step) &&
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

  void end(BufferId id) {
    if (program_.buffers[id].kind != Buffer::Kind::temporary) return;
    auto start = program_.buffers[id].arena_offset.constant();
    auto found = start ? live_.find(*start) : live_.end();
    if (found != live_.end() && found->second == id) live_.erase(found);
  }

  const LoopProgram& program_;
  std::vector<int> last_;
  std::set<BufferId> begun_;
  std::map<std::int64_t, BufferId> live_;  ///< by first byte
};

using VisitSize = std::function<void(const SymExpr&)>;

/// Calls `visit` for all that is known of a buffer and of the memory that it is a window on.
void for_each_size(const LoopProgram& program, BufferId id, const VisitSize& visit) {
  if (id == kNoBuffer) return;
  const Buffer& buffer = program.buffers[static_cast<std::size_t>(id)];
  std::ranges::for_each(buffer.sizes, visit);
  std::ranges::for_each(buffer.strides, visit);
  for (const SymExpr* one : {&buffer.offset, &buffer.arena_offset, &buffer.bytes}) visit(*one);
  if (buffer.kind == Buffer::Kind::view) for_each_size(program, buffer.base, visit);
}

/// The same for the loops, indices and buffers of a kernel.
void for_each_size(const LoopProgram& program, const fusion::Body& body, const VisitSize& visit) {
  for (const Statement& statement : body) {
    if (const Loop* loop = fusion::as_loop(statement)) {
      visit(loop->extent);
      for_each_size(program, loop->body, visit);
    } else {
      const Instruction& instruction = *fusion::as_instruction(statement);
      visit(instruction.index);
      for_each_size(program, instruction.buffer, visit);
    }
  }
}

/// The same for a step; of a call that decides a size, for what it looks at.
void for_each_size(const LoopProgram& program, const ProgramStep& step, const VisitSize& visit) {
  if (const auto* kernel = std::get_if<LoopKernel>(&step))
    return for_each_size(program, kernel->body, visit);
  const auto attributes = [&](const std::vector<NamedArgument>& list) {
    for (const NamedArgument& attribute : list) penstock::for_each_size(attribute.value, visit);
  };
  if (const auto* call = std::get_if<LibraryCall>(&step)) {
    for (BufferId id : call->inputs) for_each_size(program, id, visit);
    for (BufferId id : call->outputs) for_each_size(program, id, visit);
    for (const PostOp& op : call->post_ops) for_each_size(program, op.operand, visit);
    if (!decided_size_of(*call, 0)) attributes(call->attributes);
    return;
  }
  const auto& fallback = std::get<FallbackCall>(step);
  for (BufferId id : fallback.outputs) for_each_size(program, id, visit);
  for (const NamedArgument& argument : fallback.arguments) {
    for_each_value(argument.value,
                   [&](ValueId id) { for_each_size(program, static_cast<BufferId>(id), visit); });
  }
  attributes(fallback.arguments);
}

/// The symbols that neither sources nor inputs give a value to, and no step decides: none may be
/// needed.
std::set<std::string, std::less<>> unknown_symbols(const LoopProgram& program,
                                                   const DecidedSizes& decided) {
  std::set<std::string, std::less<>> unknown;
  for (const Symbol& symbol : program.interface.symbols) {
    if (symbol.source == kNoSource && !decided.contains(symbol.name)) unknown.insert(symbol.name);
  }
  const auto shown = [&](const SymExpr& size) {
    const auto found = unknown.find(size.symbol_name());
    if (found != unknown.end()) unknown.erase(found);
  };
  for (const Input& input : program.interface.inputs) {
    std::ranges::for_each(input.type.sizes, shown);
    std::ranges::for_each(input.type.strides, shown);
    if (input.kind == InputKind::size) unknown.erase(input.name);
  }
  return unknown;
}

/// Steps that need a size stand behind what decides it.
Result<void> check_order(const LoopProgram& program, const DecidedSizes& decided,
                         const std::string& place) {
  const auto unknown = unknown_symbols(program, decided);
  if (decided.empty() && unknown.empty()) return {};
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    int last = -1;
    std::string missing;
    for_each_size(program, program.steps[i], [&](const SymExpr& size) {
      last = std::max(last, decided.decided_by(size));
      if (unknown.empty() || size.is_constant()) return;
      size.for_each_symbol([&](std::string_view name) {
        if (unknown.contains(name)) missing = name;
      });
    });
    if (!missing.empty())
      return broken(program,
                    fmt::format("step {} needs the size {}, which nothing decides", i, missing));
    if (auto behind = verify_behind(decided, last, i, place); !behind) return behind;
  }
  return {};
}

}  // namespace

Result<void> verify_contract(const LoopProgram& program, Budget* budget) {
  if (auto checked = check_buffers(program); !checked) return checked;
  auto sizes = recorded_sizes(program.interface.symbols);
  const DecidedSizes decided(program.steps);
  auto memory = verify_memory(program.interface, program.buffers, {program.arena_bytes, &decided},
                              sizes, false);
  if (!memory) return memory;
  const std::string place = fmt::format("graph {}", to_string(program.interface.id));
  const ControlSteps control = control_steps_of(program.steps);
  if (auto branches = verify_control_steps(control, place); !branches) return branches;
  auto sound = verify_decided_sizes(decided, control, program.interface, place);
  if (sound) sound = check_order(program, decided, place);
  if (!sound) return sound;
  const RangeFacts facts = size_facts(program.interface);
  for (const ProgramStep& step : program.steps) {
    Result<void> checked;
    if (const auto* kernel = std::get_if<LoopKernel>(&step)) {
      checked = fusion::verify_kernel(program, *kernel, facts, budget);
      if (checked) checked = fusion::verify_device(program, *kernel);
    } else if (const auto* call = std::get_if<LibraryCall>(&step)) {
      checked = verify_library_call(*call, program.buffers, sizes, place);
    }
    if (!checked) return checked;
  }
  return MemoryChecker(program).run();
}

}  // namespace penstock
