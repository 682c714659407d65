#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bundle/kernel_bundle.h"
#include "runtime/device.h"
#include "runtime/library_kernel.h"
#include "runtime/memory_pool.h"
#include "runtime/random_stream.h"
#include "runtime/threads.h"

namespace penstock::runtime {

/// A tensor, or a number of rank 0, that a bundle is called with. `data` is its first element;
/// sizes and strides count elements and live as long as the call.
struct TensorArgument {
  void* data = nullptr;
  std::span<const std::int64_t> sizes, strides;
  std::uint64_t version = kUnversioned;
  StoredTensor* stored = nullptr;  ///< where the contents have a name in a store
};

/// A tensor that a bundle gives. Sizes and strides live until the executor's next run.
struct OutputTensor {
  void* data = nullptr;
  DType dtype = DType::float32;
  std::span<const std::int64_t> sizes, strides;
  PooledMemory memory;       ///< holds the data; empty when it is someone else's
  std::int32_t input = -1;   ///< a window on the memory of this input
  std::int32_t output = -1;  ///< a window on the memory of this earlier output
  bool constant = false;     ///< a window on a constant of the bundle: to be read only
};

/// Where a bundle's blobs are.
class BlobSource {
 public:
  virtual ~BlobSource() = default;
  /// The bytes of a blob that is an ELF shared object, valid as long as the source.
  virtual Result<std::string_view> code(const std::string& blob) = 0;
  /// Whether these bytes, as they are about to be run, are those of the blob and may be.
  virtual Result<void> check_code(const std::string& blob, std::string_view bytes) = 0;
  /// The bytes of a constant's elements; valid as long as the source.
  virtual Result<std::string_view> constant(const std::string& blob) = 0;
};

/// A buffer in one run, for fallback calls.
struct TensorWindow {
  void* data;
  DType dtype;
  std::span<const std::int64_t> sizes, strides;
  bool host = false;  ///< of a bundle for a device: it lies in the host's memory nevertheless
};

/// Runs what no kernel of ours does, in process only.
class FallbackRunner {
 public:
  virtual ~FallbackRunner() = default;
  /// Called before the first step of a run in which calls may fail behind a write.
  virtual Result<void> begin() { return {}; }
  /// Another number than before if ops may compute otherwise since: by torch's settings.
  virtual std::uint64_t settings() { return 0; }
  /// Computes `call` and copies its results into its outputs, whose memory is there.
  virtual Result<void> run(const FallbackCall& call,
                           const std::function<TensorWindow(BufferId)>& window) = 0;
  /// Where a result may be: says that `data`, laid out as the buffer, is its memory until the run
  /// is over. False: it has to be copied.
  using Adopt = std::function<bool(BufferId, void* data)>;
  /// The same for a bundle for a device, where a copy takes as long as many an op.
  virtual Result<void> run_on_device(const FallbackCall& call,
                                     const std::function<TensorWindow(BufferId)>& window,
                                     const Adopt& adopt) {
    (void)adopt;
    return run(call, window);
  }
};

class SharedObject;

/// The code that executors of a process have loaded, by its blob; what several run is loaded once.
/// Thread-safe.
class LoadedCode {
 public:
  Result<std::shared_ptr<SharedObject>> load(const std::string& blob, BlobSource& blobs);

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, std::weak_ptr<SharedObject>> loaded_;
};

/// What executors of a process share. Thread-safe.
struct Runtime {
  std::shared_ptr<MemoryPool> memory = std::make_shared<MemoryPool>();
  ThreadTeam threads;
  bool deterministic = false;           ///< results have the same bits for any number of threads
  std::shared_ptr<PackedStore> packed;  ///< keeps packed weights of stored tensors; may be null
  std::shared_ptr<Library> library;     ///< opened by the first bundle that calls it
  std::shared_ptr<RandomSource> random = own_random_source();  ///< what bundles draw from
  LoadedCode code;
  OpenDevice open_device;  ///< null: bundles for devices do not run
  /// Whether the thread that runs a bundle is wanted elsewhere. Asked in loops of many turns, of
  /// which the first to hear of it ends the run. Null: nobody wants it.
  bool (*is_awaited)() = nullptr;
};

/// One step of a profile.
struct StepTime {
  std::string name;  ///< kernel, or the library's name and its implementation
  std::string op;    ///< library and fallback calls: where it came from
  std::int64_t nanoseconds = 0;
  std::int64_t flops = 0, bytes = 0;  ///< 0: not known
  bool parallel = false;
};

/// Runs one kernel bundle. Everything that depends on sizes alone is worked out once per set of
/// sizes and kept. Used by one thread at a time; several executors may run at once.
class Executor {
 public:
  /// Loads the code. PS0705, PS0706 (the CPU lacks a feature), PS0707, PS0206 as the source says.
  /// `blobs` and `fallback` outlive the executor; `fallback` may be null: bundles with fallback
  /// calls are then PS0801.
  static Result<std::unique_ptr<Executor>> create(std::shared_ptr<Runtime> runtime,
                                                  KernelBundle bundle, BlobSource& blobs,
                                                  FallbackRunner* fallback = nullptr);
  ~Executor();

  const KernelBundle& bundle() const;
  /// Where outputs' memory comes from.
  const std::shared_ptr<MemoryPool>& memory() const;

  /// Outputs from `first` on are for somebody who mostly lets go of them before the next run: a
  /// device may use their memory again then. To be called before the first run.
  void lend_from(std::size_t first);

  /// Works out what run() needs for inputs of these sizes, so that its first call starts with a
  /// kernel.
  Result<void> prepare(std::span<const TensorArgument> inputs);
  /// Runs all steps. Inputs are those of the bundle's interface, in order; `outputs` has as many
  /// places. Fails before anything is written, unless a fallback call fails or a stored weight is
  /// damaged. PS0810, a note, where Runtime::is_awaited ended a loop; PS0812, a note, where
  /// elements decide a size that the bundle is not for.
  Result<void> run(std::span<const TensorArgument> inputs, std::span<OutputTensor> outputs);
  /// The values of KernelBundle::symbols in the last run that got through.
  std::span<const std::int64_t> symbols() const;
  /// The same, timing each step.
  Result<std::vector<StepTime>> profile(std::span<const TensorArgument> inputs,
                                        std::span<OutputTensor> outputs);

 private:
  struct State;
  explicit Executor(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace penstock::runtime
