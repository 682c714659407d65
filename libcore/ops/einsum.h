#pragma once

#include <cstdint>
#include <deque>
#include <numeric>
#include <string_view>
#include <vector>

#include "ops/rules/inference.h"

namespace penstock::ops {

/// An einsum's equation over operands of known ranks. Every label is one dim of a common order:
/// those of the result first, then those that are summed.
struct EinsumEquation {
  std::vector<std::vector<std::int64_t>>
      places;                          ///< by operand, by its dim: the dim of the common order
  std::size_t out_rank = 0, rank = 0;  ///< dims of the result; dims of the common order
};

/// Reads an equation as ATen does; what is wrong with it becomes an error of `in`.
EinsumEquation parse_einsum(Arguments& in, std::string_view equation,
                            const std::vector<std::size_t>& ranks);

/// torch.einsum as ATen takes it apart: operands brought into the common order, then multiplied
/// pair by pair, each pair as one batched matrix product over what can be summed already. Rule and
/// decomposition are this one order of steps, done on types and on values:
///
///   sizes(t)  diagonal(t, first, second): in place of dim `first`  permute(t, dims)
///   append_dim(t): of size 1  reshape(t, sizes)  sum(t, dims, keep)  mul(a, b)  bmm(a, b)
template <class Algebra>
class Einsum {
 public:
  using Tensor = typename Algebra::Tensor;
  using Dims = std::vector<std::int64_t>;

  Einsum(Inference& in, Algebra algebra) : in_(in), algebra_(std::move(algebra)) {}

  Tensor run(const EinsumEquation& equation, const std::vector<Tensor>& operands,
             const Dims& path) {
    out_rank_ = static_cast<std::int64_t>(equation.out_rank);
    rank_ = static_cast<std::int64_t>(equation.rank);
    counts_.assign(equation.rank, 0);
    std::deque<Tensor> left;
    for (std::size_t i = 0; i < operands.size() && !in_.failed(); ++i) {
      left.push_back(aligned(operands[i], equation.places[i]));
    }
    for (std::size_t step = 0; left.size() > 1 && !in_.failed(); ++step)
      contract_next(left, path, step);
    if (in_.failed()) return operands.front();
    if (out_rank_ == rank_) return left.front();
    Dims summed(rank_ - out_rank_);
    std::iota(summed.begin(), summed.end(), out_rank_);
    if (operands.size() == 1) return algebra_.sum(left.front(), summed, false);
    std::vector<SymExpr> sizes = algebra_.sizes(left.front());
    sizes.resize(out_rank_);
    return algebra_.reshape(left.front(), sizes);
  }

 private:
  bool spreads(const Tensor& t, std::int64_t dim) { return !in_.is_one(algebra_.sizes(t)[dim]); }

  /// An operand with all dims of the common order, those that it lacks of size 1.
  Tensor aligned(Tensor t, const Dims& places) {
    Dims order(rank_, -1);
    std::int64_t dim = 0;
    for (std::int64_t place : places) {
      if (order[place] >= 0) {
        if (!in_.equal(algebra_.sizes(t)[order[place]], algebra_.sizes(t)[dim]))
          in_.fail("einsum(): a repeated subscript has two sizes");
        if (in_.failed()) return t;
        t = algebra_.diagonal(t, order[place], dim);
        continue;
      }
      if (spreads(t, dim)) ++counts_[place];
      order[place] = dim++;
    }
    for (std::int64_t& from : order) {
      if (from >= 0) continue;
      t = algebra_.append_dim(t);
      from = dim++;
    }
    return algebra_.permute(t, order);
  }

