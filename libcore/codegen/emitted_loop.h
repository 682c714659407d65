#pragma once

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Value.h>

#include <string>
#include <unordered_map>

#include "fusion/loop_program.h"

namespace penstock::codegen {

/// One term of a polynomial as an expression.
inline SymExpr to_expression(const SymTerm& term) {
  return term.atoms.empty() ? SymExpr(term.coefficient) : make_expression(0, {term});
}

/// What a loop carries from one iteration to the next: its accumulators' vectors, copy by copy.
using Carried = llvm::SmallVector<llvm::Value*, 8>;

/// A scalar of the program: one LLVM value where all lanes agree, else one vector a copy.
struct Pack {
  llvm::SmallVector<llvm::Value*, 4> copies;  ///< one, or one per copy of the vectorised loop
  bool vector = false;                        ///< lanes differ
  int level = 0;                              ///< innermost frame that it depends on
  DType dtype = DType::float32;
};

/// A loop being emitted; frame 0 is the function's body.
struct Frame {
  std::string variable;
  llvm::BasicBlock* preheader = nullptr;  ///< runs once, if the body runs at all
  bool runs = true;  ///< the body runs at least once whenever the code around the loop runs
  llvm::Value* index = nullptr;  ///< i64: the variable in the first lane of the first copy
  int lanes = 0;                 ///< 0: not vectorised
  int copies = 1;
  llvm::Value* mask = nullptr;                 ///< lanes that take part; null: all
  std::unordered_map<ScalarId, Pack> values;   ///< made in the body
  std::unordered_map<ScalarId, Pack> hoisted;  ///< made in the preheader
  std::unordered_map<std::string, llvm::Value*> indices, hoisted_indices;
};

/// A loop's bounds and how far it goes in one step.
struct Range {
  llvm::Value* begin;
  llvm::Value* end;
  std::int64_t step;
  llvm::Value* stride = nullptr;  ///< on a device: `step` times the threads that share the loop
};
}  // namespace penstock::codegen
