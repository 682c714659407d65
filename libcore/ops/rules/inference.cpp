#include "ops/rules/inference.h"

#include "ops/rules/layout.h"

#include <algorithm>
#include <numeric>

namespace penstock::ops {

namespace {
using Relation = Condition::Relation;
}

std::optional<bool> Inference::decide(Condition condition) {
  if (failed()) return false;
  return shapes_.decide(condition);
}

bool Inference::equal(const SymExpr& a, const SymExpr& b) {
  if (a == b) return true;
  if (a.is_constant() && b.is_constant()) return false;
  auto known = decide({a, Relation::equal, b});
  if (!known) refuse("whether " + a.to_string() + " is " + b.to_string() + " is not known");
  return known.value_or(false);
}

bool Inference::equal(const SymExpr& a, const SymExpr& b, bool otherwise) {
  if (a == b) return true;
  if (a.is_constant() && b.is_constant()) return false;
  return decide({a, Relation::equal, b}).value_or(otherwise);
}

bool Inference::less(const SymExpr& a, const SymExpr& b) {
  if (auto difference = (b - a).constant()) return *difference > 0;
  auto known = decide({a, Relation::less, b});
  if (!known) refuse("whether " + a.to_string() + " is below " + b.to_string() + " is not known");
  return known.value_or(false);
}

void Inference::add(DType dtype, std::vector<SymExpr> sizes, const TensorType& like) {
  add(contiguous_type(dtype, std::move(sizes), like));
}

TensorType contiguous_type(DType dtype, std::vector<SymExpr> sizes, const TensorType& like) {
  TensorType type;
  type.dtype = dtype;
  type.strides = contiguous_strides(sizes);
  type.sizes = std::move(sizes);
  type.device = like.device;
  return type;
}

std::vector<SymExpr> broadcast_sizes(Inference& in, std::span<const TensorType* const> tensors) {
  std::size_t rank = 0;
  for (const TensorType* tensor : tensors) rank = std::max(rank, tensor->rank());
  std::vector<SymExpr> sizes(rank, SymExpr(1));
  for (const TensorType* tensor : tensors) {
    for (std::size_t i = 0; i < tensor->rank(); ++i) {
      SymExpr& size = sizes[rank - tensor->rank() + i];
      const SymExpr& own = tensor->sizes[i];
      if (own == size) continue;
      if (size == SymExpr(1)) {  // whatever the own one is
        size = own;
        continue;
      }
      if (in.is_one(own)) continue;
      if (in.is_one(size))
        size = own;
      else if (!in.equal(size, own)) {
        in.fail("sizes " + size.to_string() + " and " + own.to_string() + " do not broadcast");
      }
    }
  }
  return sizes;
}

namespace {

/// Whether the dims lie one over the other without gaps whatever their sizes are, so that nothing
/// needs to be asked of a size: each stride is the product of the sizes below it.
bool is_dense_at_all_sizes(const TensorType& type) {
  std::vector<std::size_t> left;
  for (std::size_t i = 0; i < type.rank(); ++i) {
    if (type.sizes[i] != SymExpr(1)) left.push_back(i);
  }
  for (SymExpr next = 1; !left.empty();) {
    const auto dim =
        std::ranges::find_if(left, [&](std::size_t i) { return type.strides[i] == next; });
    if (dim == left.end()) return false;
    next *= type.sizes[*dim];
    left.erase(dim);
  }
  return true;
}

}  // namespace

bool is_dense(Inference& in, const TensorType& type) {
  if (is_contiguous(type) || is_dense_at_all_sizes(type)) return true;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < type.rank(); ++i) {
    if (type.sizes[i] != SymExpr(0) && type.sizes[i] != SymExpr(1)) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return in.less(type.strides[a], type.strides[b]);
  });
  SymExpr next = 1;
  for (std::size_t i : order) {  // a gap that numbers show says all: dims beyond it are not asked
    const SymExpr gap = type.strides[i] - next;
    if (!gap.is_constant()) break;
    if (gap != SymExpr(0) && !in.is_one(type.sizes[i])) return false;
    if (gap == SymExpr(0)) next *= type.sizes[i];
  }
  next = 1;
  for (std::size_t i : order) {
    if (in.is_one(type.sizes[i])) continue;
    if (!in.equal(type.strides[i], next, false)) return false;
    next *= type.sizes[i];
  }
  return true;
}

