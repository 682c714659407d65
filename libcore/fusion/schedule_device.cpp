// Schedule for a device
//
// Problem. A GPU runs a kernel as a grid of blocks of threads; which of them take which iterations
// decides nearly all of its speed: neighbouring threads must walk neighbouring memory, each with
// accesses of 16 bytes, there must be enough of them, and what is joined must be joined within one
// block.
//
// The loops stay what they are; some are *bound* to a dim of the grid (Bind). A bound loop runs
// from its thread's own number on in steps of the number of threads, so that any grid is right and
// only speed depends on it. What is not bound, each thread runs whole.
//
//   pointwise     the loop of a nest along which memory lies goes to the grid's x, in vectors of 16
//                 bytes: mostly the innermost, that of the channels where an image lies
//                 channels-last and what is known of each channel is computed outside of its
//                 places; the others go to y and z, of more than two some are made one. Rows that
//                 are shorter than a warp stand side by side in one
//   rows          softmax, norms, sums over the last dim: the row loop goes to y, a block, or one
//                 of its warps, takes a row, and the loops inside run over the block's threads,
//                 which join their accumulators by shuffles and shared memory; so all of them know
//                 the result. Rows that are shared by the loops of a kernel lie in shared memory
//   columns       sums over other dims, where neighbours along the loop outside find more of what
//                 they read side by side: that goes to x, and each thread runs the reduction of its
//                 column. Few long columns are taken as rows: threads that wait for memory would be
//                 too few
//   scans         and whatever else cannot be taken apart inside a row: a thread a row
//   all else      (a reduction of everything) one block
//
// Needs: loops as the CPU's schedule_loops needs them. What is outside of all loops over x runs in
// every thread of a block, and only its first thread stores (codegen).
#include <algorithm>
#include <bit>
#include <cmath>

#include "fusion/few_columns.h"
#include "fusion/independence.h"
#include "fusion/loops.h"
#include "fusion/rewrite.h"
#include "ir/size_estimate.h"

namespace penstock::fusion {

namespace {

constexpr int kVectorBytes = 16;       ///< of one access
constexpr int kMostUnroll = 8;         ///< elements of a thread in one step
constexpr int kBlock = 256;            ///< threads of a pointwise block
constexpr int kWarp = 32;              ///< threads that shuffle
constexpr int kMostRowThreads = 512;   ///< of a row
constexpr int kVectorsOfThread = 4;    ///< that hide the latency of a row's loads
constexpr int kFewRows = 1024;         ///< leave processors idle: more threads take each
constexpr double kShortRow = 16;       ///< iterations that fill no warp
constexpr int kLeastRow = 4;           ///< threads of a row beside which others stand in a warp
constexpr double kLongColumn = 65536;  ///< columns from which vectors of them fill a device
/// Of shared memory, for blocks of several rows: each has scratch of its own.
constexpr std::int64_t kSharedRows = 24 * 1024;

/// The power of two at or below `number`, within bounds.
int power_within(double number, int least, int most) {
  const auto whole = static_cast<unsigned>(std::clamp<double>(number, least, most));
  return static_cast<int>(std::bit_floor(whole));
}

class DeviceScheduler {
 public:
  DeviceScheduler(LoopKernel& kernel, const LoopProgram& program)
      : kernel_(kernel), program_(program) {}

  void run() {
    std::vector<Loop*> loops;
    bool stores = false;
    for (Statement& statement : kernel_.body) {
      if (Loop* loop = as_loop(statement)) loops.push_back(loop);
      const Instruction* instruction = as_instruction(statement);
      stores |= instruction != nullptr && instruction->op == "store";
    }
    if (loops.size() == 1 && !stores && is_independent(*loops.front()))
      return bind_nest(*loops.front());
    for (Loop* loop : loops) bind_inside(*loop);
    kernel_.block_x = row_threads(2.0 * kFewRows);
  }

 private:
  double length(const Loop& loop) const {
    return std::max(1.0, estimate(loop.extent, program_.interface));
  }

