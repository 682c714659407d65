#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "formats/stream.h"

namespace penstock::formats {

/// A ZIP archive that is being read, member by member. A few bytes of a hostile archive can claim,
/// or come to, any number of them: what entries say is looked at before they are opened, and what
/// they come to while they are (formats/scan.h).
class ArchiveReader {
 public:
  /// Of an open file. `path` stands in the places of errors. PS0102 when it cannot be read, PS0201
  /// when it is damaged, PS0208 when it has too many entries.
  static Result<std::shared_ptr<ArchiveReader>> open(const InputFile& file,
                                                     const std::string& path);
  /// Of bytes in memory, which outlive the reader.
  static Result<std::shared_ptr<ArchiveReader>> open(std::string_view bytes,
                                                     const std::string& path);
  ~ArchiveReader();

  const std::string& path() const { return path_; }
  /// How many members there are.
  std::uint64_t size() const;
  std::string_view name(std::uint64_t index) const;
  std::optional<std::uint64_t> find(std::string_view name) const;

  /// Goes to the member, whose bytes next() gives then.
  Result<void> begin(std::uint64_t index);
  /// The next bytes of the member, none at its end.
  Result<std::string_view> next();
  /// How many bytes of the member are to come, as it says.
  std::uint64_t left() const { return announced_; }
  /// All bytes of a member; nothing where there is none of that name.
  Result<std::optional<std::string>> member(std::string_view name);

 private:
  struct State;
  ArchiveReader() = default;
  static Result<std::shared_ptr<ArchiveReader>> adopt(void* archive, std::uint64_t size,
                                                      const std::string& path);

  std::unique_ptr<State> state_;
  std::string path_, name_;
  std::string piece_ = std::string(std::size_t{1} << 16, '\0');
  std::uint64_t announced_ = 0;  ///< bytes of the member that are to come
  std::uint64_t room_ = 0;       ///< bytes that members may still come to
};

}  // namespace penstock::formats
