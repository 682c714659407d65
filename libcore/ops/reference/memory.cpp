// Views, writes, joins, factories, indexing.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/reference/reference.h"
#include "ops/sorted_positions.h"

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

namespace {

/// An index that may count from the end; an error outside.
std::int64_t wrapped(Evaluation& e, double index, std::int64_t size) {
  auto i = static_cast<std::int64_t>(index);
  if (i < -size || i >= size) {
    e.fail("index " + std::to_string(i) + " is out of range for a dim of size " +
           std::to_string(size));
    return 0;
  }
  return i < 0 ? i + size : i;
}

/// Whether an index has the tensor's dims and, but along `dim`, no more elements in any.
bool lies_within(const Shape& index, const Shape& tensor, std::int64_t dim) {
  if (index.size() != tensor.size()) return false;
  for (std::size_t d = 0; d < index.size(); ++d) {
    if (static_cast<std::int64_t>(d) != dim && index[d] > tensor[d]) return false;
  }
  return true;
}

}  // namespace

void gather(Evaluation& e) {
  std::string_view name = e.has("indices") ? "indices" : "index";
  Array index = e.array(name), x = e.array("self");
  Shape own = x.sizes;
  if (!e.has("dim")) {  // take_along_dim over the flattened tensor
    for (double& i : index.values) {
      const std::int64_t at = wrapped(e, i, x.count());
      if (e.failed()) return;  // there may be no element at all
      i = x.values[at];
    }
    return e.store(with_sizes(index, e.result().sizes));
  }
  std::int64_t dim = e.dim("dim", 0, own.size());
  if (name == "indices") {
    Shape sizes = e.result().sizes;
    index = broadcast(index, sizes);
    sizes[dim] = own.empty() ? 1 : own[dim];
    x = broadcast(x, sizes);
    for (double& i : index.values)
      i -= std::floor(i / static_cast<double>(x.sizes[dim])) * static_cast<double>(x.sizes[dim]);
  }
  // What has no dims has one element along the only one.
  if (x.sizes.empty()) x.sizes = {1};
  if (index.sizes.empty()) index.sizes = {1};
  if (!lies_within(index.sizes, x.sizes, dim)) return e.fail("the index is larger than the tensor");
  Array out = index;
  Shape strides(x.rank(), 1);
  for (std::size_t i = x.rank(); i-- > 1;) strides[i - 1] = strides[i] * x.sizes[i];
  for (std::int64_t flat = 0; flat < index.count(); ++flat) {
    std::int64_t rest = flat, place = 0;
    for (std::size_t d = index.rank(); d-- > 0;) {
      std::int64_t at = rest % index.sizes[d];
      rest /= index.sizes[d];
      if (static_cast<std::int64_t>(d) == dim) at = wrapped(e, index.values[flat], x.sizes[d]);
      place += at * strides[d];
    }
    if (e.failed()) return;  // there may be no element at all
    out.values[flat] = x.values[place];
  }
  e.store(with_sizes(out, e.result().sizes));
}

namespace {

/// Rows of `table` along dim, in the order of `index`.
Array select_rows(Evaluation& e, const Array& table, const Array& index, std::int64_t dim) {
  Strip strip = strip_of(table.sizes, dim);
  Shape sizes = table.sizes;
  if (!sizes.empty()) sizes[dim] = index.count();
  Array out{sizes, {}};
  for (std::int64_t o = 0; o < strip.outer; ++o) {
    for (double i : index.values) {
      std::int64_t first = (o * strip.size + wrapped(e, i, strip.size)) * strip.inner;
      out.values.insert(out.values.end(), table.values.begin() + first,
                        table.values.begin() + first + strip.inner);
    }
  }
  return out;
}

}  // namespace

void index_select(Evaluation& e) {
  Array table = e.array("self");
  e.store(select_rows(e, table, e.array("index"), e.dim("dim", 0, table.rank())));
}

void embedding(Evaluation& e) {
  Array rows = select_rows(e, e.array("weight"), e.array("indices"), 0);
  e.store(with_sizes(rows, e.result().sizes));
}

void scatter(Evaluation& e) {
  Array out = e.array("self"), index = e.array("index");
  bool adds = e.base_name() == "scatter_add";
  HostTensor none = HostTensor::scalar(DType::float64, e.has("value") ? e.real("value", 0) : 0);
  const HostTensor& source = e.has("src") ? e.host("src") : none;
  std::int64_t dim = e.dim("dim", 0, out.rank());
  for (std::int64_t flat = 0; flat < index.count(); ++flat) {
    std::int64_t rest = flat, place = 0, stride = 1, from = source.offset;
    for (std::size_t d = index.rank(); d-- > 0;) {
      std::int64_t at = rest % index.sizes[d];
      rest /= index.sizes[d];
      if (e.has("src")) from += at * source.strides[d];
      if (static_cast<std::int64_t>(d) == dim) at = wrapped(e, index.values[flat], out.sizes[d]);
      place += at * stride;
      stride *= out.sizes[d];
    }
    double value = source.real_at(from);
    out.values[place] = adds ? out.values[place] + value : value;
  }
  e.store(out);
}

void index_copy(Evaluation& e) {
  Array out = e.array("self"), index = e.array("index"), source = e.array("source");
  const Strip strip = strip_of(out.sizes, e.dim("dim", 0, out.rank()));
  for (std::int64_t from = 0; from < source.count(); ++from) {
    const std::int64_t inner = from % strip.inner, row = from / strip.inner;
    const std::int64_t at = wrapped(e, index.values[row % index.count()], strip.size);
    out.values[(row / index.count() * strip.size + at) * strip.inner + inner] = source.values[from];
  }
  e.store(out);
}

