#include "interchange/pt2/write_state.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "interchange/pt2/json.h"
#include "interchange/pt2/numbers.h"
#include "interchange/pt2/sympy.h"
#include "ir/size_facts.h"

namespace penstock::pt2 {

namespace {

/// torch tells by the name what a symbol stands for: sizes are s0, s1, …
bool is_size_name(std::string_view name) {
  return name.size() > 1 && name.front() == 's' &&
         std::ranges::all_of(name.substr(1), [](unsigned char c) { return std::isdigit(c) != 0; });
}

Json as_name(const std::string& name) {
  return {{"as_name", name}};
}

}  // namespace

WriteState::WriteState(const Graph& graph)
    : graph(graph), arguments(argument_tree(graph.interface)) {
  std::unordered_set<std::string> used;
  for (const Symbol& symbol : graph.interface.symbols) used.insert(symbol.name);
  std::int64_t next = 0;
  for (const Symbol& symbol : graph.interface.symbols) {
    std::string name = symbol.name;
    while (!is_size_name(name)) {
      std::string candidate = fmt::format("s{}", next++);
      if (used.insert(candidate).second) name = std::move(candidate);
    }
    symbols_.emplace(symbol.name, name);
  }
  for (const Value& value : graph.values) names_.insert(value.name);
  find_hints();
}

std::string WriteState::fresh(const std::string& stem) {
  std::string name = stem;
  while (!names_.insert(name).second) name = fmt::format("{}_{}", stem, ++next_[stem]);
  return name;
}

void WriteState::fail(std::string message, std::string place) {
  if (problem) return;
  problem = failure(Code::PS0211, std::move(message), std::move(place)).value();
  problem->hint =
      "A .pt2 holds whole calls of functions on tensors: penstock export makes such graphs.";
}

SymExpr WriteState::renamed(const SymExpr& expression) const {
  return expression.substitute([&](std::string_view name) -> std::optional<SymExpr> {
    const auto found = symbols_.find(name);
    if (found == symbols_.end()) return std::nullopt;
    return SymExpr::symbol(found->second);
  });
}

/// Its value in the call that was recorded.
std::optional<std::int64_t> WriteState::hint(const SymExpr& expression) const {
  return expression.evaluate([&](std::string_view name) -> std::optional<std::int64_t> {
    const auto found = hints_.find(name);
    return found == hints_.end() ? std::nullopt : std::optional(found->second);
  });
}

/// torch asks for a value of every symbol. Where none was recorded, it is the least that is not
/// special and meets the conditions.
void WriteState::find_hints() {
  constexpr std::int64_t kLeast = 2, kMost = 128;
  const auto met = [&](const Guard& guard) {
    if (!guard.condition) return true;
    const auto left = hint(guard.condition->left), right = hint(guard.condition->right);
    return !left || !right || holds(*left, guard.condition->relation, *right);
  };
  for (std::int64_t value = kLeast; value <= kMost; ++value) {
    bool all_recorded = true;
    for (const Symbol& symbol : graph.interface.symbols) {
      all_recorded = all_recorded && symbol.hint.has_value();
      hints_[symbol.name] = symbol.hint.value_or(std::clamp(value, symbol.minimum, symbol.maximum));
    }
    if (all_recorded || std::ranges::all_of(graph.interface.guards, met)) return;
  }
}

Json WriteState::size(const SymExpr& expression) const {
  if (const auto number = expression.constant()) return {{"as_int", *number}};
  Json out = {{"expr_str", to_sympy(renamed(expression))}, {"hint", nullptr}};
  if (const auto value = hint(expression)) out["hint"] = {{"as_int", *value}};
  return {{"as_expr", out}};
}

Json WriteState::type(const TensorType& type) const {
  Json sizes = Json::array(), strides = Json::array();
  for (const SymExpr& one : type.sizes) sizes.push_back(size(one));
  for (const SymExpr& one : type.strides) strides.push_back(size(one));
  const std::size_t colon = type.device.find(':');
  Json device = {{"type", type.device.substr(0, colon)}, {"index", nullptr}};
  if (colon != std::string::npos) device["index"] = std::stoi(type.device.substr(colon + 1));
  return {{"dtype", number_of(type.dtype)},
          {"sizes", sizes},
          {"strides", strides},
          {"storage_offset", size(type.storage_offset)},
          {"requires_grad", type.requires_grad},
          {"device", device},
          {"layout", kStrided}};
}

/// A symbol is what it is read from: a size of an input, or an input.
std::string WriteState::symbol(std::string_view name) {
  const SymExpr wanted = SymExpr::symbol(name);
  for (std::size_t i = 0; i < graph.interface.inputs.size(); ++i) {
    const Value& value = graph.values[i];
    if (value.is_scalar && value.expression == wanted) return value.name;
    for (std::size_t d = 0; d < value.type.rank(); ++d) {
      if (value.type.sizes[d] != wanted) continue;
      std::string result = fresh("sym_size_int");
      Json dim = {{"as_int", static_cast<std::int64_t>(d)}};
      nodes.push_back({{"target", "torch.ops.aten.sym_size.int"},
                       {"inputs", Json::array({{{"name", "self"},
                                                {"arg", {{"as_tensor", {{"name", value.name}}}}},
                                                {"kind", 1}},
                                               {{"name", "dim"}, {"arg", dim}, {"kind", 1}}})},
                       {"outputs", Json::array({{{"as_sym_int", as_name(result)}}})},
                       {"metadata", Json::object()},
                       {"name", result}});
      sym_int_values[result] = size(wanted);
      return result;
    }
  }
  fail(fmt::format("no argument has {} as a size", name));
  return {};
}

Json WriteState::operand(const SymExpr& expression) {
  if (const auto constant = expression.constant()) return {{"as_int", *constant}};
  return {{"as_sym_int", as_name(number(expression))}};
}

std::string WriteState::operation(const std::string& target, const Json& a, const Json& b,
                                  const SymExpr& value) {
  std::string result = fresh(target.substr(target.rfind('.') + 1));
  nodes.push_back({{"target", target},
                   {"inputs", Json::array({{{"name", "a"}, {"arg", a}, {"kind", 1}},
                                           {{"name", "b"}, {"arg", b}, {"kind", 1}}})},
                   {"outputs", Json::array({{{"as_sym_int", as_name(result)}}})},
                   {"metadata", Json::object()},
                   {"name", result}});
  sym_int_values[result] = size(value);
  return result;
}

std::string WriteState::atom(const SymAtom& atom) {
  constexpr std::string_view kTargets[] = {"", "_operator.floordiv", "_operator.mod",
                                           "torch.sym_min", "torch.sym_max"};
  if (atom.kind == SymAtom::Kind::symbol) return number(SymExpr::symbol(atom.text));
  const Json a = operand(atom.operands[0]), b = operand(atom.operands[1]);
  const SymExpr value =
      atom.kind == SymAtom::Kind::floordiv  ? floordiv(atom.operands[0], atom.operands[1])
      : atom.kind == SymAtom::Kind::mod     ? mod(atom.operands[0], atom.operands[1])
      : atom.kind == SymAtom::Kind::minimum ? minimum(atom.operands[0], atom.operands[1])
                                            : maximum(atom.operands[0], atom.operands[1]);
  return operation(std::string(kTargets[static_cast<std::size_t>(atom.kind)]), a, b, value);
}

std::string WriteState::term(const SymTerm& term) {
  std::string product;
  SymExpr value = 1;
  for (const auto& factor : term.atoms) {
    std::string name = atom(*factor);
    const SymExpr own = make_expression(0, {{1, {factor}}});
    value *= own;
    product = product.empty() ? name
                              : operation("_operator.mul", {{"as_sym_int", as_name(product)}},
                                          {{"as_sym_int", as_name(name)}}, value);
  }
  if (term.coefficient == 1) return product;
  return operation("_operator.mul", {{"as_sym_int", as_name(product)}},
                   {{"as_int", term.coefficient}}, value * SymExpr(term.coefficient));
}

std::string WriteState::number(const SymExpr& expression) {
  const std::string text = expression.to_string();
  if (const auto known = numbers_.find(text); known != numbers_.end()) return known->second;
  std::string sum;
  SymExpr value = 0;
  if (!expression.symbol_name().empty()) {
    sum = symbol(expression.symbol_name());
  } else {
    for (const SymTerm& each : expression.terms()) {
      std::string name = term(each);
      value += make_expression(0, {each});
      sum = sum.empty() ? name
                        : operation("_operator.add", {{"as_sym_int", as_name(sum)}},
                                    {{"as_sym_int", as_name(name)}}, value);
    }
    if (expression.constant_term() != 0) {
      sum = operation("_operator.add", {{"as_sym_int", as_name(sum)}},
                      {{"as_int", expression.constant_term()}}, expression);
    }
  }
  numbers_.emplace(text, sum);
  return sum;
}

std::string WriteState::python(const SymAtom& atom) const {
  if (atom.kind != SymAtom::Kind::symbol) {
    const std::string a = python(atom.operands[0]), b = python(atom.operands[1]);
    switch (atom.kind) {
      case SymAtom::Kind::floordiv:
        return fmt::format("(({}) // ({}))", a, b);
      case SymAtom::Kind::mod:
        return fmt::format("(({}) % ({}))", a, b);
      case SymAtom::Kind::minimum:
        return fmt::format("min({}, {})", a, b);
      default:
        return fmt::format("max({}, {})", a, b);
    }
  }
  const Interface& interface = graph.interface;
  for (std::size_t i = 0; i < interface.inputs.size(); ++i) {
    const auto path = argument_paths.find(interface.inputs[i].source);
    if (path == argument_paths.end()) continue;
    const Value& value = graph.values[i];
    if (value.is_scalar && value.expression.symbol_name() == atom.text) return path->second;
    for (std::size_t d = 0; d < value.type.rank(); ++d) {
      if (value.type.sizes[d].symbol_name() == atom.text)
        return fmt::format("{}.size()[{}]", path->second, d);
    }
  }
  return {};
}

std::string WriteState::python(const SymExpr& expression) const {
  std::vector<std::string> sum;
  for (const SymTerm& term : expression.terms()) {
    std::vector<std::string> product;
    if (term.coefficient != 1) product.push_back(fmt::format("{}", term.coefficient));
    for (const auto& factor : term.atoms) {
      product.push_back(python(*factor));
      if (product.back().empty()) return {};
    }
    sum.push_back(fmt::format("{}", fmt::join(product, " * ")));
  }
  if (expression.constant_term() != 0 || sum.empty())
    sum.push_back(fmt::format("{}", expression.constant_term()));
  return fmt::format("{}", fmt::join(sum, " + "));
}

std::vector<std::string> WriteState::equal_sizes() const {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < graph.interface.inputs.size(); ++i) {
    const auto path = argument_paths.find(graph.interface.inputs[i].source);
    if (path == argument_paths.end()) continue;
    const Value& value = graph.values[i];
    for (std::size_t d = 0; d < value.type.rank(); ++d) {
      if (value.type.sizes[d].is_constant()) continue;
      const std::string size = fmt::format("{}.size()[{}]", path->second, d);
      const std::string wanted = python(value.type.sizes[d]);
      if (size != wanted) out.push_back(fmt::format("{} == {}", size, wanted));
    }
  }
  return out;
}

std::string WriteState::python(const Condition& condition) const {
  constexpr std::string_view kRelations[] = {"==", "!=", "<", "<="};
  const std::string left = python(condition.left), right = python(condition.right);
  if (left.empty() || right.empty()) return {};
  return fmt::format("{} {} {}", left, kRelations[static_cast<std::size_t>(condition.relation)],
                     right);
}

}  // namespace penstock::pt2
