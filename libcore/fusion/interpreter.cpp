#include "fusion/interpreter.h"

#include <fmt/format.h>

#include <algorithm>

#include "fusion/host_number.h"
#include "fusion/library_reference.h"
#include "fusion/loops.h"

namespace penstock::fusion {

namespace {

using SymbolValues = std::map<std::string, std::int64_t>;

/// Runs the kernels of a program; scalars and loop variables of one kernel at a time.
class KernelRunner {
 public:
  KernelRunner(const LoopProgram& program, const std::vector<std::byte*>& memory,
               const SymbolValues& symbols)
      : program_(program), memory_(memory), symbols_(symbols) {}

  Result<void> run(const LoopKernel& kernel) {
    kernel_ = &kernel;
    scalars_.clear();
    variables_.clear();
    body(kernel.body);
    return std::move(result_);
  }

 private:
  struct Scalar {
    HostNumber number;
    DType dtype = DType::float32;
  };

  std::int64_t evaluate(const SymExpr& expression) {
    auto value = expression.evaluate([&](std::string_view name) -> std::optional<std::int64_t> {
      if (auto found = variables_.find(name); found != variables_.end()) return found->second;
      if (auto found = symbols_.find(std::string(name)); found != symbols_.end()) return found->second;
      ScalarId scalar = scalar_of_symbol(name);
      if (scalar >= 0 && scalar < static_cast<ScalarId>(scalars_.size())) {
        return scalars_[scalar].number.integer;
      }
      return std::nullopt;
    });
    if (!value) fail("a size expression has no value: " + expression.to_string());
    return value.value_or(0);
  }

  void fail(std::string message) {
    if (result_) result_ = failure(Code::PS0205, std::move(message), "kernel " + kernel_->name);
  }

  void set(ScalarId id, HostNumber number, DType dtype) {
    if (id >= static_cast<ScalarId>(scalars_.size())) scalars_.resize(id + 1);
    scalars_[id] = {number, dtype};
  }

  void body(const Body& statements) {
    for (const Statement& statement : statements) {
      if (!result_) return;
      if (const Loop* inner = as_loop(statement)) {
        loop(*inner);
      } else {
        instruction(*as_instruction(statement));
      }
    }
  }

  void loop(const Loop& loop) {
    std::vector<HostAccumulator> totals;
    for (const Accumulator& a : loop.accumulators) totals.emplace_back(a.op, a.dtype);
    std::int64_t extent = evaluate(loop.extent);
    for (std::int64_t i = 0; i < extent && result_; ++i) {
      variables_.insert_or_assign(loop.variable, i);
      body(loop.body);
      for (std::size_t a = 0; a < totals.size(); ++a) {
        totals[a].add(scalars_[loop.accumulators[a].value].number, i);
      }
    }
    variables_.erase(loop.variable);
    for (std::size_t a = 0; a < totals.size(); ++a) {
      std::vector<HostNumber> results = totals[a].results();
      const Accumulator& accumulator = loop.accumulators[a];
      bool positional = accumulator.op == "argmax" || accumulator.op == "argmin";
      for (std::size_t r = 0; r < results.size(); ++r) {
        set(accumulator.results[r], results[r], positional ? DType::int64 : accumulator.dtype);
      }
    }
  }

  void instruction(const Instruction& in) {
    auto truth = [&](std::size_t operand) { return scalars_[in.operands[operand]].number.integer != 0; };
    if (in.op == "load") {
      bool masked = !in.operands.empty() && !truth(0);
      set(in.result, masked ? number_of(in.immediate, in.dtype) : load_number(in.dtype, place(in)), in.dtype);
    } else if (in.op == "store") {
      if (in.operands.size() > 1 && !truth(1)) return;
      const Scalar& value = scalars_[in.operands[0]];
      if (std::byte* at = place(in)) store_number(in.dtype, at, convert_number(value.number, value.dtype, in.dtype));
    } else if (in.op == "constant") {
      set(in.result, number_of(in.immediate, in.dtype), in.dtype);
    } else if (in.op == "index") {
      set(in.result, convert_number({0, evaluate(in.index)}, DType::int64, in.dtype), in.dtype);
    } else {
      std::vector<HostNumber> operands;
      for (ScalarId operand : in.operands) operands.push_back(scalars_[operand].number);
      DType dtype = scalars_[in.operands.back()].dtype;
      set(in.result, apply(in.op, dtype, in.dtype, operands), in.dtype);
    }
  }

  std::byte* place(const Instruction& in) {
    const Buffer& buffer = program_.buffers[in.buffer];
    return memory_[in.buffer] + evaluate(in.index) * facts(buffer.dtype).size;
  }

