#include "ir/library_verify.h"

#include <fmt/format.h>

#include <algorithm>

namespace penstock {

namespace {

using Size = std::optional<std::int64_t>;  ///< nothing: not known
using Sizes = std::vector<Size>;

std::vector<std::string_view> words(std::string_view list) {
  std::vector<std::string_view> found;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(' '), list.size());
    found.push_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return found;
}

/// The names of a row for so many operands: the last one stands for any number of them.
std::vector<std::string_view> operand_names(std::string_view row, std::size_t count) {
  std::vector<std::string_view> names = words(row);
  if (names.empty() || !names.back().ends_with('*')) return names;
  const std::string_view last = names.back().substr(0, names.back().size() - 1);
  names.pop_back();
  while (names.size() < count) names.push_back(last);
  return names;
}

/// An input, an output, or the operand of a post-op.
struct Operand {
  bool present = false;
  DType dtype = DType::float32;
  Sizes sizes;
  std::size_t rank() const { return sizes.size(); }
};

/// Reports the first broken rule.
class CallChecker {
 public:
  CallChecker(const LibraryCall& call, const std::vector<Buffer>& buffers, const SizeValue& value,
              const std::string& place)
      : call_(call), buffers_(buffers), value_(value), place_(place) {}

  Result<void> run() {
    facts_ = find_library_call(call_.name);
    if (facts_ == nullptr)
      return failure(Code::PS0205, fmt::format("the library has no {}", call_.name), place_);
    check_operands();
    if (result_) check_attributes();
    if (result_) check_packed();
    if (!result_) return std::move(result_);
    if (call_.name == "matmul") check_matmul();
    if (call_.name == "convolution") check_convolution();
    if (call_.name.starts_with("pool")) check_pool();
    if (call_.name == "sort" || call_.name == "topk") check_order();
    if (call_.name == "check_index" && !is_integral(inputs_[0].dtype))
      broken("indices are integers");
    if (call_.name == "copy") check_copy();
    if (call_.name == "item") check_element();
    if (call_.name == "nonzero") check_places();
    if (call_.name == "bernoulli") check_draw();
    if (call_.name == "branch") check_flag(inputs_[0]);
    if (call_.name == "while") check_flag(outputs_[0]);
    if (call_.name == "for") check_turn(outputs_[0]);
    if (call_.name == "take_row") check_row(inputs_[0], outputs_[0]);
    if (call_.name == "put_row") check_row(outputs_[0], inputs_[0]);
    if (result_) check_post_ops();
    return std::move(result_);
  }

 private:
  void broken(std::string_view message) {
    if (result_)
      result_ = failure(Code::PS0205, fmt::format("{}: {}", call_.name, message), place_);
  }
  /// Breaks the call unless both sizes are equal or one is not known.
  void same(const Size& a, const Size& b, std::string_view message) {
    if (a && b && *a != *b) broken(fmt::format("{} ({} and {})", message, *a, *b));
  }

  Size known(const SymExpr& size) const {
    return size.is_constant() ? size.constant() : value_(size);
  }

  Operand operand(BufferId id) {
    Operand made;
    if (id == kNoBuffer) return made;
    if (id < 0 || id >= static_cast<BufferId>(buffers_.size())) {
      broken(fmt::format("buffer {} does not exist", id));
      return made;
    }
    const Buffer& buffer = buffers_[static_cast<std::size_t>(id)];
    made.present = true;
    made.dtype = buffer.dtype;
    for (const SymExpr& size : buffer.sizes) made.sizes.push_back(known(size));
    return made;
  }

  void check_operands() {
    const auto inputs = operand_names(facts_->inputs, call_.inputs.size()),
               outputs = operand_names(facts_->outputs, call_.outputs.size());
    if (call_.inputs.size() > inputs.size() || call_.outputs.size() != outputs.size()) {
      return broken("has wrong inputs or outputs");
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      inputs_.push_back(operand(i < call_.inputs.size() ? call_.inputs[i] : kNoBuffer));
      if (!inputs_.back().present && !inputs[i].ends_with('?'))
        broken(fmt::format("has no input {}", inputs[i]));
    }
    for (BufferId id : call_.outputs) {
      outputs_.push_back(operand(id));
      if (!outputs_.back().present) broken("has wrong inputs or outputs");
    }
  }

  void check_copy() {
    const Operand &from = inputs_[0], &to = outputs_[0];
    if (from.dtype != to.dtype || from.rank() != to.rank())
      return broken("has windows that differ");
    for (std::size_t i = 0; i < from.rank(); ++i)
      same(from.sizes[i], to.sizes[i], "has windows that differ");
  }

