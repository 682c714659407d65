// Indexing by tensors, sorting, losses.
#include <algorithm>
#include <array>
#include <optional>

#include "ops/promotion.h"
#include "ops/rules/layout.h"
#include "ops/rules/rules.h"

namespace penstock::ops::rules {

void gather(Inference& in) {
  const TensorType& self = in.tensor("self");
  const TensorType& index = in.tensor("index");
  const std::int64_t dim = in.dim("dim", 0, self.rank());
  if (in.failed()) return;
  // What has no dims counts as one element along the only one.
  if (std::max<std::size_t>(self.rank(), 1) != std::max<std::size_t>(index.rank(), 1))
    return in.fail("self and index differ in rank");
  for (std::size_t d = 0; d < std::min(self.rank(), index.rank()); ++d) {
    const auto size = self.sizes[d].constant(), wanted = index.sizes[d].constant();
    const bool larger = size && wanted && *wanted > *size;
    if (larger && static_cast<std::int64_t>(d) != dim)
      return in.fail("the index is larger than self, apart from dim");
  }
  in.add(self.dtype, index.sizes, self);
}

void take_along_dim(Inference& in) {
  const TensorType& self = in.tensor("self");
  const TensorType& index = in.tensor("indices");
  if (in.failed()) return;
  if (!in.has("dim")) return in.add(self.dtype, {element_count(index.sizes)}, self);
  std::int64_t dim = in.dim("dim", 0, self.rank());
  if (in.failed() || index.rank() != self.rank()) return in.fail("self and indices differ in rank");
  TensorType frame = self;
  if (!frame.sizes.empty()) frame.sizes[dim] = index.sizes[dim];
  in.add(self.dtype, broadcast_sizes(in, std::array<const TensorType*, 2>{&frame, &index}), self);
}

void index_select(Inference& in) {
  const TensorType& self = in.tensor("self");
  const TensorType& index = in.tensor("index");
  std::int64_t dim = in.dim("dim", 0, self.rank());
  if (in.failed()) return;
  std::vector<SymExpr> sizes = self.sizes;
  if (!sizes.empty()) sizes[dim] = index.rank() == 0 ? SymExpr(1) : index.sizes[0];
  in.add(self.dtype, std::move(sizes), self);
}

/// The result is new and contiguous, whatever the elements' strides. Dtypes that differ are torch's
/// own matter.
void isin(Inference& in) {
  const TensorType& elements = in.tensor("elements");
  if (in.failed()) return;
  if (in.has("test_elements") && in.tensor("test_elements").dtype != elements.dtype) {
    return in.refuse("elements of two dtypes are compared");
  }
  in.add(DType::bool_, elements.sizes, elements);
}

void embedding(Inference& in) {
  const TensorType& weight = in.tensor("weight");
  const TensorType& indices = in.tensor("indices");
  if (in.failed() || weight.rank() != 2) return in.fail("weight must be a matrix");
  std::vector<SymExpr> sizes = indices.sizes;
  sizes.push_back(weight.sizes[1]);
  in.add(weight.dtype, std::move(sizes), weight);
}

void scatter(Inference& in) {
  const TensorType& self = in.tensor("self");
  in.tensor("index");
  in.dim("dim", 0, self.rank());
  if (!in.failed()) in.add(self.dtype, self.sizes, self);
}

/// A copy of self, laid out as clone does.
void index_put(Inference& in) {
  const TensorType& self = in.tensor("self");
  if (in.failed()) return;
  TensorType type = contiguous_type(self.dtype, self.sizes, self);
  type.strides = preserved_strides(in, self);
  in.add(std::move(type));
}

void one_hot(Inference& in) {
  const TensorType& self = in.tensor("self");
  const SymExpr classes = in.integer("num_classes", -1);
  if (in.less(classes, SymExpr(0))) in.refuse("the number of classes depends on the elements");
  std::vector<SymExpr> sizes = self.sizes;
  sizes.push_back(classes);
  if (!in.failed()) in.add(DType::int64, std::move(sizes), self);
}

namespace {

/// An index over the sizes that all of them pick, among `before` and `behind` dims of one element.
TensorType index_among(Inference& in, const TensorType& given, const std::vector<SymExpr>& picked,
                       std::size_t before, std::size_t behind) {
  TensorType index = given;
  const std::size_t lead = picked.size() - given.rank();
  index.sizes = picked;
  index.strides.assign(lead, SymExpr(0));
  for (std::size_t i = 0; i < given.rank(); ++i) {
    const bool repeats = given.sizes[i] != picked[lead + i] && in.is_one(given.sizes[i]) &&
                         !in.is_one(picked[lead + i]);
    index.strides.push_back(repeats ? SymExpr(0) : given.strides[i]);
  }
  std::vector<SymExpr> sizes(before, SymExpr(1));
  sizes.insert(sizes.end(), picked.begin(), picked.end());
  sizes.insert(sizes.end(), behind, SymExpr(1));
  auto strides = view_strides(in, index, sizes);
  index.strides = strides ? std::move(*strides) : contiguous_strides(sizes);
  index.sizes = std::move(sizes);
  return index;
}

}  // namespace

void index(Inference& in) {
  const TensorType& self = in.tensor("self");
  const Argument* argument = in.find("indices");
  const auto* list = argument ? argument->as<Argument::Sequence>() : nullptr;
  if (in.failed() || !list || list->items.size() > self.rank())
    return in.fail("indices must be a list");
  std::vector<const TensorType*> tensors;
  std::size_t first = 0, last = 0;
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    const auto* value = list->items[i].as<Argument::Value>();
    if (!value) continue;
    const TensorType& type = in.type(value->id);
    if (is_boolean(type.dtype) || type.dtype == DType::uint8)
      return in.refuse("a mask selects as many elements as it holds");
    if (tensors.empty()) first = i;
    last = i;
    tensors.push_back(&type);
  }
  if (tensors.empty()) return in.fail("no index is a tensor");
  std::vector<SymExpr> picked = broadcast_sizes(in, tensors), sizes;
  bool adjacent = last - first + 1 == tensors.size();
  // The picked dims stand where the indexed ones stood, or in front when those are apart.
  // TensorIterator takes self as repeated along them.
  TensorType source = self;
  source.strides.clear();
  auto pick = [&] {
    sizes.insert(sizes.end(), picked.begin(), picked.end());
    source.strides.resize(sizes.size(), SymExpr(0));
  };
  std::size_t before = 0;
  if (!adjacent) pick();
  for (std::size_t i = 0; i < self.rank(); ++i) {
    bool indexed = i < list->items.size() && list->items[i].as<Argument::Value>();
    if (adjacent && i == first) {
      before = sizes.size();
      pick();
    }
    if (indexed) continue;
    sizes.push_back(self.sizes[i]);
    source.strides.push_back(self.strides[i]);
  }
  if (in.failed()) return;
  source.sizes = sizes;
  std::vector<TensorType> indexers;
  for (const TensorType* index : tensors) {
    indexers.push_back(
        index_among(in, *index, picked, before, sizes.size() - before - picked.size()));
  }
  std::vector<const TensorType*> operands = {&source};
  for (const TensorType& indexer : indexers) operands.push_back(&indexer);
  TensorType type = contiguous_type(self.dtype, sizes, self);
  type.strides = elementwise_strides(in, operands, sizes, false);
  in.add(std::move(type));
}

