// Concatenation, repetition, padding.
#include <algorithm>
#include <array>

#include "ops/promotion.h"
#include "ops/rules/layout.h"
#include "ops/rules/rules.h"

namespace penstock::ops {

TensorType joined_type(Inference& in, const std::vector<TensorType>& parts, std::int64_t dim,
                       DType dtype) {
  std::vector<SymExpr> sizes = parts.front().sizes;
  bool channels_last = true;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) sizes[dim] += parts[i].sizes[dim];
    channels_last = channels_last && suggests_channels_last(in, parts[i]);
  }
  TensorType type = contiguous_type(dtype, sizes, parts.front());
  if (channels_last) type.strides = channels_last_strides(sizes);
  return type;
}

}  // namespace penstock::ops

namespace penstock::ops::rules {

namespace {

/// torch.cat ignores tensors of sizes [0], whatever the others' rank.
bool is_legacy_empty(const TensorType& type) {
  return type.rank() == 1 && type.sizes[0] == SymExpr(0);
}

}  // namespace

void cat(Inference& in) {
  std::vector<ValueId> ids = in.values("tensors");
  if (in.failed()) return;
  const TensorType* first = nullptr;
  ResultType promoted;
  bool channels_last = true;
  for (ValueId id : ids) {
    const TensorType& type = in.type(id);
    promoted.add_tensor(type.dtype, type.rank() > 0);
    channels_last = channels_last && suggests_channels_last(in, type);
    if (!first && !is_legacy_empty(type)) first = &type;
  }
  if (!first) return in.add(promoted.dtype(), {SymExpr(0)}, in.type(ids.front()));
  std::int64_t dim = in.dim("dim", 0, first->rank());
  std::vector<SymExpr> sizes = first->sizes;
  if (sizes.empty()) return in.fail("tensors without dims cannot be concatenated");
  sizes[dim] = 0;
  for (ValueId id : ids) {
    const TensorType& type = in.type(id);
    if (is_legacy_empty(type)) continue;
    if (type.rank() != sizes.size()) return in.fail("the tensors differ in rank");
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (static_cast<std::int64_t>(i) == dim)
        sizes[i] += type.sizes[i];
      else if (!in.equal(sizes[i], type.sizes[i]))
        return in.fail("sizes differ beside dim " + std::to_string(dim));
    }
  }
  TensorType type = contiguous_type(promoted.dtype(), sizes, *first);
  if (channels_last) type.strides = channels_last_strides(sizes);
  if (!in.failed()) in.add(std::move(type));
}

void stack(Inference& in) {
  std::vector<ValueId> ids = in.values("tensors");
  if (in.failed()) return;
  const TensorType& first = in.type(ids.front());
  std::int64_t dim = in.dim("dim", 0, first.rank() + 1);
  ResultType promoted;
  for (ValueId id : ids) {
    const TensorType& type = in.type(id);
    promoted.add_tensor(type.dtype, type.rank() > 0);
    if (type.rank() != first.rank()) return in.fail("the tensors differ in rank");
    for (std::size_t i = 0; i < type.rank(); ++i) {
      if (!in.equal(type.sizes[i], first.sizes[i])) return in.fail("the tensors differ in size");
    }
  }
  if (in.failed()) return;
  // ATen joins along the dim, which it then splits, or along new last dims.
  const bool splits = dim < static_cast<std::int64_t>(first.rank());
  std::vector<TensorType> parts;
  for (ValueId id : ids) parts.push_back(splits ? in.type(id) : with_dim(in.type(id), dim, 1, 1));
  std::vector<SymExpr> sizes = first.sizes;
  sizes.insert(sizes.begin() + dim, SymExpr(static_cast<std::int64_t>(ids.size())));
  TensorType type = joined_type(in, parts, dim, promoted.dtype());
  if (auto strides = view_strides(in, type, sizes)) type.strides = std::move(*strides);
  type.sizes = std::move(sizes);
  if (!in.failed()) in.add(std::move(type));
}

void repeat(Inference& in) {
  const TensorType& self = in.tensor("self");
  std::vector<SymExpr> sizes = in.integers("repeats");
  if (in.failed() || sizes.size() < self.rank()) return in.fail("fewer repeats than dims");
  std::size_t lead = sizes.size() - self.rank();
  for (std::size_t i = 0; i < self.rank(); ++i) sizes[lead + i] *= self.sizes[i];
  in.add(self.dtype, std::move(sizes), self);
}

void repeat_interleave(Inference& in) {
  const TensorType& self = in.tensor("self");
  SymExpr repeats = in.integer("repeats");
  if (in.failed()) return;
  if (!in.has("dim")) return in.add(self.dtype, {element_count(self.sizes) * repeats}, self);
  std::vector<SymExpr> sizes = self.sizes;
  std::int64_t dim = in.dim("dim", 0, self.rank());
  if (sizes.empty()) sizes = {SymExpr(1)};
  sizes[dim] *= repeats;
  if (!in.failed()) in.add(self.dtype, std::move(sizes), self);
}