  /// The loops of which each is all that the one before holds, outermost first.
  static std::vector<Loop*> nest_of(Loop& outermost) {
    std::vector<Loop*> nest = {&outermost};
    while (Loop* inner = only_loop(*nest.back())) {
      if (!is_independent(*inner)) break;
      nest.push_back(inner);
    }
    return nest;
  }

  static Loop* only_loop(Loop& loop) {
    Loop* only = nullptr;
    for (Statement& statement : loop.body) {
      const Instruction* instruction = as_instruction(statement);
      if (instruction != nullptr && instruction->op == "store") return nullptr;
      Loop* inner = as_loop(statement);
      if (inner != nullptr && only != nullptr) return nullptr;
      if (inner != nullptr) only = inner;
    }
    return only;
  }

  void bind_nest(Loop& outermost) {
    std::vector<Loop*> nest = nest_of(outermost);
    Loop& last = *nest.back();
    if (is_innermost(last)) return bind_pointwise(std::move(nest));
    nest.pop_back();
    if (carries_inside(last)) return bind_serial_rows(last, std::move(nest));
    const bool scratch = writes_scratch_row(last, program_.buffers);
    const bool columns = apart(last.body, last.variable) < apart_inside(last.body);
    double rows = length(last);
    for (const Loop* loop : nest) rows *= length(*loop);
    const double longest = longest_inside(last);
    if (!scratch && ((columns && !are_few_columns(rows, longest)) || longest < kShortRow)) {
      nest.push_back(&last);
      merge_around(nest, last);
      nest.pop_back();
      bind_x(last, columns && length(last) >= kLongColumn ? unroll_of(last) : 1);
      return bind_around(std::move(nest));
    }
    bind_rows(last, std::move(nest));
  }

  void bind_pointwise(std::vector<Loop*> nest) {
    // What is too short for a warp leaves x to the longest loop around it.
    const Body& body = nest.back()->body;
    auto x = nest.end() - 1;
    for (auto loop = nest.begin(); loop + 1 != nest.end(); ++loop) {
      if (length(**loop) >= kShortRow && lies_along(body, **loop) > lies_along(body, **x)) x = loop;
    }
    if (length(**x) < kShortRow) {
      x = std::max_element(nest.begin(), nest.end(),
                           [&](Loop* a, Loop* b) { return length(*a) < length(*b); });
    }
    Loop& loop = **x;
    const bool walks = x == nest.end() - 1 || lies_along(body, loop) > 0;
    merge_around(nest, loop);
    std::erase(nest, &loop);
    double rows = 1;
    for (Loop* around : nest) rows = std::max(rows, length(*around));
    const int least = rows >= kWarp ? kLeastRow : kWarp;
    bind_x(loop, walks ? unroll_of(loop, least) : 1, least);
    bind_around(std::move(nest));
  }

