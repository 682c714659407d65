// Views: where the result lies in its argument's memory.
#include <algorithm>
#include <numeric>

#include "ops/rules/rules.h"

namespace penstock::ops {

namespace {

std::vector<std::int64_t> permute_dims(Inference& in, std::size_t rank) {
  std::vector<std::int64_t> dims = in.constants("dims");
  if (dims.size() != rank) in.fail("permutes another number of dims");
  for (std::int64_t& dim : dims) dim = in.wrap_dim(dim, rank);
  std::vector<std::int64_t> sorted = dims;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    in.fail("a dim appears twice");
  return dims;
}

std::vector<std::int64_t> moved_dims(Inference& in, std::size_t rank) {
  std::vector<std::int64_t> from = in.constants("source"), to = in.constants("destination");
  std::vector<std::int64_t> order(rank, -1), rest;
  if (from.size() != to.size()) in.fail("source and destination differ in length");
  for (std::size_t i = 0; i < from.size() && !in.failed(); ++i) {
    from[i] = in.wrap_dim(from[i], rank);
    if (rank > 0) order[in.wrap_dim(to[i], rank)] = from[i];
  }
  for (std::int64_t dim = 0; dim < static_cast<std::int64_t>(rank); ++dim) {
    if (std::find(from.begin(), from.end(), dim) == from.end()) rest.push_back(dim);
  }
  auto next = rest.begin();
  for (std::int64_t& dim : order) {
    if (dim < 0 && next != rest.end()) dim = *next++;
  }
  return order;
}

std::vector<std::int64_t> swapped_dims(Inference& in, std::size_t rank) {
  std::vector<std::int64_t> dims(rank);
  std::iota(dims.begin(), dims.end(), 0);
  std::int64_t last = static_cast<std::int64_t>(rank) - 1, a = 0, b = last;
  if (in.op().id == OpId::mT_default) a = b - 1;
  if (in.has("dim0") || in.has("axis0")) {
    a = in.dim(in.has("dim0") ? "dim0" : "axis0", 0, rank);
    b = in.dim(in.has("dim1") ? "dim1" : "axis1", 0, rank);
  }
  if (a < 0 && rank > 0)
    in.fail("needs at least two dims");
  else if (rank > 0)
    std::swap(dims[a], dims[b]);
  return dims;
}

}  // namespace

std::vector<std::int64_t> view_permutation(Inference& in) {
  std::size_t rank = in.tensor("self").rank();
  if (in.has("dims")) return permute_dims(in, rank);
  if (in.has("source")) return moved_dims(in, rank);
  if (in.op().id != OpId::numpy_T_default) return swapped_dims(in, rank);
  std::vector<std::int64_t> dims(rank);
  std::iota(dims.rbegin(), dims.rend(), 0);
  return dims;
}

}  // namespace penstock::ops

