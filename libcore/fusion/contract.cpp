#include "fusion/contract.h"

#include <fmt/format.h>

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

}  // namespace

Result<void> verify_contract(const LoopProgram& program, Budget* budget) {
  if (auto checked = check_buffers(program); !checked) return checked;
  auto sizes = recorded_sizes(program.interface.symbols);
  auto memory =
      verify_memory(program.interface, program.buffers, program.arena_bytes, sizes, false);
  if (!memory) return memory;
  auto branches = verify_control_steps(control_steps_of(program.steps),
                                       fmt::format("graph {}", to_string(program.interface.id)));
  if (!branches) return branches;
  const RangeFacts facts = size_facts(program.interface);
  for (const ProgramStep& step : program.steps) {
    Result<void> checked;
    if (const auto* kernel = std::get_if<LoopKernel>(&step)) {
      checked = fusion::verify_kernel(program, *kernel, facts, budget);
      if (checked) checked = fusion::verify_device(program, *kernel);
    } else if (const auto* call = std::get_if<LibraryCall>(&step)) {
      checked = verify_library_call(*call, program.buffers, sizes,
                                    fmt::format("graph {}", to_string(program.interface.id)));
    }
    if (!checked) return checked;
  }
  return MemoryChecker(program).run();
}

}  // namespace penstock
