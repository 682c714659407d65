#define XXH_INLINE_ALL
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>

#include "store/store.h"

namespace penstock::store {

struct Hasher::State {
  XXH3_state_t state;
};

Hasher::Hasher() : state_(std::make_unique<State>()) {
  XXH3_128bits_reset(&state_->state);
}
Hasher::~Hasher() = default;

void Hasher::add(std::string_view bytes) {
  XXH3_128bits_update(&state_->state, bytes.data(), bytes.size());
}

std::string Hasher::name() const {
  XXH128_hash_t hash = XXH3_128bits_digest(&state_->state);
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string hash_of(std::span<const std::string_view> pieces) {
  Hasher hasher;
  for (std::string_view piece : pieces) hasher.add(piece);
  return hasher.name();
}

std::string hash_of(std::string_view bytes) {
  return hash_of(std::span(&bytes, 1));
}

bool is_hash(std::string_view text) {
  return text.size() == 32 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace penstock::store