  const LoopProgram& program_;
  const std::vector<std::byte*>& memory_;
  const SymbolValues& symbols_;
  const LoopKernel* kernel_ = nullptr;
  std::vector<Scalar> scalars_;
  std::map<std::string, std::int64_t, std::less<>> variables_;
  Result<void> result_;
};

/// Memory of all buffers. Temporaries lie where the plan puts them, so that a wrong plan gives
/// wrong results.
class Machine {
 public:
  Machine(const LoopProgram& program, std::vector<HostArray>& inputs, const SymbolValues& symbols)
      : program_(program), symbols_(symbols), memory_(program.buffers.size(), nullptr) {
    arena_.resize(static_cast<std::size_t>(value(program.arena_bytes)));
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      const Buffer& buffer = program.buffers[i];
      switch (buffer.kind) {
        case Buffer::Kind::input: {
          HostArray& array = inputs[static_cast<std::size_t>(buffer.index)];
          memory_[i] = array.memory.data() + array.offset * facts(array.dtype).size;
          break;
        }
        case Buffer::Kind::temporary:
          if (value(buffer.arena_offset + buffer.bytes) <= static_cast<std::int64_t>(arena_.size())) {
            memory_[i] = arena_.data() + value(buffer.arena_offset);
          }
          break;
        case Buffer::Kind::output:
        case Buffer::Kind::scratch:
          own_.emplace_back(static_cast<std::size_t>(value(buffer.bytes)));
          memory_[i] = own_.back().data();
          break;
        case Buffer::Kind::view:
        case Buffer::Kind::constant: break;
      }
    }
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      const Buffer& buffer = program.buffers[i];
      if (buffer.kind == Buffer::Kind::view) memory_[i] = memory_[buffer.base];
    }
  }

  Result<void> run() {
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      if (memory_[i] != nullptr || value(program_.buffers[i].bytes) == 0) continue;
      return failure(Code::PS0205, fmt::format("buffer {} lies in no memory", program_.buffers[i].name));
    }
    KernelRunner kernels(program_, memory_, symbols_);
    for (const ProgramStep& step : program_.steps) {
      Result<void> done;
      if (const auto* kernel = std::get_if<LoopKernel>(&step)) {
        done = kernels.run(*kernel);
      } else if (const auto* call = std::get_if<LibraryCall>(&step)) {
        done = run_library_call(*call, [&](BufferId id) { return tensor(id); });
      } else {
        const auto& fallback = std::get<FallbackCall>(step);
        done = failure(Code::PS0602, fmt::format("{} runs only through torch: {}", fallback.op, fallback.reason));
      }
      if (!done) return done;
    }
    return {};
  }

  HostArray result(BufferId id) const {
    HostTensorView view = tensor(id);
    HostArray array;
    array.dtype = view.dtype;
    array.sizes = view.sizes;
    std::int64_t count = 1;
    for (std::size_t i = view.sizes.size(); i-- > 0;) {
      array.strides.insert(array.strides.begin(), count);
      count *= std::max<std::int64_t>(view.sizes[i], 1);
    }
    count = 1;
    for (std::int64_t size : view.sizes) count *= size;
    int bytes = facts(view.dtype).size;
    array.memory.resize(static_cast<std::size_t>(count * bytes));
    for (std::int64_t e = 0; e < count; ++e) {
      store_number(view.dtype, array.memory.data() + e * bytes, load_number(view.dtype, view.at(e)));
    }
    return array;
  }

 private:
  std::int64_t value(const SymExpr& expression) const {
    auto number = expression.evaluate([&](std::string_view name) -> std::optional<std::int64_t> {
      auto found = symbols_.find(std::string(name));
      return found == symbols_.end() ? std::nullopt : std::optional(found->second);
    });
    return number.value_or(0);
  }

  HostTensorView tensor(BufferId id) const {
    const Buffer& buffer = program_.buffers[id];
    HostTensorView view{buffer.dtype, memory_[id], {}, {}, value(buffer.offset)};
    for (const SymExpr& size : buffer.sizes) view.sizes.push_back(value(size));
    for (const SymExpr& stride : buffer.strides) view.strides.push_back(value(stride));
    return view;
  }

  const LoopProgram& program_;
  const SymbolValues& symbols_;
  std::vector<std::byte> arena_;
  std::vector<std::vector<std::byte>> own_;
  std::vector<std::byte*> memory_;
};

}  // namespace

Result<std::vector<HostArray>> interpret(const LoopProgram& program, std::vector<HostArray>& inputs,
                                         const SymbolValues& symbols) {
  if (inputs.size() != program.interface.inputs.size()) {
    return failure(Code::PS0205, fmt::format("the program takes {} inputs, {} are given",
                                             program.interface.inputs.size(), inputs.size()));
  }
  Machine machine(program, inputs, symbols);
  if (auto done = machine.run(); !done) return tl::unexpected(done.error());
  std::vector<HostArray> outputs;
  for (BufferId id : program.outputs) outputs.push_back(machine.result(id));
  return outputs;
}

}  // namespace penstock::fusion
