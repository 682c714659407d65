#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "bundle/kernel_abi.h"
#include "ir/control_steps.h"
#include "runtime/decided_parts.h"
#include "runtime/executor.h"
#include "runtime/plan_graph.h"

namespace penstock::runtime {

/// A buffer with its sizes: elements, and bytes from the start of the memory that it lies in.
struct Window {
  BufferId memory;         ///< the buffer whose memory it is; itself unless a view
  std::int64_t start = 0;  ///< bytes from there to the first element
  DType dtype = DType::float32;
  std::vector<std::int64_t> sizes, strides;
  bool host = false;  ///< of a bundle for a device: in the host's memory
};

/// Memory that stays between runs, and what it was made of.
struct Prepared {
  struct Contents {
    const void* data;
    std::uint64_t version;
    friend bool operator==(const Contents&, const Contents&) = default;
  };
  PooledMemory memory;
  std::vector<std::int32_t> inputs;  ///< of the bundle, that the steps read
  std::vector<Contents> made_of;     ///< by `inputs`, when the steps ran last; empty: never
  std::uint64_t version = 0;         ///< counts the times that the steps ran
};

/// One step, ready to run. `first` and `count` name its pointers in the table that a run fills in.
struct PlannedStep {
  const BundleStep* step = nullptr;
  std::int32_t first = 0, count = 0;
  // Kernel:
  penstock_kernel function = nullptr;
  std::int64_t extent = 1, grain = 1;
  bool parallel = false;
  void* device_function = nullptr;  ///< of a bundle for a device, in place of `function`
  DeviceGrid grid;
  bool prepares = false;          ///< runs only when Prepared::made_of has changed
  std::size_t scratch_bytes = 0;  ///< per thread, a multiple of 64
  std::int64_t flops = 0, bytes = 0;
  // Library call:
  std::vector<NamedArgument> attributes;  ///< with numbers in the place of sizes
  LibraryOperands operands;
  std::shared_ptr<LibraryKernel>
      kernel;  ///< of these; shared with plans in which they are the same
  std::int32_t inputs = 0, outputs = 0, post_ops = 0;
  std::int64_t trips = 0;  ///< of a loop whose turns are counted
  std::vector<std::int32_t>
      version_of;  ///< by input: number of the bundle's input, -1 constant, -2 none, -3 prepared
};

/// Everything about a bundle that depends on its sizes. What waits for a size that elements decide
/// is filled in by decide_plan() in a run.
struct Plan {
  /// What was planned for one size that elements decide.
  struct DecidedPlan {
    std::vector<std::int64_t> sizes;  ///< it, and DecidedParts::Part::needs; empty: for none yet
    std::size_t arena_bytes = 0, scratch_bytes = 0;
    // While it is not the one at hand, of which the plan itself has these:
    std::vector<Window> windows;  ///< by DecidedParts::Part::buffers
    std::vector<std::int64_t> arena_offsets;
    std::vector<std::size_t> output_bytes;
    std::vector<PlannedStep> steps;           ///< by DecidedParts::Part::steps
    std::vector<std::int64_t> pointer_start;  ///< of those, one step's behind the other's
  };
  /// By DecidedParts::parts: the one at hand, and others, last used first.
  struct Decided {
    DecidedPlan now;
    std::vector<DecidedPlan> kept;
  };
  std::vector<std::int64_t> bound;    ///< the symbols' values as inputs give them, 0 for others
  std::vector<std::int64_t> symbols;  ///< those that kernels are given
  std::vector<Decided> decided;
  std::vector<Window> windows;              ///< by buffer
  std::vector<std::int64_t> arena_offsets;  ///< by buffer; temporaries and prepared ones
  std::vector<std::size_t> output_bytes;    ///< by buffer; outputs only
  std::size_t arena_bytes = 0;
  std::size_t scratch_bytes = 0;  ///< per thread, the most of any step that waits for no size
  std::size_t prepared_bytes = 0;
  std::vector<bool> reads;  ///< by input: whether a step or an output shows its memory itself
  Prepared prepared;
  std::vector<PlannedStep> steps;
  ControlSteps control;  ///< by step
  PlanGraph graph;       ///< of a bundle for a device
  std::size_t repeatable =
      0;  ///< so many steps may run again: they write no input, draw nothing and call no torch
  std::vector<BufferId> pointer_memory;     ///< by pointer: the memory that it starts from
  std::vector<std::int64_t> pointer_start;  ///< and the bytes to add
  std::vector<BufferId> sized_buffers;      ///< of which anything above depends on the symbols
  std::vector<std::int32_t> sized_steps;    ///< the same
};

/// What a plan is made from.
struct PlanContext {
  const KernelBundle& bundle;
  const DecidedParts& decided;
  const std::unordered_map<std::string, penstock_kernel>& functions;
  const std::unordered_map<std::string, void*>& device_functions;
  Library* library;
  RandomSource* random;
  /// For other sizes of the same bundle, run by the same thread. What a library made for a call
  /// whose operands these sizes do not change serves both: most of a model that decodes, one token
  /// longer each time.
  std::span<const std::unique_ptr<Plan>> others = {};
};

/// Evaluates every size of the bundle. PS0802 for a size that the symbols do not determine.
Result<std::unique_ptr<Plan>> make_plan(const PlanContext& context,
                                        std::vector<std::int64_t> symbols);

/// Makes a plan of the same bundle one for other sizes, by what depends on them alone. Where that
/// fails, it is a plan for nothing.
Result<void> resize_plan(const PlanContext& context, Plan& plan, std::vector<std::int64_t> symbols);

/// Plans what waits for size `part` of the bundle's, which elements have decided to be `size`.
/// Sizes before it are decided. What was planned for the last few sizes is kept. PS0812 where that
/// is none that the bundle is for.
Result<void> decide_plan(const PlanContext& context, Plan& plan, std::size_t part,
                         std::int64_t size);

/// Where the value of a symbol is read.
struct SymbolBinding {
  enum class Kind : std::uint8_t { size, stride, number, decided };
  Kind kind = Kind::size;
  std::int32_t input = 0;
  std::int32_t dimension = 0;
};

/// The symbol's value in a call with `inputs`, those of the bundle; 0 for one that elements decide.
std::int64_t bound_value(const SymbolBinding& binding, std::span<const TensorArgument> inputs);

/// One binding per symbol of the bundle. PS0802 when a symbol stands in no input, and no element
/// decides it.
Result<std::vector<SymbolBinding>> bind_symbols(const KernelBundle& bundle);

}  // namespace penstock::runtime
