#include "runtime/code_image.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

namespace penstock::runtime {

namespace {

/// The tags of a dynamic section that bring nothing to life.
constexpr Elf64_Sxword kQuietTags[] = {
    DT_NULL,   DT_HASH,    DT_STRTAB, DT_SYMTAB,    DT_STRSZ,   DT_SYMENT,   DT_SONAME,  DT_RELA,
    DT_RELASZ, DT_RELAENT, DT_FLAGS,  DT_RELACOUNT, DT_FLAGS_1, DT_GNU_HASH, DT_BIND_NOW};

/// Reads an ELF file that may say anything about itself.
class ElfReader {
 public:
  explicit ElfReader(std::string_view bytes) : bytes_(bytes) {}

  std::string unsafe_part() {
    Elf64_Ehdr header;
    if (!read(header, 0) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
      return "it is no ELF file";
    const bool fits = header.e_ident[EI_CLASS] == ELFCLASS64 &&
                      header.e_ident[EI_DATA] == ELFDATA2LSB && header.e_machine == EM_X86_64 &&
                      header.e_type == ET_DYN && header.e_phentsize == sizeof(Elf64_Phdr);
    if (!fits) return "it is no shared object for x86-64";
    for (std::size_t i = 0; i < header.e_phnum; ++i) {
      Elf64_Phdr segment;
      if (!read(segment, header.e_phoff + i * sizeof segment))
        return "its table of segments is cut off";
      segments_.push_back(segment);
    }
    if (std::string wrong = check_segments(); !wrong.empty()) return wrong;
    return check_dynamic();
  }

 private:
  template <class T>
  bool read(T& out, std::uint64_t offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof out) return false;
    std::memcpy(&out, bytes_.data() + offset, sizeof out);
    return true;
  }

  /// Where an address of the mapped file stands in it; beyond its end: nowhere.
  std::uint64_t offset_of(std::uint64_t address) const {
    for (const Elf64_Phdr& segment : segments_) {
      if (segment.p_type != PT_LOAD || address < segment.p_vaddr ||
          address - segment.p_vaddr >= segment.p_filesz)
        continue;
      return segment.p_offset + (address - segment.p_vaddr);
    }
    return ~std::uint64_t{0};
  }

  std::string check_segments() const {
    for (const Elf64_Phdr& segment : segments_) {
      const bool inside =
          segment.p_offset <= bytes_.size() && segment.p_filesz <= bytes_.size() - segment.p_offset;
      if (!inside || segment.p_memsz > std::uint64_t{1} << 40)
        return "a segment reaches behind its end";
      if ((segment.p_flags & PF_W) != 0 && (segment.p_flags & PF_X) != 0)
        return "a segment is written and executed";
      if (segment.p_type == PT_INTERP || segment.p_type == PT_TLS)
        return "it wants more of the loader than to be mapped";
    }
    return {};
  }

  std::string check_dynamic() {
    const auto found =
        std::ranges::find(segments_, static_cast<Elf64_Word>(PT_DYNAMIC), &Elf64_Phdr::p_type);
    if (found == segments_.end()) return "it has no dynamic section";
    std::uint64_t relocations = 0, relocation_bytes = 0, symbols = 0, gnu_hash = 0, hash = 0;
    for (std::uint64_t at = found->p_offset; at < found->p_offset + found->p_filesz;
         at += sizeof(Elf64_Dyn)) {
      Elf64_Dyn entry;
      if (!read(entry, at)) return "its dynamic section is cut off";
      if (entry.d_tag == DT_NULL) break;
      if (std::ranges::find(kQuietTags, entry.d_tag) == std::end(kQuietTags)) {
        return "its dynamic section asks the loader for entry " + std::to_string(entry.d_tag);
      }
      if (entry.d_tag == DT_RELA) relocations = entry.d_un.d_ptr;
      if (entry.d_tag == DT_RELASZ) relocation_bytes = entry.d_un.d_val;
      if (entry.d_tag == DT_SYMTAB) symbols = entry.d_un.d_ptr;
      if (entry.d_tag == DT_GNU_HASH) gnu_hash = entry.d_un.d_ptr;
      if (entry.d_tag == DT_HASH) hash = entry.d_un.d_ptr;
    }
    for (std::uint64_t at = 0; at + sizeof(Elf64_Rela) <= relocation_bytes;
         at += sizeof(Elf64_Rela)) {
      Elf64_Rela relocation;
      if (!read(relocation, offset_of(relocations + at))) return "its relocations are cut off";
      if (ELF64_R_TYPE(relocation.r_info) != R_X86_64_RELATIVE)
        return "a relocation is not of its own addresses";
    }
    return check_symbols(symbols,
                         gnu_hash != 0 ? symbols_of_gnu_hash(gnu_hash) : symbols_of_hash(hash));
  }

