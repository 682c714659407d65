#include <llvm/Passes/PassPlugin.h>

#include "codegen/left_out_targets.h"

// The linker names every target and extension that LLVM was built with: the first to initialise
// them all, the second for link-time optimisation. We link objects of our own for this machine;
// with these empty bodies the rest of LLVM stays out of the library, some 100 MB whose tables would
// be relocated at each load.

#define PS_LEFT_OUT(target)                    \
  extern "C" {                                 \
  void LLVMInitialize##target##TargetInfo() {} \
  void LLVMInitialize##target##Target() {}     \
  void LLVMInitialize##target##TargetMC() {}   \
  void LLVMInitialize##target##AsmPrinter() {} \
  void LLVMInitialize##target##AsmParser() {}  \
  }
PS_LEFT_OUT_TARGETS(PS_LEFT_OUT)

llvm::PassPluginLibraryInfo getPollyPluginInfo() {
  return {};
}