  void contract_next(std::deque<Tensor>& left, const Dims& path, std::size_t step) {
    std::int64_t first = 0, second = 1;
    if (!path.empty()) {
      first = 2 * step + 1 < path.size() ? path[2 * step] : -1;
      second = first < 0 ? -1 : path[2 * step + 1];
      if (second < first) std::swap(first, second);
    }
    if (first < 0 || first == second || second >= static_cast<std::int64_t>(left.size())) {
      return in_.fail("einsum(): the path names operands that do not exist");
    }
    Tensor a = left[first], b = left[second];
    left.erase(left.begin() + second);
    left.erase(left.begin() + first);
    Tensor product = contract(std::move(a), std::move(b));
    if (path.empty())
      left.push_front(std::move(product));
    else
      left.push_back(std::move(product));
  }

  /// Two operands multiplied, and summed over all that no other operand has.
  Tensor contract(Tensor a, Tensor b) {
    Dims both, only_a, only_b;
    for (std::int64_t dim = out_rank_; dim < rank_; ++dim) {
      const bool in_a = spreads(a, dim), in_b = spreads(b, dim);
      if (in_a && in_b) {
        if (--counts_[dim] != 1) continue;
        both.push_back(dim);
        counts_[dim] = 0;
      } else if ((in_a || in_b) && counts_[dim] == 1) {
        (in_a ? only_a : only_b).push_back(dim);
        counts_[dim] = 0;
      }
    }
    if (!only_a.empty()) a = algebra_.sum(a, only_a, true);
    if (!only_b.empty()) b = algebra_.sum(b, only_b, true);
    return both.empty() ? algebra_.mul(a, b) : sum_of_products(std::move(a), std::move(b), both);
  }

  /// One batched matrix product: dims of both and the result are its batch, `summed` its inner dim.
  Tensor sum_of_products(Tensor a, Tensor b, const Dims& summed) {
    Dims batch, rows, columns;
    for (std::int64_t dim = 0; dim < rank_; ++dim) {
      const bool in_a = spreads(a, dim), in_b = spreads(b, dim);
      if (in_a && in_b && !in_.equal(algebra_.sizes(a)[dim], algebra_.sizes(b)[dim]))
        in_.fail("einsum(): a subscript has two sizes");
      if (std::binary_search(summed.begin(), summed.end(), dim)) continue;
      (in_a && in_b ? batch : in_a ? rows : columns).push_back(dim);
    }
    if (in_.failed()) return a;
    if (!rows.empty() && !columns.empty() &&
        columns.back() < rows.front()) {  // the product comes out in order then
      std::swap(a, b);
      std::swap(rows, columns);
    }
    const std::vector<SymExpr> left = algebra_.sizes(a), right = algebra_.sizes(b);
    const Dims made = joined({batch, rows, summed, columns});
    std::vector<SymExpr> sizes;
    for (std::int64_t dim : made) {
      const bool is_summed = std::binary_search(summed.begin(), summed.end(), dim);
      const bool is_column = std::find(columns.begin(), columns.end(), dim) != columns.end();
      sizes.push_back(is_summed ? SymExpr(1) : is_column ? right[dim] : left[dim]);
    }
    SymExpr depth = count(left, batch), inner = count(left, summed);
    a = algebra_.reshape(algebra_.permute(a, made), {depth, count(left, rows), inner});
    b = algebra_.reshape(algebra_.permute(b, joined({batch, summed, columns, rows})),
                         {depth, inner, count(right, columns)});
    Dims back(made.size());
    for (std::size_t i = 0; i < made.size(); ++i) back[made[i]] = static_cast<std::int64_t>(i);
    return algebra_.permute(algebra_.reshape(algebra_.bmm(a, b), sizes), back);
  }

  static Dims joined(std::initializer_list<Dims> parts) {
    Dims all;
    for (const Dims& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
  }

  static SymExpr count(const std::vector<SymExpr>& sizes, const Dims& dims) {
    SymExpr product = 1;
    for (std::int64_t dim : dims) product *= sizes[dim];
    return product;
  }

  Inference& in_;
  Algebra algebra_;
  std::int64_t out_rank_ = 0, rank_ = 0;
  std::vector<std::int64_t> counts_;  ///< by dim: how many operands have it, and not of size 1
};

}  // namespace penstock::ops
