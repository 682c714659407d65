#pragma once

#include <cstdint>
#include <optional>
#include <span>
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
    scratch,    ///< memory of one thread while it runs one iteration of one kernel's outermost loop
    /// Made of parameters, buffers and constants alone, and kept between runs. A kernel that works
    /// on such memory, constants, and inputs that the graph does not write, and on nothing else,
    /// runs only when the address or the contents of one of those inputs have changed.
    prepared,
  };
  std::string name;
  Kind kind = Kind::temporary;
  std::int32_t index = -1;    ///< input or output number
  BufferId base = kNoBuffer;  ///< `view` only; never a view itself
  DType dtype = DType::float32;
  std::vector<SymExpr> sizes;
  std::vector<SymExpr> strides;
  SymExpr offset = 0;  ///< elements from the start of the memory (data pointer for inputs)
  /// Bytes; a multiple of 64. `temporary`: from the start of the arena; `scratch`: from the start
  /// of the kernel's scratch memory, and constant; `prepared`: from the start of what is kept, and
  /// constant.
  SymExpr arena_offset = 0;
  SymExpr bytes = 0;  ///< length of the memory; unused for `input` and `view`
  std::string blob;   ///< `constant`: hash in the store
  /// Of a program for a device, `input` and `constant` only: one element in the host's memory,
  /// which kernels are given by value.
  bool host = false;
};

/// Work fused behind a library call, on its result, in order.
struct PostOp {
  enum class Kind : std::uint8_t {
    relu,
    gelu_erf,
    gelu_tanh,
    silu,
    hardswish,
    hardsigmoid,
    sigmoid,
    tanh,
    clamp,
    scale,
    add,  ///< adds `operand`, broadcast to the result
    mul,  ///< multiplies by `operand`
    sum,  ///< adds what the result buffer held before (a residual in place)
  };
  Kind kind;
  double alpha = 0, beta = 0;  ///< clamp: bounds; scale: factor
  BufferId operand = kNoBuffer;
};
std::string_view to_string(PostOp::Kind kind);
/// What it makes of one element `x`: `operand` is the element of its operand there, `before` what
/// the result held. NaN stays NaN, as in ATen.
double apply(const PostOp& op, double x, double operand, double before);
std::optional<PostOp::Kind> post_op_from_name(std::string_view name);

/// A call of a library kernel (oneDNN): "matmul", "convolution", "pool_max", "pool_avg".
/// ir/library_calls.def lists the names with their inputs, attributes and post-ops.
struct LibraryCall {
  std::string name;
  std::string op;                ///< the node it came from, for reports: "aten.addmm.default"
  std::vector<BufferId> inputs;  ///< kNoBuffer for an absent optional one (bias)
  std::vector<BufferId> outputs;
  std::vector<NamedArgument> attributes;  ///< stride, padding, dilation, groups …
  std::vector<PostOp> post_ops;
  std::vector<std::int32_t> prepack;  ///< positions in `inputs` of weights that may be prepacked
  std::vector<std::int32_t> calls;    ///< positions in Graph::calls that it computes
};

/// The facts of one row of library_calls.def; lists are names separated by spaces.
struct LibraryCallFacts {
  std::string_view name;
  std::string_view inputs;  ///< "?" behind the name: may be kNoBuffer
  std::string_view outputs;
  std::string_view attributes;  ///< "name:type" each
  std::string_view post_ops;    ///< kinds of PostOp that may stand behind the call
  std::string_view prepack;     ///< inputs that may be prepacked when they are weights
};

/// All rows, in the order of library_calls.def.
std::span<const LibraryCallFacts> all_library_calls();

/// The row of `name`, or null.
const LibraryCallFacts* find_library_call(std::string_view name);

/// A call that runs through torch, in process only; without Python it is exit 4.
struct FallbackCall {
  std::string op;                        ///< "aten.sort.default"
  std::vector<NamedArgument> arguments;  ///< a Value's id is a BufferId here
  std::vector<BufferId> outputs;
  std::vector<std::int32_t> calls;
  std::string reason;  ///< why it is not ours, for reports
};

}  // namespace penstock