  void check_element() {
    if (inputs_[0].dtype != DType::int64 || !is_one(inputs_[0]))
      broken("its element is not one int64");
  }

  void check_places() {
    const Operand &marks = inputs_[0], &places = outputs_[0];
    if (!is_boolean(marks.dtype) || marks.rank() != 1) return broken("looks at a row of booleans");
    if (places.dtype != DType::int64 || places.rank() != 1) return broken("gives a row of int64");
    if (marks.sizes[0] && places.sizes[0] && *places.sizes[0] > *marks.sizes[0])
      broken("more places are wanted than there are");
  }

  static bool is_one(const Operand& operand) {
    return std::ranges::all_of(operand.sizes, [](const Size& size) { return size == 1; });
  }

  void check_flag(const Operand& condition) {
    if (!is_boolean(condition.dtype) || !is_one(condition)) broken("its condition is not one bool");
  }

  void check_turn(const Operand& turn) {
    if (turn.dtype != DType::int64 || !is_one(turn)) broken("its turn is not one int64");
  }

  void check_row(const Operand& rows, const Operand& row) {
    check_turn(inputs_[1]);
    if (rows.dtype != row.dtype || rows.rank() != row.rank() + 1)
      return broken("has windows that differ");
    for (std::size_t i = 0; i < row.rank(); ++i)
      same(rows.sizes[i + 1], row.sizes[i], "has windows that differ");
  }

  void check_draw() {
    const Operand& out = outputs_[0];
    if (!is_boolean(out.dtype) || out.rank() != 1) return broken("draws a row of booleans");
    const Buffer& buffer = buffers_[static_cast<std::size_t>(call_.outputs[0])];
    if (buffer.strides.front() != SymExpr(1)) broken("draws elements one behind the other");
  }

  const Argument* attribute(std::string_view name) const {
    const auto found = std::ranges::find(call_.attributes, name, &NamedArgument::name);
    return found == call_.attributes.end() ? nullptr : &found->value;
  }

  /// The number of an attribute; nothing: not known, or none.
  Size number(const Argument& argument) const {
    if (const auto* plain = argument.as<std::int64_t>()) return *plain;
    const auto* size = argument.as<SymExpr>();
    return size == nullptr ? Size() : known(*size);
  }
  Size number_of(std::string_view name) const { return number(*attribute(name)); }
  bool flag(std::string_view name) const { return *attribute(name)->as<bool>(); }
  Sizes list(std::string_view name) const {
    Sizes sizes;
    for (const Argument& item : attribute(name)->as<Argument::Sequence>()->items)
      sizes.push_back(number(item));
    return sizes;
  }

  bool is_number(const Argument& argument, std::int64_t least) const {
    if (argument.as<std::int64_t>() == nullptr && argument.as<SymExpr>() == nullptr) return false;
    return number(argument).value_or(least) >= least;
  }
  bool is_list(const Argument& argument, std::int64_t least) const {
    const auto* list = argument.as<Argument::Sequence>();
    const std::size_t rank = inputs_[0].rank();
    return list != nullptr && rank >= 3 && list->items.size() == rank - 2 &&
           std::ranges::all_of(list->items,
                               [&](const Argument& item) { return is_number(item, least); });
  }
  bool is_of_type(const Argument& argument, std::string_view type) const {
    if (type.ends_with('?')) {
      if (argument.is_none()) return true;
      type.remove_suffix(1);
    }
    if (type == "lengths") return is_list(argument, 1);
    if (type == "paddings") return is_list(argument, 0);
    if (type == "flag") return argument.as<bool>() != nullptr;
    if (type == "share") {
      const auto* share = argument.as<double>();
      return share != nullptr && *share >= 0 && *share <= 1;
    }
    if (type == "steps") {
      const auto* steps = argument.as<std::int64_t>();
      return steps != nullptr && *steps >= 0 && *steps <= INT32_MAX;
    }
    if (type == "count") return is_number(argument, 1);
    if (type == "size") return is_number(argument, 0);
    if (type == "int") return is_number(argument, INT64_MIN);
    const auto* dim = argument.as<std::int64_t>();
    return dim != nullptr && *dim >= 0 &&
           *dim < std::max<std::int64_t>(static_cast<std::int64_t>(inputs_[0].rank()), 1);
  }

