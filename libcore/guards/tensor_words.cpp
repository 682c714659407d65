#include "guards/tensor_words.h"

#include <algorithm>
#include <span>

namespace penstock::guards {
namespace {

constexpr std::size_t kBlock = TensorWords::kBlock;
constexpr std::size_t kBefore =
    2;  ///< words of a record before those that are compared: its kind, its reference count
constexpr std::uint64_t kNothing[3] = {};
using Block [[gnu::vector_size(64), gnu::aligned(8), gnu::may_alias]] = std::uint64_t;

using Objects = std::span<const TensorWords::Object>;

/// The records are where they were, and of the same kind.
bool same_objects(Objects objects, std::size_t handle) {
  std::uint64_t difference = 0;
  for (const TensorWords::Object& object : objects) {
    const auto* words = reinterpret_cast<const std::uint64_t*>(object.at);
    difference |= words[handle] ^ reinterpret_cast<std::uint64_t>(object.record);
    difference |= reinterpret_cast<std::uint64_t>(object.at->ob_type) ^
                  reinterpret_cast<std::uint64_t>(object.type);
  }
  return difference == 0;
}

bool same_behind(std::span<const TensorWords::Behind> all) {
  std::uint64_t difference = 0;
  for (const TensorWords::Behind& behind : all) {
    for (std::size_t i = 0; i < 3; ++i) difference |= behind.memory[i] ^ behind.memory_words[i];
    difference |= *behind.gradients ^ behind.gradients_word;
  }
  return difference == 0;
}

/// All records, each against its own words and then the `rest` words that it has in common with
/// others.
struct Records {
  Objects objects;
  const TensorWords::Own* own;
  const std::uint32_t* common_at;
  const std::uint64_t* common;
  std::size_t rest;
  std::uint64_t kind;
};

[[gnu::always_inline]] inline bool compare(const Records& records) {
  Block difference{};
  std::uint64_t more = 0;
  const auto block = [&](const std::uint64_t* a, const std::uint64_t* b)
      __attribute__((always_inline)) {
    difference |= *reinterpret_cast<const Block*>(a) ^ *reinterpret_cast<const Block*>(b);
  };
  const std::size_t rest = records.rest;
  for (std::size_t k = 0; k < records.objects.size(); ++k) {
    const std::uint64_t* record = records.objects[k].record;
    const std::uint64_t* common = records.common + records.common_at[k];
    more |= *record ^ records.kind;
    block(record + kBefore, records.own[k].data());
    record += kBefore + kBlock;
    std::size_t i = 0;
    for (; i + kBlock <= rest; i += kBlock) block(record + i, common + i);
    if (i != rest && rest >= kBlock) {
      block(record + rest - kBlock, common + rest - kBlock);  // some words twice
    } else {
      for (; i < rest; ++i) more |= record[i] ^ common[i];
    }
  }
  for (std::size_t k = 0; k < kBlock; ++k) more |= difference[k];
  return more == 0;
}

using Compare = bool (*)(const Records&);

bool compare_any(const Records& records) {
  return compare(records);
}
[[gnu::target("avx2")]] bool compare_avx2(const Records& records) {
  return compare(records);
}
[[gnu::target("avx512f")]] bool compare_avx512(const Records& records) {
  return compare(records);
}

Compare for_this_cpu() {
  if (__builtin_cpu_supports("avx512f") != 0) return compare_avx512;
  return __builtin_cpu_supports("avx2") != 0 ? compare_avx2 : compare_any;
}

}  // namespace

void TensorWords::clear() {
  objects_.clear();
  own_.clear();
  common_at_.clear();
  common_.clear();
  behind_.clear();
  more_.clear();
}

/// Layouts are few: those of a section's tensors.
std::uint32_t TensorWords::position_of(std::span<const std::uint64_t> rest) {
  std::size_t at = 0;
  while (at < common_.size() && !std::ranges::equal(rest, std::span(common_).subspan(at, rest_)))
    at += rest_;
  if (at >= common_.size()) common_.insert(common_.end(), rest.begin(), rest.end());
  return static_cast<std::uint32_t>(at);
}

bool TensorWords::add(const torch::TensorBridge& bridge, PyObject* tensor,
                      const torch::TensorView& view) {
  torch::TensorWatch watch;
  if (!bridge.watch(tensor, view, watch) || watch.record.size() <= kBlock) return false;
  const std::uint64_t* record = watch.record.data() - kBefore;
  handle_ = static_cast<std::size_t>(watch.handle - reinterpret_cast<const std::uint64_t*>(tensor));
  rest_ = watch.record.size() - kBlock;
  kind_ = *record;
  objects_.push_back({tensor, Py_TYPE(tensor), record});
  std::ranges::copy(watch.record.first(kBlock), own_.emplace_back().begin());
  common_at_.push_back(position_of(watch.record.subspan(kBlock)));
  Behind behind{kNothing, kNothing, {}, 0};
  if (!watch.memory.empty()) behind.memory = watch.memory.data();
  if (watch.gradients != nullptr) behind.gradients = watch.gradients;
  std::copy_n(behind.memory, 3, behind.memory_words.begin());
  behind.gradients_word = *behind.gradients;
  behind_.push_back(behind);
  for (const std::uint64_t* at : std::span(watch.graph).first(watch.graph_count))
    more_.push_back({at, *at});
  return true;
}

bool TensorWords::hold() const {
  static const Compare chosen = for_this_cpu();
  if (objects_.empty()) return true;
  return same_objects(objects_, handle_) &&
         chosen({objects_, own_.data(), common_at_.data(), common_.data(), rest_, kind_}) &&
         same_behind(behind_) &&
         std::ranges::all_of(more_, [](const Word& word) { return *word.at == word.value; });
}

}  // namespace penstock::guards