namespace penstock::ops::rules {

namespace {

void add_view_or_copy(Inference& in, const TensorType& self, std::vector<SymExpr> sizes,
                      bool copy_allowed) {
  sizes = complete_sizes(in, self, std::move(sizes));
  if (in.failed()) return;
  if (auto strides = view_strides(in, self, sizes)) {
    TensorType type = self;
    type.sizes = std::move(sizes);
    type.strides = std::move(*strides);
    return in.add_view(std::move(type), in.value("self"));
  }
  if (!copy_allowed) return in.fail("the strides do not allow this view");
  in.add(self.dtype, std::move(sizes), self);
}

std::vector<SymExpr> target_sizes(Inference& in) {
  if (in.has("other")) return in.tensor("other").sizes;
  return in.integers(in.has("size") ? "size" : "shape");
}

}  // namespace

void view(Inference& in) {
  const TensorType& self = in.tensor("self");
  add_view_or_copy(in, self, target_sizes(in), false);
}

void reshape(Inference& in) {
  const TensorType& self = in.tensor("self");
  add_view_or_copy(in, self, target_sizes(in), true);
}

void flatten(Inference& in) {
  const TensorType& self = in.tensor("self");
  if (self.rank() == 0) return add_view_or_copy(in, self, {SymExpr(1)}, true);
  std::int64_t start = in.dim("start_dim", 0, self.rank()),
               end = in.dim("end_dim", -1, self.rank());
  if (start > end) in.fail("start_dim is behind end_dim");
  if (in.failed()) return;
  if (start == end) return in.add_view(self, in.value("self"));
  std::vector<SymExpr> sizes(self.sizes.begin(), self.sizes.begin() + start);
  sizes.push_back(element_count({self.sizes.begin() + start, self.sizes.begin() + end + 1}));
  sizes.insert(sizes.end(), self.sizes.begin() + end + 1, self.sizes.end());
  add_view_or_copy(in, self, std::move(sizes), true);
}

void ravel(Inference& in) {
  const TensorType& self = in.tensor("self");
  if (in.failed()) return;
  SymExpr count = element_count(self.sizes);
  if (!is_contiguous(self)) return in.add(self.dtype, {count}, self);
  add_view_or_copy(in, self, {count}, false);
}

void unflatten(Inference& in) {
  const TensorType& self = in.tensor("self");
  std::int64_t dim = in.dim("dim", 0, self.rank());
  std::vector<SymExpr> parts = in.integers("sizes");
  if (in.failed() || self.rank() == 0) return in.fail("unflatten needs a dim");
  TensorType row;
  row.sizes = {self.sizes[dim]};
  parts = complete_sizes(in, row, std::move(parts));
  std::vector<SymExpr> sizes = self.sizes;
  sizes.erase(sizes.begin() + dim);
  sizes.insert(sizes.begin() + dim, parts.begin(), parts.end());
  add_view_or_copy(in, self, std::move(sizes), false);
}

void expand(Inference& in) {
  const TensorType& self = in.tensor("self");
  std::vector<SymExpr> sizes = target_sizes(in);
  if (in.failed() || sizes.size() < self.rank()) return in.fail("expands to fewer dims");
  TensorType type = self;
  std::size_t lead = sizes.size() - self.rank();
  type.strides.assign(sizes.size(), SymExpr(0));
  for (std::size_t i = 0; i < self.rank(); ++i) {
    SymExpr& size = sizes[lead + i];
    if (size == SymExpr(-1)) size = self.sizes[i];
    bool repeats = in.is_one(self.sizes[i]) && !in.is_one(size);
    if (!repeats && !in.equal(size, self.sizes[i])) in.fail("expands a dim whose size is not 1");
    type.strides[lead + i] = repeats ? SymExpr(0) : self.strides[i];
  }
  // A new leading dim of size 1 has the stride that a contiguous tensor has there, but in front of
  // no dim at all.
  for (std::size_t i = self.rank() == 0 ? 0 : lead; i-- > 0;) {
    if (in.is_one(sizes[i]))
      type.strides[i] = i + 1 < sizes.size() ? sizes[i + 1] * type.strides[i + 1] : SymExpr(1);
  }
  type.sizes = std::move(sizes);
  if (!in.failed()) in.add_view(std::move(type), in.value("self"));
}

void permute(Inference& in) {
  const TensorType& self = in.tensor("self");
  std::vector<std::int64_t> dims = view_permutation(in);
  if (!in.failed()) in.add_view(permuted(self, dims), in.value("self"));
}

void transpose(Inference& in) {
  permute(in);
}
void movedim(Inference& in) {
  permute(in);
}

void squeeze(Inference& in) {
  TensorType type = in.tensor("self");
  std::vector<std::int64_t> dims = in.dims("dim", type.rank());
  if (in.failed()) return;
  for (auto dim = dims.rbegin(); dim != dims.rend(); ++dim) {
    if (in.is_one(type.sizes[*dim])) type = without_dim(std::move(type), *dim);
  }
  in.add_view(std::move(type), in.value("self"));
}

void unsqueeze(Inference& in) {
  TensorType type = in.tensor("self");
  std::int64_t dim = in.dim("dim", 0, type.rank() + 1);
  if (in.failed()) return;
  auto at = static_cast<std::size_t>(dim);
  SymExpr stride = at < type.rank() ? type.sizes[at] * type.strides[at] : SymExpr(1);
  in.add_view(with_dim(std::move(type), dim, 1, std::move(stride)), in.value("self"));
}

void select(Inference& in) {
  const TensorType& self = in.tensor("self");
  std::int64_t dim = in.dim("dim", 0, self.rank());
  SymExpr index = in.integer("index");
  if (in.failed() || self.rank() == 0) return in.fail("select needs a dim");
  if (in.less(index, SymExpr(0))) index += self.sizes[dim];
  if (in.less(index, SymExpr(0)) || !in.less(index, self.sizes[dim]))
    return in.fail("index out of range");
  in.add_view(without_dim(sliced(self, dim, index, 1, 1), dim), in.value("self"));
}

void slice(Inference& in) {
  const TensorType& self = in.tensor("self");
  std::int64_t dim = in.dim("dim", 0, self.rank());
  SymExpr step = in.integer("step", 1);
  if (in.failed() || self.rank() == 0) return in.fail("slice needs a dim");
  SliceBounds bounds = clamp_slice(in, self.sizes[dim], in.find("start"), in.find("end"), step);
  in.add_view(sliced(self, dim, bounds.start, bounds.length, step), in.value("self"));
}

void narrow(Inference& in) {
  const TensorType& self = in.tensor("self");
  std::int64_t dim = in.dim("dim", 0, self.rank());
  SymExpr start = in.integer("start"), length = in.integer("length");
  if (in.failed() || self.rank() == 0) return in.fail("narrow needs a dim");
  if (in.less(start, SymExpr(0))) start += self.sizes[dim];
  if (in.less(self.sizes[dim], start + length)) return in.fail("the range leaves the dim");
  in.add_view(sliced(self, dim, start, length, 1), in.value("self"));
}

void diagonal(Inference& in) {
  TensorType type = in.tensor("self");
  std::int64_t first = in.dim("dim1", 0, type.rank()), second = in.dim("dim2", 1, type.rank());
  SymExpr offset = in.integer("offset", 0);
  if (in.failed() || first == second) return in.fail("diagonal needs two dims");
  SymExpr rows = type.sizes[first], columns = type.sizes[second];
  bool below = in.less(offset, SymExpr(0));
  (below ? rows : columns) -= below ? -offset : offset;
  SymExpr length = in.less(rows, columns) ? rows : columns;
  if (in.less(length, SymExpr(0))) length = 0;
  if (length != SymExpr(0)) {
    type.storage_offset += below ? -offset * type.strides[first] : offset * type.strides[second];
  }
  SymExpr stride = type.strides[first] + type.strides[second];
  type = without_dim(std::move(type), std::max(first, second));
  type = without_dim(std::move(type), std::min(first, second));
  auto end = static_cast<std::int64_t>(type.rank());
  in.add_view(with_dim(std::move(type), end, std::move(length), std::move(stride)),
              in.value("self"));
}

void unfold(Inference& in) {
  TensorType type = in.tensor("self");
  std::int64_t dim = in.dim("dimension", 0, type.rank());
  SymExpr size = in.integer("size"), step = in.integer("step", 1);
  if (in.failed()) return;
  // A tensor without dims has one window, of its one element at most.
  if (type.rank() == 0 && in.less(SymExpr(1), size)) return in.fail("no window fits");
  if (type.rank() == 0)
    return in.add_view(with_dim(std::move(type), 0, std::move(size), 1), in.value("self"));
  SymExpr stride = type.strides[dim];
  type.sizes[dim] = floordiv(type.sizes[dim] - size, step) + SymExpr(1);
  type.strides[dim] *= step;
  auto end = static_cast<std::int64_t>(type.rank());
  in.add_view(with_dim(std::move(type), end, std::move(size), std::move(stride)), in.value("self"));
}

void as_strided(Inference& in) {
  TensorType type = in.tensor("self");
  type.sizes = in.integers("size");
  type.strides = in.integers("stride");
  type.storage_offset = in.integer("storage_offset", type.storage_offset);
  if (type.sizes.size() != type.strides.size()) in.fail("size and stride differ in length");
  if (!in.failed()) in.add_view(std::move(type), in.value("self"));
}

void alias(Inference& in) {
  in_place(in);
}

namespace {

void add_pieces(Inference& in, std::int64_t dim, const std::vector<SymExpr>& lengths) {
  const TensorType& self = in.tensor("self");
  SymExpr start = 0;
  for (const SymExpr& length : lengths) {
    in.add_view(sliced(self, dim, start, length, 1), in.value("self"));
    start += length;
  }
}

/// Pieces of `size`, the last one shorter. How many they are is a fact of the graph: each piece
/// asks whether more than it is left.
std::vector<SymExpr> equal_pieces(Inference& in, const SymExpr& whole, const SymExpr& size) {
  constexpr std::size_t kMostAsked = 64;
  if (in.less(size, SymExpr(0))) return {};
  const SymExpr step = size == SymExpr(0) ? SymExpr(1) : size;
  const bool known = whole.is_constant() && size.is_constant();
  std::vector<SymExpr> lengths;
  SymExpr left = whole;
  while (!in.failed() && in.less(step, left)) {
    if (!known && lengths.size() == kMostAsked)
      in.refuse("the number of pieces depends on a symbolic size");
    lengths.push_back(size);
    left = left - step;
  }
  lengths.push_back(left);
  return lengths;
}

}  // namespace

void split(Inference& in) {
  const TensorType& self = in.tensor("self");
  std::int64_t dim = in.dim("dim", 0, self.rank());
  if (in.failed() || self.rank() == 0) return in.fail("split needs a dim");
  std::string_view name = in.has("split_sizes") ? "split_sizes" : "split_size";
  const Argument* sizes = in.find(name);
  bool list = sizes && sizes->as<Argument::Sequence>();
  add_pieces(in, dim,
             list ? in.integers(name) : equal_pieces(in, self.sizes[dim], in.integer(name, 1)));
}

void chunk(Inference& in) {
  const TensorType& self = in.tensor("self");
  std::int64_t dim = in.dim("dim", 0, self.rank()), chunks = in.constant("chunks", 1);
  if (in.failed() || self.rank() == 0 || chunks < 1)
    return in.fail("chunk needs a dim and a count");
  const SymExpr& whole = self.sizes[dim];
  SymExpr size = floordiv(whole + SymExpr(chunks - 1), chunks);
  if (!whole.is_constant() && floordiv(whole, chunks) * SymExpr(chunks) == whole) {
    return add_pieces(in, dim, std::vector<SymExpr>(chunks, floordiv(whole, chunks)));
  }
  if (whole == SymExpr(0)) return add_pieces(in, dim, std::vector<SymExpr>(chunks, SymExpr(0)));
  add_pieces(in, dim, equal_pieces(in, whole, size));
}

void unbind(Inference& in) {
  const TensorType& self = in.tensor("self");
  std::int64_t dim = in.dim("dim", 0, self.rank());
  if (in.failed() || self.rank() == 0) return in.fail("unbind needs a dim");
  auto count = self.sizes[dim].constant();
  if (!count) return in.refuse("the number of pieces depends on a symbolic size");
  for (std::int64_t i = 0; i < *count; ++i) {
    in.add_view(without_dim(sliced(self, dim, i, 1, 1), dim), in.value("self"));
  }
}

}  // namespace penstock::ops::rules
