// Matrix products: everything becomes mm, bmm or addmm on views, which a library runs.
#include "passes/decompose/decompositions.h"

namespace penstock::passes {

namespace {

ValueId mm(Decomposition& d, ValueId a, ValueId b) {
  return d.product("aten.mm.default",
                   {arg("self", value_argument(a)), arg("mat2", value_argument(b))});
}

ValueId bmm(Decomposition& d, ValueId a, ValueId b) {
  return d.product("aten.bmm.default",
                   {arg("self", value_argument(a)), arg("mat2", value_argument(b))});
}

/// All dims but the last as one.
ValueId as_rows(Decomposition& d, ValueId x) {
  if (d.failed()) return x;
  std::vector<SymExpr> sizes = d.sizes(x);
  SymExpr columns = sizes.back();
  sizes.pop_back();
  return d.reshape(x, {element_count(sizes), columns});
}

ValueId batched(Decomposition& d, ValueId a, ValueId b) {
  TensorType left = d.type(a), right = d.type(b);
  SymExpr rows = left.sizes[left.rank() - 2], inner = left.sizes.back(),
          columns = right.sizes.back();
  left.sizes.resize(left.rank() - 2);
  right.sizes.resize(right.rank() - 2);
  const TensorType* both[] = {&left, &right};
  std::vector<SymExpr> batch = broadcast_sizes(d, both);
  auto flattened = [&](ValueId x, const SymExpr& height, const SymExpr& width) {
    std::vector<SymExpr> full = batch;
    full.insert(full.end(), {height, width});
    return d.reshape(d.broadcast(x, full), {element_count(batch), height, width});
  };
  ValueId product = bmm(d, flattened(a, rows, inner), flattened(b, inner, columns));
  batch.insert(batch.end(), {rows, columns});
  return d.reshape(product, batch);
}

/// The product of tensors with at least two dims each.
ValueId product(Decomposition& d, ValueId a, ValueId b) {
  if (d.failed()) return a;
  if (d.rank(b) > 2) return batched(d, a, b);
  if (d.rank(a) == 2) return mm(d, a, b);
  std::vector<SymExpr> sizes = d.sizes(a);
  ValueId folded = mm(d, as_rows(d, a), b);
  if (d.failed()) return a;
  sizes.back() = d.sizes(b).back();
  return d.reshape(folded, sizes);
}

}  // namespace

void matmul(Decomposition& d) {
  std::string_view second = d.has("vec") ? "vec" : d.has("tensor") ? "tensor" : "other";
  ValueId a = d.value("self"), b = d.value(second);
  if (d.failed() || d.rank(a) == 0 || d.rank(b) == 0) return d.fail("expects tensors with dims");
  bool row = d.rank(a) == 1, column = d.rank(b) == 1;
  if (row) a = d.reshape(a, {SymExpr(1), d.sizes(a)[0]});
  if (column) b = d.reshape(b, {d.sizes(b)[0], SymExpr(1)});
  ValueId result = product(d, a, b);
  if (d.failed()) return;
  std::vector<SymExpr> sizes = d.sizes(result);
  if (column) sizes.pop_back();
  if (row) sizes.erase(sizes.end() - (column ? 1 : 2));
  d.result(d.reshape(result, sizes));
}

namespace {

/// beta*self + alpha*product; the product is in the dtype that `dtype` is computed in.
void add_scaled(Decomposition& d, ValueId product, DType dtype) {
  ValueId addend = d.value("self");
  if (d.failed()) return;
  const DType compute = d.dtype_of(product);
  Operands like{{}, d.sizes(product), dtype, compute};
  if (d.differs("alpha", 1))
    product = d.binary("mul", value_argument(product), d.factor("alpha", 1, like));
  if (!d.has("beta") || d.differs("beta", 0)) {
    addend = d.convert(d.convert(addend, dtype), compute);
    if (d.differs("beta", 1))
      addend = d.binary("mul", value_argument(addend),
                        d.factor("beta", 1, {{}, d.sizes(addend), dtype, compute}));
    product = d.binary_broadcast("add", product, addend);
  }
  d.result(d.convert(product, dtype));
}

/// Converted to the dtype that it is computed in.
ValueId computed(Decomposition& d, ValueId x) {
  return d.failed() ? x : d.convert(x, ops::compute_dtype(d.dtype_of(x)));
}

}  // namespace

/// beta*self + alpha*(left @ right) with a beta that the library does not take.
void scaled_sum(Decomposition& d, ValueId left, ValueId right) {
  if (d.failed()) return;
  const DType dtype = d.dtype_of(left);
  const bool batch = d.rank(left) == 3;
  left = computed(d, left);
  right = computed(d, right);
  add_scaled(d, batch ? bmm(d, left, right) : mm(d, left, right), dtype);
}

void addmv(Decomposition& d) {
  ValueId matrix = d.value("mat"), vector = d.value("vec");
  if (d.failed()) return;
  const DType dtype = d.dtype_of(matrix);
  ValueId product =
      mm(d, computed(d, matrix), d.reshape(computed(d, vector), {d.sizes(vector)[0], SymExpr(1)}));
  add_scaled(d, d.reshape(product, {d.sizes(matrix)[0]}), dtype);
}

void addbmm(Decomposition& d) {
  ValueId a = d.value("batch1"), b = d.value("batch2");
  if (d.failed()) return;
  const DType dtype = d.dtype_of(a);
  const std::vector<SymExpr> left = d.sizes(a), right = d.sizes(b);
  // The sum over the batch is part of the inner sum of one product.
  a = d.reshape(d.permute(computed(d, a), {1, 0, 2}), {left[1], left[0] * left[2]});
  b = d.reshape(computed(d, b), {right[0] * right[1], right[2]});
  add_scaled(d, mm(d, a, b), dtype);
}

void addr(Decomposition& d) {
  ValueId a = d.value("vec1"), b = d.value("vec2");
  std::vector<TensorType> results = d.inferred();
  if (d.failed() || results.empty()) return;
  const DType dtype = results.front().dtype, compute = ops::compute_dtype(dtype);
  if (is_boolean(dtype)) return d.keep();  // combined by logic
  const std::vector<SymExpr> sizes = {d.sizes(a)[0], d.sizes(b)[0]};
  a = d.broadcast(d.convert(d.convert(a, dtype), compute), sizes, {0});
  b = d.broadcast(d.convert(d.convert(b, dtype), compute), sizes, {1});
  add_scaled(d, d.binary("mul", value_argument(a), value_argument(b)), dtype);
}

void plain_product(Decomposition& d) {
  const bool batch = d.has("batch1");
  const bool scales = d.differs("beta", 1) || d.is_number_input("alpha");
  if ((batch || d.has("mat1")) && scales) {
    return scaled_sum(d, d.value(batch ? "batch1" : "mat1"), d.value(batch ? "batch2" : "mat2"));
  }
  ValueId first = d.value("self");
  if (d.failed() || d.dtype_of(first) != DType::float16) return d.keep();
  d.result(d.product(d.op().name, d.node().args));
}

void inner(Decomposition& d) {
  ValueId a = d.value("self"), b = d.value("other");
  if (d.failed()) return;
  if (d.rank(a) == 0 || d.rank(b) == 0)
    return d.result(d.rank(a) == 0 ? d.binary_broadcast("mul", b, a)
                                   : d.binary_broadcast("mul", a, b));
  std::vector<SymExpr> sizes = d.sizes(a), columns = d.sizes(b);
  ValueId result = mm(d, as_rows(d, a), d.swap_last(as_rows(d, b)));
  sizes.pop_back();
  sizes.insert(sizes.end(), columns.begin(), columns.end() - 1);
  d.result(d.reshape(result, sizes));
}

void outer(Decomposition& d) {
  ValueId a = d.value("self"), b = d.value("vec2");
  if (d.failed()) return;
  DType dtype = ops::promote(d.dtype_of(a), d.dtype_of(b)), compute = ops::compute_dtype(dtype);
  std::vector<SymExpr> sizes = {d.sizes(a)[0], d.sizes(b)[0]};
  a = d.broadcast(d.convert(a, compute), sizes, {0});
  b = d.broadcast(d.convert(b, compute), sizes, {1});
  d.finish(d.binary("mul", value_argument(a), value_argument(b)), dtype);
}

void linear(Decomposition& d) {
  ValueId input = d.value("input"), weight = d.value("weight");
  if (d.failed() || d.rank(input) == 0) return d.fail("expects an input with dims");
  std::vector<SymExpr> sizes = d.sizes(input);
  bool vector = d.rank(weight) == 1;
  if (vector) weight = d.reshape(weight, {SymExpr(1), d.sizes(weight)[0]});
  ValueId rows = as_rows(d, input), transposed = d.swap_last(weight);
  bool fused = d.has("bias") && !vector;
  ValueId result =
      fused ? d.product("aten.addmm.default", {arg("self", value_argument(d.value("bias"))),
                                               arg("mat1", value_argument(rows)),
                                               arg("mat2", value_argument(transposed))})
            : mm(d, rows, transposed);
  if (d.failed()) return;
  sizes.back() = d.sizes(result)[1];
  if (vector) sizes.pop_back();
  result = d.reshape(result, sizes);
  if (d.has("bias") && vector) result = d.binary_broadcast("add", result, d.value("bias"));
  d.result(result);
}

}  // namespace penstock::passes
