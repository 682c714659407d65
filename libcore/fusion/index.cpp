#include "fusion/index.h"

#include <algorithm>

namespace penstock::fusion {

namespace {

using AtomRef = std::shared_ptr<const SymAtom>;

/// The factor of `atom` in `expression`; nothing when the atom occurs in a power. `rest` gets the
/// terms without the atom.
std::optional<SymExpr> split_by_atom(const SymExpr& expression, const SymAtom& atom,
                                     SymExpr& rest) {
  std::vector<SymTerm> kept;
  SymExpr factor;
  for (const SymTerm& term : expression.terms()) {
    SymTerm other{term.coefficient, {}};
    int occurrences = 0;
    for (const AtomRef& ref : term.atoms) {
      if (ref->text == atom.text) {
        ++occurrences;
      } else {
        other.atoms.push_back(ref);
      }
    }
    if (occurrences > 1) return std::nullopt;
    if (occurrences == 0) {
      kept.push_back(term);
    } else if (other.atoms.empty()) {
      factor += term.coefficient;
    } else {
      factor += make_expression(0, {std::move(other)});
    }
  }
  rest = make_expression(expression.constant_term(), std::move(kept));
  return factor;
}

/// The first mod atom whose floordiv partner stands beside it with the matching factor, replaced.
std::optional<SymExpr> recombine_once(const SymExpr& expression) {
  for (const SymTerm& term : expression.terms()) {
    for (const AtomRef& atom : term.atoms) {
      if (atom->kind != SymAtom::Kind::mod) continue;
      const SymExpr& dividend = atom->operands[0];
      const SymExpr& divisor = atom->operands[1];
      SymExpr quotient = floordiv(dividend, divisor);
      if (quotient.terms().size() != 1 || quotient.constant_term() != 0) continue;
      const SymTerm& alone = quotient.terms().front();
      if (alone.coefficient != 1 || alone.atoms.size() != 1) continue;
      SymExpr without_mod, rest;
      auto inner = split_by_atom(expression, *atom, without_mod);
      if (!inner) continue;
      auto outer = split_by_atom(without_mod, *alone.atoms.front(), rest);
      if (outer && *outer == *inner * divisor) return rest + *inner * dividend;
    }
  }
  return std::nullopt;
}

bool has_division(const SymExpr& expression) {
  for (const SymTerm& term : expression.terms()) {
    for (const AtomRef& atom : term.atoms) {
      if (atom->kind != SymAtom::Kind::symbol) return true;
    }
  }
  return false;
}

}  // namespace

SymExpr linear_index(const Window& window, const Index& index) {
  SymExpr sum = window.offset;
  for (std::size_t i = 0; i < index.size(); ++i) sum += index[i] * window.strides[i];
  return sum;
}

SymExpr simplify_index(const SymExpr& expression, const RangeFacts& facts) {
  if (!has_division(expression)) return expression;
  SymExpr result = simplify(expression, facts);
  while (auto combined = recombine_once(result)) result = simplify(*combined, facts);
  return result;
}

Index delinearise(const SymExpr& linear, const Sizes& sizes, const RangeFacts& facts) {
  Index index(sizes.size(), SymExpr(0));
  SymExpr rest = linear;
  std::size_t first = 0;  // the outermost dim with more than one element takes all that is left
  while (first + 1 < sizes.size() && sizes[first] == SymExpr(1)) ++first;
  for (std::size_t i = sizes.size(); i-- > first;) {
    if (sizes[i] == SymExpr(1)) continue;
    index[i] = i == first ? rest : simplify_index(mod(rest, sizes[i]), facts);
    rest = simplify_index(floordiv(rest, sizes[i]), facts);
  }
  return index;
}

std::vector<ReshapeGroup> reshape_groups(const Sizes& from, const Sizes& to,
                                         const RangeFacts& facts) {
  std::vector<ReshapeGroup> groups;
  std::size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    ReshapeGroup group{i, i, j, j};
    SymExpr left = 1, right = 1;
    auto take_left = [&] { left *= from[i++]; };
    auto take_right = [&] { right *= to[j++]; };
    if (i < from.size()) take_left();
    if (j < to.size()) take_right();
    while (left != right) {
      bool shorter = prove_less(left, right, facts).value_or(false);
      bool longer = prove_less(right, left, facts).value_or(false);
      if (shorter && i < from.size()) {
        take_left();
      } else if (longer && j < to.size()) {
        take_right();
      } else {  // not comparable, or an empty tensor: everything that is left is one group
        while (i < from.size()) take_left();
        while (j < to.size()) take_right();
        break;
      }
    }
    // A dim of size 1 belongs to the group before it, so that no group is empty on one side.
    while (i < from.size() && from[i] == SymExpr(1)) take_left();
    while (j < to.size() && to[j] == SymExpr(1)) take_right();
    group.from_last = i;
    group.to_last = j;
    groups.push_back(group);
  }
  return groups;
}

