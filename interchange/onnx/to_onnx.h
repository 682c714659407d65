#pragma once

#include <vector>

#include "diag/pass.h"
#include "interchange/common/weights.h"
#include "interchange/onnx/model.h"
#include "ir/graph.h"

namespace penstock::onnx {

/// A model, and the memory that its initializers lie in.
struct Translation {
  Model model;
  std::vector<formats::TensorBlob> tensors;
};

/// The graph, of level torch or core, as an ONNX model that computes the same.
///
/// Ops that ONNX has an operator for become that operator (operators.def); the others are taken
/// apart first, as decompose does it. Tensors of the module that the store has are initializers,
/// called as in state_dict(); one that the graph writes is an input with that default, too, and
/// what it becomes is an output. Other inputs are inputs. Outputs are called as libpenstock and
/// serve call them (embedding/result_names.h). A size that is a symbol has its name.
///
/// PS0602 for an op without a form, with its Python line; PS0204 for another level.
Result<Translation> to_onnx(Graph graph, const interchange::TensorOf& tensor_of, PassTrace& trace);

}  // namespace penstock::onnx
