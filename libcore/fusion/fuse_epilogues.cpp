// Epilogues
//
// A pointwise kernel behind a product reads the product's result and writes it again, changed: a
// pass through memory that the library saves when it applies the change to the numbers it still has
// in registers. The kernel must be the result's only reader and store one value, whose expression,
// read from the store inwards, is a chain of what the library can apply: each link a pattern
// around exactly one inner value, the innermost one the load of the result at the place
// of the store. Then the call moves to the kernel's place (its operands are all made by then) and
// writes what the kernel wrote.
//
// An operand that is added to a convolution's result keeps the CPU's library from its fastest
// kernels, unless it lies where the result is written: a temporary that nobody reads later becomes
// the result's memory
// (`sum`), the residual connection of most networks.
//
// post_ops.cpp has the patterns. A GPU's library applies fewer of them (ir/device_epilogue.h), to
// half types too: it rounds once, at the end.
#include <algorithm>
#include <map>

#include "fusion/device_call.h"
#include "fusion/loops.h"
#include "fusion/post_ops.h"
#include "fusion/rewrite.h"

namespace penstock::fusion {

namespace {

class EpilogueFuser {
 public:
  explicit EpilogueFuser(LoopProgram& program) : program_(program) {
    readers_.resize(program.buffers.size(), 0);
    maker_.resize(program.buffers.size(), -1);
    last_use_.resize(program.buffers.size(), 0);
    for (std::size_t s = 0; s < program.steps.size(); ++s) {
      StepUses uses = uses_of(program, program.steps[s]);
      for (BufferId id : uses.reads) ++readers_[id];
      for (BufferId id : uses.reads) last_use_[id] = s;
      for (BufferId id : uses.writes) last_use_[id] = s;
      for (BufferId id : uses.writes) {
        const auto* call = std::get_if<LibraryCall>(&program.steps[s]);
        if (call != nullptr && !call->outputs.empty() && call->outputs.front() == id)
          maker_[id] = static_cast<int>(s);
        last_write_[id] = s;
      }
    }
  }

  void run() {
    for (std::size_t s = 0; s < program_.steps.size(); ++s) {
      rename(program_.steps[s]);
      if (std::holds_alternative<LoopKernel>(program_.steps[s])) fuse(s);
    }
    for (Buffer& buffer : program_.buffers) buffer.base = renamed(buffer.base);
    for (BufferId& id : program_.outputs) id = renamed(id);
    std::vector<ProgramStep> kept;
    for (std::size_t s = 0; s < program_.steps.size(); ++s) {
      if (!moved_.contains(s)) kept.push_back(std::move(program_.steps[s]));
    }
    program_.steps = std::move(kept);
  }

 private:
  /// Tries each product that the kernel reads; the first whose chain the kernel is takes it over.
  void fuse(std::size_t step) {
    auto& kernel = std::get<LoopKernel>(program_.steps[step]);
    PointwiseKernel pointwise;
    if (!collect_pointwise(kernel.body, pointwise)) return;
    for (const auto& [scalar, instruction] : pointwise.made) {
      if (instruction->op != "load") continue;
      BufferId result = instruction->buffer;
      bool product =
          maker_[result] >= 0 && !moved_.contains(static_cast<std::size_t>(maker_[result]));
      if (!product || readers_[result] != 1) continue;
      if (program_.buffers[result].kind != Buffer::Kind::temporary) continue;
      if (auto call = with_epilogue(pointwise, result, kernel)) {
        moved_.insert(static_cast<std::size_t>(maker_[result]));
        BufferId written = pointwise.store->buffer;
        add_in_place(*call, written, step);
        program_.steps[step] = std::move(*call);
        return;
      }
    }
  }

  std::optional<LibraryCall> with_epilogue(const PointwiseKernel& pointwise, BufferId result,
                                           const LoopKernel& kernel) {
    auto made_at = static_cast<std::size_t>(maker_[result]);
    LibraryCall call = std::get<LibraryCall>(program_.steps[made_at]);
    const Buffer made = program_.buffers[result];  // a copy: views are added
    const LibraryCallFacts* facts = find_library_call(call.name);
    const bool device = program_.device != "cpu", rounds = made.dtype != DType::float32;
    if (facts->post_ops.empty() || (rounds && !device)) return std::nullopt;
    if (pointwise.store->dtype != made.dtype || inputs_written_later(call, made_at))
      return std::nullopt;
    std::list<Instruction> changed;
    auto chain = rounds ? read_post_ops(without_rounding(pointwise, made.dtype, changed), result)
                        : read_post_ops(pointwise, result);
    if (!chain || !loops_over_all(pointwise, made)) return std::nullopt;
    std::size_t next = 0;
    for (PostOp& op : chain->ops) {
      bool takes_operand = op.kind == PostOp::Kind::add || op.kind == PostOp::Kind::mul;
      if (!takes_operand) continue;
      std::size_t channels = call.name == "convolution" ? 1 : made.sizes.size() - 1;
      auto operand = operand_buffer(*chain->operands[next++], pointwise, made, channels);
      if (!operand) return std::nullopt;
      op.operand = *operand;
    }
    call.post_ops.insert(call.post_ops.end(), chain->ops.begin(), chain->ops.end());
    call.outputs = {window(pointwise.store->buffer, made.sizes, made.strides)};
    if (device && !is_device_call(call, program_.buffers)) return std::nullopt;
    for (std::int32_t number : kernel.calls) {
      if (std::find(call.calls.begin(), call.calls.end(), number) == call.calls.end()) {
        call.calls.push_back(number);
      }
    }
    return call;
  }

