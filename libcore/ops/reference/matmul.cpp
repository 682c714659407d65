// Matrix products, attention.
#include <cmath>
#include <limits>

#include "ops/reference/reference.h"

namespace penstock::ops::reference {

namespace {

/// With a batch dim in front if it has none.
Array batched(Array x) {
  if (x.rank() == 2) x.sizes.insert(x.sizes.begin(), 1);
  return x;
}

Array swap_last(const Array& x) {
  std::vector<std::int64_t> dims;
  for (std::size_t i = 0; i < x.rank(); ++i) dims.push_back(static_cast<std::int64_t>(i));
  std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
  return permute(x, dims);
}

/// torch.matmul of tensors with at least two dims each.
Array product_of(const Array& a, const Array& b) {
  Shape batch(std::max(a.rank(), b.rank()) - 2, 1);
  for (const Array* x : {&a, &b}) {
    for (std::size_t i = 0; i + 2 < x->rank(); ++i) {
      std::int64_t& size = batch[batch.size() + 2 - x->rank() + i];
      if (size == 1) size = x->sizes[i];
    }
  }
  auto flat = [&](const Array& x) {
    Shape sizes = batch;
    sizes.insert(sizes.end(), x.sizes.end() - 2, x.sizes.end());
    return with_sizes(broadcast(x, sizes), {product(batch), x.sizes[x.rank() - 2], x.sizes.back()});
  };
  Array result = batched_product(flat(a), flat(b));
  batch.insert(batch.end(), {a.sizes[a.rank() - 2], b.sizes.back()});
  return with_sizes(std::move(result), batch);
}

/// alpha times the product and beta times self.
void store_scaled_sum(Evaluation& e, Array product) {
  double alpha = e.real("alpha", 1), beta = e.real("beta", 1);
  e.store(zip(with_sizes(std::move(product), e.result().sizes), e.array("self"),
              [&](double p, double s) { return beta == 0 ? alpha * p : alpha * p + beta * s; }));
}

}  // namespace

void mm(Evaluation& e) {
  Array result = batched_product(batched(e.array("self")), batched(e.array("mat2")));
  e.store(with_sizes(result, e.result().sizes));
}

void addmm(Evaluation& e) {
  bool batch = e.has("batch1");
  Array result = batched_product(batched(e.array(batch ? "batch1" : "mat1")),
                                 batched(e.array(batch ? "batch2" : "mat2")));
  store_scaled_sum(e, std::move(result));
}

void addmv(Evaluation& e) {
  Array vector = e.array("vec");
  store_scaled_sum(
      e, batched_product(batched(e.array("mat")), with_sizes(vector, {1, vector.count(), 1})));
}

void addbmm(Evaluation& e) {
  Array products = batched_product(e.array("batch1"), e.array("batch2")),
        sum = filled({products.sizes[1], products.sizes[2]}, 0);
  for (std::int64_t i = 0; i < products.count(); ++i)
    sum.values[i % sum.count()] += products.values[i];
  store_scaled_sum(e, std::move(sum));
}

void addr(Evaluation& e) {
  if (e.result().dtype == DType::bool_) return e.fail("combines bools by logic");
  Array a = e.array("vec1"), b = e.array("vec2");
  store_scaled_sum(e, product_of(with_sizes(a, {a.count(), 1}), with_sizes(b, {1, b.count()})));
}

void matmul(Evaluation& e) {
  bool linear = e.has("input");
  Array a = e.array(linear ? "input" : "self");
  Array b = e.array(linear            ? "weight"
                    : e.has("vec")    ? "vec"
                    : e.has("tensor") ? "tensor"
                                      : "other");
  if (linear && b.rank() == 2) b = swap_last(b);
  if (a.rank() == 1) a.sizes.insert(a.sizes.begin(), 1);
  if (b.rank() == 1) b.sizes.push_back(1);
  Array result = with_sizes(product_of(a, b), e.result().sizes);
  if (linear && e.has("bias")) result = zip(result, e.array("bias"), scalar::add_.real);
  e.store(result);
}

void inner(Evaluation& e) {
  Array a = e.array("self"), b = e.array("other");
  if (a.rank() == 0 || b.rank() == 0) return e.store(zip(a, b, scalar::mul_.real));
  auto rows = [](const Array& x) {
    return with_sizes(x, {1, product({x.sizes.begin(), x.sizes.end() - 1}), x.sizes.back()});
  };
  e.store(with_sizes(batched_product(rows(a), swap_last(rows(b))), e.result().sizes));
}

void outer(Evaluation& e) {
  Array a = e.array("self"), b = e.array("vec2");
  e.store(with_sizes(product_of(with_sizes(a, {a.count(), 1}), with_sizes(b, {1, b.count()})),
                     e.result().sizes));
}

void attention(Evaluation& e) {
  Array query = e.array("query"), key = e.array("key"), value = e.array("value");
  double scale = e.real("scale", 1 / std::sqrt(static_cast<double>(query.sizes.back())));
  if (e.boolean("enable_gqa", false)) {
    auto repeat = [&](const Array& x) {
      Shape split = x.sizes, whole = x.sizes;
      whole[whole.size() - 3] = query.sizes[query.rank() - 3];
      split.insert(split.end() - 2, 1);
      Shape spread = split;
      spread[spread.size() - 3] = whole[whole.size() - 3] / x.sizes[x.rank() - 3];
      return with_sizes(broadcast(with_sizes(x, split), spread), whole);
    };
    key = repeat(key);
    value = repeat(value);
  }
  Array scores = map(product_of(query, swap_last(key)), [&](double x) { return x * scale; });
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  if (e.has("attn_mask")) {
    bool boolean = e.host("attn_mask").dtype == DType::bool_;
    scores = zip(scores, e.array("attn_mask"),
                 [&](double s, double m) { return boolean ? (m != 0 ? s : kNever) : s + m; });
  }
  std::int64_t columns = scores.sizes.back(), rows = scores.sizes[scores.rank() - 2];
  bool causal = e.boolean("is_causal", false);
  for (std::int64_t r = 0; r < scores.count() / std::max<std::int64_t>(columns, 1); ++r) {
    double* row = scores.values.data() + r * columns;
    double top = kNever, sum = 0;
    for (std::int64_t i = 0; i < columns; ++i) {
      if (causal && i > r % rows) row[i] = kNever;
      top = std::fmax(top, row[i]);
    }
    for (std::int64_t i = 0; i < columns; ++i)
      sum += row[i] = top == kNever ? 0 : std::exp(row[i] - top);
    for (std::int64_t i = 0; i < columns; ++i) row[i] = sum == 0 ? 0 : row[i] / sum;
  }
  e.store(product_of(scores, value));
}

}  // namespace penstock::ops::reference
