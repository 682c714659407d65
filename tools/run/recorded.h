#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "embedding/stored_input.h"
#include "formats/document.h"
#include "formats/safetensors.h"
#include "ops/host_tensor.h"
#include "store/store.h"

namespace penstock::tools {

/// Tensors that stand in the place of recorded inputs, row-major, by the inputs' names.
using GivenInputs = std::unordered_map<std::string, ops::HostTensor>;

/// The elements of a tensor in memory of their own.
ops::HostTensor row_major_copy(const formats::TensorBytes& tensor);

/// The inputs that were recorded with a graph, or are given, in order, row-major.
/// PS0805 when one was recorded without its tensor, PS0206 when the store lacks one.
Result<std::vector<ops::HostTensor>> recorded_inputs(const Interface& interface,
                                                     const store::Store& store,
                                                     GivenInputs given = {});

/// An input of an executor: in memory of its own, or where it is mapped from the store.
struct ExecutorInput {
  ops::HostTensor tensor = {};                     ///< mapped: without memory
  std::shared_ptr<embedding::StoredInput> stored;  ///< null: its contents have no name
  bool written = false;                            ///< by the graph
  void* data() const;
};

/// The inputs that were recorded with a graph, or are given, in order, lying in memory as the
/// program's did. Recorded ones that lie row-major and are not written by the graph are mapped, and
/// nobody has looked at their bytes. PS0805, PS0206, PS0207, and PS0806 for one that is not what
/// the graph is called with.
Result<std::vector<ExecutorInput>> mapped_inputs(const Interface& interface,
                                                 const store::Store& store, GivenInputs given = {});

/// The same of inputs that are in memory, in order.
std::vector<ExecutorInput> executor_inputs(const Interface& interface,
                                           std::vector<ops::HostTensor> inputs);

/// Row-major inputs of a graph, lying in memory as the program's did. PS0806 for one of another
/// dtype or size than the graph is called with.
Result<std::vector<ops::HostTensor>> laid_out(const Interface& interface,
                                              std::vector<ops::HostTensor> inputs);

/// Compares the results of a run with what was recorded: outputs, and so also the values that
/// mutated inputs receive. An output without a recorded value is left out.
/// The error of an output is max|a-b| / (max|b| + 1e-6), which may be `tolerance`, of bfloat16 a
/// unit in the last place more; NaN and infinities must stand at the same positions; integers and
/// booleans must be equal.
Result<std::vector<formats::ResultDocument::Compared>> compare_outputs(
    const Interface& interface, const std::vector<ops::HostTensor>& outputs, double tolerance,
    const store::Store& store);

}  // namespace penstock::tools
