#include "passes/decompose/decomposition.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ir/float_format.h"
#include "passes/decompose/device_reductions.h"

namespace penstock::passes {

namespace {

DType common_dtype(const std::vector<ops::Operand>& operands) {
  ops::ResultType promoted;
  for (const ops::Operand& operand : operands) {
    if (operand.is_tensor())
      promoted.add_tensor(operand.tensor->dtype, operand.tensor->rank() > 0);
    else
      promoted.add_number(operand.number.category);
  }
  return promoted.dtype();
}

}  // namespace

Argument Decomposition::number_as(const ops::Number& number, DType dtype) {
  if (is_floating(dtype)) {
    if (number.category == DTypeCategory::floating || number.integer.is_constant())
      return number.real;
    return number.integer;
  }
  if (is_boolean(dtype)) {
    return number.category == DTypeCategory::floating ? number.real != 0
                                                      : number.integer != SymExpr(0);
  }
  if (number.category == DTypeCategory::floating) return static_cast<std::int64_t>(number.real);
  if (auto plain = number.integer.constant(); plain && is_integral(dtype))
    return wrap_to(*plain, dtype);
  return integer_argument(number.integer);
}

ValueId Decomposition::tensor_of(const Argument& term) {
  if (const auto* value = term.as<Argument::Value>()) return value->id;
  fail("a number stands where a tensor must");
  return kNoValue;
}

Argument Decomposition::integer_argument(const SymExpr& value) {
  if (auto plain = value.constant()) return *plain;
  return value;
}

std::string Decomposition::device() const {
  std::string device = "cpu";
  const auto look = [&](ValueId id) {
    if (device == "cpu") device = rewrite_.type(id).device;
  };
  for (const NamedArgument& argument : node().args) for_each_value(argument.value, look);
  for (const ValueId id : node().results) look(id);
  return device;
}

ValueId Decomposition::decide(ValueId x) {
  const ValueId item = emit("prim.item", {arg("self", value_argument(x))});
  if (!failed()) rewrite_.make_size(item, decided_);
  return item;
}

ValueId Decomposition::check(ValueId id) {
  if (rewrite_.failed()) fail("a part of the decomposition does not fit");
  return id;
}

Operands Decomposition::operands(std::initializer_list<std::string_view> names,
                                 Promotion promotion) {
  std::vector<ops::Operand> read;
  for (std::string_view name : names) read.push_back(operand(name));
  Operands result;
  if (failed()) return result;
  result.promoted = common_dtype(read);
  bool to_float = promotion == Promotion::to_float || promotion == Promotion::float_opmath;
  bool keeps_scalars = promotion == Promotion::opmath || promotion == Promotion::float_opmath;
  if (to_float && !is_floating(result.promoted)) result.promoted = ops::kDefaultDType;
  result.compute =
      promotion == Promotion::exact ? result.promoted : ops::compute_dtype(result.promoted);
  std::vector<TensorType> types;  // copies: emission may move the graph's values
  for (const ops::Operand& operand : read) {
    if (operand.is_tensor()) types.push_back(*operand.tensor);
  }
  std::vector<const TensorType*> tensors;
  for (const TensorType& type : types) tensors.push_back(&type);
  result.sizes = ops::broadcast_sizes(*this, tensors);
  for (const ops::Operand& operand : read) {
    bool number_input = !operand.is_tensor() && operand.value != kNoValue &&
                        operand.value < graph().interface.inputs.size();
    bool second = &operand != &read.front();
    if (operand.is_tensor() || number_input) {
      bool unrounded = keeps_scalars && second && rank(operand.value) == 0;
      ValueId rounded = unrounded ? operand.value : convert(operand.value, result.promoted);
      ValueId converted = convert(rounded, result.compute);
      result.terms.push_back(value_argument(broadcast(converted, result.sizes)));
    } else {
      Argument number = number_as(operand.number, result.compute);
      const double* real = number.as<double>();
      if (real && !keeps_scalars) number = round_to(*real, result.promoted);
      result.terms.push_back(std::move(number));
    }
  }
  return result;
}

Argument Decomposition::factor(std::string_view name, double otherwise, const Operands& like) {
  if (is_number_input(name)) {
    return value_argument(broadcast(convert(operand(name).value, like.compute), like.sizes));
  }
  const auto whole = static_cast<std::int64_t>(otherwise);
  ops::Number given = number(name, {DTypeCategory::integral, otherwise, whole});
  return number_as(given, like.compute);
}

Argument Decomposition::real_or_input(std::string_view name, double otherwise) {
  if (!is_number_input(name)) return real(name, otherwise);
  return value_argument(convert(operand(name).value, DType::float64));
}

Argument Decomposition::number_of(std::string_view prim, const Argument& a, const Argument& b) {
  const auto *left = a.as<double>(), *right = b.as<double>();
  if (left == nullptr || right == nullptr) return value_argument(binary(prim, a, b));
  if (prim == "add") return *left + *right;
  if (prim == "sub") return *left - *right;
  return prim == "mul" ? *left * *right : *left / *right;
}

Argument Decomposition::beside(ValueId x, const Argument& number) {
  if (failed()) return number;
  const DType dtype = dtype_of(x);
  if (const auto* constant = number.as<double>())
    return number_as({DTypeCategory::floating, *constant, 0}, dtype);
  return value_argument(broadcast(convert(number.as<Argument::Value>()->id, dtype), sizes(x)));
}

bool Decomposition::differs(std::string_view name, double number) {
  if (is_number_input(name)) return true;
  const auto whole = static_cast<std::int64_t>(number);
  const ops::Number given = this->number(name, {DTypeCategory::integral, number, whole});
  const bool known = given.category == DTypeCategory::floating || given.integer.is_constant();
  return !known || given.real != number;
}

ValueId Decomposition::materialize(const Argument& term, const Operands& like) {
  if (auto* value = term.as<Argument::Value>()) return value->id;
  return full(like.sizes, term, like.compute);
}

bool Decomposition::graph_writes() const {
  const std::vector<Node>& nodes = rewrite_.old_nodes();
  return std::any_of(nodes.begin(), nodes.end(), [](const Node& node) {
    const ops::OpFacts* op = ops::find_op(node.op);
    return op != nullptr ? op->has(ops::kMutates) : ops::writes_by_name(node.op);
  });
}

ValueId Decomposition::without_gradient(ValueId x) {
  if (!before_derivatives()) return x;
  return emit("aten.detach.default", {arg("self", value_argument(x))});
}

ValueId Decomposition::unary(std::string_view prim, ValueId x) {
  return emit("prim." + std::string(prim), {arg("self", value_argument(x))});
}

ValueId Decomposition::binary(std::string_view prim, Argument a, Argument b) {
  return emit("prim." + std::string(prim), {arg("self", std::move(a)), arg("other", std::move(b))});
}

ValueId Decomposition::where(ValueId condition, Argument a, Argument b) {
  return emit("prim.where", {arg("condition", value_argument(condition)), arg("self", std::move(a)),
                             arg("other", std::move(b))});
}

ValueId Decomposition::convert(ValueId x, DType dtype) {
  if (failed() || dtype_of(x) == dtype) return x;
  return emit("prim.convert", {arg("self", value_argument(x)), arg("dtype", dtype)});
}

ValueId Decomposition::broadcast(ValueId x, const std::vector<SymExpr>& sizes) {
  if (failed()) return x;
  std::size_t own = rank(x);
  if (own > sizes.size()) {
    fail("broadcasts to fewer dims");
    return x;
  }
  std::vector<std::int64_t> dims(own);
  std::iota(dims.begin(), dims.end(), static_cast<std::int64_t>(sizes.size() - own));
  return broadcast(x, sizes, dims);
}

ValueId Decomposition::broadcast(ValueId x, const std::vector<SymExpr>& sizes,
                                 const std::vector<std::int64_t>& dims) {
  if (failed() || type(x).sizes == sizes) return x;
  return emit("prim.broadcast", {arg("self", value_argument(x)), arg("size", list_of(sizes)),
                                 arg("dims", list_of(dims))});
}

ValueId Decomposition::reshape(ValueId x, const std::vector<SymExpr>& sizes) {
  if (failed() || type(x).sizes == sizes) return x;
  return emit("prim.reshape", {arg("self", value_argument(x)), arg("size", list_of(sizes))});
}

ValueId Decomposition::permute(ValueId x, const std::vector<std::int64_t>& dims) {
  if (failed() || std::is_sorted(dims.begin(), dims.end())) return x;
  return emit("prim.permute", {arg("self", value_argument(x)), arg("dims", list_of(dims))});
}

ValueId Decomposition::swap_last(ValueId x) {
  if (failed()) return x;
  std::vector<std::int64_t> dims(rank(x));
  if (dims.size() < 2) {
    fail("needs two dims");
    return x;
  }
  std::iota(dims.begin(), dims.end(), 0);
  std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
  return permute(x, dims);
}

ValueId Decomposition::slice(ValueId x, std::int64_t dim, const SymExpr& start,
                             const SymExpr& length, const SymExpr& step) {
  if (dim < 0 || dim >= static_cast<std::int64_t>(rank(x)))
    fail("has no dim " + std::to_string(dim));
  if (failed()) return x;
  std::vector<SymExpr> starts(rank(x), SymExpr(0)), stops = sizes(x), steps(rank(x), SymExpr(1));
  if (start == SymExpr(0) && length == stops[dim] && step == SymExpr(1)) return x;
  // The last element taken ends the slice, so that stop never lies behind the dim.
  bool empty = length == SymExpr(0);
  starts[dim] = start;
  stops[dim] = empty ? start : start + (length - SymExpr(1)) * step + SymExpr(1);
  steps[dim] = step;
  return emit("prim.slice", {arg("self", value_argument(x)), arg("start", list_of(starts)),
                             arg("stop", list_of(stops)), arg("step", list_of(steps))});
}

bool Decomposition::leaves_to_torch(ValueId x, const std::vector<std::int64_t>& dims) const {
  return !rewrite_.reductions_wait() && type(x).device != "cpu" && !fills_device(type(x), dims);
}

ValueId Decomposition::reduce(std::string_view prim, ValueId x,
                              const std::vector<std::int64_t>& dims, bool keep) {
  if (failed()) return x;
  if (leaves_to_torch(x, dims)) this->keep();
  std::vector<SymExpr> kept = ops::reduced_sizes(sizes(x), dims, true);
  ValueId reduced = dims.empty()
                        ? x
                        : emit("prim." + std::string(prim),
                               {arg("self", value_argument(x)), arg("dims", list_of(dims))});
  return keep ? reshape(reduced, kept) : reduced;
}

ValueId Decomposition::full(const std::vector<SymExpr>& sizes, Argument value, DType dtype) {
  return emit("prim.full",
              {arg("size", list_of(sizes)), arg("value", std::move(value)), arg("dtype", dtype)});
}

ValueId Decomposition::contiguous(ValueId x) {
  if (failed() || is_contiguous(type(x))) return x;
  return unary("clone", x);
}

ValueId Decomposition::pad(ValueId x, const std::vector<SymExpr>& low,
                           const std::vector<SymExpr>& high, Argument value) {
  auto is_zero = [](const SymExpr& amount) { return amount == SymExpr(0); };
  bool nothing = std::all_of(low.begin(), low.end(), is_zero) &&
                 std::all_of(high.begin(), high.end(), is_zero);
  if (failed() || nothing) return x;
  return emit("prim.pad", {arg("self", value_argument(x)), arg("low", list_of(low)),
                           arg("high", list_of(high)), arg("value", std::move(value))});
}

ValueId Decomposition::unfold(ValueId x, std::int64_t dim, const SymExpr& size, const SymExpr& step,
                              const SymExpr& dilation) {
  return emit("prim.unfold",
              {arg("self", value_argument(x)), arg("dim", dim), arg("size", integer_argument(size)),
               arg("step", integer_argument(step)), arg("dilation", integer_argument(dilation))});
}

ValueId Decomposition::index_select(ValueId x, ValueId index, std::int64_t dim) {
  return emit("prim.index_select", {arg("self", value_argument(x)),
                                    arg("index", value_argument(index)), arg("dim", dim)});
}

ValueId Decomposition::iota(const SymExpr& length) {
  return emit("prim.iota", {arg("length", integer_argument(length)), arg("start", std::int64_t{0}),
                            arg("step", std::int64_t{1}), arg("dtype", DType::int64)});
}

std::vector<TensorType> Decomposition::inferred() {
  std::vector<TensorType> types;
  if (failed()) return types;
  auto results = ops::infer(node(), graph(), shapes());
  if (results)
    types = std::move(*results);
  else
    fail(results.error().message);
  return types;
}

std::vector<TensorType> Decomposition::inferred_or_keep() {
  std::vector<TensorType> types;
  if (failed()) return types;
  if (auto results = ops::infer(node(), graph(), shapes()))
    types = std::move(*results);
  else
    keep();
  return types;
}

std::vector<ValueId> Decomposition::emit_all(std::string_view op, std::vector<NamedArgument> args) {
  // Statistics of whole channels or batches.
  if (op == "prim.welford" && device() != "cpu") {
    const ValueId x = args.front().value.as<Argument::Value>()->id;
    std::vector<std::int64_t> dims;
    for (const Argument& dim : args.back().value.as<Argument::Sequence>()->items)
      dims.push_back(*dim.as<std::int64_t>());
    if (leaves_to_torch(x, dims)) keep();
  }
  if (failed()) return {};
  std::vector<ValueId> results = rewrite_.emit(op, std::move(args));
  if (results.empty()) fail("a part of the decomposition does not fit");
  return results;
}

ValueId Decomposition::product(std::string_view op, std::vector<NamedArgument> args) {
  if (failed()) return kNoValue;
  bool half = false;
  for (NamedArgument& argument : args) {
    const auto* value = argument.value.as<Argument::Value>();
    if (value == nullptr || dtype_of(value->id) != DType::float16) continue;
    if (type(value->id).device != "cpu") continue;  // a GPU multiplies them so
    argument.value = value_argument(convert(value->id, DType::float32));
    half = true;
  }
  ValueId result = emit(op, std::move(args));
  return half ? convert(result, DType::float16) : result;
}

ValueId Decomposition::binary_broadcast(std::string_view prim, ValueId a, ValueId b) {
  if (failed()) return a;
  return binary(prim, value_argument(a), value_argument(broadcast(b, sizes(a))));
}

void Decomposition::write(ValueId target, ValueId content) {
  if (failed()) return;
  TensorType type = this->type(target);
  std::vector<SymExpr> own = sizes(content);
  // What is assigned to a part may have ones in front.
  while (own.size() > type.rank() && own.front() == SymExpr(1)) own.erase(own.begin());
  content = broadcast(convert(reshape(content, own), type.dtype), type.sizes);
  rewrite_.emit("prim.copy_",
                {arg("self", value_argument(target)), arg("src", value_argument(content))});
}

SymExpr Decomposition::count(const std::vector<SymExpr>& sizes,
                             const std::vector<std::int64_t>& dims) const {
  SymExpr product = 1;
  for (std::int64_t dim : dims) {
    if (dim >= 0 && dim < static_cast<std::int64_t>(sizes.size())) product *= sizes[dim];
  }
  return product;
}

}  // namespace penstock::passes
