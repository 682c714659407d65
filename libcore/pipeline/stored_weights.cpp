#include "pipeline/stored_weights.h"

namespace penstock::pipeline {

std::shared_ptr<const void> StoredWeights::find(std::string_view key, std::size_t bytes) {
  auto packed = store_.packed(store::hash_of(key), bytes);
  if (!packed) return nullptr;
  ++found_;
  auto file = std::make_shared<store::Mapping>(std::move(packed->file));
  return {file, packed->bytes.data()};
}

void StoredWeights::keep(std::string_view key, std::string_view bytes) {
  if (full_) return;
  if (store_.put_packed(store::hash_of(key), bytes)) {
    ++kept_;
  } else {
    full_ = true;
  }
}

}  // namespace penstock::pipeline
