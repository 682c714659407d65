#include "store/strong_hash.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

namespace penstock::store {

namespace {

constexpr std::size_t kBlock = 128, kHash = 32;

constexpr std::array<std::uint64_t, 8> kStart = {
    0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
    0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};

/// Which words of the block a round mixes, in order.
constexpr std::uint8_t kOrder[10][16] = {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
                                         {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
                                         {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
                                         {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
                                         {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
                                         {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
                                         {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
                                         {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
                                         {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
                                         {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};

class Blake2b {
 public:
  explicit Blake2b(std::string_view key) {
    key = key.substr(0, 64);
    state_[0] ^= 0x01010000 ^ key.size() << 8 ^ kHash;
    if (key.empty()) return;
    std::memcpy(block_.data(), key.data(), key.size());
    filled_ = kBlock;
  }

  void update(std::string_view bytes) {
    while (!bytes.empty()) {
      // The last block, which may be full, is mixed at the end.
      if (filled_ == kBlock) mix(false);
      const std::size_t count = std::min(bytes.size(), kBlock - filled_);
      std::memcpy(block_.data() + filled_, bytes.data(), count);
      filled_ += count;
      bytes.remove_prefix(count);
    }
  }

  std::string digits() {
    mix(true);
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string out;
    for (std::size_t i = 0; i < kHash; ++i) {
      const auto byte = static_cast<std::uint8_t>(state_[i / 8] >> (8 * (i % 8)));
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    }
    return out;
  }

 private:
  void mix(bool last) {
    std::memset(block_.data() + filled_, 0, kBlock - filled_);
    length_ += filled_;
    filled_ = 0;
    std::array<std::uint64_t, 16> words, v;
    std::memcpy(words.data(), block_.data(), kBlock);
    std::copy(state_.begin(), state_.end(), v.begin());
    std::copy(kStart.begin(), kStart.end(), v.begin() + 8);
    v[12] ^= length_;
    if (last) v[14] = ~v[14];
    const auto step = [&](std::size_t a, std::size_t b, std::size_t c, std::size_t d,
                          std::uint64_t x, std::uint64_t y) {
      v[a] += v[b] + x;
      v[d] = std::rotr(v[d] ^ v[a], 32);
      v[c] += v[d];
      v[b] = std::rotr(v[b] ^ v[c], 24);
      v[a] += v[b] + y;
      v[d] = std::rotr(v[d] ^ v[a], 16);
      v[c] += v[d];
      v[b] = std::rotr(v[b] ^ v[c], 63);
    };
    for (int round = 0; round < 12; ++round) {
      const std::uint8_t* order = kOrder[round % 10];
      for (std::size_t i = 0; i < 4; ++i)
        step(i, 4 + i, 8 + i, 12 + i, words[order[2 * i]], words[order[2 * i + 1]]);
      for (std::size_t i = 0; i < 4; ++i) {
        step(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4, words[order[8 + 2 * i]],
             words[order[9 + 2 * i]]);
      }
    }
    for (std::size_t i = 0; i < 8; ++i) state_[i] ^= v[i] ^ v[8 + i];
  }

  std::array<std::uint64_t, 8> state_ = kStart;
  std::array<unsigned char, kBlock> block_ = {};
  std::size_t filled_ = 0;
  std::uint64_t length_ = 0;
};

}  // namespace

std::string strong_hash(std::span<const std::string_view> pieces, std::string_view key) {
  Blake2b hash(key);
  for (std::string_view piece : pieces) hash.update(piece);
  return hash.digits();
}

}  // namespace penstock::store
