// Schedule
//
// Vectors go along the loop in which memory is walked with stride 1: mostly the innermost; the loop
// around it when the innermost one strides (a reduction over rows of a row-major matrix: all
// columns of a vector are reduced in step). Every access votes: +1 for stride 1, -2 for any other
// stride, nothing for an operand that stays.
//
// The outermost loop runs in parallel; its grain is what keeps a thread busy for longer than
// handing out the work takes. Both are numbers in the program, nothing else depends on them.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "fusion/cost.h"
#include "fusion/loops.h"
#include "fusion/rewrite.h"

namespace penstock::fusion {

namespace {

constexpr double kLeastWork = 30000;  ///< additions a thread: about 10 us
constexpr int kLightBody = 24;        ///< instructions; more fill the registers by themselves
constexpr std::int64_t kReductionUnroll = 4;  ///< independent accumulators hide the latency of adds
constexpr std::int64_t kLightUnroll = 2;

/// What vectors along `variable` gain in a body: the votes of the head comment.
int votes(const Body& body, std::string_view variable) {
  int sum = 0;
  for_each_instruction(body, [&](const Instruction& instruction) {
    if (instruction.op != "load" && instruction.op != "store") return;
    bool computed = false;
    instruction.index.for_each_symbol(
        [&](std::string_view name) { computed |= scalar_of_symbol(name) >= 0; });
    auto stride = computed ? std::nullopt : stride_of(instruction.index, variable);
    if (stride == 0) return;
    sum += stride == 1 ? 1 : -2;
  });
  return sum;
}

bool is_innermost(const Loop& loop) {
  return std::none_of(loop.body.begin(), loop.body.end(),
                      [](const Statement& s) { return as_loop(s) != nullptr; });
}

std::int64_t unroll_of(const Loop& loop) {
  if (!loop.accumulators.empty()) return kReductionUnroll;
  return loop.body.size() <= kLightBody ? kLightUnroll : 1;
}

/// Whether each iteration of the loop writes a scratch row of its own: lanes would share that
/// memory.
bool writes_scratch_row(const Loop& loop, const std::vector<Buffer>& buffers) {
  bool writes = false;
  for_each_instruction(loop.body, [&](const Instruction& instruction) {
    writes |= instruction.op == "store" &&
              buffers[instruction.buffer].kind == Buffer::Kind::scratch &&
              !mentions(instruction.index, loop.variable);
  });
  return writes;
}

void vectorize(Loop& loop, const std::vector<Buffer>& buffers) {
  if (is_innermost(loop)) {
    loop.schedule.vectorize = !carries_memory(loop);
    loop.schedule.unroll = loop.schedule.vectorize ? unroll_of(loop) : 1;
    return;
  }
  bool parent_of_innermost = true;
  int inner_votes = 0;
  for (const Statement& statement : loop.body) {
    const Loop* inner = as_loop(statement);
    if (inner == nullptr) continue;
    parent_of_innermost &= is_innermost(*inner) && !carries_memory(*inner);
    inner_votes += votes(inner->body, inner->variable);
  }
  bool outer = parent_of_innermost && loop.accumulators.empty() && !carries_memory(loop) &&
               !writes_scratch_row(loop, buffers) &&
               votes(loop.body, loop.variable) > std::max(inner_votes, 0);
  if (outer) {
    loop.schedule.vectorize = true;
    // Several vectors side by side: each pass over the rows takes more of a row with it.
    loop.schedule.unroll = kReductionUnroll;
    return;
  }
  for (Statement& statement : loop.body) {
    if (Loop* inner = as_loop(statement)) vectorize(*inner, buffers);
  }
}

double work(const Body& body, const Interface& interface) {
  double sum = 0;
  for (const Statement& statement : body) {
    if (const Loop* loop = as_loop(statement)) {
      sum += std::max(1.0, estimate(loop->extent, interface)) * work(loop->body, interface);
    } else {
      const Instruction& instruction = *as_instruction(statement);
      bool memory = instruction.op == "load" || instruction.op == "store";
      sum += memory ? 1 : op_weight(instruction.op);
    }
  }
  return sum;
}

void add_variables(const Loop& loop, std::vector<std::string>& variables) {
  variables.push_back(loop.variable);
  for (const Statement& statement : loop.body) {
    if (const Loop* inner = as_loop(statement)) add_variables(*inner, variables);
  }
}

/// Whether an element that is loaded may be one that an earlier iteration of `loop` stored at the
/// same place of its body: a scan along the rows. Another place of the row has the same loop
/// variables too, but is less than a row away.
bool reads_other_rows(const Loop& loop) {
  bool reads = false;
  std::vector<std::string> variables;
  add_variables(loop, variables);
  for_each_instruction(loop.body, [&](const Instruction& store) {
    if (store.op != "store") return;
    for_each_instruction(loop.body, [&](const Instruction& load) {
      if (load.op != "load" || load.buffer != store.buffer || load.index == store.index) return;
      const SymExpr distance = load.index - store.index;
      // In another loop over the row: their distance tells nothing.
      if (std::ranges::any_of(variables,
                              [&](const std::string& name) { return mentions(distance, name); }))
        return;
      const auto row = stride_of(store.index, loop.variable), steps = distance.constant();
      reads |= !row || !steps || std::abs(*steps) >= std::abs(*row);
    });
  });
  return reads;
}

/// Whether two iterations of `loop` may write the same element: at a place that each computes, with
/// nothing else that tells them apart.
bool writes_computed_rows(const Loop& loop) {
  std::set<ScalarId> made;
  bool writes = false;
  for_each_instruction(loop.body, [&](const Instruction& instruction) {
    if (instruction.result >= 0) made.insert(instruction.result);
    if (instruction.op != "store" || mentions(instruction.index, loop.variable)) return;
    instruction.index.for_each_symbol(
        [&](std::string_view name) { writes |= made.contains(scalar_of_symbol(name)); });
  });
  return writes;
}

void parallelize(Loop& outermost, const Interface& interface) {
  if (!outermost.accumulators.empty() || outermost.extent == SymExpr(1)) return;
  if (is_innermost(outermost) ? carries_memory(outermost)
                              : reads_other_rows(outermost) || writes_computed_rows(outermost))
    return;
  double each = std::max(1.0, work(outermost.body, interface));
  outermost.schedule.parallel = true;
  outermost.schedule.grain = std::max<std::int64_t>(1, std::llround(std::ceil(kLeastWork / each)));
}

}  // namespace

void schedule_loops(LoopProgram& program) {
  for (ProgramStep& step : program.steps) {
    auto* kernel = std::get_if<LoopKernel>(&step);
    if (kernel == nullptr) continue;
    for (Statement& statement : kernel->body) {
      Loop* loop = as_loop(statement);
      if (loop == nullptr) continue;
      vectorize(*loop, program.buffers);
      parallelize(*loop, program.interface);
    }
    renumber(*kernel);
  }
}

}  // namespace penstock::fusion
