// Integrals and derivatives of samples, and powers of them.
#include <optional>

#include "passes/decompose/composites.h"

namespace penstock::passes {

namespace {

/// x[start:stop] of one dim, as Python counts; no stop: to the end.
ValueId piece(Decomposition& d, ValueId x, std::int64_t dim, std::int64_t start,
              std::optional<std::int64_t> stop) {
  std::vector<NamedArgument> args = {arg("self", value(x)), arg("dim", dim), arg("start", start)};
  if (stop) args.push_back(arg("end", *stop));
  return d.apply("aten.slice.Tensor", std::move(args));
}

ValueId behind(Decomposition& d, ValueId x, std::int64_t dim) {
  return piece(d, x, dim, 1, std::nullopt);
}
ValueId before(Decomposition& d, ValueId x, std::int64_t dim) {
  return piece(d, x, dim, 0, -1);
}

ValueId total(Decomposition& d, ValueId x, std::int64_t dim) {
  return d.apply("aten.sum.dim_IntList",
                 {arg("self", value(x)), arg("dim", list_of(std::vector<std::int64_t>{dim}))});
}

/// The distances of neighbours of `x`, which lies along `dim` of y; one dim alone is that one.
ValueId widths(Decomposition& d, ValueId x, std::size_t rank, std::int64_t dim) {
  std::vector<SymExpr> sizes = d.sizes(x);
  if (sizes.size() == 1) {
    const SymExpr count = sizes[0];
    sizes.assign(rank, SymExpr(1));
    sizes[dim] = count;
  } else if (sizes.size() < rank) {
    sizes.insert(sizes.begin(), rank - sizes.size(), SymExpr(1));
  }
  x = d.reshape(x, sizes);
  return d.apply("sub", value(behind(d, x, dim)), value(before(d, x, dim)));
}

}  // namespace

/// The detail "running": every sum on the way.
void trapezoids(Decomposition& d) {
  const ValueId y = d.value("y");
  if (d.failed() || d.rank(y) == 0 || is_boolean(d.dtype_of(y))) return d.keep();
  const std::int64_t dim = d.dim("dim", -1, d.rank(y));
  const auto count = d.failed() ? std::nullopt : d.sizes(y)[dim].constant();
  if (!count || *count == 0) return d.keep();
  const bool running = d.detail() == "running";
  ValueId result = kNoValue;
  if (d.has("x")) {
    const ValueId x = d.value("x");
    if (d.failed() || d.rank(x) == 0 || d.rank(x) > d.rank(y)) return d.keep();
    const ValueId width = widths(d, x, d.rank(y), dim);
    const ValueId pairs = d.apply("add", value(before(d, y, dim)), value(behind(d, y, dim)));
    const ValueId areas = d.apply("mul", value(pairs), value(width));
    const ValueId sums =
        running ? d.apply("aten.cumsum.default", {arg("self", value(areas)), arg("dim", dim)})
                : total(d, areas, dim);
    result = d.apply("div", value(sums), 2.0);
  } else {
    const double width = d.real("dx", 1);
    if (d.failed()) return;
    if (running) {
      const ValueId areas =
          d.apply("mul", value(d.apply("add", value(before(d, y, dim)), value(behind(d, y, dim)))),
                  width / 2);
      result = d.apply("aten.cumsum.default", {arg("self", value(areas)), arg("dim", dim)});
    } else {
      const auto end = [&](std::int64_t i) {
        return d.apply("aten.select.int",
                       {arg("self", value(y)), arg("dim", dim), arg("index", i)});
      };
      const ValueId ends =
          d.apply("mul", value(d.apply("add", value(end(0)), value(end(-1)))), 0.5);
      result = d.apply("mul", value(d.apply("sub", value(total(d, y, dim)), value(ends))), width);
    }
  }
  d.result(result);
}

namespace {

/// Differences of neighbours and of those on both sides, by the distance between samples.
ValueId even_gradient(Decomposition& d, ValueId x, std::int64_t dim, const Argument& width,
                      std::int64_t edge_order) {
  const auto part = [&](std::int64_t start, std::optional<std::int64_t> stop) {
    return value(piece(d, x, dim, start, stop));
  };
  const auto scaled = [&](const char* op, Argument a, Argument b) {
    return value(d.apply(op, std::move(a), std::move(b)));
  };
  const Argument centre =
      scaled("div", scaled("div", scaled("sub", part(2, std::nullopt), part(0, -2)), width),
             std::int64_t{2});
  Argument first, last;
  if (edge_order == 1) {
    first = scaled("div", scaled("sub", part(1, 2), part(0, 1)), width);
    last = scaled("div", scaled("sub", part(-1, std::nullopt), part(-2, -1)), width);
  } else {
    first =
        scaled("sub", scaled("sub", scaled("mul", part(1, 2), 2.0), scaled("mul", part(0, 1), 1.5)),
               scaled("mul", part(2, 3), 0.5));
    last = scaled(
        "sub",
        scaled("add", scaled("mul", part(-1, std::nullopt), 1.5), scaled("mul", part(-3, -2), 0.5)),
        scaled("mul", part(-2, -1), 2.0));
    first = scaled("div", first, width);
    last = scaled("div", last, width);
  }
  if (d.failed()) return kNoValue;
  return d.apply("aten.cat.default",
                 {arg("tensors", list_of(std::vector<ValueId>{first.as<Argument::Value>()->id,
                                                              centre.as<Argument::Value>()->id,
                                                              last.as<Argument::Value>()->id})),
                  arg("dim", dim)});
}

/// The dims to derive along, in the order given.
std::vector<std::int64_t> gradient_dims(Decomposition& d, std::size_t rank) {
  const Argument* given = d.find("dim");
  if (given == nullptr) return d.dims("dim", rank);
  std::vector<std::int64_t> dims = given->as<Argument::Sequence>() != nullptr
                                       ? d.constants("dim")
                                       : std::vector<std::int64_t>{d.constant("dim", 0)};
  for (std::int64_t& dim : dims) dim = d.wrap_dim(dim, rank);
  return dims;
}

bool is_plain_number(const Argument& argument) {
  return argument.as<double>() != nullptr || argument.as<std::int64_t>() != nullptr;
}

}  // namespace

/// Samples at even distances; coordinates that are tensors stay torch's.
void gradients(Decomposition& d) {
  const ValueId self = d.value("self");
  const std::int64_t edge_order = d.constant("edge_order", 1);
  if (d.failed() || d.rank(self) == 0 || edge_order < 1 || edge_order > 2) return d.keep();
  const std::vector<std::int64_t> dims = gradient_dims(d, d.rank(self));
  std::vector<Argument> spacing(dims.size(), Argument(std::int64_t{1}));
  if (const Argument* given = d.find("spacing")) {
    const auto* list = given->as<Argument::Sequence>();
    if (list != nullptr && list->items.size() != dims.size()) return d.keep();
    for (std::size_t i = 0; i < dims.size(); ++i) {
      spacing[i] = list != nullptr ? list->items[i] : *given;
      if (!is_plain_number(spacing[i])) return d.keep();
    }
  }
  for (std::size_t i = 0; i < dims.size() && !d.failed(); ++i) {
    const auto count = d.sizes(self)[dims[i]].constant();
    if (!count || *count < edge_order + 1) return d.keep();
    d.result(even_gradient(d, self, dims[i], spacing[i], edge_order));
  }
}

namespace {

/// 1, x, x², … along a last dim of `count`; of integers they are int64.
ValueId powers(Decomposition& d, ValueId x, std::int64_t count) {
  const DType dtype = is_floating(d.dtype_of(x)) ? d.dtype_of(x) : DType::int64;
  std::vector<SymExpr> sizes = d.sizes(x);
  sizes.emplace_back(1);
  x = d.reshape(d.convert(x, dtype), sizes);
  const ValueId one =
      d.full(sizes, Decomposition::number_as({DTypeCategory::integral, 1, 1}, dtype), dtype);
  if (count == 1) return one;
  const auto dim = static_cast<std::int64_t>(sizes.size()) - 1;
  sizes.back() = count - 1;
  const ValueId rising =
      d.apply("aten.cumprod.default", {arg("self", value(d.broadcast(x, sizes))), arg("dim", dim)});
  return d.apply("aten.cat.default",
                 {arg("tensors", list_of(std::vector<ValueId>{one, rising})), arg("dim", dim)});
}

}  // namespace

/// Rows of powers; the detail "falling": of vectors alone, from the highest unless told otherwise.
void power_rows(Decomposition& d) {
  ValueId x = d.value("x");
  if (d.failed()) return;
  if (d.rank(x) == 0) x = d.reshape(x, {SymExpr(1)});
  const auto own = d.sizes(x).back().constant();
  if (!own && !d.has("N")) return d.keep();
  const std::int64_t count = d.constant("N", own.value_or(0));
  if (d.failed() || count < 1) return d.keep();
  const ValueId rows = powers(d, x, count);
  if (d.detail() != "falling" || d.boolean("increasing", false)) return d.result(rows);
  d.result(d.apply("aten.flip.default",
                   {arg("self", value(rows)), arg("dims", list_of(std::vector<std::int64_t>{1}))}));
}

}  // namespace penstock::passes
