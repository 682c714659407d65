#include "runtime/plan.h"

#include <algorithm>

#include "ir/memory_verify.h"
#include "ir/size_facts.h"
#include "runtime/copy.h"
#include "runtime/decided_plans.h"
#include "runtime/index_check.h"
#include "runtime/marked_places.h"
#include "runtime/random_stream.h"

namespace penstock::runtime {

namespace {

/// Fills in a plan. What it asks about sizes that are not constant it notes, for the next sizes.
class Planner {
 public:
  Planner(const PlanContext& context, Plan& plan, std::vector<std::int64_t> symbols)
      : context_(context), plan_(plan) {
    plan_.bound = symbols;
    plan_.symbols = std::move(symbols);
    plan_.decided.assign(context.decided.parts.size(), {});
  }
  /// For sizes that elements decide: those before `part` are decided.
  Planner(const PlanContext& context, Plan& plan, std::size_t part)
      : context_(context), plan_(plan), part_(static_cast<std::int32_t>(part)) {}

  Result<void> make() {
    const KernelBundle& bundle = context_.bundle;
    if (auto fit = check_sizes(bundle.interface.guards); !fit) return fit;
    const std::size_t count = bundle.buffers.size();
    plan_.windows.resize(count);
    plan_.arena_offsets.resize(count);
    plan_.output_bytes.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      sized_ = waits(context_.decided.buffer_part[i]);
      if (!sized_) set_window(static_cast<BufferId>(i));
      if (sized_) plan_.sized_buffers.push_back(static_cast<BufferId>(i));
    }
    plan_.reads.resize(bundle.interface.inputs.size());
    for (BufferId output : bundle.outputs) note_read(output);
    if (auto fits = check_memory(); !fits) return fits;
    plan_.steps.resize(bundle.steps.size());
    plan_.control = control_steps_of(bundle.steps);
    for (std::size_t i = 0; i < bundle.steps.size(); ++i) {
      sized_ = false;
      if (waits(context_.decided.step_part[i])) {
        note_reads(bundle.steps[i]);
        continue;
      }
      if (auto done = set_step(i); !done) return done;
      if (sized_) plan_.sized_steps.push_back(static_cast<std::int32_t>(i));
      if (plan_.repeatable == i && is_repeatable(plan_.steps[i])) ++plan_.repeatable;
    }
    return finish();
  }

  Result<void> resize() {
    if (auto fit = check_sizes(context_.bundle.interface.guards); !fit) return fit;
    plan_.prepared.version = 0;  // what was prepared may be of the sizes before
    plan_.graph = {};
    for (const BufferId id : plan_.sized_buffers) {
      if (!waits(context_.decided.buffer_part[static_cast<std::size_t>(id)])) set_window(id);
    }
    if (auto fits = check_memory(); !fits) return fits;
    for (const std::int32_t step : plan_.sized_steps) {
      if (auto done = set_step(static_cast<std::size_t>(step)); !done) return done;
    }
    return finish();
  }

  /// Checks that the element may be the size, before anything is planned for it.
  Result<void> check_decision(std::int64_t element) const {
    const auto known = [&](const SymExpr& expression) { return known_value(expression); };
    const DecidedSize& size = context_.decided.sizes.all()[static_cast<std::size_t>(part_)];
    return check_decided(context_.bundle.interface, size, element, known);
  }

  Result<void> decide() {
    const auto number = static_cast<std::size_t>(part_);
    const DecidedParts::Part& part = context_.decided.parts[number];
    Plan::DecidedPlan& now = plan_.decided[number].now;
    for (const BufferId id : part.buffers) set_window(id);
    now.arena_bytes = static_cast<std::size_t>(value(context_.decided.sizes.all()[number].memory));
    if (problem_) return tl::unexpected(*problem_);
    const auto known = [&](const SymExpr& expression) { return known_value(expression); };
    const KernelBundle& bundle = context_.bundle;
    if (auto fits = verify_decided_memory(bundle.interface, bundle.buffers, part.buffers,
                                          static_cast<std::int64_t>(now.arena_bytes), known);
        !fits)
      return fits;
    now.scratch_bytes = 0;
    for (const std::int32_t step : part.steps) {
      if (auto done = set_step(static_cast<std::size_t>(step)); !done) return done;
      now.scratch_bytes =
          std::max(now.scratch_bytes, scratch_of(plan_.steps[static_cast<std::size_t>(step)]));
    }
    if (problem_) return tl::unexpected(*problem_);
    return {};
  }

