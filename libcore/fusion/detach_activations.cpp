// Detach
//
// An activation behind a convolution often shares a row loop with a reduction of its result: silu
// and its mean over each channel of the image. The convolution would apply the activation to
// numbers that it still has in registers, and the reduction alone walks memory better than the two
// together. So where the row's first loop is what the convolution can apply, it becomes a kernel of
// its own: all rows of it, then all rows of the rest. Nothing else in the kernel may touch what it
// reads or write what it writes.
#include <algorithm>

#include "fusion/loops.h"
#include "fusion/post_ops.h"
#include "fusion/rewrite.h"

namespace penstock::fusion {

namespace {

/// A kernel's loops around the first body with several statements, and that body.
struct RowLoops {
  std::vector<const Loop*> around;  ///< outermost first
  const Body* body = nullptr;
};

RowLoops row_loops(const LoopKernel& kernel) {
  RowLoops rows;
  rows.body = &kernel.body;
  while (rows.body->size() == 1) {
    const Loop* loop = as_loop(rows.body->front());
    if (loop == nullptr || !loop->accumulators.empty()) break;
    rows.around.push_back(loop);
    rows.body = &loop->body;
  }
  return rows;
}

/// The same loops around other statements.
Body within(const RowLoops& rows, Body body) {
  for (auto loop = rows.around.rbegin(); loop != rows.around.rend(); ++loop) {
    Loop around{(*loop)->variable, (*loop)->extent, (*loop)->schedule, {}, std::move(body)};
    body = {loop_statement(std::move(around))};
  }
  return body;
}

class Detacher {
 public:
  explicit Detacher(LoopProgram& program) : program_(program), readers_(program.buffers.size(), 0) {
    for (std::size_t s = 0; s < program.steps.size(); ++s) {
      for (BufferId id : uses_of(program, program.steps[s]).reads) ++readers_[id];
    }
    for (const ProgramStep& step : program.steps) {
      const auto* call = std::get_if<LibraryCall>(&step);
      if (call != nullptr && call->name == "convolution") results_.insert(call->outputs.front());
    }
  }

  void run() {
    std::vector<ProgramStep> steps;
    for (ProgramStep& step : program_.steps) {
      auto* kernel = std::get_if<LoopKernel>(&step);
      if (kernel != nullptr) {
        if (auto detached = detach(*kernel)) steps.push_back(std::move(*detached));
      }
      steps.push_back(std::move(step));
    }
    program_.steps = std::move(steps);
  }

 private:
  /// Takes the part that a convolution can apply out of the kernel.
  std::optional<LoopKernel> detach(LoopKernel& kernel) const {
    const RowLoops rows = row_loops(kernel);
    const Loop* first = rows.body->size() > 1 ? as_loop(rows.body->front()) : nullptr;
    if (first == nullptr || !first->accumulators.empty()) return std::nullopt;
    LoopKernel part{kernel.name, within(rows, {rows.body->front()}), kernel.calls, kernel.reason};
    LoopKernel rest{kernel.name, within(rows, Body(rows.body->begin() + 1, rows.body->end())),
                    kernel.calls, kernel.reason};
    PointwiseKernel pointwise;
    if (!collect_pointwise(part.body, pointwise) || !are_apart(part, rest)) return std::nullopt;
    const bool applies = std::ranges::any_of(pointwise.made, [&](const auto& made) {
      const Instruction& load = *made.second;
      return load.op == "load" && results_.contains(load.buffer) &&
             can_apply(pointwise, load.buffer);
    });
    if (!applies) return std::nullopt;
    kernel = std::move(rest);
    renumber(kernel);
    renumber(part);
    return part;
  }

  bool can_apply(const PointwiseKernel& pointwise, BufferId result) const {
    const Buffer& made = program_.buffers[result];
    return readers_[result] == 1 && made.kind == Buffer::Kind::temporary &&
           read_post_ops(pointwise, result).has_value() && loops_over_all(pointwise, made);
  }

  bool are_apart(const LoopKernel& part, const LoopKernel& rest) const {
    const StepUses first = uses_of(program_, part), then = uses_of(program_, rest);
    auto touches = [](const std::set<BufferId>& some, const std::set<BufferId>& others) {
      return std::any_of(some.begin(), some.end(),
                         [&](BufferId id) { return others.contains(id); });
    };
    return !touches(then.writes, first.reads) && !touches(then.writes, first.writes);
  }

  LoopProgram& program_;
  std::vector<int> readers_;    ///< steps that read a buffer
  std::set<BufferId> results_;  ///< of convolutions
};

}  // namespace

void detach_activations(LoopProgram& program) {
  Detacher(program).run();
}

}  // namespace penstock::fusion
