#include "fusion/interpreter.h"

#include <fmt/format.h>

#include <map>
#include <unordered_map>

#include "fusion/host_number.h"
#include "fusion/library_reference.h"
#include "fusion/loops.h"
#include "ir/call_location.h"
#include "ir/control_steps.h"
#include "ir/decided_sizes.h"
#include "ir/library_verify.h"
#include "ir/memory_verify.h"

namespace penstock::fusion {

namespace {

using SymbolValues = std::map<std::string, std::int64_t, std::less<>>;

/// Runs the kernels of a program; scalars and loop variables of one kernel at a time.
class KernelRunner {
 public:
  /// `memory`: for each buffer its memory, with the place of its element 0 as offset.
  KernelRunner(std::vector<ops::HostTensor>& memory, const SymbolValues& symbols)
      : memory_(memory), symbols_(symbols) {}

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
      if (auto found = symbols_.find(name); found != symbols_.end()) return found->second;
      auto scalar = scalars_.find(scalar_of_symbol(name));
      return scalar == scalars_.end() ? std::nullopt : std::optional(scalar->second.number.integer);
    });
    if (!value) fail("a size expression has no value: " + expression.to_string());
    return value.value_or(0);
  }

  void fail(std::string message) {
    if (result_) result_ = failure(Code::PS0205, std::move(message), "kernel " + kernel_->name);
  }

  void set(ScalarId id, HostNumber number, DType dtype) { scalars_[id] = {number, dtype}; }

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
        const Scalar& value = scalars_[loop.accumulators[a].value];
        totals[a].add(convert_number(value.number, value.dtype, loop.accumulators[a].dtype), i);
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
    auto truth = [&](std::size_t operand) {
      return scalars_[in.operands[operand]].number.integer != 0;
    };
    if (in.op == "load") {
      bool masked = !in.operands.empty() && !truth(0);
      set(in.result, masked ? number_of(in.immediate, in.dtype) : load(in), in.dtype);
    } else if (in.op == "store") {
      if (in.operands.size() > 1 && !truth(1)) return;
      const Scalar& value = scalars_[in.operands[0]];
      ops::HostTensor& memory = memory_[in.buffer];
      std::int64_t at = place(in);
      if (at >= 0) store_number(memory, at, convert_number(value.number, value.dtype, in.dtype));
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

  HostNumber load(const Instruction& in) {
    std::int64_t at = place(in);
    return at < 0 ? HostNumber{} : load_number(memory_[in.buffer], at);
  }

  /// Where the instruction's element lies in its memory; -1 and an error when outside.
  std::int64_t place(const Instruction& in) {
    const ops::HostTensor& memory = memory_[in.buffer];
    std::int64_t at = evaluate(in.index) + memory.offset;
    auto length = static_cast<std::int64_t>(memory.memory->size()) / facts(memory.dtype).size;
    if (at >= 0 && at < length) return at;
    fail(fmt::format("{} of element {} is outside of its memory", in.op, in.index.to_string()));
    return -1;
  }

  std::vector<ops::HostTensor>& memory_;
  const SymbolValues& symbols_;
  const LoopKernel* kernel_ = nullptr;
  std::unordered_map<ScalarId, Scalar> scalars_;
  std::map<std::string, std::int64_t, std::less<>> variables_;
  Result<void> result_;
};

/// Symbols take their numbers from sizes and strides that are one symbol alone, and from inputs
/// that are read where a symbol is.
Result<SymbolValues> bind_symbols(const Interface& interface,
                                  const std::vector<ops::HostTensor>& inputs) {
  SymbolValues values;
  auto bind = [&](const SymExpr& expression, std::int64_t number) {
    if (!expression.symbol_name().empty()) {
      values.try_emplace(std::string(expression.symbol_name()), number);
    }
  };
  if (inputs.size() != interface.inputs.size()) {
    return failure(Code::PS0603, fmt::format("the program takes {} inputs, {} are given",
                                             interface.inputs.size(), inputs.size()));
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Input& input = interface.inputs[i];
    const TensorType& type = input.type;
    if (type.rank() != inputs[i].sizes.size() || type.dtype != inputs[i].dtype) {
      return failure(Code::PS0603, "input " + input.name + " is not " + to_string(type));
    }
    for (std::size_t d = 0; d < type.rank(); ++d) {
      bind(type.sizes[d], inputs[i].sizes[d]);
      bind(type.strides[d], inputs[i].strides[d]);
    }
    for (const Symbol& symbol : interface.symbols) {
      if (input.kind != InputKind::size || symbol.source != input.source) continue;
      values.try_emplace(symbol.name, inputs[i].integer_at(inputs[i].offset));
    }
  }
  return values;
}

