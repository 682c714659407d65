// Schedule
//
// Vectors go along the loop in which memory is walked with stride 1: mostly the innermost; a loop
// further out when those inside stride (a reduction over rows of a row-major matrix: all columns of
// a vector are reduced in step). Every access votes: +1 for stride 1, -2 for any other stride,
// nothing for an operand that stays. A loop of very few iterations (windows of two, an image
// enlarged by two) would leave a vector mostly empty: the loop around it, which walks in short
// steps then, has vectors of every second element, and the others of the same line come next.
//
// Transposes stride on one side whatever the vectors go along: their two loops run tile by tile.
//
// The outermost loop runs in parallel; its grain is what keeps a thread busy for longer than
// handing out the work takes. Both are numbers in the program, nothing else depends on them.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "fusion/cost.h"
#include "fusion/independence.h"
#include "fusion/loops.h"
#include "fusion/rewrite.h"
#include "ir/size_estimate.h"

namespace penstock::fusion {

namespace {

constexpr double kLeastWork = 30000;  ///< additions a thread: about 10 us
constexpr int kLightBody = 24;        ///< instructions; more fill the registers by themselves
constexpr std::int64_t kReductionUnroll = 4;  ///< independent accumulators hide the latency of adds
constexpr std::int64_t kLightUnroll = 2;
constexpr std::int64_t kTileWidth = 32;   ///< elements along a vector: two lines of the cache
constexpr std::int64_t kTileHeight = 64;  ///< rows of a tile that one thread takes
constexpr std::int64_t kShortStep = 8;    ///< elements: about a line of the cache

/// What vectors along `variable` gain in a loop: the votes of the head comment. Where loops stand
/// inside, the accesses in front of them and behind them are few beside theirs.
int votes(const Loop& loop, std::string_view variable) {
  int sum = 0;
  const bool is_inner = is_innermost(loop);
  for (const Statement& statement : loop.body) {
    if (const Loop* inner = as_loop(statement)) {
      sum += votes(*inner, variable);
      continue;
    }
    const Instruction& instruction = *as_instruction(statement);
    if (!is_inner || (instruction.op != "load" && instruction.op != "store")) continue;
    bool computed = false;
    instruction.index.for_each_symbol(
        [&](std::string_view name) { computed |= scalar_of_symbol(name) >= 0; });
    auto stride = computed ? std::nullopt : stride_of(instruction.index, variable);
    if (stride != 0) sum += stride == 1 ? 1 : -2;
  }
  return sum;
}

std::int64_t unroll_of(const Loop& loop) {
  if (!loop.accumulators.empty()) return kReductionUnroll;
  return loop.body.size() <= kLightBody ? kLightUnroll : 1;
}

bool walks_in_short_steps(const Body& body, std::string_view variable) {
  bool in_short_steps = true;
  for_each_instruction(body, [&](const Instruction& instruction) {
    if (instruction.op != "load" && instruction.op != "store") return;
    const auto stride = stride_of(instruction.index, variable);
    in_short_steps &= stride && std::abs(*stride) <= kShortStep;
  });
  return in_short_steps;
}

/// Whether the loops in `loop` are all of very few iterations, beside whose elements its next ones
/// lie.
bool is_around_short_loops(const Loop& loop) {
  bool are_short = !is_innermost(loop);
  for (const Statement& statement : loop.body) {
    const Loop* inner = as_loop(statement);
    are_short &= inner == nullptr ||
                 (is_innermost(*inner) && is_short(inner->extent) && inner->accumulators.empty());
  }
  return are_short && walks_in_short_steps(loop.body, loop.variable);
}

/// Whether each lane of a vector may be an iteration of `loop`, all inner loops in step.
bool may_be_outer_vector(const Loop& loop, const std::vector<Buffer>& buffers) {
  return !is_short(loop.extent) && is_independent(loop) && !writes_scratch_row(loop, buffers) &&
         !varies_in_length(loop.body, loop.variable);
}

int best_votes(const Loop& loop, const std::vector<Buffer>& buffers);

/// What vectors along the loops inside `loop` gain.
int inner_votes(const Loop& loop, const std::vector<Buffer>& buffers) {
  int sum = 0;
  for (const Statement& statement : loop.body) {
    if (const Loop* inner = as_loop(statement)) sum += best_votes(*inner, buffers);
  }
  return sum;
}

/// What the best choice of vectors in `loop` gains: along it or along loops inside.
int best_votes(const Loop& loop, const std::vector<Buffer>& buffers) {
  const int own = votes(loop, loop.variable);
  if (is_innermost(loop) || is_around_short_loops(loop)) return own;
  const int inner = inner_votes(loop, buffers);
  return own > inner && may_be_outer_vector(loop, buffers) ? own : inner;
}

void vectorize(Loop& loop, const std::vector<Buffer>& buffers) {
  if (is_innermost(loop)) {
    loop.schedule.vectorize = !carries_memory(loop);
    loop.schedule.unroll = loop.schedule.vectorize ? unroll_of(loop) : 1;
    return;
  }
  const bool gains = is_around_short_loops(loop) ||
                     votes(loop, loop.variable) > std::max(inner_votes(loop, buffers), 0);
  if (gains && may_be_outer_vector(loop, buffers)) {
    loop.schedule.vectorize = true;
    // Several vectors side by side: each pass over the rows takes more of a row with it.
    loop.schedule.unroll = kReductionUnroll;
    return;
  }
  for (Statement& statement : loop.body) {
    if (Loop* inner = as_loop(statement)) vectorize(*inner, buffers);
  }
}

/// Whether memory is walked with stride 1 along `outer`, but in long steps along `inner`.
bool lies_across(const Instruction& access, const Loop& outer, const Loop& inner) {
  const auto along = stride_of(access.index, outer.variable),
             across = stride_of(access.index, inner.variable);
  return along == 1 && !(across && std::abs(*across) <= kShortStep);
}

/// Gives two loops one in the other tiles, where one side of a copy lies across the vectors: each
/// line of memory is used whole while it is in the cache.
void tile_transposes(Loop& outer, const Interface& interface) {
  for (Statement& statement : outer.body) {
    Loop* inner = as_loop(statement);
    if (inner != nullptr && !is_innermost(*inner)) tile_transposes(*inner, interface);
  }
  Loop* inner = outer.body.size() == 1 ? as_loop(outer.body.front()) : nullptr;
  if (inner == nullptr || !inner->schedule.vectorize || !outer.accumulators.empty() ||
      !inner->accumulators.empty() || carries_memory(outer))
    return;
  bool crosses = false;
  for_each_instruction(inner->body, [&](const Instruction& instruction) {
    crosses |= (instruction.op == "load" || instruction.op == "store") &&
               lies_across(instruction, outer, *inner);
  });
  if (!crosses || estimate(inner->extent, interface) < 2.0 * kTileWidth ||
      estimate(outer.extent, interface) < kTileHeight)
    return;
  inner->schedule.tile = kTileWidth;
  outer.schedule.tile = outer.schedule.parallel ? kTileHeight : 0;
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

void parallelize(Loop& outermost, const Interface& interface) {
  if (outermost.extent == SymExpr(1) || !is_independent(outermost)) return;
  double each = std::max(1.0, work(outermost.body, interface));
  outermost.schedule.parallel = true;
  outermost.schedule.grain = std::max<std::int64_t>(1, std::llround(std::ceil(kLeastWork / each)));
}

}  // namespace

void schedule_loops(LoopProgram& program) {
  if (program.device != "cpu") return schedule_device(program);
  for (ProgramStep& step : program.steps) {
    auto* kernel = std::get_if<LoopKernel>(&step);
    if (kernel == nullptr) continue;
    for (Statement& statement : kernel->body) {
      Loop* loop = as_loop(statement);
      if (loop == nullptr) continue;
      vectorize(*loop, program.buffers);
      parallelize(*loop, program.interface);
      tile_transposes(*loop, program.interface);
    }
    renumber(*kernel);
  }
}

}  // namespace penstock::fusion
