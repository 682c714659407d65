#include "tools/reduce/minimise.h"

#include <algorithm>

namespace penstock::tools {
namespace {

/// Leaves out runs of `size` of the things that are left, from the last to the first. Whether any
/// went.
bool leave_out(std::vector<bool>& part, std::size_t size,
               const std::function<bool(const std::vector<bool>&)>& holds) {
  std::vector<std::size_t> left;
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (part[i]) left.push_back(i);
  }
  bool any = false;
  for (std::size_t end = left.size(); end > 0;) {
    const std::size_t begin = end > size ? end - size : 0;
    std::vector<bool> smaller = part;
    for (std::size_t i = begin; i < end; ++i) smaller[left[i]] = false;
    if (holds(smaller)) {
      part = std::move(smaller);
      any = true;
    }
    end = begin;
  }
  return any;
}

}  // namespace

std::vector<bool> minimise(std::size_t count,
                           const std::function<bool(const std::vector<bool>& part)>& holds) {
  std::vector<bool> part(count, true);
  std::size_t size = (count + 1) / 2;
  while (count > 0) {
    const bool any = leave_out(part, size, holds);
    if (size == 1 && !any) break;
    const auto left = static_cast<std::size_t>(std::count(part.begin(), part.end(), true));
    if (left == 0) break;
    size = std::min(std::max<std::size_t>(size / 2, 1), (left + 1) / 2);
  }
  return part;
}

}  // namespace penstock::tools
