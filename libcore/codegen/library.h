#pragma once

#include "codegen/compiler.h"
#include "codegen/probe.h"

namespace penstock::codegen {

/// What libpenstock-codegen.so offers, as its symbol penstock_codegen_library: C++ types, so both
/// sides must be of one build.
struct CodegenLibrary {
  const char* build;  ///< kBuild of the side that made it
  const Compiler* compiler;
  Result<std::string> (*generate_text)(const LoopProgram&, const CodegenOptions&, CodeText);
  Result<Roofs> (*probe)(const CodegenOptions&);
};

/// Names the layout of the types that cross: two builds with the same text fit.
inline constexpr const char* kBuild = "3 " __VERSION__;

}  // namespace penstock::codegen