void flip(Inference& in) {
  const TensorType& self = in.tensor("self");
  for (std::int64_t dim : in.constants("dims")) in.wrap_dim(dim, self.rank());
  if (in.failed()) return;
  TensorType type = contiguous_type(self.dtype, self.sizes, self);
  type.strides = preserved_strides(in, self);
  in.add(std::move(type));
}

/// ATen joins what is given before and behind, then takes neighbours' differences n times: not more
/// often than there are elements, and without what is given where n is 0
/// (aten/src/ATen/native/ReduceOps.cpp).
void diff(Inference& in) {
  TensorType joined = in.tensor("self");
  const std::int64_t n = in.constant("n", 1);
  const std::int64_t dim = in.dim("dim", -1, joined.rank());
  if (!in.failed() && joined.rank() == 0) in.fail("diff needs a dim");
  if (!in.failed() && n < 0) in.fail("n is negative");
  ResultType promoted;
  promoted.add_tensor(joined.dtype, true);
  for (const char* name : {"prepend", "append"}) {
    if (in.failed() || n == 0 || !in.has(name)) continue;
    const TensorType& part = in.tensor(name);
    if (part.rank() != joined.rank()) return in.fail("the tensors differ in rank");
    promoted.add_tensor(part.dtype, true);
    joined.sizes[dim] += part.sizes[dim];
    joined = contiguous_type(promoted.dtype(), joined.sizes, joined);
  }
  if (in.failed()) return;
  SymExpr& length = joined.sizes[dim];
  const auto known = length.constant();
  const bool is_self = !in.has("prepend") && !in.has("append");
  if (known == 0 && n > 0 && is_self) return in.add_view(in.tensor("self"), in.value("self"));
  // A size that is a symbol is 2 at least.
  if (!known && n > 1)
    return in.refuse("how often differences can be taken depends on a symbolic size");
  length = known ? SymExpr(std::max<std::int64_t>(*known - n, 0)) : length - SymExpr(n);
  in.add(elementwise_type(in, std::array<const TensorType*, 1>{&joined}, promoted.dtype()));
}

/// ATen joins two slices of each dim, one dim after the other.
void roll(Inference& in) {
  const TensorType& self = in.tensor("self");
  std::vector<SymExpr> shifts = in.integers("shifts");
  std::vector<std::int64_t> dims = in.constants("dims");
  if (in.failed()) return;
  TensorType rolled = contiguous_type(self.dtype, self.sizes, self);
  if (dims.empty()) {
    // The flat tensor is rolled and viewed as before: of one dim without elements nothing is made
    // anew.
    if (self.rank() == 1 && in.is_zero(self.sizes[0])) rolled.strides = self.strides;
    return in.add(std::move(rolled));
  }
  if (shifts.size() != dims.size()) return in.fail("shifts and dims differ in length");
  rolled.strides = self.strides;
  if (in.is_zero(element_count(self.sizes))) {
    rolled.strides = preserved_strides(in, self);
    return in.add(std::move(rolled));
  }
  for (std::size_t i = 0; i < dims.size() && !in.failed() && self.rank() > 0; ++i) {
    const std::int64_t dim = in.wrap_dim(dims[i], self.rank());
    if (in.failed()) return;
    const SymExpr back = mod(shifts[i], rolled.sizes[dim]), front = rolled.sizes[dim] - back;
    const bool whole = back == SymExpr(0);  // a symbolic shift moves something
    std::vector<TensorType> parts = {sliced(rolled, dim, front, back, 1),
                                     sliced(rolled, dim, 0, front, 1)};
    if (whole) parts.front().sizes[dim] = 0;
    rolled = joined_type(in, parts, dim, self.dtype);
    rolled.sizes = self.sizes;
  }
  in.add(std::move(rolled));
}

