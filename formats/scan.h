#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace penstock::formats {

/// No document nests deeper, and none is longer; what does is no document of ours.
inline constexpr std::size_t kMaxDepth = 256;
inline constexpr std::size_t kMaxDocumentBytes = std::size_t{1} << 30;

/// What an archive may hold: entries, and bytes that its compressed entries stand for, beyond a
/// number that is free so many times as many as the file has. Tensors and documents never come near
/// (a pack is not compressed).
inline constexpr std::size_t kMaxPackEntries = 100'000;
inline constexpr std::size_t kFreeInflation = std::size_t{16} << 20;
inline constexpr std::size_t kMaxInflation = 100;
inline constexpr std::size_t kMaxInflatedBytes = std::size_t{16} << 30;

/// Finds where one document ends, resuming where it stopped when more bytes have come; so a
/// document can be read as soon as it is there, and every byte is looked at once.
class DocumentScanner {
 public:
  enum class Found : std::uint8_t { end, more, malformed, too_deep };

  virtual ~DocumentScanner() = default;
  /// `bytes` starts where the document starts and has only grown since the last call. After `end`,
  /// position() is the document's length.
  virtual Found scan(std::string_view bytes) = 0;
  std::size_t position() const { return position_; }

 protected:
  std::size_t position_ = 0;
};

/// One JSON object: up to the brace that closes it.
class JsonScanner final : public DocumentScanner {
 public:
  Found scan(std::string_view bytes) override;

 private:
  std::size_t depth_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;  ///< the byte before was a backslash in a string
};

/// One CBOR item with all items in it.
class CborScanner final : public DocumentScanner {
 public:
  Found scan(std::string_view bytes) override;

 private:
  static constexpr std::uint64_t kIndefinite = ~std::uint64_t{0};
  Found step(std::string_view bytes);
  Found finish_item();

  std::vector<std::uint64_t> open_;  ///< items still to come in each container; kIndefinite
};

/// Where in the record that `bytes` is the value of `key` stands; empty when it has none, or is not
/// well-formed up to there.
std::string_view member_value(std::string_view bytes, bool cbor, std::string_view key);

}  // namespace penstock::formats
