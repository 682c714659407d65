#include "embedding/stored_input.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace penstock::embedding {

Result<void> StoredInput::check() {
  if (checked_) return {};
  auto whole = store::Store::check(hash_, blob_.file.bytes());
  checked_ = whole.has_value();
  return whole;
}

void StoredInput::set_strides(const std::vector<std::int64_t>& strides) {
  name_ = fmt::format("{} with strides {}", hash_, fmt::join(strides, ","));
}

}  // namespace penstock::embedding