  /// Merges loops one in the other until there are two beside `x`: what is bound to no dim of the
  /// grid, each thread runs whole.
  static void merge_around(std::vector<Loop*>& nest, const Loop& x) {
    for (std::size_t i = 0; i + 1 < nest.size() && nest.size() > 3;) {
      Loop &outer = *nest[i], &inner = *nest[i + 1];
      const bool nested = as_loop(outer.body.back()) == &inner;
      if (&outer == &x || &inner == &x || !nested || !inner.extent.constant()) {
        ++i;
        continue;
      }
      const SymExpr both = SymExpr::symbol(outer.variable);
      Renaming places;
      places.symbols[outer.variable] = floordiv(both, inner.extent);
      places.symbols[inner.variable] = mod(both, inner.extent);
      Body body = std::move(inner.body);
      outer.extent *= inner.extent;
      outer.body.pop_back();
      for (Statement& statement : body) outer.body.push_back(std::move(statement));
      rename(outer.body, places);
      nest.erase(nest.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    }
  }

  /// How much of what a body reads and writes lies side by side along a loop, less twice what lies
  /// apart.
  static int lies_along(const Body& body, const Loop& loop) {
    int sum = 0;
    for_each_instruction(body, [&](const Instruction& instruction) {
      if (instruction.op != "load" && instruction.op != "store") return;
      const auto stride = stride_of(instruction.index, loop.variable);
      if (stride != 0) sum += stride == 1 ? 1 : -2;
    });
    return sum;
  }

  void bind_x(Loop& loop, std::int64_t unroll, int least = kWarp) {
    loop.schedule.bind = Bind::global_x;
    set_unroll(loop, unroll);
    kernel_.block_x =
        power_within(length(loop) / static_cast<double>(unroll) * 2 - 1, least, kBlock);
  }

  static void set_unroll(Loop& loop, std::int64_t unroll) {
    const bool may = unroll > 1 && !varies_in_length(loop.body, loop.variable);
    loop.schedule.vectorize = may;
    loop.schedule.unroll = may ? unroll : 1;
  }

  /// Binds the two longest of the loops around to y and z; blocks that are narrow take several
  /// rows of y.
  void bind_around(std::vector<Loop*> around) {
    std::ranges::stable_sort(around, [&](Loop* a, Loop* b) { return length(*a) > length(*b); });
    if (!around.empty()) {
      around[0]->schedule.bind = Bind::global_y;
      kernel_.block_y = power_within(length(*around[0]), 1, kBlock / kernel_.block_x);
    }
    if (around.size() > 1) around[1]->schedule.bind = Bind::global_z;
  }

  void bind_rows(Loop& rows, std::vector<Loop*> around) {
    double count = length(rows);
    for (const Loop* loop : around) count *= length(*loop);
    for (Statement& statement : rows.body) {
      if (Loop* inner = as_loop(statement)) bind_inside(*inner);
    }
    const bool once = passes_ == 1 && count >= kFewRows;  // a warp needs no barrier to join
    kernel_.block_x = once ? std::min(row_threads(count), kWarp) : row_threads(count);
    around.push_back(&rows);
    const int width = kernel_.block_x;
    bind_around(std::move(around));
    // A barrier of several rows would wait for all of them: only warps stand side by side.
    const std::int64_t shared = scratch_bytes() * kernel_.block_y;
    if (width > kWarp || count < kFewRows || shared > kSharedRows) kernel_.block_y = 1;
  }

  /// Rows in which one iteration needs the one before: a thread takes each.
  void bind_serial_rows(Loop& rows, std::vector<Loop*> around) {
    if (!writes_scratch_row(rows, program_.buffers)) {
      bind_x(rows, 1);
      return bind_around(std::move(around));
    }
    kernel_.block_x = 1;
    around.push_back(&rows);
    bind_around(std::move(around));
    kernel_.block_y = 1;
  }

  /// Binds the innermost loops in `loop` to the threads of a block.
  void bind_inside(Loop& loop) {
    if (is_innermost(loop)) {
      if (loop.accumulators.empty() && carries_memory(loop)) return;
      loop.schedule.bind = Bind::thread_x;
      ++passes_;
      set_unroll(loop, unroll_of(loop));
      longest_ = std::max(longest_, length(loop) / static_cast<double>(loop.schedule.unroll));
      return;
    }
    for (Statement& statement : loop.body) {
      if (Loop* inner = as_loop(statement)) bind_inside(*inner);
    }
  }

  /// Threads for one of so many rows.
  int row_threads(double rows) const {
    const double share = rows < kFewRows ? longest_ : longest_ / kVectorsOfThread;
    return power_within(share, kWarp, kMostRowThreads);
  }

  std::int64_t scratch_bytes() const {
    std::int64_t bytes = 0;
    for_each_instruction(kernel_.body, [&](const Instruction& instruction) {
      if (instruction.buffer == kNoBuffer) return;
      const Buffer& buffer = program_.buffers[instruction.buffer];
      if (buffer.kind == Buffer::Kind::scratch)
        bytes = std::max(bytes, buffer.arena_offset.constant_term() + buffer.bytes.constant_term());
    });
    return bytes;
  }

  static bool carries_inside(const Loop& loop) {
    return std::ranges::any_of(loop.body, [](const Statement& statement) {
      const Loop* inner = as_loop(statement);
      if (inner == nullptr) return false;
      return is_innermost(*inner) ? inner->accumulators.empty() && carries_memory(*inner)
                                  : carries_inside(*inner);
    });
  }

  double longest_inside(const Loop& loop) const {
    double longest = 0;
    for (const Statement& statement : loop.body) {
      const Loop* inner = as_loop(statement);
      if (inner != nullptr) longest = std::max({longest, length(*inner), longest_inside(*inner)});
    }
    return longest;
  }

  /// Accesses in inner loops that neighbours along `variable` would make apart from each other.
  static int apart(const Body& body, std::string_view variable) {
    int count = 0;
    for (const Statement& statement : body) {
      const Loop* inner = as_loop(statement);
      if (inner == nullptr) continue;
      for_each_instruction(inner->body, [&](const Instruction& instruction) {
        count += lies_apart(instruction, variable);
      });
    }
    return count;
  }

  /// The same along the innermost loops' own variables.
  static int apart_inside(const Body& body) {
    int count = 0;
    for (const Statement& statement : body) {
      const Loop* inner = as_loop(statement);
      if (inner == nullptr) continue;
      if (!is_innermost(*inner)) {
        count += apart_inside(inner->body);
        continue;
      }
      for_each_instruction(inner->body, [&](const Instruction& instruction) {
        count += lies_apart(instruction, inner->variable);
      });
    }
    return count;
  }

  static bool lies_apart(const Instruction& instruction, std::string_view variable) {
    if (instruction.op != "load" && instruction.op != "store") return false;
    const auto stride = stride_of(instruction.index, variable);
    return stride != 0 && stride != 1;
  }

  /// Neighbours that fill the widest access of the smallest elements that are walked along the
  /// loop.
  std::int64_t unroll_of(const Loop& loop, int threads = kWarp) const {
    int least = kVectorBytes;
    for_each_instruction(loop.body, [&](const Instruction& instruction) {
      if (instruction.op != "load" && instruction.op != "store") return;
      if (stride_of(instruction.index, loop.variable) != 1) return;
      least = std::min(least, static_cast<int>(facts(instruction.dtype).size));
    });
    std::int64_t unroll = std::min(kVectorBytes / least, kMostUnroll);
    while (unroll > 1 && length(loop) < static_cast<double>(unroll * threads)) unroll /= 2;
    while (unroll > 1 && !stores_together(loop, unroll)) unroll /= 2;
    return unroll;
  }

  /// Whether so many neighbours begin at a multiple of their number wherever the loop stores them.
  /// Else they would be stored one by one, and those of different threads not side by side.
  static bool stores_together(const Loop& loop, std::int64_t count) {
    bool together = true;
    for_each_instruction(loop.body, [&](const Instruction& instruction) {
      if (instruction.op != "store" || stride_of(instruction.index, loop.variable) != 1) return;
      const SymExpr start = instruction.index - SymExpr::symbol(loop.variable);
      together = together && start.constant_term() % count == 0 &&
                 std::ranges::all_of(start.terms(), [&](const SymTerm& term) {
                   return term.coefficient % count == 0;
                 });
    });
    return together;
  }

  LoopKernel& kernel_;
  const LoopProgram& program_;
  double longest_ = 1;  ///< steps of the longest loop over a block's threads
  int passes_ = 0;      ///< such loops
};

}  // namespace

void schedule_device(LoopProgram& program) {
  for (ProgramStep& step : program.steps) {
    auto* kernel = std::get_if<LoopKernel>(&step);
    if (kernel == nullptr) continue;
    DeviceScheduler(*kernel, program).run();
    renumber(*kernel);
  }
}

}  // namespace penstock::fusion