namespace {

/// Padding with elements of the image itself. What torch refuses fails; so does circular padding
/// that shows more than is left where it crops too: torch then reads what it has not written.
void pad_with_image(Inference& in, const TensorType& self, const std::vector<SymExpr>& amounts,
                    const std::string& mode) {
  std::size_t dims = amounts.size() / 2, rank = self.rank();
  bool reflect = mode == "reflect", circular = mode == "circular";
  if (!reflect && !circular && mode != "replicate")
    return in.fail("there is no padding mode '" + mode + "'");
  if (in.has("value")) return in.fail("this padding takes no value");
  if (dims < 1 || dims > 3 || (rank != dims + 1 && rank != dims + 2))
    return in.fail("pad does not fit the tensor");
  if (!circular && is_boolean(self.dtype)) return in.fail("has no kernel for bools");
  std::vector<SymExpr> sizes = self.sizes;
  for (std::size_t i = circular ? rank - dims : rank - dims - 1; i < rank && !in.failed(); ++i) {
    if (in.is_zero(sizes[i])) in.fail("the image has no elements");
  }
  for (std::size_t i = 0; i < dims && !in.failed(); ++i) {
    SymExpr& size = sizes[rank - 1 - i];
    const SymExpr &low = amounts[2 * i], &high = amounts[2 * i + 1];
    SymExpr kept = size;
    for (const SymExpr* amount : {&low, &high}) {
      if (reflect && !in.less(*amount, size)) in.fail("reflects more than there is");
      if (circular && in.less(*amount, SymExpr(0))) kept += *amount;
    }
    for (const SymExpr* amount : {&low, &high}) {
      if (circular && in.less(kept, *amount)) in.fail("wraps around more than once");
    }
    size += low + high;
    if (in.less(size, SymExpr(1))) in.fail("the result would be empty");
  }
  if (in.failed()) return;
  TensorType type = contiguous_type(self.dtype, sizes, self);
  bool keeps_layout = !circular && dims > 1 && rank == dims + 2;
  if (keeps_layout && suggests_channels_last(in, self)) type.strides = channels_last_strides(sizes);
  in.add(std::move(type));
}

bool only_crops(const std::vector<SymExpr>& amounts) {
  return std::all_of(amounts.begin(), amounts.end(),
                     [](const SymExpr& amount) { return amount.constant().value_or(1) <= 0; });
}

}  // namespace

void pad(Inference& in) {
  const TensorType& self = in.tensor("self");
  std::vector<SymExpr> amounts = in.integers(in.has("padding") ? "padding" : "pad");
  if (amounts.size() % 2 != 0 || amounts.size() > 2 * self.rank())
    return in.fail("pad has a wrong length");
  if (std::string mode = padding_mode(in.op(), in.text("mode", "constant")); mode != "constant") {
    return pad_with_image(in, self, amounts, mode);
  }
  std::vector<SymExpr> sizes = self.sizes;
  for (std::size_t i = 0; i < amounts.size() / 2; ++i) {
    sizes[sizes.size() - 1 - i] += amounts[2 * i] + amounts[2 * i + 1];
  }
  TensorType type = contiguous_type(self.dtype, sizes, self);
  if (only_crops(amounts)) {  // torch clones the part that stays
    TensorType part = self;
    part.sizes = sizes;
    type.strides = preserved_strides(in, part);
  } else if (suggests_channels_last(in, self)) {
    type.strides = channels_last_strides(sizes);
  }
  if (!in.failed()) in.add(std::move(type));
}

namespace {

/// The sizes of what slice_scatter and select_scatter show of self, and put src into.
std::vector<SymExpr> window_sizes(Inference& in, const TensorType& self) {
  std::vector<SymExpr> sizes = self.sizes;
  const std::int64_t dim = in.dim("dim", 0, self.rank());
  if (self.rank() == 0) in.fail("a tensor without dims has no part");
  if (in.failed()) return sizes;
  if (in.op().id == OpId::slice_scatter_default) {
    sizes[dim] =
        clamp_slice(in, sizes[dim], in.find("start"), in.find("end"), in.integer("step", 1)).length;
    return sizes;
  }
  SymExpr index = in.integer("index");
  if (in.less(index, SymExpr(0))) index += sizes[dim];
  if (in.less(index, SymExpr(0)) || !in.less(index, sizes[dim])) in.fail("index out of range");
  sizes.erase(sizes.begin() + dim);
  return sizes;
}

}  // namespace

/// A clone of all that self's memory holds, shown as self is; of a repeated tensor a clone of its
/// elements alone.
void scatter_view(Inference& in) {
  const TensorType &self = in.tensor("self"), &src = in.tensor("src");
  if (in.failed()) return;
  const std::vector<SymExpr> window = window_sizes(in, self);
  if (in.failed() || window.size() != src.rank()) return in.fail("src does not fit");
  for (std::size_t i = 0; i < window.size(); ++i) {
    const auto gap = (window[i] - src.sizes[i]).constant();
    if (gap && *gap != 0) return in.fail("src does not fit");
  }
  TensorType type = contiguous_type(self.dtype, self.sizes, self);
  bool repeats = false;
  for (std::size_t i = 0; i < self.rank() && !is_contiguous(self); ++i) {
    repeats = repeats || (in.is_zero(self.strides[i]) && !in.is_one(self.sizes[i]));
  }
  type.strides = repeats ? preserved_strides(in, self) : self.strides;
  if (!repeats && overlaps(in, self)) return in.fail("elements of self share memory");
  in.add(std::move(type));
}

}  // namespace penstock::ops::rules