  std::uint32_t word_at(std::uint64_t address) const {
    std::uint32_t word = 0;
    const std::uint64_t offset = offset_of(address);
    if (offset != ~std::uint64_t{0}) read(word, offset);
    return word;
  }

  /// The table of symbols has no length of its own; nobody finds one behind the last that the
  /// hashes lead to.
  std::uint64_t symbols_of_hash(std::uint64_t hash) const {
    return hash == 0 ? 0 : word_at(hash + 4);
  }

  std::uint64_t symbols_of_gnu_hash(std::uint64_t hash) const {
    const std::uint64_t buckets = word_at(hash), first = word_at(hash + 4),
                        bloom = word_at(hash + 8);
    const std::uint64_t bucket_at = hash + 16 + 8 * bloom, chain_at = bucket_at + 4 * buckets;
    const std::uint64_t most = bytes_.size() / 4;
    std::uint64_t last = 0;
    for (std::uint64_t i = 0; i < std::min(buckets, most); ++i)
      last = std::max<std::uint64_t>(last, word_at(bucket_at + 4 * i));
    if (last < first || last == 0) return first;
    // A chain ends with an odd word.
    while (last - first < most && (word_at(chain_at + 4 * (last - first)) & 1) == 0) ++last;
    return last + 1;
  }

  std::string check_symbols(std::uint64_t symbols, std::uint64_t count) const {
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(count, bytes_.size()); ++i) {
      Elf64_Sym symbol;
      if (!read(symbol, offset_of(symbols + i * sizeof symbol)))
        return "its table of symbols is cut off";
      if (ELF64_ST_TYPE(symbol.st_info) == STT_GNU_IFUNC) return "a symbol is chosen by a function";
      if (ELF64_ST_TYPE(symbol.st_info) == STT_TLS) return "a symbol is a thread's own";
    }
    return {};
  }

  std::string_view bytes_;
  std::vector<Elf64_Phdr> segments_;
};

bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

std::string unsafe_part(std::string_view elf) {
  return ElfReader(elf).unsafe_part();
}

CodeImage::CodeImage(CodeImage&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), bytes_(std::exchange(other.bytes_, {})) {}

CodeImage& CodeImage::operator=(CodeImage&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

CodeImage::~CodeImage() {
  if (!bytes_.empty()) munmap(const_cast<char*>(bytes_.data()), bytes_.size());
  close_file();
}

void CodeImage::close_file() {
  if (descriptor_ >= 0) close(descriptor_);
  descriptor_ = -1;
}

Result<CodeImage> CodeImage::copy(std::string_view bytes, const std::string& name) {
  CodeImage image;
  image.descriptor_ = memfd_create(("penstock-" + name).c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING);
  const bool sealed = image.descriptor_ >= 0 && write_all(image.descriptor_, bytes) &&
                      fcntl(image.descriptor_, F_ADD_SEALS,
                            F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
  if (!sealed)
    return failure(Code::PS0705, std::string("no memory for code: ") + std::strerror(errno));
  if (bytes.empty()) return image;
  void* memory = mmap(nullptr, bytes.size(), PROT_READ, MAP_PRIVATE, image.descriptor_, 0);
  if (memory == MAP_FAILED)
    return failure(Code::PS0705, std::string("code cannot be mapped: ") + std::strerror(errno));
  image.bytes_ = {static_cast<const char*>(memory), bytes.size()};
  return image;
}

std::string CodeImage::path() const {
  // The number of a descriptor is used again, that of a file is not: its bits stand in the path as
  // what the system skips.
  struct stat facts {};
  fstat(descriptor_, &facts);
  std::string path = "/proc/self/fd/";
  for (std::uint64_t rest = facts.st_ino; rest != 0; rest >>= 1)
    path += (rest & 1) != 0 ? "./" : "/";
  return path + std::to_string(descriptor_);
}

}  // namespace penstock::runtime