namespace {

Sizes part(const Sizes& sizes, std::size_t first, std::size_t last) {
  return {sizes.begin() + static_cast<std::ptrdiff_t>(first),
          sizes.begin() + static_cast<std::ptrdiff_t>(last)};
}

Index reshape_index(const Sizes& from, const Sizes& to, const Index& index,
                    const RangeFacts& facts) {
  Index result(from.size(), SymExpr(0));
  for (const ReshapeGroup& group : reshape_groups(from, to, facts)) {
    SymExpr linear = 0;
    for (std::size_t j = group.to_first; j < group.to_last; ++j) linear = linear * to[j] + index[j];
    Sizes sizes = part(from, group.from_first, group.from_last);
    Index split = delinearise(linear, sizes, facts);
    std::copy(split.begin(), split.end(),
              result.begin() + static_cast<std::ptrdiff_t>(group.from_first));
  }
  return result;
}

/// Strides of the dims [to_first, to_last) over the merged dims [from_first, from_last); nothing
/// when those do not merge.
bool reshape_strides(const Window& window, const Sizes& to, const ReshapeGroup& group,
                     Sizes& strides) {
  SymExpr step = 1;
  bool found = false;
  SymExpr expected = 0;
  for (std::size_t i = group.from_last; i-- > group.from_first;) {
    if (window.sizes[i] == SymExpr(1)) continue;
    if (!found) step = window.strides[i];
    if (found && window.strides[i] != expected) return false;
    expected = window.strides[i] * window.sizes[i];
    found = true;
  }
  for (std::size_t j = group.to_last; j-- > group.to_first;) {
    strides[j] = step;
    step *= to[j];
  }
  return true;
}

std::optional<Window> reshape_window(const Window& window, const Sizes& to,
                                     const RangeFacts& facts) {
  Window result{window.base, to, Sizes(to.size(), SymExpr(0)), window.offset};
  for (const ReshapeGroup& group : reshape_groups(window.sizes, to, facts)) {
    if (!reshape_strides(window, to, group, result.strides)) return std::nullopt;
  }
  return result;
}

std::int64_t integer_argument(const Node& node, std::string_view name) {
  return size_argument(node, name).constant().value_or(0);
}

const TensorType& type_of_self(const Graph& graph, const Node& node) {
  return graph.values[operand_value(node, "self")].type;
}

}  // namespace

Index view_index(const Graph& graph, const Node& node, const Index& index,
                 const RangeFacts& facts) {
  const TensorType& self = type_of_self(graph, node);
  const TensorType& result = graph.values[node.results.front()].type;
  Index operand(self.rank(), SymExpr(0));
  if (node.op == "prim.clone") return index;
  if (node.op == "prim.reshape") return reshape_index(self.sizes, result.sizes, index, facts);
  if (node.op == "prim.permute") {
    auto dims = integer_list(node, "dims");
    for (std::size_t i = 0; i < dims.size(); ++i) operand[dims[i]] = index[i];
  } else if (node.op == "prim.broadcast") {
    auto dims = integer_list(node, "dims");
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if (self.sizes[i] != SymExpr(1)) operand[i] = index[dims[i]];
    }
  } else if (node.op == "prim.slice") {
    Sizes start = size_list(node, "start"), step = size_list(node, "step");
    for (std::size_t i = 0; i < index.size(); ++i) operand[i] = start[i] + index[i] * step[i];
  } else if (node.op == "prim.unfold") {
    operand.assign(index.begin(), index.end() - 1);
    SymExpr& along = operand[static_cast<std::size_t>(integer_argument(node, "dim"))];
    along =
        along * size_argument(node, "step", 1) + index.back() * size_argument(node, "dilation", 1);
  } else {  // flip
    operand = index;
    for (std::int64_t dim : integer_list(node, "dims")) {
      operand[dim] = self.sizes[dim] - 1 - index[dim];
    }
  }
  return operand;
}

