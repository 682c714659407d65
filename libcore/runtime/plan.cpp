#include "runtime/plan.h"

#include <algorithm>

#include "ir/memory_verify.h"
#include "ir/size_facts.h"

namespace penstock::runtime {

namespace {

class Planner {
 public:
  Planner(const PlanContext& context, std::vector<std::int64_t> symbols)
      : context_(context), plan_(std::make_unique<Plan>()) {
    const auto& names = context.bundle.symbols;
    for (std::size_t i = 0; i < names.size(); ++i) values_[names[i]] = symbols[i];
    plan_->symbols = std::move(symbols);
  }

  Result<std::unique_ptr<Plan>> make() {
    const KernelBundle& bundle = context_.bundle;
    if (auto fit = check_sizes(bundle.interface.guards); !fit) return tl::unexpected(fit.error());
    for (const Buffer& buffer : bundle.buffers) add_window(buffer);
    plan_->reads.resize(bundle.interface.inputs.size());
    for (BufferId output : bundle.outputs) note_read(output);
    plan_->arena_bytes = static_cast<std::size_t>(value(bundle.arena_bytes));
    if (problem_) return tl::unexpected(*problem_);
    auto known = [&](const SymExpr& expression) { return std::optional(value(expression)); };
    auto fits = verify_memory(bundle.interface, bundle.buffers, bundle.arena_bytes, known, false);
    if (!fits) return tl::unexpected(fits.error());
    for (const BundleStep& step : bundle.steps) {
      if (auto done = add_step(step); !done) return tl::unexpected(done.error());
    }
    if (problem_) return tl::unexpected(*problem_);
    return std::move(plan_);
  }

 private:
  /// That accesses stay inside was proved for sizes of which the guards hold.
  Result<void> check_sizes(const std::vector<Guard>& guards) const {
    for (const Guard& guard : guards) {
      if (!guard.condition) continue;
      const auto left = known_value(guard.condition->left), right = known_value(guard.condition->right);
      if (!left || !right || holds(*left, guard.condition->relation, *right)) continue;
      return failure(Code::PS0806, "the graph is for sizes of which " + to_string(*guard.condition) + " holds");
    }
    return {};
  }

  std::optional<std::int64_t> known_value(const SymExpr& expression) const {
    return expression.evaluate([&](std::string_view name) -> std::optional<std::int64_t> {
      auto found = values_.find(std::string(name));
      return found == values_.end() ? std::nullopt : std::optional(found->second);
    });
  }

  std::int64_t value(const SymExpr& expression) {
    const auto result = known_value(expression);
    if (!result && !problem_) {
      problem_ = failure(Code::PS0802, "size '" + expression.to_string() +
                                           "' is not determined by the inputs").value();
    }
    return result.value_or(0);
  }

  /// Puts numbers in the place of size expressions.
  void evaluate(Argument& argument) {
    if (auto* expression = argument.as<SymExpr>()) argument = Argument(value(*expression));
    if (auto* list = std::get_if<Argument::Sequence>(&argument.datum)) {
      for (Argument& item : list->items) evaluate(item);
    }
  }

  void add_window(const Buffer& buffer) {
    auto id = static_cast<BufferId>(plan_->windows.size());
    Window window;
    window.memory = buffer.kind == Buffer::Kind::view ? buffer.base : id;
    window.dtype = buffer.dtype;
    window.start = value(buffer.offset) * facts(buffer.dtype).size;
    for (const SymExpr& size : buffer.sizes) window.sizes.push_back(value(size));
    for (const SymExpr& stride : buffer.strides) window.strides.push_back(value(stride));
    plan_->windows.push_back(std::move(window));
    bool temporary = buffer.kind == Buffer::Kind::temporary, prepared = buffer.kind == Buffer::Kind::prepared;
    plan_->arena_offsets.push_back(temporary || prepared ? value(buffer.arena_offset) : 0);
    if (prepared) {
      auto end = static_cast<std::size_t>(value(buffer.arena_offset) + value(buffer.bytes));
      plan_->prepared_bytes = std::max(plan_->prepared_bytes, end);
    }
    bool output = buffer.kind == Buffer::Kind::output;
    plan_->output_bytes.push_back(output ? static_cast<std::size_t>(value(buffer.bytes)) : 0);
  }

