#pragma once

#include <string>
#include <string_view>

#include "diag/diagnostic.h"

namespace penstock::tools {

/// Where a tool's documents go: standard output, or a file that appears whole or not at all.
///
/// A regular file is written under no name (or a temporary one, where the file system has no
/// unnamed files) beside its destination and renamed by commit(); without commit() nothing is left
/// behind and an older file of that name stays as it was. Devices and FIFOs are written directly.
/// Every failure is PS0103 with the system's reason.
class Output {
 public:
  /// Opens `path`; empty or "-" is standard output.
  static Result<Output> open(const std::string& path);
  /// Memory, which others read by its descriptor while it is written.
  static Result<Output> in_memory();
  Output(Output&& other) noexcept;
  Output& operator=(Output&& other) noexcept;
  ~Output();

  /// Appends bytes, through a buffer.
  Result<void> write(std::string_view bytes);
  /// Hands what is buffered to the system, so that a reader behind a pipe sees it.
  Result<void> flush();
  /// Flushes, closes, and gives the file its name.
  Result<void> commit();

  /// Whether a write found that nobody reads any more (EPIPE): not an error to tell anyone about.
  bool reader_gone() const { return reader_gone_; }
  int descriptor() const { return descriptor_; }
  const std::string& path() const { return path_; }

 private:
  Output() = default;
  Result<void> open_unnamed();
  Result<void> give_name();
  void discard();
  tl::unexpected<Diagnostic> failed(int error);

  std::string path_;       ///< what the user named; empty for standard output
  std::string target_;     ///< the file that the rename replaces; empty when written directly
  std::string temporary_;  ///< name of the temporary file; empty while it has none
  std::string buffer_;
  int descriptor_ = -1;
  bool owned_ = false;
  bool reader_gone_ = false;
};

/// Writes `bytes` to the file at `path`, whole or not at all. Errors are those of Output.
Result<void> write_file(const std::string& path, std::string_view bytes);

}  // namespace penstock::tools
