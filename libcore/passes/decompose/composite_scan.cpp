// Scans whose steps are associative, by doubling: behind the step of 2^k, every element has been
// combined with the 2^(k + 1) - 1 before it. Long rows are left to torch, which goes over them
// once.
#include "passes/decompose/composites.h"

namespace penstock::passes {

namespace {

constexpr std::int64_t kLongest = 2048;  // elements of a row; every doubling is a pass over memory

/// Two parts of a row, of which one lies `distance` before the other.
struct Apart {
  ValueId before, here;
};

Apart apart(Decomposition& d, ValueId x, std::int64_t dim, std::int64_t distance,
            std::int64_t length) {
  return {d.slice(x, dim, 0, length - distance, 1),
          d.slice(x, dim, distance, length - distance, 1)};
}

/// `x` with its elements from `distance` on replaced.
ValueId replaced_from(Decomposition& d, ValueId x, std::int64_t dim, std::int64_t distance,
                      ValueId rest) {
  if (d.failed()) return kNoValue;
  const std::vector<ValueId> parts = {d.slice(x, dim, 0, distance, 1), rest};
  return d.emit("prim.cat", {arg("tensors", list_of(parts)), arg("dim", dim)});
}

/// The length of the scanned dim where it is known and not too long.
std::optional<std::int64_t> row_length(Decomposition& d, ValueId x, std::int64_t dim) {
  const auto length = d.sizes(x)[dim].constant();
  return length && *length <= kLongest ? length : std::nullopt;
}

}  // namespace

/// The extreme so far and where it stands: the last one of equals. NaN is extreme.
void extreme_so_far(Decomposition& d) {
  const ValueId self = d.value("self");
  const std::int64_t dim = d.failed() ? 0 : d.dim("dim", 0, d.rank(self));
  if (d.failed() || is_boolean(d.dtype_of(self))) return d.keep();
  if (d.rank(self) == 0) {
    d.result(d.unary("clone", self));
    return d.result(d.full({}, std::int64_t{0}, DType::int64));
  }
  const auto length = row_length(d, self, dim);
  if (!length) return d.keep();
  ValueId best = d.contiguous(self),
          places = d.unary("clone", d.broadcast(d.iota(*length), d.sizes(self), {dim}));
  for (std::int64_t distance = 1; distance < *length; distance *= 2) {
    const Apart values = apart(d, best, dim, distance, *length),
                indices = apart(d, places, dim, distance, *length);
    ValueId later = with(d, d.detail() == "max" ? "ge" : "le", values.here, value(values.before));
    if (is_floating(d.dtype_of(self)))
      later = with(d, "or", later, value(d.unary("isnan", values.here)));
    best = replaced_from(d, best, dim, distance,
                         d.where(later, value(values.here), value(values.before)));
    places = replaced_from(d, places, dim, distance,
                           d.where(later, value(indices.here), value(indices.before)));
  }
  d.result(best == self ? d.unary("clone", self) : best);
  d.result(places);
}

void log_sum_so_far(Decomposition& d) {
  const ValueId self = d.value("self");
  const std::int64_t dim = d.failed() ? 0 : d.dim("dim", 0, d.rank(self));
  if (d.failed() || !is_floating(d.dtype_of(self))) return d.keep();
  const DType dtype = d.dtype_of(self);
  if (d.rank(self) == 0) return d.result(d.unary("clone", self));
  const auto length = row_length(d, self, dim);
  if (!length) return d.keep();
  ValueId sum = d.contiguous(d.convert(self, ops::compute_dtype(dtype)));
  for (std::int64_t distance = 1; distance < *length; distance *= 2) {
    const Apart parts = apart(d, sum, dim, distance, *length);
    sum = replaced_from(d, sum, dim, distance, log_of_two(d, parts.here, parts.before, false));
  }
  d.finish(sum == self ? d.unary("clone", self) : sum, dtype);
}

}  // namespace penstock::passes
