// Whether tensors share memory. Pairs of them would be as many as the square of a model's
// parameters, whose gradients a program writes all at once: so they are sorted by their addresses,
// and only neighbours are compared. Where something overlaps, which is rare, all before it are.

#include "guards/apart_tensors.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace penstock::guards {
namespace {

bool may_not_overlap(const ApartTensor& a, const ApartTensor& b) {
  return (a.written || b.written) && (a.storage < 0 || a.storage != b.storage);
}

}  // namespace

bool overlap(const ApartTensor& a, const ApartTensor& b) {
  if (a.begin == nullptr || b.begin == nullptr) return a.memory == b.memory;
  return std::max(a.begin, b.begin) < std::min(a.end, b.end);
}

std::optional<std::size_t> find_overlap(std::span<const ApartTensor> tensors) {
  std::vector<std::size_t> places(tensors.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::ranges::sort(places, {}, [&](std::size_t place) { return tensors[place].begin; });
  const char* furthest = nullptr;
  for (std::size_t at = 0; at < places.size(); ++at) {
    const ApartTensor& tensor = tensors[places[at]];
    const bool alone = tensor.begin != nullptr && tensor.begin >= furthest;
    for (std::size_t before = 0; before < at && !alone; ++before) {
      const ApartTensor& other = tensors[places[before]];
      if (may_not_overlap(tensor, other) && overlap(tensor, other))
        return other.written ? places[before] : places[at];
    }
    furthest = std::max(furthest, tensor.end);
  }
  return std::nullopt;
}

}  // namespace penstock::guards
