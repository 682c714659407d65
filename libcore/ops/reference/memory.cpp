// Views, writes, joins, factories.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/reference/reference.h"

namespace penstock::ops::reference {

namespace {

/// Copies elements exactly, whatever the dtypes.
void copy_elements(const HostTensor& from, HostTensor& to) {
  if (is_floating(from.dtype))
    to.assign(from.reals());
  else
    to.assign(from.integers());
}

/// `source` repeated to the sizes of `target`, without a copy.
HostTensor spread(HostTensor source, const HostTensor& target) {
  Shape strides(target.sizes.size(), 0);
  std::size_t lead = strides.size() - std::min(strides.size(), source.sizes.size());
  for (std::size_t i = 0; i < source.sizes.size() && i < strides.size(); ++i) {
    if (source.sizes[i] != 1) strides[lead + i] = source.strides[i];
  }
  source.sizes = target.sizes;
  source.strides = std::move(strides);
  return source;
}

/// A window on `tensor`: `length` elements of dim from `start`.
HostTensor window(HostTensor tensor, std::int64_t dim, std::int64_t start, std::int64_t length) {
  tensor.offset += start * tensor.strides[dim];
  tensor.sizes[dim] = length;
  return tensor;
}

}  // namespace

/// A result that does not share memory with its argument (reshape of strides that refuse) is a
/// copy.
void view(Evaluation& e) {
  HostTensor& self = e.host("self");
  if (e.failed()) return;
  for (HostTensor& result : e.results()) {
    if (result.memory != self.memory) copy_elements(self, result);
  }
}

void copy_(Evaluation& e) {
  HostTensor& self = e.host("self");
  HostTensor source = spread(e.host("src"), self);
  // Through a temporary: source and target may overlap.
  HostTensor copy = HostTensor::contiguous(source.dtype, source.sizes);
  copy_elements(source, copy);
  if (!e.failed()) copy_elements(copy, self);
}

void prim_copy_(Evaluation& e) {
  copy_(e);
}

/// The evaluator looks at what every op is given as indices; nothing is left to do.
void prim_check_index(Evaluation&) {}
void prim_bernoulli(Evaluation&) {}
/// The interpreter of graphs runs subgraphs.
void prim_cond(Evaluation&) {}
void prim_while_loop(Evaluation&) {}
void prim_scan(Evaluation&) {}
void prim_custom_vjp(Evaluation&) {}

void prim_item(Evaluation& e) {
  Array element = e.array("self");
  element.sizes.clear();
  e.store(element);
}

void prim_nonzero(Evaluation& e) {
  const Array marks = e.array("self");
  Array places = filled(e.result().sizes, 0);
  std::size_t found = 0;
  for (std::size_t i = 0; i < marks.values.size(); ++i) {
    if (marks.values[i] == 0) continue;
    if (found < places.values.size()) places.values[found] = static_cast<double>(i);
    ++found;
  }
  if (found != places.values.size()) return e.fail("as many places are wanted as there are");
  e.store(places);
}

void fill_(Evaluation& e) {
  HostTensor& self = e.host("self");
  double value = e.array_or("value", 0).values.front();
  if (!e.failed()) self.assign(std::vector<double>(static_cast<std::size_t>(self.count()), value));
}

void zero_(Evaluation& e) {
  fill_(e);
}

/// The evaluator runs the functional namesake and writes its result; nothing is left to do.
void in_place(Evaluation&) {}

void cat(Evaluation& e) {
  std::int64_t start = 0;
  HostTensor& result = e.result();
  std::int64_t dim = e.dim("dim", 0, result.sizes.size());
  for (ValueId id : e.values("tensors")) {
    const HostTensor& part = e.host(id);
    if (part.sizes.size() != result.sizes.size()) continue;  // torch's empty tensor of any rank
    HostTensor target = window(result, dim, start, part.sizes[dim]);
    copy_elements(part, target);
    start += part.sizes[dim];
  }
}

void diff(Evaluation& e) {
  const std::int64_t n = e.constant("n", 1);
  Array x = e.array("self");
  const auto dim = static_cast<std::size_t>(e.dim("dim", -1, x.rank()));
  if (e.failed()) return;
  std::vector<Array> parts{x};
  if (n > 0 && e.has("prepend")) parts.insert(parts.begin(), e.array("prepend"));
  if (n > 0 && e.has("append")) parts.push_back(e.array("append"));
  // Rows of `dim`, joined; then differences in place.
  std::vector<std::vector<double>> rows;
  for (const Array& part : parts) {
    const Strip strip = strip_of(part.sizes, static_cast<std::int64_t>(dim));
    rows.resize(static_cast<std::size_t>(strip.outer * strip.inner));
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const std::int64_t outer = static_cast<std::int64_t>(row) / strip.inner,
                         rest = static_cast<std::int64_t>(row) % strip.inner;
      for (std::int64_t i = 0; i < strip.size; ++i) {
        rows[row].push_back(
            part.values[static_cast<std::size_t>((outer * strip.size + i) * strip.inner + rest)]);
      }
    }
  }
  const bool truth = e.result().dtype == DType::bool_;
  for (std::vector<double>& row : rows) {
    for (std::int64_t turn = 0; turn < n && !row.empty(); ++turn) {
      for (std::size_t i = 0; i + 1 < row.size(); ++i)
        row[i] = truth ? row[i + 1] != row[i] : row[i + 1] - row[i];
      row.pop_back();
    }
  }
  Array out = filled(e.result().sizes, 0);
  const Strip strip = strip_of(out.sizes, static_cast<std::int64_t>(dim));
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const std::int64_t outer = static_cast<std::int64_t>(row) / strip.inner,
                       rest = static_cast<std::int64_t>(row) % strip.inner;
    for (std::int64_t i = 0; i < strip.size; ++i) {
      out.values[static_cast<std::size_t>((outer * strip.size + i) * strip.inner + rest)] =
          rows[row][static_cast<std::size_t>(i)];
    }
  }
  e.store(out);
}