 private:
  /// Whether what waits for that size, or for none (-1), has to wait longer.
  bool waits(std::int32_t part) const { return part > part_; }

  /// That accesses stay inside was proved for sizes of which the guards hold.
  Result<void> check_sizes(const std::vector<Guard>& guards) const {
    for (const Guard& guard : guards) {
      if (!guard.condition) continue;
      const auto left = known_value(guard.condition->left),
                 right = known_value(guard.condition->right);
      if (!left || !right || holds(*left, guard.condition->relation, *right)) continue;
      return failure(Code::PS0806,
                     "the graph is for sizes of which " + to_string(*guard.condition) + " holds");
    }
    return {};
  }

  std::optional<std::int64_t> known_value(const SymExpr& expression) const {
    return expression.evaluate([&](std::string_view name) -> std::optional<std::int64_t> {
      const std::int32_t symbol = context_.decided.symbol_of(name);
      if (symbol < 0) return std::nullopt;
      const auto position = static_cast<std::size_t>(symbol);
      return waits(context_.decided.symbol_part[position]) ? std::nullopt
                                                           : std::optional(plan_.symbols[position]);
    });
  }

  std::int64_t value(const SymExpr& expression) {
    if (auto constant = expression.constant()) return *constant;
    sized_ = true;
    const auto result = known_value(expression);
    if (!result && !problem_) {
      problem_ = failure(Code::PS0802,
                         "size '" + expression.to_string() + "' is not determined by the inputs")
                     .value();
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

  void set_window(BufferId id) {
    const Buffer& buffer = context_.bundle.buffers[id];
    Window& window = plan_.windows[id];
    window.memory = buffer.kind == Buffer::Kind::view ? buffer.base : id;
    window.dtype = buffer.dtype;
    window.host = context_.bundle.buffers[window.memory].host;
    window.start = value(buffer.offset) * facts(buffer.dtype).size;
    window.sizes.clear();
    for (const SymExpr& size : buffer.sizes) window.sizes.push_back(value(size));
    window.strides.clear();
    for (const SymExpr& stride : buffer.strides) window.strides.push_back(value(stride));
    bool temporary = buffer.kind == Buffer::Kind::temporary,
         prepared = buffer.kind == Buffer::Kind::prepared;
    plan_.arena_offsets[id] = temporary || prepared ? value(buffer.arena_offset) : 0;
    if (prepared) {
      auto end = static_cast<std::size_t>(value(buffer.arena_offset) + value(buffer.bytes));
      plan_.prepared_bytes = std::max(plan_.prepared_bytes, end);
    }
    bool output = buffer.kind == Buffer::Kind::output;
    plan_.output_bytes[id] = output ? static_cast<std::size_t>(value(buffer.bytes)) : 0;
  }

  /// Whether all buffers lie in their memory.
  Result<void> check_memory() {
    const KernelBundle& bundle = context_.bundle;
    plan_.arena_bytes = static_cast<std::size_t>(value(bundle.arena_bytes));
    if (problem_) return tl::unexpected(*problem_);
    auto known = [&](const SymExpr& expression) { return known_value(expression); };
    return verify_memory(bundle.interface, bundle.buffers,
                         {bundle.arena_bytes, &context_.decided.sizes}, known, false);
  }

  /// Only weights that may be packed are read otherwise: through their kernel, which looks at them
  /// itself.
  void note_read(BufferId buffer) {
    if (buffer == kNoBuffer) return;
    const Buffer& memory = memory_of(buffer);
    if (memory.kind == Buffer::Kind::input)
      plan_.reads[static_cast<std::size_t>(memory.index)] = true;
  }

  /// Sizes of the buffer, or of the memory that it is a window on, depend on symbols.
  bool is_sized(BufferId id) const { return std::ranges::binary_search(plan_.sized_buffers, id); }

  /// The next pointer of a step: to the start of the memory, or to the first element of the window.
  void set_pointer(BufferId buffer, bool first_element) {
    BufferId memory = buffer == kNoBuffer ? kNoBuffer : plan_.windows[buffer].memory;
    std::int64_t start = 0;
    if (memory != kNoBuffer) {
      start = plan_.arena_offsets[memory] + (first_element ? plan_.windows[buffer].start : 0);
      sized_ |= is_sized(buffer) || is_sized(memory);
    }
    if (next_pointer_ == plan_.pointer_memory.size()) {
      plan_.pointer_memory.push_back(memory);
      plan_.pointer_start.push_back(start);
    } else {
      plan_.pointer_start[next_pointer_] = start;
    }
    ++next_pointer_;
  }

  /// The step's pointers stand behind those of the steps before, or where they stood for other
  /// sizes.
  Result<void> set_step(std::size_t index) {
    const BundleStep& step = context_.bundle.steps[index];
    PlannedStep planned;
    const bool again = plan_.steps[index].step != nullptr;
    next_pointer_ =
        again ? static_cast<std::size_t>(plan_.steps[index].first) : plan_.pointer_memory.size();
    planned.step = &step;
    planned.first = static_cast<std::int32_t>(next_pointer_);
    Result<void> done;
    if (auto* kernel = std::get_if<KernelCall>(&step)) done = set_kernel(*kernel, planned);
    if (auto* call = std::get_if<LibraryCall>(&step))
      done = set_library_call(*call, index, planned);
    if (auto* call = std::get_if<FallbackCall>(&step)) {
      for (const NamedArgument& argument : call->arguments) {
        for_each_value(argument.value, [&](ValueId id) { note_read(id); });
      }
    }
    if (!done) return done;
    planned.count = static_cast<std::int32_t>(next_pointer_) - planned.first;
    plan_.steps[index] = std::move(planned);
    return {};
  }

  static std::size_t scratch_of(const PlannedStep& step) {
    const std::size_t library =
        step.kernel == nullptr ? 0 : (step.kernel->scratch_bytes() + 63) / 64 * 64;
    return std::max(step.scratch_bytes, library);
  }

  Result<void> finish() {
    if (problem_) return tl::unexpected(*problem_);
    plan_.scratch_bytes = 0;
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      if (!waits(context_.decided.step_part[i]))
        plan_.scratch_bytes = std::max(plan_.scratch_bytes, scratch_of(plan_.steps[i]));
    }
    return {};
  }

  bool set_function(const KernelCall& kernel, PlannedStep& planned) const {
    if (kernel.launch) {
      auto function = context_.device_functions.find(kernel.function);
      if (function == context_.device_functions.end()) return false;
      planned.device_function = function->second;
      return true;
    }
    auto function = context_.functions.find(kernel.function);
    if (function == context_.functions.end()) return false;
    planned.function = function->second;
    return true;
  }

  /// Blocks as far as a device takes them: kernels work with fewer.
  void set_grid(const Launch& launch, DeviceGrid& grid) {
    constexpr std::int64_t kMostX = 0x7fffffff, kMostOther = 0xffff;
    const auto blocks = [&](const SymExpr& count, std::int64_t most) {
      return static_cast<std::uint32_t>(std::clamp<std::int64_t>(value(count), 1, most));
    };
    grid.blocks = {blocks(launch.grid_x, kMostX), blocks(launch.grid_y, kMostOther),
                   blocks(launch.grid_z, kMostOther)};
    grid.threads = {static_cast<std::uint32_t>(launch.block_x),
                    static_cast<std::uint32_t>(launch.block_y)};
  }

  Result<void> set_kernel(const KernelCall& kernel, PlannedStep& planned) {
    if (!set_function(kernel, planned))
      return failure(Code::PS0205, "the code has no function '" + kernel.function + "'");
    if (kernel.launch) set_grid(*kernel.launch, planned.grid);
    planned.extent = std::max<std::int64_t>(value(kernel.extent), 0);
    planned.grain = kernel.grain;
    planned.parallel = kernel.parallel;
    planned.scratch_bytes = static_cast<std::size_t>((kernel.scratch_bytes + 63) / 64 * 64);
    planned.flops = value(kernel.flops);
    planned.bytes = value(kernel.bytes);
    for (BufferId buffer : kernel.buffers) {
      set_pointer(buffer, false);
      note_read(buffer);
    }
    planned.prepares = prepares(kernel);
    if (planned.prepares) note_prepared_inputs(kernel);
    return {};
  }

  const Buffer& memory_of(BufferId buffer) const {
    const Buffer& window = context_.bundle.buffers[buffer];
    return window.kind == Buffer::Kind::view ? context_.bundle.buffers[window.base] : window;
  }

  /// The same of a step that waits for a size: what it reads has to be there and whole when the run
  /// begins.
  void note_reads(const BundleStep& step) {
    if (const auto* kernel = std::get_if<KernelCall>(&step))
      std::ranges::for_each(kernel->buffers, [&](BufferId id) { note_read(id); });
    if (const auto* call = std::get_if<LibraryCall>(&step))
      std::ranges::for_each(call->inputs, [&](BufferId id) { note_read(id); });
    if (const auto* call = std::get_if<FallbackCall>(&step)) {
      for (const NamedArgument& argument : call->arguments)
        for_each_value(argument.value, [&](ValueId id) { note_read(static_cast<BufferId>(id)); });
    }
  }

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
    const auto* call = std::get_if<LibraryCall>(planned.step);
    if (call != nullptr && is_draw(*call)) return false;
    const auto first = plan_.pointer_memory.begin() + planned.first;
    return std::none_of(first, first + planned.count, [&](BufferId memory) {
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
    std::vector<std::int32_t>& inputs = plan_.prepared.inputs;
    for (BufferId id : kernel.buffers) {
      const Buffer& memory = memory_of(id);
      bool known = memory.kind != Buffer::Kind::input ||
                   std::find(inputs.begin(), inputs.end(), memory.index) != inputs.end();
      if (!known) inputs.push_back(memory.index);
    }
  }

  Operand operand(BufferId buffer) const {
    if (buffer == kNoBuffer) return {};
    const Window& window = plan_.windows[buffer];
    return {window.dtype, window.sizes, window.strides};
  }

  /// Whose version stands for the contents of a buffer: an input's, none for what a step wrote.
  std::int32_t version_of(BufferId buffer) const {
    if (buffer == kNoBuffer) return -2;
    const Buffer& memory = context_.bundle.buffers[plan_.windows[buffer].memory];
    if (memory.kind == Buffer::Kind::constant) return -1;
    if (memory.kind == Buffer::Kind::prepared) return -3;
    return memory.kind == Buffer::Kind::input ? memory.index : -2;
  }

  static std::int64_t product(const std::vector<std::int64_t>& sizes, std::size_t from = 0) {
    std::int64_t count = 1;
    for (std::size_t i = from; i < sizes.size(); ++i) count *= sizes[i];
    return count;
  }

  /// What a call does, for profiles: two operations a multiplied pair, each operand read or written
  /// once.
  static void count_work(std::string_view name, PlannedStep& planned) {
    const LibraryOperands& operands = planned.operands;
    auto add_bytes = [&](const Operand& operand) {
      if (!operand.sizes.empty())
        planned.bytes += product(operand.sizes) * facts(operand.dtype).size;
    };
    for (const Operand& operand : operands.inputs) add_bytes(operand);
    for (const Operand& operand : operands.outputs) add_bytes(operand);
    for (const Operand& operand : operands.post_ops) add_bytes(operand);
    if (operands.outputs.empty()) return;
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

  /// What was made for the same operands, for the sizes before or in another plan; else made.
  Result<std::shared_ptr<LibraryKernel>> library_kernel(const LibraryCall& call, std::size_t index,
                                                        const PlannedStep& planned) const {
    auto same = [&](const PlannedStep& made) {
      return made.kernel != nullptr && made.operands == planned.operands &&
             made.attributes == planned.attributes;
    };
    if (same(plan_.steps[index])) return plan_.steps[index].kernel;
    for (const std::unique_ptr<Plan>& other : context_.others) {
      if (same(other->steps[index])) return other->steps[index].kernel;
    }
    LibraryCall concrete = call;
    concrete.attributes = planned.attributes;
    const bool on_host = context_.bundle.device == "cpu";
    if (is_index_check(call) && on_host)
      return std::shared_ptr<LibraryKernel>(make_index_check(concrete, planned.operands));
    if (finds_marked_places(call))
      return std::shared_ptr<LibraryKernel>(make_marked_places(planned.operands));
    if (is_draw(call))
      return std::shared_ptr<LibraryKernel>(
          make_draw(concrete, planned.operands, *context_.random));
    auto kernel = is_copy(call) ? make_copy(concrete, planned.operands)
                                : context_.library->make(concrete, planned.operands);
    if (!kernel) return tl::unexpected(std::move(kernel.error()));
    return std::shared_ptr<LibraryKernel>(std::move(*kernel));
  }

  Result<void> set_library_call(const LibraryCall& call, std::size_t index, PlannedStep& planned) {
    LibraryOperands& operands = planned.operands;
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
      const BufferId buffer = call.inputs[i];
      operands.inputs.push_back(operand(buffer));
      operands.present.push_back(buffer != kNoBuffer);
      planned.version_of.push_back(version_of(buffer));
      set_pointer(buffer, true);
      bool packed = std::find(call.prepack.begin(), call.prepack.end(), i) != call.prepack.end();
      if (!packed) note_read(buffer);
    }
    for (BufferId buffer : call.outputs) {
      operands.outputs.push_back(operand(buffer));
      set_pointer(buffer, true);
    }
    for (const PostOp& post_op : call.post_ops) {
      if (post_op.operand == kNoBuffer) continue;
      operands.post_ops.push_back(operand(post_op.operand));
      set_pointer(post_op.operand, true);
      note_read(post_op.operand);
    }
    planned.inputs = static_cast<std::int32_t>(operands.inputs.size());
    planned.outputs = static_cast<std::int32_t>(operands.outputs.size());
    planned.post_ops = static_cast<std::int32_t>(operands.post_ops.size());
    if (context_.decided.decides[index] >= 0) return {};
    planned.attributes = call.attributes;
    for (NamedArgument& attribute : planned.attributes) evaluate(attribute.value);
    if (problem_) return tl::unexpected(*problem_);
    if (call.name == "for") planned.trips = trips_of(planned.attributes);
    if (control_step_of(call)) return {};
    operands.varying = sized_;
    auto kernel = library_kernel(call, index, planned);
    if (!kernel) return tl::unexpected(kernel.error());
    planned.kernel = std::move(*kernel);
    count_work(call.name, planned);
    return {};
  }

  const PlanContext& context_;
  Plan& plan_;
  std::int32_t part_ = -1;  ///< the last size that elements have decided
  std::size_t next_pointer_ = 0;
  bool sized_ = false;  ///< something was asked for that is not constant
  std::optional<Diagnostic> problem_;
};

}  // namespace

Result<std::unique_ptr<Plan>> make_plan(const PlanContext& context,
                                        std::vector<std::int64_t> symbols) {
  auto plan = std::make_unique<Plan>();
  if (auto made = Planner(context, *plan, std::move(symbols)).make(); !made)
    return tl::unexpected(std::move(made.error()));
  return plan;
}

Result<void> decide_plan(const PlanContext& context, Plan& plan, std::size_t part,
                         std::int64_t size) {
  const std::int32_t symbol = context.decided.parts[part].symbol;
  if (symbol >= 0) plan.symbols[static_cast<std::size_t>(symbol)] = size;
  if (find_decided_plan(context.decided, plan, part, size)) return {};
  Planner planner(context, plan, part);
  if (auto fits = planner.check_decision(size); !fits) return fits;
  keep_decided_plan(context.decided, plan, part);
  auto planned = planner.decide();
  if (planned) plan.decided[part].now.sizes = decided_key(context.decided, plan, part, size);
  return planned;
}

Result<void> resize_plan(const PlanContext& context, Plan& plan,
                         std::vector<std::int64_t> symbols) {
  return Planner(context, plan, std::move(symbols)).resize();
}

}  // namespace penstock::runtime