  void check_attributes() {
    const auto rows = words(facts_->attributes);
    for (std::string_view row : rows) {
      const std::string_view name = row.substr(0, row.find(':')),
                             type = row.substr(name.size() + 1);
      const Argument* argument = attribute(name);
      if (argument == nullptr) return broken(fmt::format("attribute '{}' is missing", name));
      if (!is_of_type(*argument, type))
        return broken(fmt::format("attribute '{}' does not fit the call", name));
    }
    if (call_.attributes.size() != rows.size())
      broken(fmt::format("has {} attributes", rows.size()));
  }

  void check_packed() {
    const auto names = words(facts_->inputs), packed = words(facts_->prepack);
    for (std::int32_t position : call_.prepack) {
      const bool exists =
          position >= 0 && position < static_cast<std::int32_t>(call_.inputs.size());
      if (!exists ||
          std::ranges::find(packed, names[static_cast<std::size_t>(position)]) == packed.end()) {
        return broken(fmt::format("input {} is none that is packed", position));
      }
      if (!inputs_[static_cast<std::size_t>(position)].present)
        return broken("an input that is packed is missing");
    }
  }

  void one_dtype() {
    const DType dtype = outputs_[0].dtype;
    const auto differs = [&](const Operand& operand) {
      return operand.present && operand.dtype != dtype;
    };
    if (std::ranges::any_of(inputs_, differs)) broken("its operands differ in dtype");
  }

  /// A number for each element of a dim, or one for all.
  void check_row(const Operand& row, const Size& size, std::string_view name) {
    if (!row.present) return;
    if (row.rank() > 1) return broken(fmt::format("{} has more than one dim", name));
    if (row.rank() == 1 && row.sizes[0] != 1)
      same(row.sizes[0], size, fmt::format("{} has another size", name));
  }

  void check_matmul() {
    one_dtype();
    const Sizes &a = inputs_[0].sizes, &b = inputs_[1].sizes, &out = outputs_[0].sizes;
    const std::size_t rank = out.size();
    if (rank < 2 || a.size() != rank || b.size() != rank)
      return broken("its operands are not of one rank");
    same(a[rank - 1], b[rank - 2], "the operands' inner sizes differ");
    same(a[rank - 2], out[rank - 2], "rows of the first operand and of the result differ");
    same(b[rank - 1], out[rank - 1], "columns of the second operand and of the result differ");
    for (std::size_t i = 0; i + 2 < rank; ++i) {
      if (a[i] != 1) same(a[i], out[i], "the first operand has another batch than the result");
      if (b[i] != 1) same(b[i], out[i], "the second operand has another batch than the result");
    }
    check_row(inputs_[2], out[rank - 1], "the bias");
  }

  /// Where a batch of images goes to one: the rank fits, and the batch stays.
  bool check_images(const Operand& input, const Operand& out) {
    const bool fits = input.rank() >= 3 && input.rank() <= 5 && out.rank() == input.rank();
    if (!fits) broken("its images do not have one to three dims each");
    if (fits) same(input.sizes[0], out.sizes[0], "the batch is another");
    return fits;
  }

  void check_convolution() {
    one_dtype();
    const Operand &input = inputs_[0], &weight = inputs_[1], &out = outputs_[0];
    if (!check_images(input, out)) return;
    if (weight.rank() != input.rank()) return broken("its weight has another rank than its images");
    const bool transposed = flag("transposed");
    const Size groups = number_of("groups");
    if (!groups) return;
    const auto all_of = [&](const Size& size) { return size ? Size(*size * *groups) : Size(); };
    // Channels of a weight: whole ones first, then those of one group.
    same(weight.sizes[0], transposed ? input.sizes[1] : out.sizes[1],
         "the weight has other channels");
    same(all_of(weight.sizes[1]), transposed ? out.sizes[1] : input.sizes[1],
         "the weight has other channels in a group");
    if (weight.sizes[0] && *weight.sizes[0] % *groups != 0)
      broken("its channels are no whole groups");
    check_row(inputs_[2], out.sizes[1], "the bias");
    check_row(inputs_[3], out.sizes[1], "the scale");
    const Sizes stride = list("stride"), padding = list("padding"), dilation = list("dilation"),
                more = list("output_padding");
    for (std::size_t i = 0; i < stride.size(); ++i) {
      const Size &size = input.sizes[i + 2], &taps = weight.sizes[i + 2];
      if (!size || !taps || !stride[i] || !padding[i] || !dilation[i] || !more[i]) continue;
      if (*taps < 1) return broken("its kernel has no elements");
      const Wide reach = Wide{*dilation[i]} * (*taps - 1) + 1, both = Wide{2} * *padding[i];
      const Wide places = transposed ? (Wide{*size} - 1) * *stride[i] - both + reach + *more[i]
                                     : (*size + both - reach) / *stride[i] + 1;
      same_wide(places, out.sizes[i + 2]);
    }
  }

