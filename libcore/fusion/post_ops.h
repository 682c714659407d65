#pragma once

#include <list>
#include <map>
#include <optional>
#include <vector>

#include "fusion/loops.h"

// Pointwise kernels as what a library call can apply to its result.
namespace penstock::fusion {

/// The instructions of a kernel that is one nest of loops without reductions and one store.
struct PointwiseKernel {
  std::map<ScalarId, const Instruction*> made;
  const Instruction* store = nullptr;
  std::vector<const Loop*> loops;  ///< outermost first
};

/// Reads a body as such a kernel; false where it is none.
bool collect_pointwise(const Body& body, PointwiseKernel& kernel);

/// The kernel without what rounds numbers of float32 to `dtype` and back, so that patterns are
/// those of float32; the instructions lie in `changed`.
PointwiseKernel without_rounding(const PointwiseKernel& kernel, DType dtype,
                                 std::list<Instruction>& changed);

/// Whether each element of `result` is stored once: the loops run over as many elements as it has.
bool loops_over_all(const PointwiseKernel& kernel, const Buffer& result);

/// The post-ops that a kernel's value is of a buffer's elements.
struct PostOpChain {
  std::vector<PostOp> ops;  ///< innermost first
  std::vector<const Instruction*>
      operands;  ///< loads: the operands of those that take one, in order
};

/// Reads the expression that a kernel stores, from the store inwards; nothing when it is no chain
/// of post-ops around the element of `result` at the place of the store.
std::optional<PostOpChain> read_post_ops(const PointwiseKernel& kernel, BufferId result);

}  // namespace penstock::fusion
