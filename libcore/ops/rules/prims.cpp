// The prims: no promotion, no broadcasting; what their operands must agree in is checked here.
#include <algorithm>

#include "ir/subgraphs.h"
#include "ops/promotion.h"
#include "ops/rules/rules.h"

namespace penstock::ops::rules {

namespace {

/// The operand names of a row: "self other".
std::vector<std::string_view> operand_names(const OpFacts& op) {
  std::vector<std::string_view> names;
  std::string_view text = op.operands;
  while (!text.empty()) {
    std::size_t end = std::min(text.find(' '), text.size());
    names.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return names;
}

void require_same_sizes(Inference& in, const TensorType& a, const TensorType& b) {
  bool same = a.rank() == b.rank();
  for (std::size_t i = 0; same && i < a.rank(); ++i) same = in.equal(a.sizes[i], b.sizes[i]);
  if (!same) in.fail("operands differ in size: " + to_string(a) + " and " + to_string(b));
}

}  // namespace

void prim_pointwise(Inference& in) {
  std::vector<const TensorType*> tensors;
  const TensorType* first = nullptr;
  for (std::string_view name : operand_names(in.op())) {
    Operand operand = in.operand(name);
    if (in.failed()) return;
    if (!operand.is_tensor()) continue;
    if (!tensors.empty()) require_same_sizes(in, *tensors.front(), *operand.tensor);
    tensors.push_back(operand.tensor);
    if (name == "condition") {
      if (!is_boolean(operand.tensor->dtype)) in.fail("condition must be bool");
      continue;
    }
    if (first && first->dtype != operand.tensor->dtype) in.fail("operands differ in dtype");
    first = operand.tensor;
  }
  // where(condition, 1.0, 0.0) has no tensor to take its dtype from.
  if (!first) return in.fail("no operand is a tensor");
  DType dtype = in.op().result == PrimResult::bool_ ? DType::bool_ : first->dtype;
  if (!in.failed()) in.add(elementwise_type(in, tensors, dtype));
}

void prim_convert(Inference& in) {
  const TensorType& self = in.tensor("self");
  const TensorType* tensors[] = {&self};
  if (!in.failed()) in.add(elementwise_type(in, tensors, in.dtype("dtype").value_or(self.dtype)));
}

void prim_clone(Inference& in) {
  const TensorType& self = in.tensor("self");
  if (!in.failed()) in.add(self.dtype, self.sizes, self);
}

namespace {

void prim_broadcast(Inference& in, TensorType self) {
  std::vector<SymExpr> sizes = in.integers("size");
  std::vector<std::int64_t> dims = in.constants("dims");
  TensorType type = self;
  type.sizes = sizes;
  type.strides.assign(sizes.size(), SymExpr(0));
  if (dims.size() != self.rank()) return in.fail("one dim per operand dim is needed");
  for (std::size_t i = 0; i < dims.size(); ++i) {
    std::int64_t dim = in.wrap_dim(dims[i], sizes.size());
    if (in.failed() || sizes.empty()) return in.fail("an operand's dim is none of the result's");
    bool repeats = in.is_one(self.sizes[i]) && !in.is_one(sizes[dim]);
    if (!repeats && !in.equal(self.sizes[i], sizes[dim]))
      return in.fail("a dim is neither 1 nor the result's");
    type.strides[dim] = repeats ? SymExpr(0) : self.strides[i];
  }
  in.add_view(std::move(type), in.value("self"));
}

/// Whether `a` is a number that is below `b`, another one.
bool is_below(const SymExpr& a, const SymExpr& b) {
  const auto difference = (a - b).constant();
  return difference && *difference < 0;
}

void prim_slice(Inference& in, TensorType type) {
  std::vector<SymExpr> start = in.integers("start"), stop = in.integers("stop"),
                       step = in.integers("step");
  std::size_t rank = type.rank();
  if (start.size() != rank || stop.size() != rank || step.size() != rank)
    return in.fail("one entry per dim is needed");
  for (std::size_t i = 0; i < rank; ++i) {
    SymExpr extent = stop[i] - start[i];
    if (is_below(start[i], 0) || is_below(extent, 0) || is_below(type.sizes[i], stop[i]) ||
        is_below(step[i], 1)) {
      return in.fail("a dim's slice is not of its elements");
    }
    SymExpr length =
        step[i] == SymExpr(1) ? extent : floordiv(extent + step[i] - SymExpr(1), step[i]);
    type = sliced(std::move(type), static_cast<std::int64_t>(i), start[i], length, step[i]);
  }
  in.add_view(std::move(type), in.value("self"));
}

void prim_unfold(Inference& in, TensorType type) {
  std::int64_t dim = in.constant("dim", 0);
  if (dim < 0 || dim >= static_cast<std::int64_t>(type.rank()))
    return in.fail("dim is none of the operand's");
  SymExpr size = in.integer("size"), step = in.integer("step", 1),
          dilation = in.integer("dilation", 1);
  SymExpr stride = type.strides[dim], reach = dilation * (size - SymExpr(1)) + SymExpr(1);
  if (is_below(type.sizes[dim], reach) || is_below(size, 0)) return in.fail("no window fits");
  if (is_below(step, 1) || is_below(dilation, 1))
    return in.fail("step and dilation must be positive");
  type.sizes[dim] = floordiv(type.sizes[dim] - reach, step) + SymExpr(1);
  type.strides[dim] *= step;
  auto end = static_cast<std::int64_t>(type.rank());
  in.add_view(with_dim(std::move(type), end, std::move(size), stride * dilation), in.value("self"));
}

}  // namespace

void prim_view(Inference& in) {
  TensorType type = in.tensor("self");
  if (in.failed()) return;
  switch (in.op().id) {
    case OpId::prim_reshape:
      return reshape(in);
    case OpId::prim_permute:
      return permute(in);
    case OpId::prim_broadcast:
      return prim_broadcast(in, std::move(type));
    case OpId::prim_slice:
      return prim_slice(in, std::move(type));
    case OpId::prim_unfold:
      return prim_unfold(in, std::move(type));
    // torch has no negative strides: a flipped tensor has memory of its own wherever it becomes
    // real.
    case OpId::prim_flip:
      for (std::int64_t dim : in.constants("dims")) in.wrap_dim(dim, type.rank());
      return in.add(type.dtype, type.sizes, type);
    default:
      break;
  }
  type.sizes = in.integers("size");
  type.strides = in.integers("stride");
  type.storage_offset = in.integer("offset");
  if (type.sizes.size() != type.strides.size()) in.fail("size and stride differ in length");
  if (!in.failed()) in.add_view(std::move(type), in.value("self"));
}

void prim_reduce(Inference& in) {
  const TensorType& self = in.tensor("self");
  std::vector<std::int64_t> dims = in.constants("dims");
  for (std::int64_t& dim : dims) dim = in.wrap_dim(dim, self.rank());
  std::sort(dims.begin(), dims.end());
  bool indices = in.op().result == PrimResult::int64;
  if (indices && dims.empty()) dims = in.dims("dims", self.rank());
  std::vector<SymExpr> sizes =
      reduced_sizes(self.sizes, self.rank() == 0 ? std::vector<std::int64_t>{} : dims, false);
  if (in.failed()) return;
  if (in.op().id == OpId::prim_welford) in.add(self.dtype, sizes, self);
  in.add(indices ? DType::int64 : self.dtype, std::move(sizes), self);
}

void prim_scan(Inference& in) {
  const TensorType& self = in.tensor("self");
  in.dim("dim", 0, self.rank());
  if (!in.failed()) in.add(self.dtype, self.sizes, self);
}

void prim_create(Inference& in) {
  TensorType type;
  const auto dtype = in.dtype("dtype");
  if (!dtype) return in.fail("argument 'dtype' is missing");
  type.dtype = *dtype;
  type.sizes = in.op().id == OpId::prim_iota ? std::vector<SymExpr>{in.integer("length")}
                                             : in.integers("size");
  type.strides = contiguous_strides(type.sizes);
  type.device = in.text("device", "cpu");
  if (!in.failed()) in.add(std::move(type));
}

namespace {

void check_scatter_slice(Inference& in, const TensorType& self, const TensorType& src) {
  std::vector<SymExpr> start = in.integers("start"), step = in.integers("step");
  const std::size_t rank = self.rank();
  if (src.rank() != rank) return in.fail("src must have the rank of self");
  if (start.size() != rank || step.size() != rank) return in.fail("one entry per dim is needed");
  if (src.dtype != self.dtype) return in.fail("operands differ in dtype");
  for (std::size_t i = 0; i < rank; ++i) {
    const bool empty = src.sizes[i] == SymExpr(0);
    const SymExpr last = start[i] + step[i] * (src.sizes[i] - 1);
    if (is_below(start[i], 0) || is_below(step[i], 1) ||
        (!empty && is_below(self.sizes[i], last + 1))) {
      return in.fail("src reaches out of self");
    }
  }
}

}  // namespace

void prim_join(Inference& in) {
  if (in.op().id == OpId::prim_cat) return cat(in);
  const TensorType& self = in.tensor("self");
  std::vector<SymExpr> sizes = self.sizes;
  if (in.op().id == OpId::prim_pad) {
    std::vector<SymExpr> low = in.integers("low"), high = in.integers("high");
    if (low.size() != sizes.size() || high.size() != sizes.size())
      return in.fail("one entry per dim is needed");
    for (std::size_t i = 0; i < sizes.size(); ++i) sizes[i] += low[i] + high[i];
  } else {
    check_scatter_slice(in, self, in.tensor("src"));
  }
  if (!in.failed()) in.add(self.dtype, std::move(sizes), self);
}

namespace {

/// Prims index dim by dim: an index has the rank of what it indexes, but for one that selects.
void require_index_rank(Inference& in) {
  const TensorType& self = in.tensor("self");
  const TensorType& index = in.tensor("index");
  const bool selects = in.op().id == OpId::prim_index_select;
  if (in.failed()) return;
  if (self.rank() == 0 || index.rank() != (selects ? 1 : self.rank()))
    in.fail("index does not fit self");
  const bool writes = in.op().id == OpId::prim_scatter || in.op().id == OpId::prim_scatter_add;
  if (writes && in.tensor("src").rank() != index.rank()) in.fail("src does not fit index");
}

}  // namespace

void prim_index(Inference& in) {
  require_index_rank(in);
  if (in.failed()) return;
  switch (in.op().id) {
    case OpId::prim_gather:
      return gather(in);
    case OpId::prim_index_select:
      return index_select(in);
    default:
      return scatter(in);
  }
}

void prim_copy(Inference& in) {
  const TensorType& self = in.tensor("self");
  const TensorType& source = in.tensor("src");
  if (in.failed()) return;
  require_same_sizes(in, self, source);
  if (self.dtype != source.dtype) in.fail("operands differ in dtype");
}

void prim_check_index(Inference& in) {
  const TensorType& self = in.tensor("self");
  in.integer("size");
  if (!in.failed() && !is_integral(self.dtype)) in.fail("indices are integers");
}

void prim_decide(Inference& in) {
  const TensorType& self = in.tensor("self");
  if (in.failed()) return;
  if (in.op().id == OpId::prim_item) {
    if (self.dtype != DType::int64) return in.fail("a size is an int64");
    for (const SymExpr& size : self.sizes) {
      if (size != SymExpr(1)) return in.fail("a size is one element");
    }
    return in.add(DType::int64, {}, self);
  }
  if (!is_boolean(self.dtype) || self.rank() != 1) return in.fail("self is no row of bools");
  in.add(DType::int64, {in.integer("count")}, self);
}

void prim_bernoulli(Inference& in) {
  TensorType type;
  type.dtype = DType::bool_;
  type.sizes = {in.integer("length")};
  type.strides = {SymExpr(1)};
  const double probability = in.real("probability", -1);
  if (in.failed()) return;
  if (!(probability >= 0 && probability <= 1)) return in.fail("a probability is from 0 to 1");
  in.add(std::move(type));
}

/// Results are those of the subgraphs: the graph has them recorded, and its verifier compares.
void prim_control(Inference& in) {
  if (find_control_op(in.node().op)->kind == ControlKind::choice) in.tensor("predicate");
  in.values("operands");
  if (in.failed()) return;
  for (ValueId id : in.node().results) in.add(in.type(id));
}

}  // namespace penstock::ops::rules
