// Sizes that depend on inputs: each symbol is read where it is a size of some tensor, and what is
// computed of symbols is computed by operators on int64 tensors of one element. An expression is
// computed once.
#include <fmt/format.h>

#include "interchange/onnx/emitter.h"

namespace penstock::onnx {

void Emitter::see(const SymExpr& size, ValueId id, int dim) {
  if (size.terms().size() != 1 || size.terms().front().atoms.size() != 1) return;
  const SymTerm& term = size.terms().front();
  if (term.atoms.front()->kind != SymAtom::Kind::symbol) return;
  const Seen seen{id, dim, term.coefficient, size.constant_term()};
  const auto [at, fresh] = seen_.try_emplace(term.atoms.front()->text, seen);
  const bool plainer = term.coefficient == 1 && size.constant_term() == 0 &&
                       (at->second.factor != 1 || at->second.rest != 0);
  if (!fresh && plainer) at->second = seen;
}

void Emitter::see_symbols(ValueId id) {
  const Value& value = graph_.values[id];
  if (value.is_scalar) return see(value.expression, id, -1);
  for (std::size_t dim = 0; dim < value.type.rank(); ++dim)
    see(value.type.sizes[dim], id, static_cast<int>(dim));
}

Name Emitter::symbol(std::string_view name) {
  const auto found = seen_.find(std::string(name));
  if (found == seen_.end() && around_ != nullptr) {
    around_->names_ = std::move(names_);
    Name known = around_->size(SymExpr::symbol(name));
    names_ = std::move(around_->names_);
    if (around_->error_) fail(*around_->error_);
    return known;
  }
  if (found == seen_.end()) {
    fail(fmt::format("the size {} is that of no tensor", name));
    return "";
  }
  const auto [id, dim, factor, rest] = found->second;
  Name x = value(id);
  x = dim < 0 ? emit("Reshape", {x, ints({1})})
              : emit("Shape", {x}, {{"start", std::int64_t{dim}}, {"end", std::int64_t{dim} + 1}});
  if (rest != 0) x = emit("Sub", {x, ints({rest})});
  return factor == 1 ? x : emit("Div", {x, ints({factor})});
}

Name Emitter::atom(const SymAtom& atom) {
  if (atom.kind == SymAtom::Kind::symbol) return size(SymExpr::symbol(atom.text));
  const Name a = size(atom.operands[0]), b = size(atom.operands[1]);
  switch (atom.kind) {
    case SymAtom::Kind::minimum:
      return emit("Min", {a, b});
    case SymAtom::Kind::maximum:
      return emit("Max", {a, b});
    case SymAtom::Kind::mod:
      return emit("Mod", {a, b});
    default:
      // Div rounds to zero, and Mod has the sign of the divisor, as in Python.
      return emit("Div", {emit("Sub", {a, emit("Mod", {a, b})}), b});
  }
}

Name Emitter::compute(const SymExpr& expression) {
  if (const std::string_view name = expression.symbol_name(); !name.empty()) return symbol(name);
  Name sum = expression.constant_term() == 0 ? "" : ints({expression.constant_term()});
  for (const SymTerm& term : expression.terms()) {
    Name product = term.coefficient == 1 ? "" : ints({term.coefficient});
    for (const auto& factor : term.atoms) {
      const Name x = atom(*factor);
      product = product.empty() ? x : emit("Mul", {product, x});
    }
    sum = sum.empty() ? product : emit("Add", {sum, product});
  }
  return sum;
}

Name Emitter::size(const SymExpr& expression) {
  if (const auto number = expression.constant()) return ints({*number});
  const std::string text = expression.to_string();
  if (const auto found = sizes_.find(text); found != sizes_.end()) return found->second;
  const std::string stem = std::exchange(stem_, text);
  Name computed = compute(expression);
  stem_ = stem;
  sizes_[text] = computed;
  return computed;
}

Name Emitter::size_number(const SymExpr& expression) {
  if (const auto number = expression.constant()) return integer(*number, DType::int64);
  return emit("Squeeze", {size(expression)});
}

Name Emitter::sizes(const std::vector<SymExpr>& list) {
  std::vector<Name> parts;
  std::vector<std::int64_t> known;
  auto flush = [&] {
    if (!known.empty()) parts.push_back(ints(known));
    known.clear();
  };
  for (const SymExpr& each : list) {
    if (const auto number = each.constant()) {
      known.push_back(*number);
      continue;
    }
    flush();
    parts.push_back(size(each));
  }
  if (parts.empty()) return ints(known);
  flush();
  return parts.size() == 1 ? parts.front() : emit("Concat", parts, {{"axis", std::int64_t{0}}});
}

}  // namespace penstock::onnx
