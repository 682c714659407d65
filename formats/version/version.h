#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "diag/diagnostic.h"

namespace penstock::formats {

/// Version of the document format. A new minor version only adds; a new major one changes.
struct Version {
  std::int32_t major_number = 1;
  std::int32_t minor_number = 0;
  friend auto operator<=>(const Version&, const Version&) = default;
};

/// The version that is written.
inline constexpr Version kCurrent{1, 2};

/// Required by kernels documents: a reader of version 1.0 takes their seal for one of its own,
/// which does not know the code.
inline constexpr std::string_view kSealedCode = "sealed_code";

/// Required by documents of programs for a device: who does not know them would run their kernels
/// on memory that the CPU does not reach.
inline constexpr std::string_view kDevices = "devices";

/// Required by documents with subgraphs, and by programs with branches: who does not know them
/// would run what is not meant to run.
inline constexpr std::string_view kSubgraphs = "subgraphs";

std::string to_string(Version version);
/// Reads "1.0".
Result<Version> parse_version(std::string_view text);

/// Whether a document that lists `feature` under `requires` can be read.
bool knows_feature(std::string_view feature);

/// Whether documents of `version` can be written; PS0203 names the versions that can.
Result<void> can_write(Version version);

}  // namespace penstock::formats
