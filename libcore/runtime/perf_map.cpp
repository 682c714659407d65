#include "runtime/perf_map.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <set>
#include <string>

namespace penstock::runtime {
namespace {

int g_map = -1;  // the process's one map, open until it ends

/// What lies at `offset`, where the file goes so far.
template <class Value>
bool read(std::string_view elf, std::uint64_t offset, Value& value) {
  if (offset > elf.size() || elf.size() - offset < sizeof value) return false;
  memcpy(&value, elf.data() + offset, sizeof value);
  return true;
}

/// Puts a copy of the bytes where they are, in memory that belongs to no file. Perf is told of it
/// by the kernel when it becomes executable, and so sees the place as it is then.
bool move_to_memory(char* begin, std::size_t size) {
  void* copy = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (copy == MAP_FAILED) return false;
  memcpy(copy, begin, size);
  if (mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, begin) == MAP_FAILED) {
    munmap(copy, size);
    return false;
  }
  return mprotect(begin, size, PROT_READ | PROT_EXEC) == 0;
}

/// The parts that are executable.
bool move_code(char* base, std::string_view elf, const Elf64_Ehdr& head) {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  for (int i = 0; i < head.e_phnum; ++i) {
    Elf64_Phdr part;
    if (!read(elf, head.e_phoff + i * sizeof part, part)) return false;
    if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
    const std::uint64_t begin = part.p_vaddr / page * page;
    const std::uint64_t end = (part.p_vaddr + part.p_memsz + page - 1) / page * page;
    if (!move_to_memory(base + begin, end - begin)) return false;
  }
  return true;
}

}  // namespace

Result<void> start_perf_map() {
  const std::string path = "/tmp/perf-" + std::to_string(getpid()) + ".map";
  g_map = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (g_map >= 0) return {};
  return failure(Code::PS0103, "cannot write " + path + ": " + strerror(errno));
}

void move_for_perf(void* handle, std::string_view elf) {
  Elf64_Ehdr head;
  link_map* object = nullptr;
  if (g_map < 0 || !read(elf, 0, head) || dlinfo(handle, RTLD_DI_LINKMAP, &object) != 0) return;
  move_code(reinterpret_cast<char*>(object->l_addr), elf, head);
}

void name_for_perf(penstock_kernel function, std::string_view name) {
  static std::set<penstock_kernel> named;  // kernels of equal structure share one
  if (g_map < 0 || !named.insert(function).second) return;
  Dl_info object;
  void* found = nullptr;
  if (dladdr1(reinterpret_cast<void*>(function), &object, &found, RTLD_DL_SYMENT) == 0 ||
      found == nullptr)
    return;
  char place[64];
  std::snprintf(place, sizeof place, "%" PRIx64 " %" PRIx64 " ",
                reinterpret_cast<std::uint64_t>(function),
                static_cast<std::uint64_t>(static_cast<const Elf64_Sym*>(found)->st_size));
  const std::string line = std::string(place).append(name).append("\n");
  (void)!write(g_map, line.data(), line.size());
}

}  // namespace penstock::runtime
