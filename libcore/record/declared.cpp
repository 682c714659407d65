#include "record/declared.h"

#include <utility>

namespace penstock::record {

namespace {

std::vector<DeclaredSize>& kept() {
  static std::vector<DeclaredSize> sizes;
  return sizes;
}

}  // namespace

void declare_sizes(std::vector<DeclaredSize> sizes) {
  kept() = std::move(sizes);
}

const std::vector<DeclaredSize>& declared_sizes() {
  return kept();
}

}  // namespace penstock::record
