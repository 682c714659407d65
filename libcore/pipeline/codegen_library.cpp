#include "pipeline/codegen_library.h"

#include <dlfcn.h>

#include <cstring>

#include "runtime/library_kernel.h"

namespace penstock::pipeline {

namespace {

Result<const codegen::CodegenLibrary*> load() {
  constexpr const char* kName = "libpenstock-codegen.so";
  std::string path = runtime::find_component(kName, "libcore/codegen");
  void* handle = dlopen(path.empty() ? kName : path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return failure(Code::PS0707, dlerror());
  auto* library =
      static_cast<const codegen::CodegenLibrary*>(dlsym(handle, "penstock_codegen_library"));
  if (library == nullptr || std::strcmp(library->build, codegen::kBuild) != 0) {
    return failure(Code::PS0707, std::string(kName) + " is of another build");
  }
  return library;
}

}  // namespace

Result<const codegen::CodegenLibrary*> open_codegen() {
  static const Result<const codegen::CodegenLibrary*> library = load();
  return library;
}

Result<KernelBundle> generate_code(const LoopProgram& program,
                                   const codegen::CodegenOptions& options, codegen::CodeSink& sink,
                                   codegen::CodegenStatistics* statistics) {
  return codegen::generate(program, options, sink, statistics,
                           []() -> Result<const codegen::Compiler*> {
                             auto library = open_codegen();
                             if (!library) return tl::unexpected(library.error());
                             return (*library)->compiler;
                           });
}

}  // namespace penstock::pipeline