void stack(Evaluation& e) {
  HostTensor& result = e.result();
  std::int64_t dim = e.dim("dim", 0, result.sizes.size()), start = 0;
  for (ValueId id : e.values("tensors")) {
    HostTensor target = window(result, dim, start++, 1);
    HostTensor part = e.host(id);
    part.sizes.insert(part.sizes.begin() + dim, 1);
    part.strides.insert(part.strides.begin() + dim, 0);
    copy_elements(part, target);
  }
}

namespace {

/// Result element [i …] is the argument's element at `source(i …)`, or `otherwise` outside.
template <class Source>
void remap(Evaluation& e, const Source& source, double otherwise = 0) {
  Array x = e.array("self"), out = filled(e.result().sizes, otherwise);
  if (e.failed()) return;
  Shape at(out.rank()), from;
  for (std::int64_t flat = 0; flat < out.count(); ++flat) {
    std::int64_t rest = flat;
    for (std::size_t d = at.size(); d-- > 0;) {
      at[d] = rest % out.sizes[d];
      rest /= out.sizes[d];
    }
    from = source(at);
    std::int64_t place = 0;
    bool inside = true;
    for (std::size_t d = 0; d < from.size(); ++d) {
      inside = inside && from[d] >= 0 && from[d] < x.sizes[d];
      place = place * x.sizes[d] + from[d];
    }
    if (inside) out.values[flat] = x.values[place];
  }
  e.store(out);
}

}  // namespace

void repeat(Evaluation& e) {
  Shape own = e.shape("self");
  remap(e, [&](const Shape& at) {
    Shape from(own.size());
    for (std::size_t d = 0; d < own.size(); ++d) from[d] = at[at.size() - own.size() + d] % own[d];
    return from;
  });
}

void repeat_interleave(Evaluation& e) {
  std::int64_t count = e.constant("repeats", 1);
  Shape own = e.shape("self");
  bool flat = !e.has("dim") || own.empty();
  std::int64_t dim = flat ? 0 : e.dim("dim", 0, own.size());
  if (!flat) {
    return remap(e, [&](Shape at) {
      at[dim] /= count;
      return at;
    });
  }
  Array x = e.array("self"), out = filled(e.result().sizes, 0);
  for (std::int64_t i = 0; i < out.count(); ++i) out.values[i] = x.values[i / count];
  e.store(out);
}

void flip(Evaluation& e) {
  std::vector<std::int64_t> dims = e.constants("dims");
  Shape own = e.shape("self");
  for (std::int64_t& dim : dims) dim = e.wrap_dim(dim, own.size());
  remap(e, [&](Shape at) {
    for (std::int64_t dim : dims) {
      if (!own.empty()) at[dim] = own[dim] - 1 - at[dim];
    }
    return at;
  });
}

void roll(Evaluation& e) {
  std::vector<std::int64_t> shifts = e.constants("shifts"), dims = e.constants("dims");
  Shape own = e.shape("self");
  auto wrap = [](std::int64_t i, std::int64_t n) { return ((i % n) + n) % n; };
  if (dims.empty()) {
    Array x = e.array("self"), out = x;
    for (std::int64_t i = 0; i < x.count(); ++i)
      out.values[i] = x.values[wrap(i - shifts[0], x.count())];
    return e.store(out);
  }
  remap(e, [&](Shape at) {
    for (std::size_t i = 0; i < dims.size(); ++i) {
      std::int64_t dim = e.wrap_dim(dims[i], own.size());
      at[dim] = wrap(at[dim] - shifts[i], own[dim]);
    }
    return at;
  });
}