/// Memory of all buffers. Temporaries lie where the plan puts them, so that a wrong plan gives
/// wrong results.
class Machine {
 public:
  Machine(const LoopProgram& program, std::vector<ops::HostTensor> inputs, SymbolValues symbols)
      : program_(program),
        decided_(program.steps),
        inputs_(std::move(inputs)),
        symbols_(std::move(symbols)),
        memory_(program.buffers.size()) {
    take_memory(-1, program.arena_bytes);
  }

  Result<void> run() {
    KernelRunner kernels(memory_, symbols_);
    const auto run = [&](std::size_t step) -> Result<bool> {
      auto done = run_step(program_.steps[step], kernels);
      if (!done) return tl::unexpected(std::move(done.error()));
      return true;
    };
    const ControlSteps control = control_steps_of(program_.steps);
    const auto taken = [&](std::size_t step, std::int64_t turn) -> Result<bool> {
      return goes_on(std::get<LibraryCall>(program_.steps[step]), control[step]->kind, turn);
    };
    auto done = run_control_steps(control, 0, program_.steps.size(), run, taken);
    if (!done) return tl::unexpected(std::move(done.error()));
    return {};
  }

  /// A buffer as a tensor of its sizes and strides.
  ops::HostTensor tensor(BufferId id) const {
    const Buffer& buffer = program_.buffers[id];
    ops::HostTensor tensor = memory_[id];
    tensor.offset += value(buffer.offset);
    tensor.sizes.clear();
    tensor.strides.clear();
    for (const SymExpr& size : buffer.sizes) tensor.sizes.push_back(value(size));
    for (const SymExpr& stride : buffer.strides) tensor.strides.push_back(value(stride));
    return tensor;
  }

