#pragma once

#include <vector>

#include "formats/document.h"
#include "ops/host_tensor.h"
#include "store/store.h"

namespace penstock::tools {

/// The inputs that were recorded with a graph, in order, row-major.
/// PS0805 when the stream was recorded without tensors, PS0206 when the store lacks one.
Result<std::vector<ops::HostTensor>> recorded_inputs(const Interface& interface,
                                                     const store::Store& store);

/// Row-major inputs of a graph, lying in memory as the program's did. PS0806 for one of another dtype
/// or size than the graph is called with.
Result<std::vector<ops::HostTensor>> laid_out(const Interface& interface,
                                              std::vector<ops::HostTensor> inputs);

/// Compares the results of a run with what was recorded: outputs, and so also the values that
/// mutated inputs receive. An output without a recorded value is left out.
/// The error of an output is max|a-b| / (max|b| + 1e-6); NaN and infinities must stand at the same
/// positions; integers and booleans must be equal.
Result<std::vector<formats::ResultDocument::Compared>> compare_outputs(
    const Interface& interface, const std::vector<ops::HostTensor>& outputs, double tolerance,
    const store::Store& store);

}  // namespace penstock::tools
