// Writes through views. A view that only rearranges is undone; one that leaves elements out is put
// back over them. Views over elements that prims do not hold (complex ones) are ATen's own, and so
// is what undoes them.
#include "passes/view_writes.h"

#include <algorithm>

#include "ops/op.h"
#include "ops/rules/layout.h"

namespace penstock::passes {

namespace {

using ops::OpId;

class ViewWrite {
 public:
  ViewWrite(Rewrite& rewrite, const Node& view, std::size_t result, ValueId parent, ValueId content)
      : rewrite_(rewrite), view_(view), result_(result), parent_(parent), content_(content) {}

  ValueId run() {
    const ops::OpFacts* op = ops::find_op(view_.op);
    if (op == nullptr) return refuse("is written through, and only torch knows what it shows");
    return op->is_prim() ? through_prim(*op) : through_aten(*op);
  }

 private:
  ValueId through_prim(const ops::OpFacts& op) {
    switch (op.id) {
      case OpId::prim_reshape:
        return reshape_back();
      case OpId::prim_permute:
        return permute_back(op);
      case OpId::prim_slice:
        return over_parent("prim.scatter_slice", {"start", "step"});
      case OpId::prim_broadcast:
        return repeats() ? refuse(kRepeats) : reshape_back();
      case OpId::prim_as_strided:
        return over_places(op, "offset");
      case OpId::prim_unfold:
        return over_windows(op, "dim");
      default:
        return refuse(kRepeats);
    }
  }

  ValueId through_aten(const ops::OpFacts& op) {
    switch (op.id) {
      case OpId::slice_Tensor:
        return over_parent("aten.slice_scatter.default", {"dim", "start", "end", "step"});
      case OpId::select_int:
        return over_parent("aten.select_scatter.default", {"dim", "index"});
      case OpId::narrow_default:
        return over_slice(op, 0);
      case OpId::split_Tensor:
      case OpId::split_sizes:
      case OpId::split_with_sizes_default:
      case OpId::chunk_default:
        return over_slice(op, result_);
      case OpId::unbind_int:
        return over_piece();
      case OpId::permute_default:
      case OpId::transpose_int:
      case OpId::t_default:
      case OpId::numpy_T_default:
      case OpId::mT_default:
      case OpId::swapaxes_default:
      case OpId::movedim_int:
      case OpId::movedim_intlist:
        return permute_back(op);
      case OpId::alias_default:
      case OpId::detach_default:
      case OpId::data_default:
        return content_;
      case OpId::diagonal_default:
        return over_parent("aten.diagonal_scatter.default", {"offset", "dim1", "dim2"});
      case OpId::as_strided_default:
        return over_places(op, "storage_offset");
      case OpId::unfold_default:
        return over_windows(op, "dimension");
      default:
        return repeats() ? refuse(kRepeats) : reshape_back();
    }
  }

  /// Whether elements of the parent are seen twice, or not at all.
  bool repeats() const {
    return element_count(rewrite_.type(parent_).sizes) !=
           element_count(rewrite_.type(content_).sizes);
  }

  ValueId reshape_back() {
    if (repeats()) return refuse(kRepeats);
    const std::vector<SymExpr> sizes = rewrite_.type(parent_).sizes;
    return reshaped(content_, sizes);
  }

  ValueId permute_back(const ops::OpFacts& op) {
    ops::Inference in(op, view_, rewrite_.graph(), rewrite_.shapes());
    const std::vector<std::int64_t> dims = ops::view_permutation(in);
    if (in.failed()) return refuse(in.error()->message);
    std::vector<std::int64_t> inverse(dims.size());
    for (std::size_t i = 0; i < dims.size(); ++i) inverse[dims[i]] = static_cast<std::int64_t>(i);
    return rewrite_.emit_one(
        "prim.permute", {arg("self", Argument::Value{content_}), arg("dims", list_of(inverse))});
  }

