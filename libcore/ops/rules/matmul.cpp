// Matrix products and attention.
#include <algorithm>
#include <array>

#include "ops/promotion.h"
#include "ops/rules/layout.h"
#include "ops/rules/rules.h"

namespace penstock::ops::rules {

namespace {

void require_equal(Inference& in, const SymExpr& a, const SymExpr& b) {
  if (!in.failed() && !in.equal(a, b)) {
    in.fail("inner sizes " + a.to_string() + " and " + b.to_string() + " differ");
  }
}

/// What is added to a product has its sizes, but for ones and leading dims.
void require_addend(Inference& in, const TensorType& addend, const std::vector<SymExpr>& sizes) {
  if (in.failed()) return;
  if (addend.rank() > sizes.size()) return in.fail("what is added has more dims than the product");
  const std::size_t lead = sizes.size() - addend.rank();
  for (std::size_t i = 0; i < addend.rank(); ++i) {
    const auto gap = (addend.sizes[i] - sizes[lead + i]).constant();
    if (gap && *gap != 0 && addend.sizes[i] != SymExpr(1))
      return in.fail("what is added does not fit the product");
  }
}

void product(Inference& in, std::string_view left, std::string_view right) {
  const TensorType& a = in.tensor(left);
  const TensorType& b = in.tensor(right);
  if (in.failed()) return;
  std::size_t rank = a.rank();
  if (rank != b.rank() || rank < 2 || rank > 3)
    return in.fail("expects two matrices or two batches");
  require_equal(in, a.sizes[rank - 1], b.sizes[rank - 2]);
  if (a.dtype != b.dtype) in.fail("expects one dtype");
  std::vector<SymExpr> sizes = a.sizes;
  sizes.back() = b.sizes.back();
  if (!in.failed()) in.add(a.dtype, std::move(sizes), a);
}

}  // namespace

void mm(Inference& in) {
  product(in, "self", "mat2");
}

void addmm(Inference& in) {
  const bool batched = in.op().id == OpId::baddbmm_default;
  const std::string_view left = batched ? "batch1" : "mat1", right = batched ? "batch2" : "mat2";
  product(in, left, right);
  const TensorType& addend = in.tensor("self");
  if (in.failed()) return;
  std::vector<SymExpr> sizes = in.tensor(left).sizes;
  sizes.back() = in.tensor(right).sizes.back();
  require_addend(in, addend, sizes);
}

void addmv(Inference& in) {
  const TensorType& matrix = in.tensor("mat");
  const TensorType& vector = in.tensor("vec");
  if (in.failed() || matrix.rank() != 2 || vector.rank() != 1)
    return in.fail("expects a matrix and a vector");
  require_equal(in, matrix.sizes[1], vector.sizes[0]);
  if (matrix.dtype != vector.dtype || in.tensor("self").dtype != matrix.dtype)
    in.fail("expects one dtype");
  require_addend(in, in.tensor("self"), {matrix.sizes[0]});
  if (!in.failed()) in.add(matrix.dtype, {matrix.sizes[0]}, matrix);
}

void addbmm(Inference& in) {
  const TensorType& a = in.tensor("batch1");
  const TensorType& b = in.tensor("batch2");
  if (in.failed() || a.rank() != 3 || b.rank() != 3) return in.fail("expects two batches");
  require_equal(in, a.sizes[0], b.sizes[0]);
  require_equal(in, a.sizes[2], b.sizes[1]);
  if (a.dtype != b.dtype || in.tensor("self").dtype != a.dtype) in.fail("expects one dtype");
  require_addend(in, in.tensor("self"), {a.sizes[1], b.sizes[2]});
  if (!in.failed()) in.add(a.dtype, {a.sizes[1], b.sizes[2]}, a);
}

void addr(Inference& in) {
  TensorType addend = in.tensor("self"), column = in.tensor("vec1"), row = in.tensor("vec2");
  if (in.failed() || column.rank() != 1 || row.rank() != 1) return in.fail("expects two vectors");
  const DType dtype = promote(addend.dtype, promote(column.dtype, row.dtype));
  column = with_dim(std::move(column), 1, 1, 1);
  const TensorType* all[] = {&addend, &column, &row};
  in.add(elementwise_type(in, all, dtype));
}

void inner(Inference& in) {
  const TensorType& a = in.tensor("self");
  const TensorType& b = in.tensor("other");
  if (in.failed()) return;
  if (a.dtype != b.dtype) return in.fail("expects one dtype");
  if (a.rank() == 0 || b.rank() == 0) {
    const TensorType* both[] = {&a, &b};
    return in.add(elementwise_type(in, both, a.dtype));
  }
  require_equal(in, a.sizes.back(), b.sizes.back());
  std::vector<SymExpr> sizes(a.sizes.begin(), a.sizes.end() - 1);
  sizes.insert(sizes.end(), b.sizes.begin(), b.sizes.end() - 1);
  if (!in.failed()) in.add(a.dtype, std::move(sizes), a);
}

void outer(Inference& in) {
  const TensorType& a = in.tensor("self");
  const TensorType& b = in.tensor("vec2");
  if (in.failed() || a.rank() != 1 || b.rank() != 1) return in.fail("expects two vectors");
  in.add(promote(a.dtype, b.dtype), {a.sizes[0], b.sizes[0]}, a);
}

void matmul(Inference& in) {
  bool linear = in.op().id == OpId::linear_default;
  TensorType a = in.tensor(linear ? "input" : "self");
  TensorType b = linear ? in.tensor("weight")
                        : in.tensor(in.has("vec")      ? "vec"
                                    : in.has("tensor") ? "tensor"
                                                       : "other");
  if (in.failed()) return;
  if (a.rank() == 0 || b.rank() == 0) return in.fail("expects tensors with dims");
  if (linear && b.rank() == 2) b = permuted(b, {1, 0});
  bool vector_left = a.rank() == 1, vector_right = b.rank() == 1;
  if (vector_left) a = with_dim(std::move(a), 0, 1, 1);
  if (vector_right) b = with_dim(std::move(b), 1, 1, 1);
  require_equal(in, a.sizes.back(), b.sizes[b.rank() - 2]);
  TensorType left = a, right = b;
  left.sizes.resize(a.rank() - 2);
  right.sizes.resize(b.rank() - 2);
  std::vector<SymExpr> sizes = broadcast_sizes(in, std::array<const TensorType*, 2>{&left, &right});
  sizes.push_back(a.sizes[a.rank() - 2]);
  sizes.push_back(b.sizes.back());
  TensorType type = contiguous_type(a.dtype, std::move(sizes), a);
  if (vector_right) type = without_dim(std::move(type), static_cast<std::int64_t>(type.rank()) - 1);
  if (vector_left)
    type = without_dim(std::move(type),
                       static_cast<std::int64_t>(type.rank()) - (vector_right ? 1 : 2));
  if (const TensorType* bias = linear ? in.optional_tensor("bias") : nullptr)
    require_addend(in, *bias, type.sizes);
  if (!in.failed()) in.add(std::move(type));
}

namespace {

/// Keys lie beside values, and a mask over queries and keys.
bool attends(Inference& in, const TensorType& query, const TensorType& key,
             const TensorType& value) {
  if (key.rank() < 2 || value.rank() < 2) return false;
  const SymExpr &queries = query.sizes[query.rank() - 2], &keys = key.sizes[key.rank() - 2];
  bool fits = in.equal(keys, value.sizes[value.rank() - 2]) &&
              in.equal(query.sizes.back(), key.sizes.back());
  const TensorType* mask = in.optional_tensor("attn_mask");
  if (mask == nullptr || in.failed()) return fits;
  const SymExpr* over[] = {&keys, &queries};
  for (std::size_t i = 0; i < std::min<std::size_t>(2, mask->rank()); ++i) {
    const SymExpr& size = mask->sizes[mask->rank() - 1 - i];
    fits = fits && (in.is_one(size) || in.equal(size, *over[i]));
  }
  return fits;
}

/// The masks that ATen's fused kernel takes: over queries and keys, or with dims for batches and
/// heads before them.
bool is_mask_fused(Inference& in, const TensorType& query) {
  const TensorType* mask = in.optional_tensor("attn_mask");
  if (mask == nullptr || mask->rank() == 2) return true;
  if (mask->rank() != 4) return false;
  for (const std::size_t dim : {0, 1}) {
    if (!in.is_one(mask->sizes[dim]) && !in.equal(mask->sizes[dim], query.sizes[dim])) return false;
  }
  return true;
}

/// With enable_gqa that kernel lets several heads of the query share one of the keys and values.
bool are_heads_fused(Inference& in, const TensorType& query, const TensorType& key,
                     const TensorType& value) {
  if (!in.equal(key.sizes[1], value.sizes[1])) return false;
  if (in.equal(query.sizes[1], key.sizes[1])) return true;
  const auto heads = query.sizes[1].constant(), shared = key.sizes[1].constant();
  return in.boolean("enable_gqa", false) && heads && shared && *shared != 0 &&
         *heads % *shared == 0;
}

/// Whether ATen takes the kernel whose result is laid out as the query (sdp_utils_cpp.cpp); the
/// other one's is row-major.
bool is_fused(Inference& in, const TensorType& query, const TensorType& key,
              const TensorType& value) {
  if (query.rank() != 4 || key.rank() != 4 || value.rank() != 4 || in.real("dropout_p", 0) != 0)
    return false;
  for (const TensorType* operand : {&query, &key, &value}) {
    if (!in.is_one(operand->strides[3]) || in.is_zero(operand->sizes[2])) return false;
    if (!in.equal(operand->sizes[0], query.sizes[0])) return false;
  }
  return in.equal(query.sizes[3], value.sizes[3]) && are_heads_fused(in, query, key, value) &&
         is_mask_fused(in, query);
}

}  // namespace

void attention(Inference& in) {
  const TensorType& query = in.tensor("query");
  const TensorType& key = in.tensor("key");
  const TensorType& value = in.tensor("value");
  if (in.failed() || query.rank() < 3) return in.fail("expects dims batch, …, length, features");
  if (!attends(in, query, key, value))
    return in.fail("the sizes of queries, keys, values and mask do not fit");
  std::vector<SymExpr> sizes = query.sizes;
  sizes.back() = value.sizes.back();
  TensorType type = contiguous_type(query.dtype, sizes, query);
  if (is_fused(in, query, key, value)) type.strides = preserved_strides(in, query);
  in.add(std::move(type));
}

}  // namespace penstock::ops::rules