  /// Moving a call behind a write to one of its inputs would change what it reads.
  bool inputs_written_later(const LibraryCall& call, std::size_t made) const {
    return std::any_of(call.inputs.begin(), call.inputs.end(), [&](BufferId id) {
      if (id == kNoBuffer) return false;
      const Buffer& buffer = program_.buffers[id];
      BufferId memory = buffer.kind == Buffer::Kind::view ? buffer.base : id;
      auto summed = overwritten_.find(memory);
      auto written = last_write_.find(memory);
      return (written != last_write_.end() && written->second > made) ||
             (summed != overwritten_.end() && summed->second > made);
    });
  }

  /// Turns the addition of a temporary that dies here into a sum in its memory, which then stands
  /// for `written` everywhere.
  void add_in_place(LibraryCall& call, BufferId written, std::size_t step) {
    const Buffer& result = program_.buffers[written];
    const bool convolves = call.name == "convolution" && program_.device == "cpu";
    if (!convolves || result.kind != Buffer::Kind::temporary) return;
    for (PostOp& op : call.post_ops) {
      if (op.kind != PostOp::Kind::add) continue;
      const Buffer& operand = program_.buffers[op.operand];
      bool dies = operand.kind == Buffer::Kind::temporary && last_use_[op.operand] == step;
      bool fits = operand.sizes == result.sizes && operand.strides == result.strides &&
                  operand.bytes == result.bytes && operand.dtype == result.dtype;
      bool read =
          std::find(call.inputs.begin(), call.inputs.end(), op.operand) != call.inputs.end();
      if (!dies || !fits || read || call.outputs.front() != written) continue;
      BufferId memory = op.operand;
      op = PostOp{PostOp::Kind::sum, 0, 0, kNoBuffer};
      call.outputs.front() = memory;
      overwritten_[memory] = step;
      last_use_[memory] = last_use_[written];
      maker_[memory] =
          -1;  // another step reads what stood there before: that call stays where it is
      stands_for_[written] = memory;
      return;
    }
  }

  BufferId renamed(BufferId id) const {
    auto found = stands_for_.find(id);
    return found == stands_for_.end() ? id : found->second;
  }

  /// Names the memory in which sums were made for the results that they stand for.
  void rename(ProgramStep& step) const {
    if (stands_for_.empty()) return;
    if (auto* kernel = std::get_if<LoopKernel>(&step)) {
      rename(kernel->body);
    } else if (auto* call = std::get_if<LibraryCall>(&step)) {
      for (BufferId& id : call->inputs) id = renamed(id);
      for (BufferId& id : call->outputs) id = renamed(id);
      for (PostOp& op : call->post_ops) op.operand = renamed(op.operand);
    } else {
      auto& fallback = std::get<FallbackCall>(step);
      for (NamedArgument& argument : fallback.arguments) {
        map_values(argument.value, [&](ValueId id) {
          return static_cast<ValueId>(renamed(static_cast<BufferId>(id)));
        });
      }
      for (BufferId& id : fallback.outputs) id = renamed(id);
    }
  }

  void rename(Body& body) const {
    for (Statement& statement : body) {
      if (Loop* loop = as_loop(statement)) {
        rename(loop->body);
      } else {
        Instruction& instruction = *as_instruction(statement);
        instruction.buffer = renamed(instruction.buffer);
      }
    }
  }

  /// The operand as a window that broadcasts to the result: all of it in the result's layout, or
  /// one number for each element of the result's channels (the last dim of a product).
  std::optional<BufferId> operand_buffer(const Instruction& load, const PointwiseKernel& pointwise,
                                         const Buffer& result, std::size_t channels) {
    if (load.dtype != result.dtype) return std::nullopt;
    if (load.index == pointwise.store->index)
      return window(load.buffer, result.sizes, result.strides);
    if (pointwise.loops.empty() || result.sizes.empty()) return std::nullopt;
    const Loop& last = *pointwise.loops.back();
    bool row = load.index == SymExpr::symbol(last.variable) &&
               last.extent == result.sizes[channels] && result.strides[channels] == SymExpr(1) &&
               stride_of(pointwise.store->index, last.variable) == 1;
    if (!row) return std::nullopt;
    std::vector<SymExpr> sizes(result.sizes.size(), SymExpr(1)),
        strides(result.sizes.size(), SymExpr(0));
    sizes[channels] = result.sizes[channels];
    strides[channels] = 1;
    return window(load.buffer, sizes, strides);
  }

  /// The buffer itself, or a view that shows it with these sizes and strides.
  BufferId window(BufferId base, const std::vector<SymExpr>& sizes,
                  const std::vector<SymExpr>& strides) {
    const Buffer& buffer = program_.buffers[base];
    if (buffer.sizes == sizes && buffer.strides == strides) return base;
    Buffer view;
    view.name = buffer.name;
    view.kind = Buffer::Kind::view;
    view.base = base;
    view.dtype = buffer.dtype;
    view.sizes = sizes;
    view.strides = strides;
    program_.buffers.push_back(std::move(view));
    return static_cast<BufferId>(program_.buffers.size() - 1);
  }

  LoopProgram& program_;
  std::vector<int> readers_;           ///< steps that read a buffer
  std::vector<int> maker_;             ///< the library call whose result it is
  std::vector<std::size_t> last_use_;  ///< the last step that reads or writes it
  std::map<BufferId, std::size_t>
      overwritten_;  ///< temporaries that became a sum's result, and the step
  std::map<BufferId, BufferId> stands_for_;  ///< by the result: the memory that it lies in instead
  std::map<BufferId, std::size_t> last_write_;
  std::set<std::size_t> moved_;
};

}  // namespace

void fuse_epilogues(LoopProgram& program) {
  EpilogueFuser(program).run();
}

}  // namespace penstock::fusion
