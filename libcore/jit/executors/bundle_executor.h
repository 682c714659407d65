#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "jit/executors/content_versions.h"
#include "jit/executors/executor.h"
#include "jit/executors/output_plan.h"
#include "jit/executors/torch_fallback.h"
#include "jit/restore/tensor_layout.h"
#include "runtime/executor.h"

namespace penstock::jit {

/// Is given what a run made before the program sees any of it.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  /// `made`: the plan's made tensors, which nobody else holds yet; views of them are taken behind
  /// it. `others`: the bundle's outputs behind the plan's and the contents of mutated inputs; on a
  /// GPU all of them in memory of their own.
  virtual Result<void> ran(const ExecutorCall& call, std::span<const python::PyRef> made,
                           std::span<runtime::OutputTensor> others) = 0;
};

/// Runs a kernel bundle on the program's tensors: passes their memory in, makes torch tensors of
/// the memory that comes out (no copy; it goes back to the pool when the last user of the storage
/// is gone), and takes views where an output shares memory with an input or with another output.
class BundleExecutor final : public Executor {
 public:
  /// `plan`: of the captured graph that `bundle` was compiled from; the bundle's outputs are the
  /// plan's made tensors, and behind them the contents of mutated inputs. `blobs` must outlive the
  /// executor, and so must `runner`, which makes its fallback calls in the place of torch.
  static Result<std::unique_ptr<BundleExecutor>> create(std::shared_ptr<runtime::Runtime> runtime,
                                                        std::shared_ptr<ContentVersions> versions,
                                                        KernelBundle bundle,
                                                        runtime::BlobSource& blobs, OutputPlan plan,
                                                        runtime::FallbackRunner* runner = nullptr);
  /// Not owned; null: nobody. Before the first run.
  void set_observer(RunObserver* observer) { observer_ = observer; }

  Result<void> run(const ExecutorCall& call, std::span<python::PyRef> outputs,
                   bool& written) override;
  std::span<const Guard> guards() const override { return executor_->bundle().interface.guards; }
  bool takes_pending() const override { return takes_pending_; }
  bool leaves_pending() const override { return leaves_pending_; }
  Result<bool> run_pending(const ExecutorCall& call, std::span<PendingTensor> pending,
                           std::span<python::PyRef> outputs) override;

 private:
  BundleExecutor(const torch::TensorBridge& bridge, std::shared_ptr<ContentVersions> versions);
  /// In the place of the Python error that is set.
  static Diagnostic python_failure(std::string what);
  Result<void> lay_out(const Interface& interface);
  Result<void> execute(const ExecutorCall& call, std::span<python::PyRef> outputs, bool& written);
  Result<void> compute(const ExecutorCall& call, bool& written);
  void find_written(const KernelBundle& bundle);
  Result<void> keep_written();
  Result<void> run_kernels(std::span<const guards::InputValue> inputs, bool& written);
  void pass_inputs(const ExecutorCall& call);
  void pass_versions(std::span<const guards::InputValue> inputs);
  Result<void> check_writable(std::span<const guards::InputValue> inputs) const;
  Result<void> make_tensors();
  /// Views that were taken by calls, by the values of the captured graph.
  using ViewsMade = std::vector<std::pair<ValueId, python::PyRef>>;
  Result<void> make_views(const ExecutorCall& call, bool behind, ViewsMade& known,
                          std::span<python::PyRef> outputs);
  Result<python::PyRef> call_again(const OutputPlan::PlannedOutput& output, PyObject* base,
                                   ViewsMade& known);
  static Result<void> count_up(std::span<PyObject* const> tensors);
  Result<void> count_versions(const std::vector<OutputPlan::Writes>& writes,
                              const std::function<PyObject*(std::int32_t)>& tensor) const;
  void note_uncounted_writes(const ExecutorCall& call) const;
  bool is_own(std::size_t index) const;
  PendingTensor pending_tensor(std::size_t index, runtime::PooledMemory memory) const;
  python::PyRef own_tensor(std::size_t index);
  python::PyRef copied_tensor(std::size_t index);
  python::PyRef copied_on_device(std::size_t index, std::size_t before, std::size_t bytes);
  Result<void> copy_result(const runtime::OutputTensor& result,
                           const runtime::TensorWindow& target);
  Result<void> own_others();
  void finish_run();
  std::optional<std::int64_t> symbol(std::string_view name) const;
  void find_decided();

  const torch::TensorBridge& bridge_;
  TorchFallback fallback_;
  torch::TorchOps ops_;
  std::unique_ptr<runtime::Executor> executor_;
  OutputPlan plan_;
  RunObserver* observer_ = nullptr;
  std::vector<std::int32_t> written_, uncounted_;  ///< inputs; those whose writes torch counts not
  std::size_t own_results_ = 0;  ///< the plan's made tensors, and contents of mutated inputs
  std::shared_ptr<ContentVersions> versions_;
  /// An input of which memory that stays may be made.
  struct Prepared {
    std::uint32_t input = 0;
    bool same = false;  ///< the tensor that it was when its contents were last asked for
    ContentVersions::Known known;
  };
  std::vector<Prepared> prepared_;
  std::vector<std::int32_t> prepared_at_;     // by input: where it stands there; -1: nowhere
  std::vector<TensorLayout> output_layouts_;  // by output
  std::vector<bool> behind_;                  // by output: it is taken when the kernels have run
  std::vector<TensorLayout> made_layouts_;    // by made tensor
  std::int32_t device_index_ = -1;            // of the GPU that the kernels run on; -1: the CPU
  bool takes_pending_ = false, leaves_pending_ = false;
  // Of the run at hand.
  /// A size that elements decide: its place among the interface's symbols and among the bundle's.
  struct Decided {
    std::size_t symbol, position;
  };
  std::vector<Decided> decided_;
  std::int64_t* symbols_ = nullptr;
  std::span<const guards::InputValue> inputs_;
  std::vector<python::PyRef> before_;  // what it writes, as it was
  bool keeps_generator_ = false;       // a run may fail behind a draw
  bool keeps_inputs_ = false;          // torch may refuse a call behind a write
  python::PyRef generator_before_;     // the state of torch's generator, where that may be
  std::vector<runtime::TensorArgument> arguments_;
  std::vector<std::int64_t> integers_;  // by input: numbers, where their arguments point to
  std::vector<double> reals_;
  std::vector<runtime::OutputTensor> results_;
  std::vector<python::PyRef> made_;
};

}  // namespace penstock::jit