  /// Only weights that may be packed are read otherwise: through their kernel, which looks at them itself.
  void note_read(BufferId buffer) {
    if (buffer == kNoBuffer) return;
    const Buffer& memory = memory_of(buffer);
    if (memory.kind == Buffer::Kind::input) plan_->reads[static_cast<std::size_t>(memory.index)] = true;
  }

  /// A pointer of a step: to the start of the memory, or to the first element of the window.
  void add_pointer(BufferId buffer, bool first_element) {
    BufferId memory = buffer == kNoBuffer ? kNoBuffer : plan_->windows[buffer].memory;
    std::int64_t start = 0;
    if (memory != kNoBuffer) {
      start = plan_->arena_offsets[memory] + (first_element ? plan_->windows[buffer].start : 0);
    }
    plan_->pointer_memory.push_back(memory);
    plan_->pointer_start.push_back(start);
  }

  Result<void> add_step(const BundleStep& step) {
    PlannedStep planned;
    planned.step = &step;
    planned.first = static_cast<std::int32_t>(plan_->pointer_memory.size());
    Result<void> done;
    if (auto* kernel = std::get_if<KernelCall>(&step)) done = add_kernel(*kernel, planned);
    if (auto* call = std::get_if<LibraryCall>(&step)) done = add_library_call(*call, planned);
    if (auto* call = std::get_if<FallbackCall>(&step)) {
      for (const NamedArgument& argument : call->arguments) {
        for_each_value(argument.value, [&](ValueId id) { note_read(id); });
      }
    }
    if (!done) return done;
    planned.count = static_cast<std::int32_t>(plan_->pointer_memory.size()) - planned.first;
    if (plan_->repeatable == plan_->steps.size() && is_repeatable(planned)) ++plan_->repeatable;
    plan_->steps.push_back(std::move(planned));
    return {};
  }

  Result<void> add_kernel(const KernelCall& kernel, PlannedStep& planned) {
    auto function = context_.functions.find(kernel.function);
    if (function == context_.functions.end()) {
      return failure(Code::PS0705, "the code has no function '" + kernel.function + "'");
    }
    planned.function = function->second;
    planned.extent = std::max<std::int64_t>(value(kernel.extent), 0);
    planned.grain = kernel.grain;
    planned.parallel = kernel.parallel;
    planned.scratch_bytes = static_cast<std::size_t>((kernel.scratch_bytes + 63) / 64 * 64);
    planned.flops = value(kernel.flops);
    planned.bytes = value(kernel.bytes);
    plan_->scratch_bytes = std::max(plan_->scratch_bytes, planned.scratch_bytes);
    for (BufferId buffer : kernel.buffers) {
      add_pointer(buffer, false);
      note_read(buffer);
    }
    planned.prepares = prepares(kernel);
    if (planned.prepares) note_prepared_inputs(kernel);
    return {};
  }

  const Buffer& memory_of(BufferId buffer) const { return context_.bundle.buffers[plan_->windows[buffer].memory]; }

  /// Whether the graph writes to it at some time.
  bool is_written_input(const Buffer& memory) const {
    const auto& mutations = context_.bundle.interface.mutations;
    return memory.kind == Buffer::Kind::input &&
           std::any_of(mutations.begin(), mutations.end(),
                       [&](const Mutation& mutation) { return mutation.input == memory.index; });
  }

  /// Whether running the step twice is as running it once.
  bool is_repeatable(const PlannedStep& planned) const {
    if (std::holds_alternative<FallbackCall>(*planned.step)) return false;
    const auto first = plan_->pointer_memory.begin() + planned.first;
    return std::none_of(first, plan_->pointer_memory.end(), [&](BufferId memory) {
      return memory != kNoBuffer && is_written_input(context_.bundle.buffers[memory]);
    });
  }

