#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "embedding/stored_input.h"
#include "embedding/trusted_blobs.h"
#include "pipeline/stored_weights.h"
#include "runtime/executor.h"
#include "runtime/plan.h"

namespace penstock::embedding {

/// How a model is loaded.
struct ModelOptions {
  std::string store;   ///< its folder, as --store; empty: as store::store_directory() finds it
  std::string graph;   ///< which one, by id ("0/0") or name; empty: the only one
  bool trust = false;  ///< run code that was made elsewhere
  bool deterministic = false;  ///< the same bits for any number of threads
};

/// A size of an argument or a result: a number, or any in a range.
struct SizeRange {
  std::string text;  ///< "128", "batch", "2*seq + 1"
  std::int64_t least = 0, greatest = 0;
};

/// What a caller passes, or gets.
struct ValueDescription {
  std::string name;
  DType dtype = DType::float32;
  std::vector<SizeRange> sizes;
  bool new_value = false;  ///< of a result: what a tensor holds that the call writes
};

/// A tensor that the file brings. What lies row-major and is not written is where the store has it
/// mapped; the rest is copied once.
struct Weight {
  std::int32_t input = -1;  ///< of the graph
  std::shared_ptr<StoredInput> stored;
  std::vector<std::int64_t> strides;
  std::vector<std::byte> copy;  ///< empty: the mapped bytes are right
  bool written = false;         ///< by the graph: every runner has a copy, made anew in each call
  const void* data() const;
};

/// One graph of a packed file, penstock-export(1), with its weights: what does not change from call
/// to call. Immutable, for any number of threads.
class Model {
 public:
  /// Reads the file at `path`. PS0102, PS0201 and their like for what is no such file, PS0805 where
  /// it holds no graph, or several and none is named, PS0203 for a graph that is not compiled,
  /// PS0801 for one that needs torch or a GPU, PS0206 and PS0207 for blobs that are missing or
  /// damaged.
  static Result<std::shared_ptr<const Model>> load(const std::string& path, ModelOptions options);

  const KernelBundle& bundle() const { return bundle_; }
  /// The inputs of the graph that a caller passes, in the order of the call.
  const std::vector<std::int32_t>& arguments() const { return arguments_; }
  const std::vector<Weight>& weights() const { return weights_; }
  /// In the order of arguments().
  std::vector<ValueDescription> describe_arguments() const;
  /// Tensors in what the function returns, in its order, and behind them the new values of those
  /// that it writes.
  std::vector<ValueDescription> describe_results() const;
  const std::vector<runtime::SymbolBinding>& bindings() const { return bindings_; }

  /// An executor of its own for one thread at a time; weights and code are shared. Outlived by the
  /// model.
  Result<std::unique_ptr<runtime::Executor>> make_executor() const;
  const runtime::Runtime& runtime() const { return *runtime_; }

 private:
  Model(store::Store store, KernelBundle bundle, const ModelOptions& options);
  Result<void> take_inputs();
  Result<Weight> load_weight(std::int32_t input) const;

  store::Store store_;
  KernelBundle bundle_;
  mutable TrustedBlobs blobs_;
  std::shared_ptr<pipeline::StoredWeights> packed_;
  std::shared_ptr<runtime::Runtime> runtime_;
  std::vector<runtime::SymbolBinding> bindings_;
  std::vector<std::int32_t> arguments_;
  std::vector<Weight> weights_;
};

}  // namespace penstock::embedding
