// Tensors of Python data: torch.tensor([1, 2, n]), x[[0, -1]]. The graph fills them with the
// numbers: one `full` where they are all the same, else one for each number and `stack` around
// them. A number that changes from call to call is an input, as it is for any op.

#include <algorithm>
#include <cmath>
#include <optional>

#include "ops/promotion.h"
#include "python/literal.h"
#include "record/objects/backward.h"
#include "record/objects/torch_call.h"
#include "record/objects/torch_tensor.h"
#include "record/results.h"
#include "record/walk.h"

namespace penstock::record {

using python::literal_of;
using python::PyRef;

using Keywords = std::vector<std::pair<PyObject*, Operand>>;

namespace {

constexpr std::size_t kMostDimensions = 64;
constexpr std::size_t kMostDifferent = 32;  ///< numbers that get a node each

bool is_nesting(PyObject* object) {
  return PyList_CheckExact(object) || PyTuple_CheckExact(object);
}

/// An int that is no int of 64 bits is torch's to refuse.
bool is_number(PyObject* object) {
  return PyBool_Check(object) || PyFloat_CheckExact(object) ||
         python::plain_number(object).has_value();
}

/// Zeros of either sign are equal, and no NaN is.
bool is_same_number(PyObject* a, PyObject* b) {
  if (Py_TYPE(a) != Py_TYPE(b) || PyObject_RichCompareBool(a, b, Py_EQ) != 1) return false;
  return !PyFloat_CheckExact(a) ||
         std::signbit(PyFloat_AS_DOUBLE(a)) == std::signbit(PyFloat_AS_DOUBLE(b));
}

TensorType contiguous_type(DType dtype, std::vector<SymExpr> sizes) {
  TensorType type;
  type.dtype = dtype;
  type.strides = contiguous_strides(sizes);
  type.sizes = std::move(sizes);
  return type;
}

/// The nested lists with what stands for each number in the call.
Argument shown_data(PyObject* data, const std::vector<Argument>& numbers, std::size_t& next) {
  if (!is_nesting(data)) return numbers[next++];
  using Sequence = Argument::Sequence;
  Sequence result{PyTuple_CheckExact(data) ? Sequence::Kind::tuple : Sequence::Kind::list, {}};
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(data); ++i) {
    result.items.push_back(shown_data(PySequence_Fast_GET_ITEM(data, i), numbers, next));
  }
  return Argument(std::move(result));
}

}  // namespace

std::optional<DType> default_dtype(Walk& walk) {
  if (!walk.context.guard_setting("get_default_dtype")) return std::nullopt;
  PyObject* torch = PyDict_GetItemString(PyImport_GetModuleDict(), "torch");
  PyRef answer = torch == nullptr
                     ? PyRef()
                     : PyRef::steal(PyObject_CallMethod(torch, "get_default_dtype", nullptr));
  if (!answer) PyErr_Clear();
  const auto literal = answer ? literal_of(answer.get()) : std::nullopt;
  const DType* dtype = literal ? literal->as<DType>() : nullptr;
  return dtype == nullptr ? std::nullopt : std::optional(*dtype);
}

bool read_data(Walk& walk, Operand data, std::size_t depth, PythonData& read) {
  if (is_number(data.object)) {
    if (read.numbers.empty()) read.rank = depth;
    read.numbers.push_back(data);
    return read.rank == depth;
  }
  if (!is_nesting(data.object) || depth == kMostDimensions || data.shadow.is(Shadow::Kind::unknown))
    return false;
  const std::vector<Shadow> all = walk.objects.items(data);
  const auto count = static_cast<std::int64_t>(all.size());
  if (read.sizes.size() == depth) read.sizes.push_back(count);
  if (read.sizes[depth] != count) return false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(data.object, static_cast<Py_ssize_t>(i));
    if (!read_data(walk, {all[i], item}, depth + 1, read)) return false;
  }
  return true;
}

std::optional<PythonData> python_data(Walk& walk, Operand data) {
  PythonData read;
  const bool whole = read_data(walk, data, 0, read);
  // Of nested lists that are empty it is torch that says what shape they have.
  if (!whole || (read.numbers.empty() && read.sizes.size() != 1)) return std::nullopt;
  const auto any = [&](auto is) {
    return std::ranges::any_of(read.numbers, [&](Operand number) { return is(number.object); });
  };
  const auto all_same = [&](Operand number) {
    return is_same_number(number.object, read.numbers[0].object);
  };
  const bool fixed = std::ranges::none_of(
      read.numbers, [&](Operand number) { return walk.sizes.is_followed(number); });
  read.is_uniform = fixed && std::ranges::all_of(read.numbers, all_same);
  if (!read.is_uniform && read.numbers.size() > kMostDifferent) return std::nullopt;
  if (!read.numbers.empty() && !any([](PyObject* object) { return PyFloat_CheckExact(object); })) {
    read.dtype = any([](PyObject* object) { return PyLong_CheckExact(object); }) ? DType::int64
                                                                                 : DType::bool_;
  }
  return read;
}

