#include "codegen/library.h"

extern "C" __attribute__((visibility("default")))
const penstock::codegen::CodegenLibrary penstock_codegen_library;

const penstock::codegen::CodegenLibrary penstock_codegen_library = {
    penstock::codegen::kBuild, &penstock::codegen::local_compiler(),
    penstock::codegen::generate_text, penstock::codegen::probe};
