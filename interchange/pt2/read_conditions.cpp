#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "interchange/pt2/read_state.h"
#include "interchange/pt2/sources.h"

namespace penstock::pt2 {

using formats::Field;
using formats::Record;

namespace {

constexpr std::size_t kLongest = 10'000;  ///< bytes of a condition

/// Rewrites a condition on arguments, which torch writes in Python, with sizes in the place of
/// arguments: "(L['x'].size()[0] % 2) == 0" becomes "((s0) % 2) == 0", which parse_condition reads.
class ConditionReader {
 public:
  explicit ConditionReader(const ReadState& state) : state_(state) {
    const Interface& interface = state.graph.interface;
    for (std::size_t i = 0; i < interface.inputs.size(); ++i) {
      const Input& input = interface.inputs[i];
      if (!is_passed(interface, input)) continue;
      inputs_.emplace(interface.sources.text(input.source), i);
      inputs_.emplace(input.name, i);
    }
  }

  Result<std::string> rewrite(std::string_view text) const {
    std::string out;
    while (!text.empty()) {
      if (!text.starts_with("L['")) {
        out += text.front();
        text.remove_prefix(1);
        continue;
      }
      auto size = argument(text);
      if (!size) return tl::unexpected(std::move(size.error()));
      out += "(" + *size + ")";
    }
    return out;
  }

 private:
  /// Takes "L['x'][0].size()[1]" off the front of `text`.
  Result<std::string> argument(std::string_view& text) const {
    const std::string_view whole = text;
    std::string joined;  // what the input is called: x_0
    text.remove_prefix(1);
    while (text.starts_with("[")) {
      const std::size_t end = text.find(']');
      if (end == std::string_view::npos) return failure(Code::PS0201, "a bracket is open");
      std::string_view step = text.substr(1, end - 1);
      if (step.starts_with("'") && step.ends_with("'") && step.size() > 1)
        step = step.substr(1, step.size() - 2);
      joined += (joined.empty() ? "" : "_") + std::string(step);
      text.remove_prefix(end + 1);
    }
    const std::string path(whole.substr(0, whole.size() - text.size()));
    const auto number = state_.argument_sizes.find(path);
    if (number != state_.argument_sizes.end()) return number->second.to_string();
    auto input = inputs_.find(path);
    if (input == inputs_.end()) input = inputs_.find(joined);
    if (input == inputs_.end())
      return failure(Code::PS0211, fmt::format("nothing is passed as {}", path.substr(0, 80)));
    const TensorType& type = state_.graph.interface.inputs[input->second].type;
    if (state_.graph.values[input->second].is_scalar)
      return state_.graph.values[input->second].expression.to_string();
    return of_tensor(type, text);
  }

  static Result<std::string> of_tensor(const TensorType& type, std::string_view& text) {
    for (const auto& [name, values] : {std::pair(std::string_view(".size()["), &type.sizes),
                                       std::pair(std::string_view(".stride()["), &type.strides)}) {
      if (!text.starts_with(name)) continue;
      text.remove_prefix(name.size());
      std::size_t dim = 0, digits = 0;
      while (digits < text.size() && digits < 3 &&
             std::isdigit(static_cast<unsigned char>(text[digits])) != 0)
        dim = dim * 10 + static_cast<std::size_t>(text[digits++] - '0');
      if (digits == 0 || digits >= text.size() || text[digits] != ']' || dim >= values->size())
        return failure(Code::PS0201, "there is no such dim");
      text.remove_prefix(digits + 1);
      return (*values)[dim].to_string();
    }
    if (text.starts_with(".storage_offset()")) {
      text.remove_prefix(17);
      return type.storage_offset.to_string();
    }
    return failure(Code::PS0211, "it asks for something else than a size");
  }

  const ReadState& state_;
  std::map<std::string, std::size_t> inputs_;
};

/// Whether it holds in every call: both sides are equal, or numbers.
bool always_holds(const Condition& condition) {
  using Relation = Condition::Relation;
  const auto difference = (condition.left - condition.right).constant();
  if (!difference) return false;
  switch (condition.relation) {
    case Relation::equal:
      return *difference == 0;
    case Relation::not_equal:
      return *difference != 0;
    case Relation::less:
      return *difference < 0;
    case Relation::less_equal:
      return *difference <= 0;
  }
  return false;
}

}  // namespace

void read_conditions(ReadState& state, const Field& program) {
  Record record(program);
  const ConditionReader reader(state);
  record.each("guards_code", [&](const Field& field) {
    const std::string text = field.text();
    if (text.size() > kLongest) return field.fail("a condition is too long", Code::PS0208);
    auto sizes = reader.rewrite(text);
    if (!sizes)
      return field.fail(
          fmt::format("the condition {}: {}", text.substr(0, 200), sizes.error().message),
          sizes.error().code);
    auto condition = parse_condition(*sizes);
    if (!condition) {
      return field.fail(
          fmt::format("the condition {} is no comparison of two sizes", text.substr(0, 200)),
          Code::PS0211);
    }
    if (always_holds(*condition)) return;
    state.graph.interface.guards.push_back(
        {GuardKind::condition, kNoSource, kNoSource, {}, {}, std::move(*condition), {}, -1});
  });
}

}  // namespace penstock::pt2
