#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/device_steps.h"
#include "runtime/executor.h"
#include "runtime/plan.h"

namespace penstock::runtime {

/// The memory of one run.
struct RunMemory {
  PooledMemory arena, scratch;
  std::size_t scratch_bytes = 0;
  std::vector<PooledMemory> decided;  ///< arenas for sizes that elements decide
};

/// What one run works on.
struct RunCall {
  std::span<const TensorArgument> inputs;
  std::span<OutputTensor> outputs;
  RunMemory& memory;
  int threads = 1;
  bool prepared = false;         ///< what stays between runs need not be made again
  bool may_start_again = false;  ///< steps may ask for a run from the first
  std::vector<StepTime>* times = nullptr;
  char* scratch() const { return static_cast<char*>(memory.scratch.data()); }
};

/// A buffer whose memory a run finds: what a run reads of it, apart from all else that is known of
/// a buffer, which would take the kernels' place in the caches.
struct MemorySource {
  BufferId buffer;
  Buffer::Kind kind;   ///< input, output, temporary or prepared
  std::int32_t index;  ///< of the input or output
};

struct Executor::State {
  std::shared_ptr<Runtime> runtime;
  KernelBundle bundle;
  FallbackRunner* fallback = nullptr;
  std::shared_ptr<SharedObject> code;
  std::unordered_map<std::string, penstock_kernel> functions;
  std::optional<DeviceSteps> device;  ///< of a bundle for one
  std::size_t lent_from = SIZE_MAX;   ///< outputs that a graph of the device may lend
  std::vector<SymbolBinding> bindings;
  DecidedParts decided;
  std::vector<MemorySource> sources;
  std::vector<std::unique_ptr<Plan>> plans;  ///< last used first
  std::vector<std::int64_t> symbols;         ///< of the run at hand
  std::vector<void*> memories;               ///< by buffer, of the run at hand; constants' stay
  std::vector<void*> pointers;               ///< by pointer of the plan
  /// By buffer, while a graph is recorded: where torch's ops find it, if not in its memory.
  std::vector<void*> seen_by_torch;
  std::vector<std::uint64_t> versions;
  std::vector<StoredWindow> stored;
  std::uint64_t next_version = 1;  ///< of prepared memory

  Result<void> load(BlobSource& blobs);
  Result<void> find_memory(BlobSource& blobs);
  Result<void> check_counts(std::size_t inputs, std::size_t outputs) const;
  PlanContext plan_context() const {
    static const std::unordered_map<std::string, void*> kNone;
    return {bundle,
            decided,
            functions,
            device ? device->functions() : kNone,
            device ? device->library() : runtime->library.get(),
            runtime->random.get(),
            plans};
  }
  const std::shared_ptr<MemoryPool>& pool() const {
    return device ? device->memory() : runtime->memory;
  }
  Result<Plan*> plan_for(std::span<const TensorArgument> inputs);
  Result<std::unique_ptr<Plan>> next_plan();
  Result<void> run(std::span<const TensorArgument> inputs, std::span<OutputTensor> outputs,
                   std::vector<StepTime>* times);
  bool is_prepared(Prepared& prepared, std::span<const TensorArgument> inputs);
  Result<bool> run_steps(Plan& plan, const RunCall& call);
  Result<bool> goes_on(const PlannedStep& step, ControlStep::Kind kind, std::int64_t turn) const;
  Result<bool> run_step(const PlannedStep& step, const Plan& plan,
                        std::span<const TensorArgument> inputs, char* scratch, int threads,
                        bool may_start_again);
  void run_kernel(const PlannedStep& step, const Plan& plan, char* scratch, int threads);
  Result<bool> run_library_call(const PlannedStep& step, const Plan& plan,
                                std::span<const TensorArgument> inputs, char* scratch,
                                bool may_start_again);
  Result<void> run_fallback(const FallbackCall& call, const Plan& plan);
  bool adopt(BufferId id, void* data, const Plan& plan);
  Result<void> set_memories(Plan& plan, std::span<const TensorArgument> inputs,
                            std::span<OutputTensor> outputs, void* arena);
  void set_pointers(const Plan& plan);
  void set_pointers(const Plan& plan, const PlannedStep& step);
  void set_pointer(const Plan& plan, std::size_t pointer);
  // Sizes that elements decide (executor_decided.cpp):
  Result<void> decide(Plan& plan, std::size_t part, const RunCall& call);
  Result<void> take_memory(const Plan& plan, std::size_t part, const RunCall& call);
  // One graph of a device (executor_graph.cpp):
  Result<bool> run_graph(Plan& plan, bool prepared, std::span<OutputTensor> outputs);
  bool record_graph(Plan& plan, PlanGraph::Recorded& recorded);
  void take_lent(const Plan& plan, PlanGraph::Recorded& recorded) const;
  Result<void> record_steps(Plan& plan, PlanGraph::Recorded& recorded,
                            std::vector<PooledMemory>& taken);
  void set_library_pointers(const Plan& plan, const PlannedStep& step);
  Result<void> launch_graph(Plan& plan, PlanGraph::Recorded& recorded,
                            std::span<OutputTensor> outputs);
  void describe_output(const Plan& plan, std::size_t index, std::span<OutputTensor> outputs);
};

}  // namespace penstock::runtime