bool overlaps(Inference& in, const TensorType& type) {
  if (is_contiguous(type) || is_dense_at_all_sizes(type)) return false;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < type.rank(); ++i) {
    if (!in.is_one(type.sizes[i])) order.push_back(i);
  }
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return in.less(type.strides[a], type.strides[b]);
  });
  SymExpr reach = 0;
  for (const std::size_t dim : order) {
    if (!in.less(reach, type.strides[dim])) return true;
    reach += (type.sizes[dim] - SymExpr(1)) * type.strides[dim];
  }
  return false;
}

std::vector<SymExpr> channels_last_strides(const std::vector<SymExpr>& sizes) {
  std::vector<SymExpr> strides(sizes.size(), SymExpr(1));
  SymExpr next = sizes[1];
  for (std::size_t i = sizes.size(); i-- > 2; next *= sizes[i]) strides[i] = next;
  strides[0] = next;
  return strides;
}

bool asks_channels_last(const TensorType& type, std::string_view format) {
  return (type.rank() == 4 && format == "channels_last") ||
         (type.rank() == 5 && format == "channels_last_3d");
}

bool suggests_channels_last(Inference& in, const TensorType& type) {
  if ((type.rank() != 4 && type.rank() != 5) || in.is_zero(type.strides[1])) return false;
  std::vector<std::size_t> order = {1, 3, 2, 0};
  if (type.rank() == 5) order.insert(order.begin() + 1, 4);
  SymExpr least = 0;
  for (std::size_t dim : order) {
    const SymExpr& stride = type.strides[dim];
    if (in.is_zero(type.sizes[dim]) || in.less(stride, least)) return false;
    // Fallback to contiguous for N111 and for NC11 with equal strides, as c10 does.
    if (dim == 0 && in.equal(least, type.strides[1])) return false;
    least = stride;
    if (dim != 0 && in.less(SymExpr(1), type.sizes[dim])) least *= type.sizes[dim];
  }
  return true;
}

namespace {

/// Operand strides over the broadcast sizes: 0 where the operand is repeated.
std::vector<SymExpr> broadcast_strides(Inference& in, const TensorType& type,
                                       const std::vector<SymExpr>& sizes) {
  std::vector<SymExpr> strides(sizes.size(), SymExpr(0));
  std::size_t shift = sizes.size() - type.rank();
  for (std::size_t i = 0; i < type.rank(); ++i) {
    const SymExpr& whole = sizes[shift + i];
    const bool repeated = type.sizes[i] != whole && in.is_one(type.sizes[i]) && !in.is_one(whole);
    if (!repeated) strides[shift + i] = type.strides[i];
  }
  return strides;
}

/// TensorIterator's order of dims, the fastest first: an insertion sort that bears with comparisons
/// that decide nothing. `compare` of two dims: negative where the first is the faster one, positive
/// where they must swap.
template <class Compare>
std::vector<std::size_t> dims_in_order(std::size_t rank, const Compare& compare) {
  std::vector<std::size_t> order(rank);
  std::iota(order.rbegin(), order.rend(), 0);
  for (std::size_t i = 1; i < order.size(); ++i) {
    for (std::size_t high = i, low = i; low-- > 0;) {
      const int comparison = compare(order[low], order[high]);
      if (comparison > 0) {
        std::swap(order[low], order[high]);
        high = low;
      } else if (comparison < 0) {
        break;
      }
    }
  }
  return order;
}

/// TensorIterator's comparison of two dims: -1 a is the faster one, 1 they must swap, 0 ambiguous.
int compare_dims(Inference& in, const std::vector<std::vector<SymExpr>>& operands,
                 const std::vector<SymExpr>& sizes, std::size_t a, std::size_t b) {
  for (const std::vector<SymExpr>& strides : operands) {
    if (in.is_zero(strides[a]) || in.is_zero(strides[b])) continue;
    if (in.equal(strides[a], strides[b])) {
      if (in.less(sizes[b], sizes[a])) return 1;
      continue;
    }
    return in.less(strides[a], strides[b]) ? -1 : 1;
  }
  return 0;
}

std::vector<SymExpr> iterator_strides(Inference& in, std::span<const TensorType* const> tensors,
                                      const std::vector<SymExpr>& sizes) {
  std::vector<std::vector<SymExpr>> operands;
  for (const TensorType* tensor : tensors)
    operands.push_back(broadcast_strides(in, *tensor, sizes));
  const auto order = dims_in_order(sizes.size(), [&](std::size_t a, std::size_t b) {
    return compare_dims(in, operands, sizes, a, b);
  });
  bool natural = std::is_sorted(order.rbegin(), order.rend());
  if (natural) return contiguous_strides(sizes);
  std::vector<SymExpr> strides(sizes.size());
  SymExpr next = 1;
  for (std::size_t dim : order) {
    strides[dim] = next;
    next *= sizes[dim];
  }
  return strides;
}

}  // namespace

