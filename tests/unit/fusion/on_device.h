#pragma once

#include "run_program.h"

namespace penstock::fusion {

/// Puts all tensors of the graph on a GPU.
inline void put_on_device(GraphBuilder& b) {
  for (Value& value : b.graph.values) value.type.device = "cuda:0";
  for (Input& input : b.graph.interface.inputs) input.type.device = "cuda:0";
}

inline LoopProgram on_device(GraphBuilder& b) {
  put_on_device(b);
  LoopProgram program = fuse_graph(b);
  CHECK(program.device == "cuda:0");
  return program;
}

/// The same, run by the interpreter: it ignores which threads take what.
inline LoopProgram checked_on_device(GraphBuilder& b) {
  put_on_device(b);
  return check(b);
}

inline bool has(const LoopProgram& program, std::string_view text) {
  return to_text(program).find(text) != std::string::npos;
}

}  // namespace penstock::fusion
