#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/argument.h"
#include "ir/dtype.h"
#include "shape/sym_expr.h"

namespace penstock {

/// Index into a program's buffers.
using BufferId = std::int32_t;
inline constexpr BufferId kNoBuffer = -1;

/// A strided window on memory, as the levels `loops` and `kernels` see tensors. Sizes, strides and
/// offset count elements. Several buffers may be windows on the same memory (`base`).
struct Buffer {
  enum class Kind : std::uint8_t {
    input,      ///< memory of Interface::inputs[index]
    output,     ///< memory made for Interface::outputs[index] before the first step
    constant,   ///< a blob, shared by all runs
    temporary,  ///< in the arena
    view,       ///< another window on the memory of `base`
  };
  std::string name;
  Kind kind = Kind::temporary;
  std::int32_t index = -1;      ///< input or output number
  BufferId base = kNoBuffer;    ///< `view` only; never a view itself
  DType dtype = DType::float32;
  std::vector<SymExpr> sizes;
  std::vector<SymExpr> strides;
  SymExpr offset = 0;           ///< elements from the start of the memory (data pointer for inputs)
  SymExpr arena_offset = 0;     ///< bytes, `temporary` only; a multiple of 64
  SymExpr bytes = 0;            ///< `temporary`, `output`, `constant`: length of the memory
  std::string blob;             ///< `constant`: hash in the store
};

/// Work fused behind a library call, on its result, in order.
struct PostOp {
  enum class Kind : std::uint8_t {
    relu, gelu_erf, gelu_tanh, silu, hardswish, hardsigmoid, sigmoid, tanh, clamp, scale,
    add,  ///< adds `operand`, broadcast to the result
    mul,  ///< multiplies by `operand`
    sum,  ///< adds what the result buffer held before (a residual in place)
  };
  Kind kind;
  double alpha = 0, beta = 0;  ///< clamp: bounds; scale: factor
  BufferId operand = kNoBuffer;
};
std::string_view to_string(PostOp::Kind kind);
std::optional<PostOp::Kind> post_op_from_name(std::string_view name);

/// A call of a library kernel (oneDNN): "matmul", "convolution", "pool_max", "pool_avg", "softmax" …
/// runtime/library/ lists the names with their inputs and attributes.
struct LibraryCall {
  std::string name;
  std::string op;                        ///< the node it came from, for reports: "aten.addmm.default"
  std::vector<BufferId> inputs;          ///< kNoBuffer for an absent optional one (bias)
  std::vector<BufferId> outputs;
  std::vector<NamedArgument> attributes; ///< stride, padding, dilation, groups …
  std::vector<PostOp> post_ops;
  std::vector<std::int32_t> prepack;     ///< positions in `inputs` of weights that may be prepacked
  std::vector<std::int32_t> calls;       ///< positions in Graph::calls that it computes
};

/// A call that runs through torch, in process only; without Python it is exit 4.
struct FallbackCall {
  std::string op;                        ///< "aten.sort.default"
  std::vector<NamedArgument> arguments;  ///< a Value's id is a BufferId here
  std::vector<BufferId> outputs;
  std::vector<std::int32_t> calls;
  std::string reason;                    ///< why it is not ours, for reports
};

}  // namespace penstock
