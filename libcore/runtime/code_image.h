#pragma once

#include <string>
#include <string_view>

#include "diag/diagnostic.h"

namespace penstock::runtime {

/// What of an ELF shared object would run, or be looked for, when it is opened, before anybody
/// calls it: constructors, destructors, relocations but of its own addresses, symbols that a
/// function chooses, other libraries, memory that is written and executed. Empty: nothing, and its
/// tables lie inside of it. Code that penstock makes has none.
std::string unsafe_part(std::string_view elf);

/// Bytes in memory of the process that nobody can write any more and that the loader takes for a
/// file.
class CodeImage {
 public:
  CodeImage() = default;
  CodeImage(CodeImage&& other) noexcept;
  CodeImage& operator=(CodeImage&& other) noexcept;
  ~CodeImage();

  /// A sealed copy. PS0705 when the system has no such memory.
  static Result<CodeImage> copy(std::string_view bytes, const std::string& name);
  std::string_view bytes() const { return bytes_; }
  /// What dlopen opens: a name that no other image of the process has had, for the loader takes an
  /// object that it knows by the name.
  std::string path() const;
  /// Afterwards there is no path; the bytes stay.
  void close_file();

 private:
  int descriptor_ = -1;
  std::string_view bytes_;
};

}  // namespace penstock::runtime