std::vector<SymExpr> elementwise_strides(Inference& in, std::span<const TensorType* const> tensors,
                                         const std::vector<SymExpr>& sizes, bool with_number) {
  bool same_shape = !with_number, contiguous = true, equal_strides = true;
  for (const TensorType* tensor : tensors) {
    if (tensor->sizes.size() != sizes.size()) same_shape = false;
    for (std::size_t i = 0; same_shape && i < sizes.size(); ++i) {
      same_shape = in.equal(tensor->sizes[i], sizes[i]);
    }
    contiguous = contiguous && is_contiguous(*tensor);
    equal_strides = equal_strides && tensor->strides == tensors.front()->strides;
  }
  if (same_shape) {
    if (contiguous) return contiguous_strides(sizes);
    auto channels_last = [&](const TensorType* t) {
      return t->rank() == 4 && is_channels_last(in, *t);
    };
    if (std::all_of(tensors.begin(), tensors.end(), channels_last))
      return channels_last_strides(sizes);
    if (equal_strides && is_dense(in, *tensors.front())) return tensors.front()->strides;
  }
  return iterator_strides(in, tensors, sizes);
}

std::vector<SymExpr> preserved_strides(Inference& in, const TensorType& type) {
  if (is_dense(in, type)) return type.strides;
  const auto order = dims_in_order(type.rank(), [&](std::size_t a, std::size_t b) {
    if (in.is_zero(type.strides[a]) || in.is_zero(type.strides[b])) return 0;
    if (in.equal(type.strides[a], type.strides[b]))
      return in.less(type.sizes[b], type.sizes[a]) ? 1 : 0;
    return in.less(type.strides[a], type.strides[b]) ? -1 : 1;
  });
  std::vector<SymExpr> strides(type.rank());
  SymExpr next = 1;
  for (const std::size_t dim : order) {
    strides[dim] = next;
    if (type.sizes[dim] != SymExpr(0)) next *= type.sizes[dim];
  }
  return strides;
}

bool is_channels_last(Inference& in, const TensorType& type) {
  if (type.rank() != 4 && type.rank() != 5) return false;
  const std::vector<SymExpr> strides = channels_last_strides(type.sizes);
  for (std::size_t i = 0; i < type.rank(); ++i) {
    const bool lies_there = type.strides[i] == strides[i] || in.is_one(type.sizes[i]) ||
                            in.equal(type.strides[i], strides[i], false);
    if (!lies_there) return false;
  }
  return true;
}

TensorType elementwise_type(Inference& in, std::span<const TensorType* const> tensors, DType dtype,
                            bool with_number) {
  TensorType type;
  type.dtype = dtype;
  if (tensors.empty()) return type;
  type.sizes = broadcast_sizes(in, tensors);
  if (in.failed()) return type;
  type.strides = elementwise_strides(in, tensors, type.sizes, with_number);
  for (const TensorType* tensor : tensors) {
    type.device = tensor->device;
    if (tensor->rank() > 0) break;  // a tensor without dims follows the others' device
  }
  return type;
}

std::optional<std::vector<SymExpr>> view_strides(Inference& in, const TensorType& type,
                                                 const std::vector<SymExpr>& sizes) {
  if (type.rank() == 0) return std::vector<SymExpr>(sizes.size(), SymExpr(1));
  if (type.strides == contiguous_strides(type.sizes)) return contiguous_strides(sizes);
  if (in.is_zero(element_count(type.sizes)))
    return type.sizes == sizes ? type.strides : contiguous_strides(sizes);
  if (type.sizes == sizes) {
    // A dim of one element gets the stride that it has beside the dim behind it.
    std::vector<SymExpr> strides = type.strides;
    for (std::size_t i = strides.size() - 1; i-- > 0;) {
      if (in.is_one(sizes[i])) strides[i] = sizes[i + 1] * strides[i + 1];
    }
    return strides;
  }
  // Walk both shapes from the fastest dim. A chunk is a run of old dims that lie behind one another
  // in memory; the new dims must tile every chunk exactly.
  std::vector<SymExpr> strides(sizes.size());
  std::size_t view_dim = sizes.size();
  SymExpr base = type.strides.back(), old_count = 1, new_count = 1;
  for (std::size_t dim = type.rank(); dim-- > 0;) {
    old_count *= type.sizes[dim];
    const bool chunk_ends =
        dim == 0 || (type.strides[dim - 1] != old_count * base && !in.is_one(type.sizes[dim - 1]) &&
                     !in.equal(type.strides[dim - 1], old_count * base, false));
    if (!chunk_ends) continue;
    // A dim that fills the chunk does so whether it is one element or more.
    const auto fills = [&](const SymExpr& size) {
      return new_count != old_count && new_count * size == old_count;
    };
    while (view_dim > 0 && (fills(sizes[view_dim - 1]) || in.is_one(sizes[view_dim - 1]) ||
                            (new_count != old_count && in.less(new_count, old_count)))) {
      strides[--view_dim] = new_count * base;
      new_count *= sizes[view_dim];
    }
    if (!in.equal(new_count, old_count, false)) return std::nullopt;
    if (dim > 0) {
      base = type.strides[dim - 1];
      old_count = new_count = 1;
    }
  }
  if (view_dim != 0) return std::nullopt;
  return strides;
}

