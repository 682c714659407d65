#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ir/buffer.h"
#include "ir/graph.h"
#include "ir/interface.h"

namespace penstock {

/// A scalar inside a kernel's body: made once per iteration, used below in the same body or deeper.
using ScalarId = std::int32_t;

/// What an instruction computes. Names of arithmetic are those of ops/prims.def ("add", "exp",
/// "where", "convert", …); besides them:
///   load      buffers[buffer] at `index`, elements; with one operand (a bool) masked: `immediate`
///             where it is false, and the memory is not touched
///   store     operands[0] to buffers[buffer] at `index`; a second operand (a bool) masks it
///   constant  `immediate`
///   index     the integer `index` as a value of `dtype` (iota, masks of pads and triangles)
struct Instruction {
  std::string op;
  ScalarId result = -1;          ///< -1 for store
  DType dtype = DType::float32;  ///< of the result (store: of the stored value)
  std::vector<ScalarId> operands;
  BufferId buffer = kNoBuffer;
  /// load, store: element index into the buffer's memory, offset and strides applied. Symbols:
  /// sizes
  /// ("s0"), loop variables of the loops around ("i0") and integer scalars of this body ("v12").
  SymExpr index = 0;
  Argument immediate;  ///< bool, int64 or double
};

/// A value carried through a loop and combined in every iteration.
struct Accumulator {
  std::string op;                 ///< sum prod amax amin any all argmax argmin welford
  DType dtype = DType::float32;   ///< it is kept in (float32 for half types)
  ScalarId value = -1;            ///< what the body gives in each iteration
  std::vector<ScalarId> results;  ///< one; welford: mean, M2, count; arg*: the position
};

/// Which threads of a device (a GPU) take the iterations of a loop; each takes every n-th group of
/// neighbours, where there are more iterations than threads.
enum class Bind : std::uint8_t {
  serial,    ///< each thread runs all of them
  global_x,  ///< all threads of the grid along x
  global_y,  ///< along y
  global_z,  ///< along z
  thread_x,  ///< the threads of one block along x; accumulators are joined over them
};
std::string_view to_string(Bind bind);
std::optional<Bind> bind_from_name(std::string_view name);

/// How a loop is run: data, editable by hand, never changes the result beyond rounding order that
/// the accumulators' tree implies.
struct Schedule {
  bool parallel = false;   ///< outermost spatial loop only
  std::int64_t grain = 1;  ///< parallel: least iterations per thread
  /// Unit-stride loop. Mostly the innermost; loops inside it have no `vectorize` and extents that
  /// it does not vary: each vector lane runs them in step (a reduction over rows, for all columns).
  bool vectorize = false;
  /// Iterations per block; the loop over blocks goes in front of the loops around that hold nothing
  /// else. 0: no blocks, and always so with accumulators.
  std::int64_t tile = 0;
  std::int64_t unroll = 1;  ///< vectors (or iterations) per step
  /// On a device; fusion/schedule_device.cpp says what may be bound. A bound loop that is also
  /// `vectorize` gives each thread `unroll` neighbours a step.
  Bind bind = Bind::serial;
};

struct Loop;
using Statement = std::variant<Instruction, std::vector<Loop>>;  ///< a vector of exactly one loop

/// for variable in [0, extent): body. With accumulators it is a reduction.
struct Loop {
  std::string variable;  ///< "i0", unique in the kernel
  SymExpr extent;
  Schedule schedule;
  std::vector<Accumulator> accumulators;
  std::vector<Statement> body;  ///< instructions and inner loops, in order
};

/// One fused loop nest: what codegen turns into one function. Bodies are straight lines; all
/// iterations of the outermost loop are independent unless it has accumulators.
struct LoopKernel {
  std::string name;                 ///< "k0_add_gelu": number and the main ops
  std::vector<Statement> body;      ///< mostly one loop; a rank 0 kernel has instructions alone
  std::vector<std::int32_t> calls;  ///< positions in `calls` that it computes, for reports
  std::string reason;               ///< what was fused and why, one line for people
  std::int32_t block_x = 1, block_y = 1;  ///< on a device: threads of a block
};

/// One thing to do, in order.
using ProgramStep = std::variant<LoopKernel, LibraryCall, FallbackCall>;

/// Level `loops`: what runs, on which memory, in which order.
struct LoopProgram {
  Interface interface;
  std::vector<Call> calls;  ///< of the graph, for reports
  std::vector<Buffer> buffers;
  std::vector<ProgramStep> steps;
  /// buffer that holds output i (an input's or another output's when it aliases or passes it on)
  std::vector<BufferId> outputs;
  SymExpr arena_bytes = 0;     ///< length of the arena that temporaries lie in
  std::string device = "cpu";  ///< where buffers lie and kernels run: "cpu", "cuda:0"
};

}  // namespace penstock
