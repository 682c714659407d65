#include "pipeline/codegen_library.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "runtime/library_kernel.h"

namespace penstock::pipeline {

namespace {

Result<const codegen::CodegenLibrary*> load() {
  constexpr const char* kName = "libpenstock-codegen.so";
  std::string path = runtime::find_component(kName, "libcore/codegen");
  void* handle = dlopen(path.empty() ? kName : path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return failure(Code::PS0707, dlerror());
  auto* library = static_cast<const codegen::CodegenLibrary*>(
      dlsym(handle, "penstock_codegen_library"));
  if (library == nullptr || std::strcmp(library->build, codegen::kBuild) != 0) {
    return failure(Code::PS0707, std::string(kName) + " is of another build");
  }
  return library;
}

bool is_codegen(std::string_view file) { return file.find("/libpenstock-codegen") != file.npos; }

/// Drops what was read of a file's segments that nobody writes, which are so the same when they are read again.
int give_back_segments(dl_phdr_info* file, std::size_t, void*) {
  if (!is_codegen(file->dlpi_name)) return 0;
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  for (int i = 0; i < file->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = file->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const std::uintptr_t begin = (file->dlpi_addr + segment.p_vaddr) / page * page;
    const std::uintptr_t end = file->dlpi_addr + segment.p_vaddr + segment.p_memsz;
    madvise(reinterpret_cast<void*>(begin), (end - begin + page - 1) / page * page, MADV_DONTNEED);
  }
  return 0;
}

}  // namespace

void give_back_codegen() { dl_iterate_phdr(give_back_segments, nullptr); }

Result<const codegen::CodegenLibrary*> open_codegen() {
  static const Result<const codegen::CodegenLibrary*> library = load();
  return library;
}

Result<KernelBundle> generate_code(const LoopProgram& program, const codegen::CodegenOptions& options,
                                   codegen::CodeSink& sink, codegen::CodegenStatistics* statistics) {
  return codegen::generate(program, options, sink, statistics, []() -> Result<const codegen::Compiler*> {
    auto library = open_codegen();
    if (!library) return tl::unexpected(library.error());
    return (*library)->compiler;
  });
}

}  // namespace penstock::pipeline