  /// The parent with the content where the view's own arguments `names` say.
  ValueId over_parent(std::string_view op, std::initializer_list<std::string_view> names) {
    std::vector<NamedArgument> args = {arg("self", Argument::Value{parent_}),
                                       arg("src", Argument::Value{content_})};
    for (std::string_view name : names) {
      if (const Argument* given = find_argument(view_, name)) args.push_back(arg(name, *given));
    }
    return put(op, std::move(args));
  }

  /// The parent with the content in a run of one dim: piece `piece` of those that the view cuts it
  /// into.
  ValueId over_slice(const ops::OpFacts& op, std::size_t piece) {
    ops::Inference in(op, view_, rewrite_.graph(), rewrite_.shapes());
    const TensorType whole = rewrite_.type(parent_);
    const std::int64_t dim = in.dim("dim", 0, whole.rank());
    auto types = ops::infer(view_, rewrite_.graph(), rewrite_.shapes());
    if (in.failed() || whole.rank() == 0 || !types || piece >= types->size())
      return refuse(kRepeats);
    SymExpr start = op.id == OpId::narrow_default ? in.integer("start") : SymExpr(0);
    if (in.less(start, SymExpr(0))) start += whole.sizes[dim];
    for (std::size_t i = 0; i < piece; ++i) start += (*types)[i].sizes[dim];
    const SymExpr end = start + (*types)[piece].sizes[dim];
    if (in.failed()) return refuse(in.error()->message);
    return put("aten.slice_scatter.default",
               {arg("self", Argument::Value{parent_}), arg("src", Argument::Value{content_}),
                arg("dim", dim), arg("start", integer(start)), arg("end", integer(end))});
  }

  /// The parent with the content as one of the pieces that it is unbound into.
  ValueId over_piece() {
    const Argument* dim = find_argument(view_, "dim");
    return put("aten.select_scatter.default",
               {arg("self", Argument::Value{parent_}), arg("src", Argument::Value{content_}),
                arg("dim", dim != nullptr ? *dim : Argument(std::int64_t{0})),
                arg("index", static_cast<std::int64_t>(result_))});
  }

  /// The parent, a row of elements, with the content where strides over it lead.
  ValueId over_places(const ops::OpFacts& op, std::string_view offset) {
    ops::Inference in(op, view_, rewrite_.graph(), rewrite_.shapes());
    const TensorType& row = rewrite_.type(parent_);
    TensorType shown = row;
    shown.sizes = in.integers("size");
    shown.strides = in.integers("stride");
    const SymExpr first = in.integer(offset, row.storage_offset) - row.storage_offset;
    const bool known = !in.failed() && row.rank() == 1 && shown.strides.size() == shown.rank();
    if (!known || overlaps(in, shown) || in.failed()) return refuse(kRepeats);
    const SymExpr count = element_count(shown.sizes);
    const ValueId places = reshaped(places_of(first, shown), {count});
    return scattered(parent_, places, reshaped(content_, {count}), 0);
  }

  /// The parent with the content as windows over one of its dims, none of which overlap.
  ValueId over_windows(const ops::OpFacts& op, std::string_view along) {
    ops::Inference in(op, view_, rewrite_.graph(), rewrite_.shapes());
    const std::vector<SymExpr> shown = rewrite_.type(content_).sizes;
    const auto rank = static_cast<std::int64_t>(shown.size()) - 1;
    const std::int64_t dim = in.dim(along, 0, rank);
    const SymExpr step = in.integer("step", 1), apart = in.integer("dilation", 1);
    if (in.failed()) return refuse(in.error()->message);
    TensorType windows = rewrite_.type(content_);
    windows.sizes = {shown[dim], shown.back()};
    windows.strides = {step, apart};
    if (overlaps(in, windows) || in.failed()) return refuse(kRepeats);
    // A window's elements go behind the dim that counts the windows, and the two become one.
    std::vector<std::int64_t> order;
    for (std::int64_t i = 0; i < rank; ++i) {
      order.push_back(i);
      if (i == dim) order.push_back(rank);
    }
    std::vector<SymExpr> sizes(shown.begin(), shown.end() - 1);
    sizes[dim] *= shown.back();
    const ValueId moved = rewrite_.emit_one(
        "prim.permute", {arg("self", Argument::Value{content_}), arg("dims", list_of(order))});
    const ValueId row = reshaped(places_of(0, windows), {sizes[dim]});
    const ValueId places = broadcast(row, sizes, dim);
    return scattered(parent_, places, reshaped(moved, sizes), dim);
  }

