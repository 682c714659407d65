#pragma once

#include <span>
#include <string>
#include <string_view>

namespace penstock::store {

/// BLAKE2b's 256-bit hash (RFC 7693) of all pieces, one behind the other, as 64 hexadecimal digits.
/// Nobody can make other bytes with the same hash, nor, without the `key` (up to 64 bytes), tell
/// the hash of any.
std::string strong_hash(std::span<const std::string_view> pieces, std::string_view key = {});

}  // namespace penstock::store
