#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "embedding/call_check.h"
#include "embedding/model.h"

namespace penstock::embedding {

/// A tensor in a caller's memory. Sizes and strides count elements and live as long as the call.
struct GivenTensor {
  const void* data = nullptr;
  DType dtype = DType::float32;
  std::span<const std::int64_t> sizes, strides;
};

/// A tensor that a call gave, with its memory.
struct ResultTensor {
  const void* data = nullptr;
  DType dtype = DType::float32;
  std::vector<std::int64_t> sizes, strides;
  std::shared_ptr<const void> memory;  ///< holds the data
};

/// Calls a model, one call at a time; several runners of a model may run at once.
class Runner {
 public:
  /// PS0809 for code that nobody trusts, PS0706 for a CPU that it is not for, PS0707.
  static Result<std::unique_ptr<Runner>> create(std::shared_ptr<const Model> model);

  /// Calls the graph with the model's arguments, in their order, and `threads` threads (0: as many
  /// as OpenMP gives the calling thread). They are read where they lie, if that is how they lay
  /// when the model was made, and nothing is written there. PS0806 for arguments that the model is
  /// not for, and what runtime::Executor::run fails with.
  Result<std::vector<ResultTensor>> run(std::span<const GivenTensor> arguments, int threads = 0);

 private:
  /// An input that is not read where the caller or the model has it.
  struct Copy {
    std::vector<std::byte> bytes;
    std::vector<std::int64_t> strides;
  };

  explicit Runner(std::shared_ptr<const Model> model);
  Result<void> bind(std::span<const GivenTensor> arguments);
  Result<void> place_arguments(std::span<const GivenTensor> arguments, const CallSizes& sizes);
  Result<void> place(std::size_t argument, const GivenTensor& given, const CallSizes& sizes);
  void renew_written_weights();
  bool is_written(std::int32_t input) const;
  std::vector<ResultTensor> take_results();
  ResultTensor take_result(std::size_t index, const std::vector<ResultTensor>& earlier);

  std::shared_ptr<const Model> model_;
  std::unique_ptr<runtime::Executor> executor_;
  std::vector<runtime::TensorArgument> inputs_;  ///< of the graph
  std::vector<Copy> copies_;                     ///< by input
  std::vector<runtime::OutputTensor> outputs_;
  std::set<std::vector<std::int64_t>> checked_;  ///< symbols' values that the model is for
};

}  // namespace penstock::embedding
