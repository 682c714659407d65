#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "diag/diagnostic.h"

namespace penstock::store {

/// A file that appears under its name whole or not at all: written beside its place, then renamed.
/// Every failure is PS0210 with the system's reason, and leaves nothing behind. A file-size limit
/// is an error like a full disk: its signal is kept from the process.
class NewFile {
 public:
  /// Opens one for `path`; makes the folders above it.
  static Result<NewFile> open(const std::string& path);
  NewFile(NewFile&& other) noexcept;
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile();

  Result<void> write(std::string_view bytes);
  /// Gives the file its name, in the place of what has it.
  Result<void> commit();

 private:
  NewFile() = default;
  tl::unexpected<Diagnostic> failed(int error);

  std::string path_, temporary_;
  int descriptor_ = -1;
};

/// Writes the pieces to a NewFile.
Result<void> write_file(const std::string& path, std::span<const std::string_view> pieces);

/// Hands the bytes of a file to `see`, piece by piece, until that gives false. False when the file
/// cannot be read to its end. Reads instead of mapping: a disk that fails is an answer here, no
/// signal.
bool read_pieces(const std::string& path, const std::function<bool(std::string_view)>& see);

/// Whether the file holds just these bytes.
bool holds(const std::string& path, std::span<const std::string_view> pieces);

/// How the names of unfinished files start.
inline constexpr std::string_view kUnfinished = ".unfinished-";

}  // namespace penstock::store