void topk(Inference& in) {
  const TensorType& self = in.tensor("self");
  std::int64_t dim = in.dim("dim", -1, self.rank());
  std::vector<SymExpr> sizes = self.sizes;
  const SymExpr k = in.integer("k", -1);
  const auto below = (sizes.empty() ? SymExpr(1) : sizes[dim]) - k;
  if (k.constant().value_or(0) < 0 || below.constant().value_or(0) < 0)
    in.fail("k is out of range");
  if (in.failed()) return;
  if (!sizes.empty()) sizes[dim] = k;
  in.add(self.dtype, sizes, self);
  in.add(DType::int64, std::move(sizes), self);
}

namespace {

/// The results of sorting lie as self does, without gaps. Nothing after an error.
std::optional<TensorType> sorted_type(Inference& in) {
  const TensorType& self = in.tensor("self");
  in.dim("dim", -1, self.rank());
  if (in.failed()) return std::nullopt;
  TensorType type = self;
  type.storage_offset = 0;
  type.storage = -1;
  type.requires_grad = false;
  type.strides = preserved_strides(in, self);
  return type;
}

}  // namespace

void sort(Inference& in) {
  auto type = sorted_type(in);
  if (!type) return;
  in.add(*type);
  type->dtype = DType::int64;
  in.add(std::move(*type));
}

void argsort(Inference& in) {
  auto type = sorted_type(in);
  if (!type) return;
  type->dtype = DType::int64;
  in.add(std::move(*type));
}

void item(Inference& in) {
  const TensorType& self = in.tensor("self");
  if (!in.failed()) in.add(self.dtype, {}, self);
}

void pairwise_loss(Inference& in) {
  const TensorType& self = in.tensor("self");
  const TensorType& target = in.tensor("target");
  if (in.failed()) return;
  DType dtype = real_dtype(promote(self.dtype, target.dtype));
  if (in.constant("reduction", 1) != 0) return in.add(dtype, {}, self);
  in.add(elementwise_type(in, std::array{&self, &target}, dtype));
}

void class_loss(Inference& in) {
  const TensorType& self = in.tensor("self");
  const TensorType& target = in.tensor("target");
  if (in.failed()) return;
  bool probabilities = is_floating(target.dtype);
  std::vector<SymExpr> sizes;
  // A class for each place: sizes that differ in name are equal.
  if (!probabilities && self.rank() == target.rank() + 1) {
    for (std::size_t i = 0; i < target.rank(); ++i) {
      const std::size_t there = i == 0 ? 0 : i + 1;  // the classes are dim 1, or the only one
      if (!in.equal(self.sizes[there], target.sizes[i]))
        return in.fail("there is not one class for each place");
    }
  }
  if (in.constant("reduction", 1) == 0) {
    sizes = target.sizes;
    if (probabilities && sizes.size() > 1)
      sizes.erase(sizes.begin() + 1);
    else if (probabilities)
      sizes.clear();
  }
  in.add(self.dtype, std::move(sizes), self);
}

void cosine_similarity(Inference& in) {
  TensorType first = in.tensor("x1");
  const TensorType& second = in.tensor("x2");
  if (in.failed()) return;
  std::vector<SymExpr> sizes =
      broadcast_sizes(in, std::array<const TensorType*, 2>{&first, &second});
  std::int64_t dim = in.dim("dim", 1, sizes.size());
  if (in.failed() || sizes.empty()) return in.fail("needs a dim");
  sizes.erase(sizes.begin() + dim);
  in.add(promote(first.dtype, second.dtype), std::move(sizes), first);
}

}  // namespace penstock::ops::rules