std::vector<SymExpr> complete_sizes(Inference& in, const TensorType& type,
                                    std::vector<SymExpr> sizes) {
  SymExpr known = 1, *open = nullptr;
  for (SymExpr& size : sizes) {
    if (size != SymExpr(-1))
      known *= size;
    else if (open)
      in.fail("only one size may be -1");
    else
      open = &size;
  }
  SymExpr count = element_count(type.sizes);
  if (open) {
    if (known == SymExpr(0))
      in.fail("the size for -1 is ambiguous");
    else
      *open = count.is_constant() && known.is_constant() ? floordiv(count, known) : SymExpr(0);
    if (!count.is_constant() || !known.is_constant()) {
      // s0*s1*8 over s0*8: cancel what the two products share.
      RangeFacts facts;
      for (const Symbol& symbol : in.graph().interface.symbols) {
        facts.set(symbol.name, {SymExpr(std::max<std::int64_t>(symbol.minimum, 1)), std::nullopt});
      }
      *open = simplify(floordiv(count, known), facts);
    }
    known *= *open;
  }
  if (!in.failed() && !in.equal(known, count, true)) {
    in.fail(count.to_string() + " elements do not fit the sizes asked for");
  }
  return sizes;
}

std::vector<SymExpr> reduced_sizes(const std::vector<SymExpr>& sizes,
                                   const std::vector<std::int64_t>& dims, bool keep) {
  std::vector<SymExpr> result;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    bool reduced = std::binary_search(dims.begin(), dims.end(), static_cast<std::int64_t>(i));
    if (!reduced)
      result.push_back(sizes[i]);
    else if (keep)
      result.push_back(1);
  }
  return result;
}

TensorType permuted(const TensorType& type, const std::vector<std::int64_t>& dims) {
  TensorType result = type;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    result.sizes[i] = type.sizes[dims[i]];
    result.strides[i] = type.strides[dims[i]];
  }
  return result;
}

TensorType without_dim(TensorType type, std::int64_t dim) {
  type.sizes.erase(type.sizes.begin() + dim);
  type.strides.erase(type.strides.begin() + dim);
  return type;
}

TensorType with_dim(TensorType type, std::int64_t dim, SymExpr size, SymExpr stride) {
  type.sizes.insert(type.sizes.begin() + dim, std::move(size));
  type.strides.insert(type.strides.begin() + dim, std::move(stride));
  return type;
}

TensorType sliced(TensorType type, std::int64_t dim, const SymExpr& start, const SymExpr& length,
                  const SymExpr& step) {
  type.storage_offset += start * type.strides[dim];
  type.sizes[dim] = length;
  type.strides[dim] *= step;
  return type;
}

SliceBounds clamp_slice(Inference& in, const SymExpr& size, const Argument* start,
                        const Argument* stop, const SymExpr& step) {
  auto clamp = [&](const Argument* argument, const SymExpr& otherwise, const SymExpr& low) {
    if (!argument) return otherwise;
    SymExpr bound = 0;
    if (auto* plain = argument->as<std::int64_t>())
      bound = *plain;
    else if (auto* symbolic = argument->as<SymExpr>())
      bound = *symbolic;
    else if (auto* value = argument->as<Argument::Value>())
      bound = in.graph().values[value->id].expression;
    if (bound == size) return size;
    if (bound == SymExpr(INT64_MAX)) return size;
    if (in.less(bound, SymExpr(0))) bound += size;
    if (in.less(bound, low)) return low;
    return in.less(size, bound) ? size : bound;
  };
  SliceBounds bounds;
  bounds.start = clamp(start, 0, 0);
  bounds.stop = clamp(stop, size, bounds.start);
  SymExpr extent = bounds.stop - bounds.start;
  bounds.length = step == SymExpr(1) ? extent : floordiv(extent + step - SymExpr(1), step);
  return bounds;
}

}  // namespace penstock::ops
