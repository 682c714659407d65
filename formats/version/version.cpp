#include "formats/version/version.h"

#include <fmt/format.h>

#include <charconv>

namespace penstock::formats {

std::string to_string(Version version) {
  return fmt::format("{}.{}", version.major_number, version.minor_number);
}

Result<Version> parse_version(std::string_view text) {
  Version version;
  const char* end = text.data() + text.size();
  auto first = std::from_chars(text.data(), end, version.major_number);
  const bool is_signed = text.find('-') != std::string_view::npos;
  if (!is_signed && first.ec == std::errc() && first.ptr != end && *first.ptr == '.') {
    auto second = std::from_chars(first.ptr + 1, end, version.minor_number);
    if (second.ec == std::errc() && second.ptr == end) return version;
  }
  return failure(Code::PS0101, fmt::format("'{}' is no format version; expected MAJOR.MINOR",
                                           text.substr(0, 40)));
}

bool knows_feature(std::string_view feature) {
  return feature == kSealedCode || feature == kDevices || feature == kSubgraphs;
}

Result<void> can_write(Version version) {
  if (version == kCurrent) return {};
  return failure(Code::PS0211, fmt::format("format version {} cannot be written, only {}",
                                           to_string(version), to_string(kCurrent)));
}

}  // namespace penstock::formats
