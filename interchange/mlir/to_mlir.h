#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "diag/pass.h"
#include "interchange/common/weights.h"
#include "ir/graph.h"

namespace penstock::mlir {

/// A module of one function, and the weights that it takes from elsewhere.
struct Translation {
  std::string head, functions;  ///< of the module, without its braces
  /// A weight: its name, as in state_dict(), and its elements.
  struct Weight {
    std::string name;
    formats::TensorBlob blob;
  };
  std::vector<Weight> weights;
  bool beside = false;  ///< the weights are parameters, which a file beside the module holds
};

/// The graph, of level torch or core, as a function `main` of the torch dialect that computes the
/// same.
///
/// Ops that the dialect has an op for stay as they are (schemas.def); the others are taken apart
/// first, as decompose does it, and primitive ops become ATen's (prims.def). Tensors of the module
/// that the store has are constants, called as in state_dict(), or, `beside`, parameters; one that
/// the graph writes is an argument, and what it becomes is a result behind the others. Each symbol
/// is a torch.symbolic_int with its range, and the sizes of each tensor are bound to them.
///
/// PS0602 for an op without a form, with its Python line; PS0204 for another level.
Result<Translation> to_mlir(Graph graph, const interchange::TensorOf& tensor_of, bool beside,
                            PassTrace& trace);

/// Takes text in order.
using Sink = std::function<Result<void>(std::string_view text)>;

/// Writes the module. Weights that are not beside stand at its end, in hexadecimal digits; they are
/// written one by one.
Result<void> write(const Translation& translation, const Sink& sink);

}  // namespace penstock::mlir