  /// The places in the row of the view's elements, the first of which is at `first`.
  ValueId places_of(const SymExpr& first, const TensorType& view) {
    const std::vector<SymExpr>& sizes = view.sizes;
    ValueId places = rewrite_.emit_one(
        "prim.full",
        {arg("size", list_of(sizes)), arg("value", integer(first)), arg("dtype", DType::int64)});
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const ValueId along = rewrite_.emit_one(
          "prim.iota", {arg("length", integer(sizes[i])), arg("start", std::int64_t{0}),
                        arg("step", integer(view.strides[i])), arg("dtype", DType::int64)});
      const ValueId spread = broadcast(along, sizes, static_cast<std::int64_t>(i));
      places = rewrite_.emit_one("prim.add", {arg("self", Argument::Value{places}),
                                              arg("other", Argument::Value{spread})});
    }
    return places;
  }

  ValueId broadcast(ValueId row, const std::vector<SymExpr>& sizes, std::int64_t dim) {
    const std::vector<std::int64_t> dims = {dim};
    return rewrite_.emit_one("prim.broadcast",
                             {arg("self", Argument::Value{row}), arg("size", list_of(sizes)),
                              arg("dims", list_of(dims))});
  }

  ValueId reshaped(ValueId value, const std::vector<SymExpr>& sizes) {
    if (rewrite_.type(value).sizes == sizes) return value;
    return rewrite_.emit_one("prim.reshape",
                             {arg("self", Argument::Value{value}), arg("size", list_of(sizes))});
  }

  ValueId scattered(ValueId into, ValueId places, ValueId content, std::int64_t dim) {
    return rewrite_.emit_one(
        "prim.scatter", {arg("self", Argument::Value{into}), arg("index", Argument::Value{places}),
                         arg("src", Argument::Value{content}), arg("dim", dim)});
  }

  static Argument integer(const SymExpr& value) {
    if (auto plain = value.constant()) return *plain;
    return value;
  }

  /// What torch's scatters give has the parent's type, whether or not they have a rule.
  ValueId put(std::string_view op, std::vector<NamedArgument> args) {
    if (op.starts_with("prim.")) return rewrite_.emit_one(op, std::move(args));
    TensorType type = rewrite_.type(parent_);
    type.strides = contiguous_strides(type.sizes);
    type.storage_offset = 0;
    type.storage = -1;
    std::vector<ValueId> made = rewrite_.emit_as(op, std::move(args), {std::move(type)});
    return made.empty() ? parent_ : made.front();
  }

  ValueId refuse(std::string_view message) {
    rewrite_.fail({Code::PS0602,
                   view_.op + " " + std::string(message),
                   std::nullopt,
                   {},
                   {},
                   Severity::error});
    return parent_;
  }

  static constexpr std::string_view kRepeats =
      "is written through, although its elements are not each one element of its argument";

  Rewrite& rewrite_;
  const Node& view_;
  std::size_t result_;
  ValueId parent_, content_;
};

}  // namespace

ValueId written_through(Rewrite& rewrite, const Node& view, std::size_t result, ValueId parent,
                        ValueId content) {
  return ViewWrite(rewrite, view, result, parent, content).run();
}

}  // namespace penstock::passes