void one_hot(Evaluation& e) {
  Array index = e.array("self"), out = filled(e.result().sizes, 0);
  std::int64_t classes = out.sizes.back();
  for (std::int64_t i = 0; i < index.count(); ++i)
    out.values[i * classes + wrapped(e, index.values[i], classes)] = 1;
  e.store(out);
}

namespace {

/// The elements of `x` that a list of indices picks.
Array picked_elements(Evaluation& e, const Array& x) {
  const auto& items = e.find("indices")->as<Argument::Sequence>()->items;
  std::vector<std::int64_t> indexed, rest;
  std::vector<Array> indices;
  Shape picked;
  for (std::size_t d = 0; d < x.rank(); ++d) {
    const auto* value = d < items.size() ? items[d].as<Argument::Value>() : nullptr;
    (value ? indexed : rest).push_back(static_cast<std::int64_t>(d));
    if (!value) continue;
    if (is_boolean(e.host(value->id).dtype)) e.fail("a mask is no list of places");
    indices.push_back(e.array(value->id));
    const Shape& sizes = indices.back().sizes;
    if (sizes.size() > picked.size())
      picked.insert(picked.begin(), sizes.size() - picked.size(), 1);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      std::int64_t& size = picked[picked.size() - sizes.size() + i];
      if (size == 1) size = sizes[i];
    }
  }
  // Indexed dims in front, flattened with the flat index; then the picked dims move to their place.
  std::vector<std::int64_t> order = indexed;
  order.insert(order.end(), rest.begin(), rest.end());
  Array table = permute(x, order), flat = filled(picked, 0);
  std::int64_t length = 1;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    std::int64_t size = x.sizes[indexed[i]];
    flat = zip(flat, indices[i], [&](double f, double v) {
      return f * static_cast<double>(size) + static_cast<double>(wrapped(e, v, size));
    });
    length *= size;
  }
  Shape merged = {length}, sizes = picked;
  for (std::int64_t dim : rest) merged.push_back(x.sizes[dim]), sizes.push_back(x.sizes[dim]);
  Array out = with_sizes(select_rows(e, with_sizes(table, merged), flat, 0), sizes);
  bool adjacent = indexed.back() - indexed.front() + 1 == static_cast<std::int64_t>(indexed.size());
  auto place = adjacent ? static_cast<std::size_t>(indexed.front()) : 0;
  std::vector<std::int64_t> back;
  for (std::size_t i = 0; i < place; ++i)
    back.push_back(static_cast<std::int64_t>(picked.size() + i));
  for (std::size_t i = 0; i < picked.size(); ++i) back.push_back(static_cast<std::int64_t>(i));
  for (std::size_t i = place; i < rest.size(); ++i)
    back.push_back(static_cast<std::int64_t>(picked.size() + i));
  return permute(out, back);
}

}  // namespace

void index(Evaluation& e) {
  e.store(picked_elements(e, e.array("self")));
}

void index_put(Evaluation& e) {
  Array out = e.array("self"), places = out;
  std::iota(places.values.begin(), places.values.end(), 0.0);
  places = picked_elements(e, places);
  const Array values = broadcast(e.array("values"), places.sizes);
  const bool adds = e.boolean("accumulate", false);
  for (std::int64_t i = 0; i < places.count(); ++i) {
    double& element = out.values[static_cast<std::size_t>(places.values[i])];
    element = adds ? element + values.values[i] : values.values[i];
  }
  e.store(out);
}

namespace {

/// The first `count` elements along dim in their order, for every strip, and their positions; or
/// these alone.
void store_sorted(Evaluation& e, bool descending, std::int64_t count, SortOrder kind, bool values) {
  Array x = e.array("self"), sorted = filled(e.result().sizes, 0), positions = sorted;
  Strip strip = strip_of(x.sizes, e.dim("dim", -1, x.rank()));
  std::vector<double> elements(static_cast<std::size_t>(strip.size));
  for (std::int64_t k = 0; k < strip.outer * strip.inner; ++k) {
    std::int64_t outer = k / strip.inner, inner = k % strip.inner;
    for (std::int64_t i = 0; i < strip.size; ++i)
      elements[i] = x.values[(outer * strip.size + i) * strip.inner + inner];
    std::vector<std::int64_t> order = sorted_positions(elements, count, descending, kind);
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t place = (outer * count + i) * strip.inner + inner;
      sorted.values[place] = elements[order[i]];
      positions.values[place] = static_cast<double>(order[i]);
    }
  }
  if (values) e.store(sorted);
  e.store(positions, values ? 1 : 0);
}

SortOrder order_of(Evaluation& e) {
  return e.boolean("stable", false) ? SortOrder::stable : SortOrder::unstable;
}

std::int64_t length_along(Evaluation& e) {
  Shape sizes = e.shape("self");
  return sizes.empty() ? 1 : sizes[e.dim("dim", -1, sizes.size())];
}

}  // namespace

void sort(Evaluation& e) {
  store_sorted(e, e.boolean("descending", false), length_along(e), order_of(e), true);
}
void argsort(Evaluation& e) {
  store_sorted(e, e.boolean("descending", false), length_along(e), order_of(e), false);
}
void topk(Evaluation& e) {
  const SortOrder order = e.boolean("sorted", true) ? SortOrder::first : SortOrder::first_unsorted;
  store_sorted(e, e.boolean("largest", true), e.shape("self").empty() ? 1 : e.constant("k", 1),
               order, true);
}
void item(Evaluation& e) {
  e.store(e.array("self"));
}

}  // namespace penstock::ops::reference