bool plan_data(Walk& walk, PythonData& data, std::optional<DType> dtype,
               std::vector<PlannedNode>& nodes) {
  const auto fill = [&](Argument value, const std::vector<std::int64_t>& sizes) {
    Argument::Sequence size{Argument::Sequence::Kind::list, {}};
    for (const std::int64_t one : sizes) size.items.emplace_back(one);
    PlannedNode node{
        "aten.full.default", {{"size", std::move(size)}, {"fill_value", value}}, {}, std::nullopt};
    node.type = contiguous_type(dtype.value_or(ops::kDefaultDType), {sizes.begin(), sizes.end()});
    node.lacks_dtype = !dtype;
    if (dtype) node.args.push_back({"dtype", *dtype});
    nodes.push_back(std::move(node));
  };
  for (Operand number : data.numbers) {
    auto value = walk.sizes.number_input(number, {ops::NumberArgument::checked}, dtype);
    if (!value && !walk.facts.consume(number)) return false;
    data.shown.push_back(value ? std::move(*value) : *literal_of(number.object));
  }
  if (data.is_uniform) {
    fill(data.shown.empty() ? Argument(0.0) : data.shown[0], data.sizes);
    return true;
  }
  std::vector<ValueId> made;
  for (const Argument& number : data.shown) {
    fill(number, {});
    made.push_back(planned_value(nodes.size() - 1));
  }
  // From the innermost lists outwards.
  for (std::size_t dim = data.sizes.size(); dim-- > 0;) {
    const auto count = data.sizes[dim];
    std::vector<ValueId> stacked;
    for (auto first = made.begin(); first != made.end(); first += count) {
      PlannedNode node{"aten.stack.default", {}, {first, first + count}, std::nullopt};
      Argument::Sequence tensors{Argument::Sequence::Kind::list, {}};
      for (const ValueId id : node.values) tensors.items.emplace_back(Argument::Value{id});
      node.args = {{"tensors", std::move(tensors)}, {"dim", std::int64_t{0}}};
      node.type = contiguous_type(
          *dtype, {data.sizes.begin() + static_cast<std::ptrdiff_t>(dim), data.sizes.end()});
      nodes.push_back(std::move(node));
      stacked.push_back(planned_value(nodes.size() - 1));
    }
    made = std::move(stacked);
  }
  return true;
}

namespace {

/// A tensor of Python data, whatever requires_grad says of it.
bool tensor_of_data(Walk& walk, FrameShadow& f, std::string_view function,
                    const std::vector<Operand>& positional, const Keywords& keywords, int pops) {
  const auto refuse = [&] {
    return walk.verdict.broke(Code::PS0309,
                              "torch." + std::string(function) + " makes a tensor of Python data");
  };
  if (positional.size() != 1) return refuse();
  // Of a tensor, as_tensor gives the tensor itself where it need not be converted.
  const Operand given = positional[0];
  if (walk.is_tensor(given.object)) {
    return function == "as_tensor" && keywords.empty() ? gives(f, pops, given.shadow) : refuse();
  }
  std::vector<NamedArgument> named;
  std::optional<DType> dtype;
  for (const auto& [name, operand] : keywords) {
    auto value = argument(walk, operand);
    if (!value) return false;
    const std::string text = python::text_of(name);
    const DType* asked = value->as<DType>();
    if (text == "dtype" && asked != nullptr) dtype = *asked;
    const auto* device = value->as<Argument::Named>();
    const bool cpu = value->is_none() || (device != nullptr && device->name == "cpu") ||
                     *value == Argument(std::string("cpu"));
    const bool known = text == "dtype" ? asked != nullptr || value->is_none()
                                       : (text == "device" && cpu) || text == "requires_grad";
    if (!known) return refuse();
    named.push_back({text, std::move(*value)});
  }
  auto data = python_data(walk, given);
  if (!data) return refuse();
  if (!dtype) dtype = data->dtype;
  if (!dtype && !data->is_uniform) {
    dtype = default_dtype(walk);
    if (!dtype) return refuse();
  }
  std::vector<PlannedNode> nodes;
  if (!plan_data(walk, *data, dtype, nodes)) return false;
  std::size_t next = 0;
  Argument shown = shown_data(given.object, data->shown, next);
  walk.context.guard_grad_mode();
  const std::string name(function);
  Call call{"call_function", name, "torch." + name, {std::move(shown)}, std::move(named),
            walk.stack(),    {}};
  return record(walk, f, std::move(call), std::move(nodes), positional, pops);
}

}  // namespace

bool make_tensor(Walk& walk, FrameShadow& f, std::string_view function,
                 const std::vector<Operand>& positional, const Keywords& keywords, int pops) {
  return makes_tensor(walk, f, keywords, [&] {
    return tensor_of_data(walk, f, function, positional, keywords, pops);
  });
}

}  // namespace penstock::record
