#pragma once

#include <llvm/IR/IRBuilder.h>

#include <string_view>

#include "diag/diagnostic.h"
#include "ir/dtype.h"

namespace penstock::codegen {

/// How a scalar of `dtype` is held in registers: bool as i1, integers as they are, float32 and the
/// half types as float, float64 as double. `lanes` 0: a scalar; else a vector. Null for complex.
llvm::Type* register_type(llvm::LLVMContext& context, DType dtype, int lanes);

/// How it lies in memory: bool as i8, float16 as half, bfloat16 as i16.
llvm::Type* memory_type(llvm::LLVMContext& context, DType dtype, int lanes);

/// What was loaded, in its register type; and back for a store.
llvm::Value* from_memory(llvm::IRBuilder<>& builder, llvm::Value* value, DType dtype);
llvm::Value* to_memory(llvm::IRBuilder<>& builder, llvm::Value* value, DType dtype);

/// A value of `from` as one of `to`, as torch casts: to bool is "not zero", to integers truncates
/// and wraps, to half types rounds to nearest even (and stays in a float register).
llvm::Value* emit_convert(llvm::IRBuilder<>& builder, llvm::Value* value, DType from, DType to);

/// The op `name` of ops/prims.def (unary, binary, ternary) on operands of `dtype` (where: the dtype
/// of its second and third), scalars or vectors of one shape. PS0702 for an op that has no meaning
/// for the dtype.
Result<llvm::Value*> emit_arithmetic(llvm::IRBuilder<>& builder, std::string_view name, DType dtype,
                                     llvm::ArrayRef<llvm::Value*> operands);

/// True if emitting the op makes new basic blocks, so that it must stay where it stands.
bool makes_blocks(std::string_view name);

}  // namespace penstock::codegen
