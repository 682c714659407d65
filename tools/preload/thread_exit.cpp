// The object that holds CPython (the program, or libpython) was linked to pthread_exit() when it
// was loaded: the address stands in its table, at a place that its relocations name. There it is
// exchanged. Where nothing is found, threads end as they do in plain Python.
#include "tools/preload/thread_exit.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>

namespace penstock::tools {
namespace {

/// What the dynamic section of one object says.
struct Tables {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const ElfW(Rela) * rows[2] = {};
  std::size_t bytes[2] = {};
};

Tables read_tables(ElfW(Addr) base, const ElfW(Dyn) * row) {
  Tables tables;
  // The loader has made addresses of these values, but for objects that it may not write to.
  const auto at = [base](ElfW(Addr) value) { return value < base ? base + value : value; };
  for (; row->d_tag != DT_NULL; ++row) {
    const ElfW(Addr) value = row->d_un.d_ptr;
    if (row->d_tag == DT_SYMTAB) tables.symbols = reinterpret_cast<const ElfW(Sym)*>(at(value));
    if (row->d_tag == DT_STRTAB) tables.names = reinterpret_cast<const char*>(at(value));
    if (row->d_tag == DT_RELA) tables.rows[0] = reinterpret_cast<const ElfW(Rela)*>(at(value));
    if (row->d_tag == DT_RELASZ) tables.bytes[0] = value;
    if (row->d_tag == DT_JMPREL) tables.rows[1] = reinterpret_cast<const ElfW(Rela)*>(at(value));
    if (row->d_tag == DT_PLTRELSZ) tables.bytes[1] = value;
  }
  return tables;
}

/// Writes where the loader may have made memory read-only, and leaves it as it is protected there.
void put(void** place, void* value, bool read_only) {
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  auto* first = reinterpret_cast<void*>(reinterpret_cast<std::size_t>(place) & ~(page - 1));
  if (read_only && mprotect(first, page, PROT_READ | PROT_WRITE) != 0) return;
  *place = value;
  if (read_only) mprotect(first, page, PROT_READ);
}

struct Search {
  ElfW(Addr) python;  ///< an address inside of the object
  void* leave;
};

int redirect(dl_phdr_info* object, std::size_t, void* data) {
  const auto& search = *static_cast<const Search*>(data);
  const ElfW(Phdr)* dynamic = nullptr, *relro = nullptr;
  bool holds = false;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object->dlpi_phdr[i];
    if (part.p_type == PT_DYNAMIC) dynamic = &part;
    if (part.p_type == PT_GNU_RELRO) relro = &part;
    const ElfW(Addr) begin = object->dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD)
      holds |= search.python >= begin && search.python - begin < part.p_memsz;
  }
  if (!holds || dynamic == nullptr) return 0;
  const ElfW(Addr) base = object->dlpi_addr;
  const Tables tables =
      read_tables(base, reinterpret_cast<const ElfW(Dyn)*>(base + dynamic->p_vaddr));
  if (tables.symbols == nullptr || tables.names == nullptr) return 1;
  for (int table = 0; table < 2; ++table) {
    const ElfW(Rela)* end = tables.rows[table] + tables.bytes[table] / sizeof(ElfW(Rela));
    for (const ElfW(Rela)* row = tables.rows[table]; row != end; ++row) {
      const auto type = ELF64_R_TYPE(row->r_info);
      if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) continue;
      const ElfW(Sym)& symbol = tables.symbols[ELF64_R_SYM(row->r_info)];
      if (strcmp(tables.names + symbol.st_name, "pthread_exit") != 0) continue;
      const bool read_only = relro != nullptr && row->r_offset >= relro->p_vaddr &&
                             row->r_offset - relro->p_vaddr < relro->p_memsz;
      put(reinterpret_cast<void**>(base + row->r_offset), search.leave, read_only);
    }
  }
  return 1;
}

}  // namespace

void redirect_thread_exit(void (*leave)(void*)) {
  Search search{reinterpret_cast<ElfW(Addr)>(dlsym(RTLD_DEFAULT, "PyThread_exit_thread")),
                reinterpret_cast<void*>(leave)};
  if (search.python != 0) dl_iterate_phdr(redirect, &search);
}

}  // namespace penstock::tools
