#include <fmt/format.h>

#include <algorithm>

#include "interchange/pt2/json.h"
#include "interchange/pt2/write_state.h"

namespace penstock::pt2 {

namespace {

/// Inputs that the program brings along, in torch's order, and what the spec of each kind is.
struct WeightRow {
  InputKind kind;
  std::string_view spec, key;
};
constexpr WeightRow kWeights[] = {
    {InputKind::parameter, "parameter", "parameter_name"},
    {InputKind::buffer, "buffer", "buffer_name"},
    {InputKind::constant, "tensor_constant", "tensor_constant_name"},
    {InputKind::user, "tensor_constant", "tensor_constant_name"},
};

class InputWriter {
 public:
  explicit InputWriter(WriteState& state) : state_(state), interface_(state.graph.interface) {}

  void run() {
    for (const WeightRow& row : kWeights) {
      for (std::size_t i = 0; i < interface_.inputs.size(); ++i) {
        const Input& input = interface_.inputs[i];
        if (input.kind == row.kind && !is_passed(interface_, input)) weight(row, i);
      }
    }
    for (const SourceId source : state_.arguments.leaves) argument(source);
    for (std::size_t i = 0; i < interface_.inputs.size(); ++i) {
      const Input& input = interface_.inputs[i];
      const bool known = std::ranges::any_of(
          kWeights, [&](const WeightRow& row) { return row.kind == input.kind; });
      if (!known && input.kind != InputKind::size)
        state_.fail(fmt::format("the input {} is a {}, which exported programs do not have",
                                input.name, to_string(input.kind)));
    }
  }

 private:
  void weight(const WeightRow& row, std::size_t index) {
    const Input& input = interface_.inputs[index];
    const std::string& value = state_.graph.values[index].name;
    if (input.blob.empty())
      return state_.fail(fmt::format(
          "the input {} is not passed, and the document has no elements of it", input.name));
    std::string name = weight_name(interface_.sources, input.source);
    if (name.empty()) name = input.name;
    for (int number = 1; !taken_.insert(name).second; ++number)
      name = fmt::format("{}_{}", name, number);
    state_.weight_names[static_cast<ValueId>(index)] = name;
    state_.inputs.push_back({{"as_tensor", {{"name", value}}}});
    state_.tensor_values[value] = state_.type(input.type);
    Json spec = {{"arg", {{"name", value}}}, {std::string(row.key), name}};
    if (row.kind == InputKind::buffer) spec["persistent"] = !is_temporary(interface_, name);
    state_.input_specs.push_back({{std::string(row.spec), spec}});
  }

  void argument(SourceId source) {
    const auto found = std::ranges::find_if(interface_.inputs, [&](const Input& input) {
      return input.source == source && is_passed(interface_, input);
    });
    if (found == interface_.inputs.end()) return constant(source);
    const auto index = static_cast<std::size_t>(found - interface_.inputs.begin());
    const Value& value = state_.graph.values[index];
    state_.argument_paths.emplace(source, path(source));
    Json passed;
    if (value.is_scalar) {
      passed = {{"as_sym_int", {{"as_name", value.name}}}};
      state_.sym_int_values[value.name] = state_.size(value.expression);
    } else if (found->kind == InputKind::scalar) {
      return state_.fail(fmt::format(
          "the argument {} is a float, and exported programs are called with tensors and integers",
          found->name));
    } else {
      passed = {{"as_tensor", {{"name", value.name}}}};
      state_.tensor_values[value.name] = state_.type(value.type);
    }
    state_.inputs.push_back(passed);
    state_.input_specs.push_back({{"user_input", {{"arg", passed}}}});
  }

  /// An argument that is the same in all calls, by its guard.
  void constant(SourceId source) {
    Argument value;
    for (const Guard& guard : interface_.guards) {
      if (guard.source == source && guard.kind == GuardKind::equals) value = guard.expected;
    }
    Json kept;
    if (value.is_none()) kept = {{"as_none", true}};
    if (const auto* flag = value.as<bool>()) kept = {{"as_bool", *flag}};
    if (const auto* integer = value.as<std::int64_t>()) kept = {{"as_int", *integer}};
    if (const auto* real = value.as<double>()) kept = {{"as_float", write_float(*real)}};
    if (const auto* text = value.as<std::string>()) kept = {{"as_string", *text}};
    if (kept.is_null())
      return state_.fail(
          fmt::format("the argument {} is of a kind that exported programs are not called with",
                      interface_.sources.text(source)));
    state_.inputs.push_back(kept);
    state_.input_specs.push_back(
        {{"constant_input", {{"name", state_.fresh(name_of(source))}, {"value", kept}}}});
  }

  /// What torch would call the argument: x, x_0, x_key.
  std::string name_of(SourceId source) const {
    const SourceStep& step = interface_.sources[source];
    std::string own = step.name;
    if (step.kind == SourceKind::item) own = fmt::format("{}", step.index);
    if (const auto* key = step.key.as<std::string>()) own = *key;
    if (const auto* key = step.key.as<std::int64_t>()) own = fmt::format("{}", *key);
    std::ranges::replace_if(
        own, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
    if (step.base == kNoSource) return own;
    const std::string before = name_of(step.base);
    return before == "kwargs" ? own : before + "_" + own;
  }

  /// The argument in the guards of a program: keyword arguments are arguments like others.
  std::string path(SourceId source) const {
    const std::string text = interface_.sources.text(source);
    constexpr std::string_view kKeywords = "L['kwargs']";
    const bool keyword = text.starts_with(kKeywords) && text.size() > kKeywords.size();
    return keyword ? "L" + text.substr(kKeywords.size()) : text;
  }

  WriteState& state_;
  const Interface& interface_;
  std::unordered_set<std::string> taken_;
};

}  // namespace

void write_inputs(WriteState& state) {
  InputWriter(state).run();
  state.in_spec = to_text(state.arguments.in);
}

}  // namespace penstock::pt2