std::optional<Window> view_window(const Graph& graph, const Node& node, const Window& window,
                                  const RangeFacts& facts) {
  const TensorType& result = graph.values[node.results.front()].type;
  Window view{window.base, result.sizes, Sizes(result.rank(), SymExpr(0)), window.offset};
  if (node.op == "prim.clone") return window;
  if (node.op == "prim.reshape") return reshape_window(window, result.sizes, facts);
  if (node.op == "prim.permute") {
    auto dims = integer_list(node, "dims");
    for (std::size_t i = 0; i < dims.size(); ++i) view.strides[i] = window.strides[dims[i]];
  } else if (node.op == "prim.broadcast") {
    auto dims = integer_list(node, "dims");
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if (window.sizes[i] != SymExpr(1)) view.strides[dims[i]] = window.strides[i];
    }
  } else if (node.op == "prim.slice") {
    Sizes start = size_list(node, "start"), step = size_list(node, "step");
    for (std::size_t i = 0; i < result.rank(); ++i) {
      view.strides[i] = window.strides[i] * step[i];
      view.offset += start[i] * window.strides[i];
    }
  } else if (node.op == "prim.unfold") {
    std::copy(window.strides.begin(), window.strides.end(), view.strides.begin());
    SymExpr& along = view.strides[static_cast<std::size_t>(integer_argument(node, "dim"))];
    view.strides.back() = along * size_argument(node, "dilation", 1);
    along *= size_argument(node, "step", 1);
  } else if (node.op == "prim.flip") {
    view.strides = window.strides;
    for (std::int64_t dim : integer_list(node, "dims")) {
      view.offset += (window.sizes[dim] - 1) * window.strides[dim];
      view.strides[dim] = 0 - window.strides[dim];
    }
  } else {  // as_strided: strides over the memory, whatever window shows it
    view.strides = size_list(node, "stride");
    view.offset =
        size_argument(node, "offset") - type_of_self(graph, node).storage_offset + window.offset;
  }
  return view;
}

namespace {

SymExpr expression_of(const Argument& argument) {
  if (const auto* integer = argument.as<std::int64_t>()) return *integer;
  if (const auto* boolean = argument.as<bool>()) return *boolean ? 1 : 0;
  if (const auto* expression = argument.as<SymExpr>()) return *expression;
  return 0;
}

}  // namespace

SymExpr size_argument(const Node& node, std::string_view name, const SymExpr& missing) {
  const Argument* argument = find_argument(node, name);
  return argument == nullptr || argument->is_none() ? missing : expression_of(*argument);
}

Sizes size_list(const Node& node, std::string_view name) {
  Sizes list;
  const Argument* argument = find_argument(node, name);
  const auto* sequence = argument != nullptr ? argument->as<Argument::Sequence>() : nullptr;
  if (sequence == nullptr) return list;
  for (const Argument& item : sequence->items) list.push_back(expression_of(item));
  return list;
}

std::vector<std::int64_t> integer_list(const Node& node, std::string_view name) {
  std::vector<std::int64_t> list;
  for (const SymExpr& size : size_list(node, name)) list.push_back(size.constant().value_or(0));
  return list;
}

std::vector<ValueId> operand_values(const Node& node, std::string_view name) {
  std::vector<ValueId> values;
  if (const Argument* argument = find_argument(node, name)) {
    for_each_value(*argument, [&](ValueId id) { values.push_back(id); });
  }
  return values;
}

}  // namespace penstock::fusion
