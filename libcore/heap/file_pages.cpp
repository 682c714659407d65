#include "heap/file_pages.h"

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace penstock::heap {

namespace {

bool is_ours(std::string_view file) {
  constexpr std::string_view kNames[] = {"/libpenstock-", "/_penstock", "/libdnnl.so"};
  return std::ranges::any_of(kNames,
                             [&](std::string_view name) { return file.find(name) != file.npos; });
}

/// Drops what was read of a file's segments that nobody writes, which are so the same when they are
/// read again.
int give_back_segments(dl_phdr_info* file, std::size_t, void*) {
  if (!is_ours(file->dlpi_name)) return 0;
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

void give_back_file_pages() {
  dl_iterate_phdr(give_back_segments, nullptr);
}

}  // namespace penstock::heap