  void check_pool() {
    one_dtype();
    const Operand &input = inputs_[0], &out = outputs_[0];
    if (!check_images(input, out)) return;
    same(input.sizes[1], out.sizes[1], "the channels differ");
    const bool ceil = flag("ceil_mode");
    const Sizes window = list("kernel_size"), stride = list("stride"), padding = list("padding"),
                dilation = attribute("dilation") == nullptr ? Sizes(window.size(), Size(1))
                                                            : list("dilation");
    for (std::size_t i = 0; i < window.size(); ++i) {
      const Size& size = input.sizes[i + 2];
      if (!size || !window[i] || !stride[i] || !padding[i] || !dilation[i]) continue;
      if (*padding[i] > *window[i] / 2) return broken("padding is more than half a window");
      const Wide reach = Wide{*dilation[i]} * (*window[i] - 1) + 1;
      const Wide rest = *size + Wide{2} * *padding[i] - reach + (ceil ? *stride[i] - 1 : 0);
      Wide places = rest < 0 ? 0 : rest / *stride[i] + 1;
      // The last window may reach beyond the padding, but starts inside.
      if (ceil && (places - 1) * *stride[i] >= Wide{*size} + *padding[i]) --places;
      same_wide(places, out.sizes[i + 2]);
    }
  }

  void check_order() {
    const Operand &input = inputs_[0], &values = outputs_[0], &positions = outputs_[1];
    if (is_complex(input.dtype)) return broken("complex numbers have no order");
    if (values.dtype != input.dtype || positions.dtype != DType::int64)
      broken("its results are of a wrong dtype");
    if (values.rank() != input.rank() || positions.rank() != input.rank())
      return broken("its results differ in rank");
    const auto dim = static_cast<std::size_t>(*number_of("dim"));
    for (std::size_t i = 0; i < input.rank(); ++i) {
      same(values.sizes[i], positions.sizes[i], "its results differ in size");
      const bool fewer = call_.name == "topk" && i == dim;
      if (!fewer) same(values.sizes[i], input.sizes[i], "its results have other sizes");
      if (fewer && values.sizes[i] && input.sizes[i] && *values.sizes[i] > *input.sizes[i]) {
        broken("more elements are wanted than there are");
      }
    }
  }

  void check_post_ops() {
    if (call_.post_ops.empty()) return;
    const auto kinds = words(facts_->post_ops);
    if (kinds.empty()) return broken("takes no post-ops");
    if (!is_floating(outputs_[0].dtype)) return broken("post-ops want floating numbers");
    for (const PostOp& op : call_.post_ops) {
      const std::string_view kind = to_string(op.kind);
      if (std::ranges::find(kinds, kind) == kinds.end())
        return broken(fmt::format("takes no post-op {}", kind));
      const bool wants = op.kind == PostOp::Kind::add || op.kind == PostOp::Kind::mul;
      const Operand given = operand(op.operand);
      if (given.present != wants)
        return broken(fmt::format("post-op {} has a wrong operand", kind));
      if (!wants) continue;
      const Sizes& out = outputs_[0].sizes;
      if (given.dtype != outputs_[0].dtype) broken("the operand of a post-op is of another dtype");
      if (given.rank() > out.size())
        return broken("the operand of a post-op has more dims than the result");
      for (std::size_t i = 0, skip = out.size() - given.rank(); i < given.rank(); ++i) {
        if (given.sizes[i] != 1)
          same(given.sizes[i], out[i + skip], "the operand of a post-op has another size");
      }
    }
  }

  /// No product of two sizes overflows it.
  using Wide = __int128;
  void same_wide(Wide wanted, const Size& found) {
    if (found && wanted != *found)
      broken(fmt::format("its result has {} places in a dim, which does not follow", *found));
  }

  const LibraryCall& call_;
  const std::vector<Buffer>& buffers_;
  const SizeValue& value_;
  std::string place_;
  const LibraryCallFacts* facts_ = nullptr;
  std::vector<Operand> inputs_, outputs_;  ///< inputs of the row, absent ones too
  Result<void> result_;
};

}  // namespace

Result<void> verify_library_call(const LibraryCall& call, const std::vector<Buffer>& buffers,
                                 const SizeValue& value, const std::string& place) {
  return CallChecker(call, buffers, value, place).run();
}

}  // namespace penstock