namespace {

/// The element that padding of a mode shows at `place`, which may lie outside. `low` and `high` of
/// it were added.
std::int64_t padded_place(const std::string& mode, std::int64_t place, std::int64_t size,
                          std::int64_t low, std::int64_t high) {
  if (mode == "replicate") return std::max<std::int64_t>(std::min(place, size - 1), 0);
  if (mode == "circular") {
    const std::int64_t first = std::max<std::int64_t>(-low, 0),
                       kept = size - first + std::min<std::int64_t>(high, 0);
    return first + ((place - first) % kept + kept) % kept;
  }
  if (mode == "reflect") return place < 0 ? -place : place >= size ? 2 * (size - 1) - place : place;
  return place;
}

}  // namespace

void pad(Evaluation& e) {
  std::vector<std::int64_t> amounts = e.constants(e.has("padding") ? "padding" : "pad");
  const std::string mode = padding_mode(e.op(), e.text("mode", "constant"));
  const Shape own = e.shape("self");
  remap(
      e,
      [&](Shape at) {
        for (std::size_t i = 0; i < amounts.size() / 2; ++i) {
          std::int64_t& place = at[at.size() - 1 - i];
          place = padded_place(mode, place - amounts[2 * i], own[at.size() - 1 - i], amounts[2 * i],
                               amounts[2 * i + 1]);
        }
        return at;
      },
      e.real("value", 0));
}

void prim_pad(Evaluation& e) {
  std::vector<std::int64_t> low = e.constants("low");
  remap(
      e,
      [&](Shape at) {
        for (std::size_t i = 0; i < at.size(); ++i) at[i] -= low[i];
        return at;
      },
      e.real("value", 0));
}

namespace {

void write_window(Evaluation& e, const Shape& start, const Shape& step, HostTensor source) {
  HostTensor target = e.result();
  copy_elements(e.host("self"), target);
  for (std::size_t i = 0; i < start.size(); ++i) {
    target.offset += start[i] * target.strides[i];
    target.strides[i] *= step[i];
    target.sizes[i] = source.sizes[i];
  }
  copy_elements(source, target);
}

}  // namespace

void prim_scatter_slice(Evaluation& e) {
  write_window(e, e.constants("start"), e.constants("step"), e.host("src"));
}

void scatter_view(Evaluation& e) {
  HostTensor source = e.host("src");
  Shape own = e.shape("self"), start(own.size(), 0), step(own.size(), 1);
  std::int64_t dim = e.dim("dim", 0, own.size()), size = own[dim];
  if (e.base_name() == "select_scatter") {
    std::int64_t index = e.constant("index", 0);
    start[dim] = index < 0 ? index + size : index;
    source.sizes.insert(source.sizes.begin() + dim, 1);
    source.strides.insert(source.strides.begin() + dim, 0);
  } else {
    std::int64_t first = e.constant("start", 0);
    start[dim] = std::clamp<std::int64_t>(first < 0 ? first + size : first, 0, size);
    step[dim] = e.constant("step", 1);
  }
  write_window(e, start, step, source);
}

void full(Evaluation& e) {
  std::string_view base = e.base_name();
  double value = base.find("ones") != std::string_view::npos ? 1 : 0;
  if (e.has("fill_value"))
    value = e.array_or("fill_value", 0).values.front();
  else if (e.has("s"))
    value = e.array_or("s", 0).values.front();
  e.store({{}, {value}});
}

void prim_full(Evaluation& e) {
  e.store({{}, {e.number("value", {}).real}});
}

void arange(Evaluation& e) {
  double start = e.real("start", 0), step = e.real("step", 1);
  Array out = filled(e.result().sizes, 0);
  for (std::int64_t i = 0; i < out.count(); ++i)
    out.values[i] = start + static_cast<double>(i) * step;
  e.store(out);
}

void prim_iota(Evaluation& e) {
  arange(e);
}

void eye(Evaluation& e) {
  Array out = filled(e.result().sizes, 0);
  for (std::int64_t i = 0; i < out.count(); ++i)
    out.values[i] = i / out.sizes[1] == i % out.sizes[1];
  e.store(out);
}

void linspace(Evaluation& e) {
  double start = e.real("start", 0), end = e.real("end", 0);
  Array out = filled(e.result().sizes, start);
  std::int64_t steps = out.count();
  for (std::int64_t i = 1; i < steps; ++i) {
    out.values[i] = start + (end - start) * static_cast<double>(i) / static_cast<double>(steps - 1);
  }
  e.store(out);
}

void item(Evaluation& e) {
  e.store(e.array("self"));
}

}  // namespace penstock::ops::reference