  /// Buffer::Kind::prepared says which kernels do.
  bool prepares(const KernelCall& kernel) const {
    bool any = false;
    for (BufferId id : kernel.buffers) {
      const Buffer& memory = memory_of(id);
      any |= memory.kind == Buffer::Kind::prepared;
      bool stays = memory.kind == Buffer::Kind::prepared || memory.kind == Buffer::Kind::constant ||
                   memory.kind == Buffer::Kind::scratch ||
                   (memory.kind == Buffer::Kind::input && !is_written_input(memory));
      if (!stays) return false;
    }
    return any;
  }

  void note_prepared_inputs(const KernelCall& kernel) {
    std::vector<std::int32_t>& inputs = plan_->prepared.inputs;
    for (BufferId id : kernel.buffers) {
      const Buffer& memory = memory_of(id);
      bool known = memory.kind != Buffer::Kind::input ||
                   std::find(inputs.begin(), inputs.end(), memory.index) != inputs.end();
      if (!known) inputs.push_back(memory.index);
    }
  }

  Operand operand(BufferId buffer) const {
    if (buffer == kNoBuffer) return {};
    const Window& window = plan_->windows[buffer];
    return {window.dtype, window.sizes, window.strides};
  }

  /// Whose version stands for the contents of a buffer: an input's, none for what a step wrote.
  std::int32_t version_of(BufferId buffer) const {
    if (buffer == kNoBuffer) return -2;
    const Buffer& memory = context_.bundle.buffers[plan_->windows[buffer].memory];
    if (memory.kind == Buffer::Kind::constant) return -1;
    if (memory.kind == Buffer::Kind::prepared) return -3;
    return memory.kind == Buffer::Kind::input ? memory.index : -2;
  }

  static std::int64_t product(const std::vector<std::int64_t>& sizes, std::size_t from = 0) {
    std::int64_t count = 1;
    for (std::size_t i = from; i < sizes.size(); ++i) count *= sizes[i];
    return count;
  }

  /// What a call does, for profiles: two operations a multiplied pair, each operand read or written once.
  static void count_work(std::string_view name, PlannedStep& planned) {
    const LibraryOperands& operands = planned.operands;
    auto add_bytes = [&](const Operand& operand) {
      if (!operand.sizes.empty()) planned.bytes += product(operand.sizes) * facts(operand.dtype).size;
    };
    for (const Operand& operand : operands.inputs) add_bytes(operand);
    for (const Operand& operand : operands.outputs) add_bytes(operand);
    for (const Operand& operand : operands.post_ops) add_bytes(operand);
    std::int64_t results = product(operands.outputs.front().sizes);
    if (name == "matmul") planned.flops = 2 * results * operands.inputs[0].sizes.back();
    if (name == "convolution") {
      // A transposed one multiplies each input element as often.
      const NamedArgument* transposed = nullptr;
      for (const NamedArgument& attribute : planned.attributes) {
        if (attribute.name == "transposed") transposed = &attribute;
      }
      bool turned = transposed != nullptr && transposed->value == Argument(true);
      std::int64_t places = turned ? product(operands.inputs[0].sizes) : results;
      planned.flops = 2 * places * product(operands.inputs[1].sizes, 1);
    }
  }

  /// From a plan whose call has the same operands, or made.
  Result<std::shared_ptr<LibraryKernel>> library_kernel(const LibraryCall& call, const PlannedStep& planned) const {
    for (const std::unique_ptr<Plan>& other : context_.others) {
      const PlannedStep& made = other->steps[plan_->steps.size()];
      if (made.operands == planned.operands && made.attributes == planned.attributes) return made.kernel;
    }
    LibraryCall concrete = call;
    concrete.attributes = planned.attributes;
    auto kernel = context_.library->make(concrete, planned.operands);
    if (!kernel) return tl::unexpected(std::move(kernel.error()));
    return std::shared_ptr<LibraryKernel>(std::move(*kernel));
  }

