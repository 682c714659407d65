#include "ir/tensor_type.h"

#include <algorithm>

namespace penstock {

std::vector<SymExpr> contiguous_strides(const std::vector<SymExpr>& sizes) {
  std::vector<SymExpr> strides(sizes.size());
  SymExpr next = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = next;
    // torch multiplies by max(size, 1), so that an empty tensor has the strides of its neighbour.
    if (sizes[i] != SymExpr(0)) next *= sizes[i];
  }
  return strides;
}

bool is_contiguous(const TensorType& type) {
  if (std::find(type.sizes.begin(), type.sizes.end(), SymExpr(0)) != type.sizes.end()) return true;
  SymExpr next = 1;
  for (std::size_t i = type.sizes.size(); i-- > 0;) {
    if (type.sizes[i] == SymExpr(1)) continue;
    if (type.strides[i] != next) return false;
    next *= type.sizes[i];
  }
  return true;
}

SymExpr element_count(const std::vector<SymExpr>& sizes) {
  SymExpr count = 1;
  for (const SymExpr& size : sizes) count *= size;
  return count;
}

std::int64_t known_bytes(const TensorType& type) {
  std::int64_t bytes = facts(type.dtype).size;
  for (const SymExpr& size : type.sizes) {
    if (!size.is_constant()) return 0;
    bytes *= size.constant_term();
  }
  return bytes;
}

namespace {

std::string list(const std::vector<SymExpr>& values) {
  std::string text = "[";
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) text += ", ";
    text += values[i].to_string();
  }
  return text + "]";
}

}  // namespace

std::string to_string(const TensorType& type) {
  std::string text(facts(type.dtype).name);
  text += list(type.sizes);
  if (type.strides != contiguous_strides(type.sizes)) text += " strides " + list(type.strides);
  if (type.storage_offset != SymExpr(0)) text += " offset " + type.storage_offset.to_string();
  if (type.device != "cpu") text += " " + type.device;
  return text;
}

}  // namespace penstock
