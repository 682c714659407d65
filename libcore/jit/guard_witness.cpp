#include "jit/guard_witness.h"

#include <algorithm>

namespace penstock::jit {

void Witness::clear() {
  words_.clear();
  records_.clear();
  saved_.clear();
  behind_.clear();
  kept_.clear();
  expected_.clear();
}

void Witness::expect(const void* at) {
  if (!expected_.insert(at).second) return;
  const auto* word = static_cast<const std::uint64_t*>(at);
  words_.push_back({word, *word});
}

bool Witness::expect_tensor(const python::TensorBridge& bridge, PyObject* tensor,
                            const python::TensorView& view) {
  python::TensorWatch watch;
  if (!bridge.watch(tensor, view, watch)) return false;
  expect(&tensor->ob_type);
  expect(watch.handle.data());
  expect(watch.kind.data());
  const auto count = static_cast<std::uint32_t>(watch.record.size());
  records_.push_back({watch.record.data(), count});
  saved_.insert(saved_.end(), watch.record.begin(), watch.record.end());
  for (std::size_t i = 0; i < watch.behind_count; ++i) {
    for (const std::uint64_t& word : watch.behind[i]) behind_.push_back({&word, word});
  }
  return true;
}

const void* Witness::changed() const {
  const auto found =
      std::ranges::find_if(words_, [](const Word& word) { return *word.at != word.value; });
  return found == words_.end() ? nullptr : found->at;
}

bool Witness::holds() const {
  const auto unchanged = [](const std::vector<Word>& words) {
#pragma GCC unroll 4
    for (const Word& word : words) {
      if (*word.at != word.value) return false;
    }
    return true;
  };
  if (!unchanged(words_)) return false;
  return same_words(records_, saved_.data()) && unchanged(behind_);
}

}  // namespace penstock::jit