  Result<void> add_library_call(const LibraryCall& call, PlannedStep& planned) {
    LibraryOperands& operands = planned.operands;
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
      const BufferId buffer = call.inputs[i];
      operands.inputs.push_back(operand(buffer));
      operands.present.push_back(buffer != kNoBuffer);
      planned.version_of.push_back(version_of(buffer));
      add_pointer(buffer, true);
      bool packed = std::find(call.prepack.begin(), call.prepack.end(), i) != call.prepack.end();
      if (!packed) note_read(buffer);
    }
    for (BufferId buffer : call.outputs) {
      operands.outputs.push_back(operand(buffer));
      add_pointer(buffer, true);
    }
    for (const PostOp& post_op : call.post_ops) {
      if (post_op.operand == kNoBuffer) continue;
      operands.post_ops.push_back(operand(post_op.operand));
      add_pointer(post_op.operand, true);
      note_read(post_op.operand);
    }
    planned.inputs = static_cast<std::int32_t>(operands.inputs.size());
    planned.outputs = static_cast<std::int32_t>(operands.outputs.size());
    planned.post_ops = static_cast<std::int32_t>(operands.post_ops.size());
    planned.attributes = call.attributes;
    for (NamedArgument& attribute : planned.attributes) evaluate(attribute.value);
    if (problem_) return tl::unexpected(*problem_);
    auto kernel = library_kernel(call, planned);
    if (!kernel) return tl::unexpected(kernel.error());
    planned.kernel = std::move(*kernel);
    count_work(call.name, planned);
    std::size_t scratch = (planned.kernel->scratch_bytes() + 63) / 64 * 64;
    plan_->scratch_bytes = std::max(plan_->scratch_bytes, scratch);
    return {};
  }

  const PlanContext& context_;
  std::unordered_map<std::string, std::int64_t> values_;
  std::unique_ptr<Plan> plan_;
  std::optional<Diagnostic> problem_;
};

std::optional<SymbolBinding> find_symbol(const KernelBundle& bundle, const std::string& name) {
  const auto& inputs = bundle.interface.inputs;
  auto places = [&](auto member, SymbolBinding::Kind kind) -> std::optional<SymbolBinding> {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::vector<SymExpr>& list = inputs[i].type.*member;
      for (std::size_t d = 0; d < list.size(); ++d) {
        if (list[d].symbol_name() != name) continue;
        return SymbolBinding{kind, static_cast<std::int32_t>(i), static_cast<std::int32_t>(d)};
      }
    }
    return std::nullopt;
  };
  if (auto size = places(&TensorType::sizes, SymbolBinding::Kind::size)) return size;
  if (auto stride = places(&TensorType::strides, SymbolBinding::Kind::stride)) return stride;
  for (const Symbol& symbol : bundle.interface.symbols) {
    if (symbol.name != name || symbol.source == kNoSource) continue;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].kind == InputKind::size && inputs[i].source == symbol.source) {
        return SymbolBinding{SymbolBinding::Kind::number, static_cast<std::int32_t>(i), 0};
      }
    }
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].kind == InputKind::size && inputs[i].name == name) {
      return SymbolBinding{SymbolBinding::Kind::number, static_cast<std::int32_t>(i), 0};
    }
  }
  return std::nullopt;
}

}  // namespace

Result<std::unique_ptr<Plan>> make_plan(const PlanContext& context,
                                        std::vector<std::int64_t> symbols) {
  return Planner(context, std::move(symbols)).make();
}

Result<std::vector<SymbolBinding>> bind_symbols(const KernelBundle& bundle) {
  std::vector<SymbolBinding> bindings;
  for (const std::string& name : bundle.symbols) {
    auto binding = find_symbol(bundle, name);
    if (!binding) {
      return failure(Code::PS0802, "symbol '" + name + "' is the size of no input");
    }
    bindings.push_back(*binding);
  }
  return bindings;
}

}  // namespace penstock::runtime
