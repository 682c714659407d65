#include "guards/guard_witness.h"

#include <algorithm>

namespace penstock::guards {

void Witness::clear() {
  words_.clear();
  tensors_.clear();
  kept_.clear();
  expected_.clear();
}

void Witness::expect(const void* at) {
  if (!expected_.insert(at).second) return;
  const auto* word = static_cast<const std::uint64_t*>(at);
  words_.push_back({word, *word});
}

const void* Witness::changed() const {
  const auto found =
      std::ranges::find_if(words_, [](const Word& word) { return *word.at != word.value; });
  return found == words_.end() ? nullptr : found->at;
}

bool Witness::holds() const {
#pragma GCC unroll 4
  for (const Word& word : words_) {
    if (*word.at != word.value) return false;
  }
  return tensors_.hold();
}

}  // namespace penstock::guards
