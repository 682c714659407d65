#pragma once

#include <string>

#include "tools/common/driver.h"

namespace penstock::tools {

struct OnnxOptions {
  std::string graph, store;
  bool weights_beside = false;  ///< weights go to a file beside the model's
};

/// Writes one graph of the input as an ONNX model. Weights beyond what one file of the format holds
/// (2 GiB) go to a file beside it, `OUTPUT.data`.
Result<void> emit_onnx(Stage& stage, const OnnxOptions& options);

}  // namespace penstock::tools
