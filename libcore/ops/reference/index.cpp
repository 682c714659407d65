// Indexing by tensors, sorting.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/reference/reference.h"
#include "ops/sorted_positions.h"

namespace penstock::ops::reference {

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

}  // namespace penstock::ops::reference
