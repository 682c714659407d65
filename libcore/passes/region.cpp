// Regions compose: a slice of a slice is a slice, a permutation reorders what the view's dims walk,
// and a reshape that puts in or drops dims of one element renumbers them. So a write through any
// chain of these is one write into the memory that all of them show, and costs one node however
// long the chain is.
#include "passes/region.h"

#include <algorithm>
#include <limits>

#include "passes/rewrite.h"

namespace penstock::passes {

namespace {

std::vector<SymExpr> integers(const Node& node, std::string_view name) {
  std::vector<SymExpr> result;
  const Argument* argument = find_argument(node, name);
  const auto* list = argument != nullptr ? argument->as<Argument::Sequence>() : nullptr;
  if (list == nullptr) return result;
  for (const Argument& item : list->items) {
    if (const auto* plain = item.as<std::int64_t>())
      result.emplace_back(*plain);
    else if (const auto* symbolic = item.as<SymExpr>())
      result.push_back(*symbolic);
  }
  return result;
}

std::optional<Region> sliced(Region region, const Node& node) {
  const std::vector<SymExpr> start = integers(node, "start"), step = integers(node, "step");
  if (start.size() != region.dims.size() || step.size() != region.dims.size()) return std::nullopt;
  for (std::size_t i = 0; i < start.size(); ++i) {
    const std::int64_t dim = region.dims[i];
    if (dim < 0) {
      if (start[i] != SymExpr(0)) return std::nullopt;
      continue;
    }
    region.start[dim] += start[i] * region.step[dim];
    region.step[dim] *= step[i];
  }
  return region;
}

std::optional<Region> permuted(Region region, const Node& node) {
  std::vector<std::int64_t> dims;
  for (const SymExpr& dim : integers(node, "dims"))
    dims.push_back(region.dims.at(dim.constant().value_or(0)));
  region.dims = std::move(dims);
  return region;
}

/// Dims of one element may come and go; all others stay as they are.
std::optional<Region> reshaped(Region region, const std::vector<SymExpr>& from,
                               const std::vector<SymExpr>& to) {
  std::vector<std::int64_t> dims;
  std::size_t next = 0;
  for (const SymExpr& size : to) {
    while (next < from.size() && from[next] != size && from[next] == SymExpr(1)) ++next;
    if (next < from.size() && from[next] == size)
      dims.push_back(region.dims[next++]);
    else if (size == SymExpr(1))
      dims.push_back(-1);
    else
      return std::nullopt;
  }
  while (next < from.size() && from[next] == SymExpr(1)) ++next;
  if (next != from.size()) return std::nullopt;
  region.dims = std::move(dims);
  return region;
}

}  // namespace

Region whole_region(const TensorType& type) {
  Region region;
  region.start.assign(type.rank(), SymExpr(0));
  region.step.assign(type.rank(), SymExpr(1));
  for (std::size_t i = 0; i < type.rank(); ++i) region.dims.push_back(static_cast<std::int64_t>(i));
  return region;
}

std::optional<Region> narrowed(Region region, const Node& node, const TensorType& operand,
                               const TensorType& result) {
  if (node.op == "prim.slice") return sliced(std::move(region), node);
  if (node.op == "prim.permute") return permuted(std::move(region), node);
  const bool same_elements = element_count(operand.sizes) == element_count(result.sizes);
  const bool keeps_order =
      node.op == "prim.reshape" || (node.op == "prim.broadcast" && same_elements);
  return keeps_order ? reshaped(std::move(region), operand.sizes, result.sizes) : std::nullopt;
}

bool covers(const Region& region, const std::vector<SymExpr>& sizes, const TensorType& whole) {
  const auto is = [](std::int64_t number) {
    return [=](const SymExpr& e) { return e == SymExpr(number); };
  };
  return sizes_in(region, sizes) == whole.sizes && std::ranges::all_of(region.start, is(0)) &&
         std::ranges::all_of(region.step, is(1));
}

std::vector<SymExpr> sizes_in(const Region& region, const std::vector<SymExpr>& sizes) {
  std::vector<SymExpr> result(region.start.size(), SymExpr(1));
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (region.dims[i] >= 0) result[region.dims[i]] = sizes[i];
  }
  return result;
}

std::vector<std::int64_t> order_in(const Region& region) {
  std::vector<std::int64_t> order;
  for (std::size_t i = 0; i < region.dims.size(); ++i)
    order.push_back(static_cast<std::int64_t>(i));
  std::ranges::stable_sort(order, {}, [&](std::int64_t dim) {
    return region.dims[dim] < 0 ? std::numeric_limits<std::int64_t>::max() : region.dims[dim];
  });
  return order;
}

}  // namespace penstock::passes
