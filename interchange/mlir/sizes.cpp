// Sizes that depend on inputs. A symbol is an operation, torch.symbolic_int, and the sizes of each
// tensor are bound to expressions over symbols. Where an op needs a size as an operand, it is
// computed: a symbol is read where it is a size of some tensor. An expression is computed once.
#include <fmt/format.h>

#include <algorithm>

#include "interchange/mlir/emitter.h"
#include "interchange/mlir/text.h"

namespace penstock::mlir {

void Emitter::see(const SymExpr& size, ValueId id, int dim) {
  if (size.terms().size() != 1 || size.terms().front().atoms.size() != 1) return;
  const SymTerm& term = size.terms().front();
  if (term.atoms.front()->kind != SymAtom::Kind::symbol) return;
  const Seen seen{id, dim, term.coefficient, size.constant_term()};
  const auto [at, is_new] = seen_.try_emplace(term.atoms.front()->text, seen);
  const bool plainer = term.coefficient == 1 && size.constant_term() == 0 &&
                       (at->second.factor != 1 || at->second.rest != 0);
  if (!is_new && plainer) at->second = seen;
}

void Emitter::see_symbols(ValueId id) {
  const Value& value = graph_.values[id];
  if (value.is_scalar) return see(value.expression, id, -1);
  for (std::size_t dim = 0; dim < value.type.rank(); ++dim)
    see(value.type.sizes[dim], id, static_cast<int>(dim));
}

Typed Emitter::arithmetic(std::string_view name, const Typed& a, const Typed& b) {
  return op(name, {a, b}, kInt);
}

Typed Emitter::symbol(std::string_view name) {
  const auto found = seen_.find(std::string(name));
  if (found == seen_.end()) {
    fail(fmt::format("the size {} is that of no tensor", name));
    return {};
  }
  const auto [id, dim, factor, rest] = found->second;
  Typed x = value(id);
  if (dim >= 0) x = arithmetic("aten.size.int", x, integer(dim));
  if (rest != 0) x = arithmetic("aten.sub.int", x, integer(rest));
  return factor == 1 ? x : arithmetic("aten.floordiv.int", x, integer(factor));
}

Typed Emitter::atom(const SymAtom& atom) {
  if (atom.kind == SymAtom::Kind::symbol) return size(SymExpr::symbol(atom.text));
  const Typed a = size(atom.operands[0]), b = size(atom.operands[1]);
  switch (atom.kind) {
    case SymAtom::Kind::minimum:
      return arithmetic("prim.min.int", a, b);
    case SymAtom::Kind::maximum:
      return arithmetic("prim.max.int", a, b);
    case SymAtom::Kind::mod:
      return arithmetic("aten.remainder.int", a, b);
    default:
      return arithmetic("aten.floordiv.int", a, b);
  }
}

Typed Emitter::compute(const SymExpr& expression) {
  if (const std::string_view name = expression.symbol_name(); !name.empty()) return symbol(name);
  Typed sum;
  for (const SymTerm& term : expression.terms()) {
    Typed product;
    for (const auto& factor : term.atoms) {
      const Typed x = atom(*factor);
      product = product.name.empty() ? x : arithmetic("aten.mul.int", product, x);
    }
    if (term.coefficient != 1)
      product = arithmetic("aten.mul.int", product, integer(term.coefficient));
    sum = sum.name.empty() ? product : arithmetic("aten.add.int", sum, product);
  }
  if (expression.constant_term() == 0) return sum;
  return arithmetic("aten.add.int", sum, integer(expression.constant_term()));
}

Typed Emitter::size(const SymExpr& expression) {
  if (const auto number = expression.constant()) return integer(*number);
  const std::string text = expression.to_string();
  if (const auto found = sizes_.find(text); found != sizes_.end()) return found->second;
  const std::string stem = std::exchange(stem_, text);
  Typed computed = compute(expression);
  stem_ = stem;
  return sizes_[text] = computed;
}

Typed Emitter::sizes(const std::vector<SymExpr>& list) {
  Operands items;
  std::string key = "list";
  for (const SymExpr& each : list) {
    items.push_back(size(each));
    key += " " + items.back().name;
  }
  auto [at, is_new] = constants_.try_emplace(key);
  if (is_new) at->second = this->list(items, "int");
  return at->second;
}

const std::string& Emitter::declared(std::string_view name, std::int64_t low, std::int64_t high) {
  auto [at, is_new] = declared_.try_emplace(std::string(name));
  if (is_new) {
    at->second = fresh(name, kInt).name;
    symbols_ +=
        fmt::format("    {} = torch.symbolic_int {} {{min_val = {}, max_val = {}}} : !torch.int\n",
                    at->second, quoted(name), low, high);
  }
  return at->second;
}

namespace {

std::string place_of(const std::string& symbol, std::vector<std::string>& symbols) {
  const auto found = std::ranges::find(symbols, symbol);
  const auto place = found - symbols.begin();
  if (found == symbols.end()) symbols.push_back(symbol);
  return fmt::format("s{}", place);
}

}  // namespace

/// Maps have no least and no greatest, and divide by positive numbers alone: other atoms are
/// symbols of their own, called as they are written.
std::string Emitter::affine_atom(const SymAtom& atom, std::vector<std::string>& symbols) {
  if (atom.kind == SymAtom::Kind::symbol)
    return place_of(declared(atom.text, 0, INT64_MAX), symbols);
  const auto divisor = atom.operands[1].constant();
  const bool divides = atom.kind == SymAtom::Kind::floordiv || atom.kind == SymAtom::Kind::mod;
  if (!divides || !divisor || *divisor <= 0)
    return place_of(declared(atom.text, 0, INT64_MAX), symbols);
  return fmt::format("({} {} {})", affine(atom.operands[0], symbols),
                     atom.kind == SymAtom::Kind::mod ? "mod" : "floordiv", *divisor);
}

std::string Emitter::affine(const SymExpr& expression, std::vector<std::string>& symbols) {
  std::vector<std::string> terms;
  for (const SymTerm& term : expression.terms()) {
    std::vector<std::string> factors;
    for (const auto& atom : term.atoms) factors.push_back(affine_atom(*atom, symbols));
    if (term.coefficient != 1) factors.push_back(fmt::format("{}", term.coefficient));
    terms.push_back(fmt::format("{}", fmt::join(factors, " * ")));
  }
  if (expression.constant_term() != 0 || terms.empty())
    terms.push_back(fmt::format("{}", expression.constant_term()));
  const std::string sum = fmt::format("{}", fmt::join(terms, " + "));
  return terms.size() == 1 ? sum : fmt::format("({})", sum);
}

void Emitter::bind_sizes(const Typed& value, const std::vector<SymExpr>& sizes) {
  const bool fixed =
      std::ranges::all_of(sizes, [](const SymExpr& each) { return each.is_constant(); });
  if (fixed) return;
  std::vector<std::string> symbols, places, results;
  for (const SymExpr& size : sizes) results.push_back(affine(size, symbols));
  for (std::size_t i = 0; i < symbols.size(); ++i) places.push_back(fmt::format("s{}", i));
  line(fmt::format("torch.bind_symbolic_shape {}, [{}], affine_map<()[{}] -> ({})> : {}",
                   value.name, fmt::join(symbols, ", "), fmt::join(places, ", "),
                   fmt::join(results, ", "), value.type));
}

}  // namespace penstock::mlir