 private:
  /// Finds memory for the buffers whose sizes are known since the decision: -1, as it begins.
  void take_memory(int decision, const SymExpr& arena_bytes) {
    const auto is_due = [&](std::size_t i) {
      return decided_.decided_by(program_.buffers, static_cast<BufferId>(i)) == decision;
    };
    auto arena = allocate(arena_bytes);
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      const Buffer& buffer = program_.buffers[i];
      if (!is_due(i)) continue;
      ops::HostTensor& memory = memory_[i];
      if (buffer.kind == Buffer::Kind::input)
        memory = inputs_[static_cast<std::size_t>(buffer.index)];
      memory.dtype = buffer.dtype;
      if (buffer.kind == Buffer::Kind::temporary) {
        memory.memory = arena;
        memory.offset = value(buffer.arena_offset) / facts(buffer.dtype).size;
      } else if (memory.memory == nullptr && buffer.kind != Buffer::Kind::view) {
        memory.memory = allocate(buffer.bytes);
      }
    }
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      const Buffer& buffer = program_.buffers[i];
      if (buffer.kind != Buffer::Kind::view || !is_due(i)) continue;
      // Offsets count elements.
      ops::HostTensor& memory = memory_[i] = memory_[buffer.base];
      memory.offset = memory.offset * facts(memory.dtype).size / facts(buffer.dtype).size;
      memory.dtype = buffer.dtype;
    }
  }

  /// The size that elements decide now, and the memory that needs it.
  Result<void> decide(const LibraryCall& call) {
    const auto step = std::ranges::find_if(decided_.all(), [&](const DecidedSize& size) {
      return &std::get<LibraryCall>(program_.steps[size.step]) == &call;
    });
    const ops::HostTensor element = tensor(call.inputs.front());
    const std::int64_t size = element.integer_at(element.offset);
    if (!step->symbol.empty()) symbols_.insert_or_assign(step->symbol, size);
    if (auto fits = check_decided(program_.interface, *step, size, symbol_value()); !fits)
      return fits;
    take_memory(static_cast<int>(step - decided_.all().begin()), step->memory);
    return {};
  }

  SizeValue symbol_value() const {
    return [this](const SymExpr& expression) { return known(expression); };
  }

  std::optional<std::int64_t> known(const SymExpr& expression) const {
    return expression.evaluate([&](std::string_view name) -> std::optional<std::int64_t> {
      auto found = symbols_.find(name);
      return found == symbols_.end() ? std::nullopt : std::optional(found->second);
    });
  }

  /// Whether a branch is taken, or a loop goes into that turn.
  bool goes_on(const LibraryCall& call, ControlStep::Kind kind, std::int64_t turn) {
    if (kind == ControlStep::Kind::for_loop) {
      ops::HostTensor number = tensor(call.outputs.front());
      store_number(number, number.offset, {0, turn});
      return turn < trips_of(concrete(call).attributes);
    }
    const bool branch = kind == ControlStep::Kind::branch;
    const ops::HostTensor flag = tensor(branch ? call.inputs.front() : call.outputs.front());
    return flag.integer_at(flag.offset) != 0;
  }

  Result<void> run_step(const ProgramStep& step, KernelRunner& kernels) {
    Result<void> done;
    if (const auto* kernel = std::get_if<LoopKernel>(&step)) {
      done = kernels.run(*kernel);
    } else if (const auto* call = std::get_if<LibraryCall>(&step)) {
      if (control_step_of(*call)) return {};
      if (call->name == "item") return decide(*call);
      done = run_library_call(concrete(*call), [&](BufferId id) { return tensor(id); });
      if (!done && !done.error().location)
        done.error().location = location_of(program_.calls, call->calls);
    } else {
      const auto& fallback = std::get<FallbackCall>(step);
      done = failure(Code::PS0801, fmt::format("{} needs torch: {}", fallback.op, fallback.reason));
      done.error().location = location_of(program_.calls, fallback.calls);
    }
    return done;
  }

  std::int64_t value(const SymExpr& expression) const { return known(expression).value_or(0); }

  /// The call with numbers in the place of sizes.
  LibraryCall concrete(LibraryCall call) const {
    for (NamedArgument& attribute : call.attributes) {
      if (const auto* size = attribute.value.as<SymExpr>()) attribute.value = value(*size);
    }
    return call;
  }

  std::shared_ptr<std::vector<std::byte>> allocate(const SymExpr& bytes) const {
    return std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(value(bytes)));
  }

  const LoopProgram& program_;
  DecidedSizes decided_;
  std::vector<ops::HostTensor> inputs_;
  SymbolValues symbols_;
  std::vector<ops::HostTensor> memory_;
};

/// Whether, with these sizes, buffers lie in their memory and library calls have operands that fit.
Result<void> verify_sizes(const LoopProgram& program, const SymbolValues& symbols) {
  const SizeValue value = [&](const SymExpr& expression) {
    return expression.evaluate([&](std::string_view name) -> std::optional<std::int64_t> {
      auto found = symbols.find(name);
      return found == symbols.end() ? std::nullopt : std::optional(found->second);
    });
  };
  const DecidedSizes decided(program.steps);
  auto memory = verify_memory(program.interface, program.buffers, {program.arena_bytes, &decided},
                              value, true);
  if (!memory) return memory;
  for (const ProgramStep& step : program.steps) {
    const auto* call = std::get_if<LibraryCall>(&step);
    if (call == nullptr) continue;
    auto fits = verify_library_call(*call, program.buffers, value, "library call of " + call->op);
    if (!fits) return fits;
  }
  return {};
}

}  // namespace

Result<std::vector<ops::HostTensor>> interpret(const LoopProgram& program,
                                               std::vector<ops::HostTensor> inputs) {
  auto symbols = bind_symbols(program.interface, inputs);
  if (!symbols) return tl::unexpected(symbols.error());
  if (auto fits = verify_sizes(program, *symbols); !fits) return tl::unexpected(fits.error());
  Machine machine(program, std::move(inputs), std::move(*symbols));
  if (auto done = machine.run(); !done) return tl::unexpected(done.error());
  std::vector<ops::HostTensor> outputs;
  for (BufferId id : program.outputs) outputs.push_back(machine.tensor(id));
  return outputs;
}

}  // namespace penstock::fusion
