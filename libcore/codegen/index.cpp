// Size and index expressions as LLVM values. A sum is emitted level by level, outermost first, so
// that in the innermost loop only the terms that change there are added.
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <map>

#include "codegen/kernel_emitter.h"

namespace penstock::codegen {

using llvm::Value;

namespace {

/// The term divided by the symbol, once.
SymExpr without(const SymTerm& term, std::string_view symbol) {
  SymTerm rest{term.coefficient, {}};
  bool removed = false;
  for (const auto& atom : term.atoms) {
    bool remove = !removed && atom->kind == SymAtom::Kind::symbol && atom->text == symbol;
    if (remove) {
      removed = true;
    } else {
      rest.atoms.push_back(atom);
    }
  }
  return to_expression(rest);
}

ScalarId scalar_id(std::string_view name) {
  return std::atoi(std::string(name.substr(1)).c_str());
}

}  // namespace

int KernelEmitter::level_of(const SymExpr& expression) const {
  int level = 0;
  expression.for_each_symbol([&](std::string_view name) {
    if (name.front() == 'v') {
      if (const Pack* pack = find(scalar_id(name))) level = std::max(level, pack->level);
      return;
    }
    for (int i = current_level(); i > level; --i) {
      if (frames_[i].variable == name) level = i;
    }
  });
  return level;
}

bool KernelEmitter::depends_on_lanes(const SymExpr& expression) const {
  if (vector_level_ < 0) return false;
  bool depends = false;
  expression.for_each_symbol([&](std::string_view name) {
    if (name == vector_frame()->variable) depends = true;
    if (name.front() != 'v') return;
    const Pack* pack = find(scalar_id(name));
    if (pack != nullptr && pack->vector) depends = true;
  });
  return depends;
}

bool KernelEmitter::depends_on_lanes(const SymTerm& term) const {
  return std::any_of(term.atoms.begin(), term.atoms.end(), [&](const auto& atom) {
    if (atom->kind != SymAtom::Kind::symbol) {
      return depends_on_lanes(atom->operands[0]) || depends_on_lanes(atom->operands[1]);
    }
    return depends_on_lanes(SymExpr::symbol(atom->text));
  });
}

std::optional<SymExpr> KernelEmitter::lane_step(const SymExpr& expression) const {
  SymExpr step = 0;
  if (vector_level_ < 0) return step;
  const std::string& variable = vector_frame()->variable;
  for (const SymTerm& term : expression.terms()) {
    if (!depends_on_lanes(term)) continue;
    SymExpr factor = without(term, variable);
    bool linear = std::any_of(term.atoms.begin(), term.atoms.end(), [&](const auto& atom) {
      return atom->kind == SymAtom::Kind::symbol && atom->text == variable;
    });
    if (!linear || depends_on_lanes(factor)) return std::nullopt;
    step += factor;
  }
  return step;
}

Value* KernelEmitter::scalar_symbol(const std::string& name) {
  for (int i = current_level(); i > 0; --i) {
    if (frames_[i].variable == name) return frames_[i].index;
  }
  if (auto symbol = symbol_values_.find(name); symbol != symbol_values_.end()) {
    return symbol->second;
  }
  const Pack* pack = find(scalar_id(name));
  Value* value = pack->copies[0];
  if (value->getType()->isVectorTy()) value = ir_.CreateExtractElement(value, std::uint64_t{0});
  return pack->dtype == DType::uint8 || pack->dtype == DType::bool_
             ? ir_.CreateZExt(value, ir_.getInt64Ty())
             : ir_.CreateSExt(value, ir_.getInt64Ty());
}

Value* KernelEmitter::divide_index(SymAtom::Kind kind, const SymExpr& a, const SymExpr& b, Value* x,
                                   Value* y) {
  auto number = [&](std::int64_t value) { return llvm::ConstantInt::get(x->getType(), value); };
  bool quotient = kind == SymAtom::Kind::floordiv;
  auto divisor = b.constant();
  if (divisor && *divisor > 0 && std::has_single_bit(static_cast<std::uint64_t>(*divisor))) {
    int shift = std::countr_zero(static_cast<std::uint64_t>(*divisor));
    return quotient ? ir_.CreateAShr(x, number(shift)) : ir_.CreateAnd(x, number(*divisor - 1));
  }
  // A size of 0 may be divided by where nothing is computed, and the machine's division ends the
  // process.
  if (!divisor) y = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, y, number(1));
  if (is_non_negative(a) && is_non_negative(b)) {
    return quotient ? ir_.CreateUDiv(x, y) : ir_.CreateURem(x, y);
  }
  // Rounds down, as Python does: one less where the signs differ and something is left.
  Value* toward_zero = ir_.CreateSDiv(x, y);
  Value* rest = ir_.CreateSub(x, ir_.CreateMul(toward_zero, y));
  Value* differs = ir_.CreateICmpSLT(ir_.CreateXor(rest, y), number(0));
  Value* adjust = ir_.CreateAnd(differs, ir_.CreateICmpNE(rest, number(0)));
  return quotient ? ir_.CreateSub(toward_zero, ir_.CreateZExt(adjust, x->getType()))
                  : ir_.CreateAdd(rest, ir_.CreateSelect(adjust, y, number(0)));
}

Value* KernelEmitter::scalar_atom(const SymAtom& atom) {
  if (atom.kind == SymAtom::Kind::symbol) return scalar_symbol(atom.text);
  const SymExpr& a = atom.operands[0];
  const SymExpr& b = atom.operands[1];
  Value* x = scalar_index(a);
  Value* y = scalar_index(b);
  if (atom.kind == SymAtom::Kind::minimum) {
    return ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, x, y);
  }
  if (atom.kind == SymAtom::Kind::maximum) {
    return ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, x, y);
  }
  return divide_index(atom.kind, a, b, x, y);
}

Value* KernelEmitter::scalar_term(const SymTerm& term) {
  Value* product = nullptr;
  for (const auto& atom : term.atoms) {
    Value* value = scalar_atom(*atom);
    product = product == nullptr ? value : ir_.CreateMul(product, value);
  }
  return term.coefficient == 1 ? product : ir_.CreateMul(product, ir_.getInt64(term.coefficient));
}

Value* KernelEmitter::scalar_index(const SymExpr& expression) {
  if (auto number = expression.constant()) return ir_.getInt64(*number);
  // Terms by level; a partial sum up to a level is made, and remembered, at that level.
  std::map<int, SymExpr> by_level;
  for (const SymTerm& term : expression.terms()) {
    SymExpr alone = to_expression(term);
    by_level[level_of(alone)] += alone;
  }
  SymExpr partial = expression.constant_term();
  Value* sum = ir_.getInt64(expression.constant_term());
  for (const auto& [level, terms] : by_level) {
    partial += terms;
    bool here = level >= current_level();
    auto& cache = here ? top().indices : frames_[level + 1].hoisted_indices;
    auto [entry, fresh] = cache.try_emplace(partial.to_string(), nullptr);
    if (fresh) {
      Value* before = sum;
      Value* made = at_level(level, [&] {
        Value* total = before;
        for (const SymTerm& term : terms.terms()) total = ir_.CreateAdd(total, scalar_term(term));
        return total;
      });
      // Emitting may have grown the map that `entry` points into.
      (here ? top().indices : frames_[level + 1].hoisted_indices)[partial.to_string()] = made;
      sum = made;
    } else {
      sum = entry->second;
    }
  }
  return sum;
}

Value* KernelEmitter::vector_atom(const SymAtom& atom, int copy, int bits) {
  const Frame& frame = *vector_frame();
  llvm::Type* type = ir_.getIntNTy(bits);
  if (vector_lanes() != 0) type = llvm::FixedVectorType::get(type, frame.lanes);
  if (atom.kind == SymAtom::Kind::symbol) {
    if (atom.text == frame.variable) {
      Value* base = ir_.CreateTrunc(frame.index, ir_.getIntNTy(bits));
      if (vector_lanes() == 0) return ir_.CreateAdd(base, ir_.getIntN(bits, copy));
      llvm::SmallVector<llvm::Constant*, 16> lanes;
      for (int lane = 0; lane < frame.lanes; ++lane) {
        lanes.push_back(ir_.getIntN(bits, copy * frame.lanes + lane));
      }
      return ir_.CreateAdd(splat(base), llvm::ConstantVector::get(lanes));
    }
    const Pack* pack = find(scalar_id(atom.text));
    return ir_.CreateIntCast(copy_of(*pack, copy, true), type,
                             pack->dtype != DType::uint8 && pack->dtype != DType::bool_);
  }
  Value* x = vector_index(atom.operands[0], copy, bits);
  Value* y = vector_index(atom.operands[1], copy, bits);
  if (atom.kind == SymAtom::Kind::minimum) {
    return ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, x, y);
  }
  if (atom.kind == SymAtom::Kind::maximum) {
    return ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, x, y);
  }
  return divide_index(atom.kind, atom.operands[0], atom.operands[1], x, y);
}

Value* KernelEmitter::vector_index(const SymExpr& expression, int copy, int bits) {
  llvm::Type* element = ir_.getIntNTy(bits);
  SymExpr uniform = expression.constant_term();
  Value* sum = nullptr;
  for (const SymTerm& term : expression.terms()) {
    if (!depends_on_lanes(term)) {
      uniform += to_expression(term);
      continue;
    }
    SymExpr factor(term.coefficient);
    Value* product = nullptr;
    for (const auto& atom : term.atoms) {
      SymTerm alone{1, {atom}};
      if (!depends_on_lanes(alone)) {
        factor *= to_expression(alone);
        continue;
      }
      Value* value = vector_atom(*atom, copy, bits);
      product = product == nullptr ? value : ir_.CreateMul(product, value);
    }
    if (factor != SymExpr(1)) {
      Value* scale = ir_.CreateTrunc(scalar_index(factor), element);
      product = ir_.CreateMul(product, splat(scale));
    }
    sum = sum == nullptr ? product : ir_.CreateAdd(sum, product);
  }
  Value* base = ir_.CreateTrunc(scalar_index(uniform), element);
  return sum == nullptr ? splat(base) : ir_.CreateAdd(sum, splat(base));
}

bool KernelEmitter::is_non_negative(const SymExpr& expression) const {
  if (expression.constant_term() < 0) return false;
  return std::all_of(
      expression.terms().begin(), expression.terms().end(), [&](const SymTerm& term) {
        if (term.coefficient < 0) return false;
        return std::all_of(term.atoms.begin(), term.atoms.end(), [&](const auto& atom) {
          if (atom->kind == SymAtom::Kind::symbol) return atom->text.front() != 'v';
          if (atom->kind == SymAtom::Kind::mod) return is_non_negative(atom->operands[1]);
          return is_non_negative(atom->operands[0]) && is_non_negative(atom->operands[1]);
        });
      });
}

std::optional<std::int64_t> KernelEmitter::upper_bound(const SymExpr& expression) const {
  std::int64_t sum = expression.constant_term();
  for (const SymTerm& term : expression.terms()) {
    std::int64_t product = term.coefficient;
    for (const auto& atom : term.atoms) {
      std::optional<std::int64_t> bound;
      if (atom->kind == SymAtom::Kind::symbol) {
        auto extent = extents_.find(atom->text);
        if (extent != extents_.end()) bound = std::max<std::int64_t>(extent->second - 1, 0);
      } else {
        auto a = upper_bound(atom->operands[0]);
        auto b = upper_bound(atom->operands[1]);
        auto divisor = atom->operands[1].constant();
        if (a && b && atom->kind == SymAtom::Kind::minimum) bound = std::max(*a, *b);
        if (a && b && atom->kind == SymAtom::Kind::maximum) bound = std::max(*a, *b);
        if (a && divisor && *divisor > 0) bound = *a;  // floordiv and mod: no larger than it
      }
      if (!bound || __builtin_mul_overflow(product, *bound, &product)) return std::nullopt;
    }
    if (__builtin_add_overflow(sum, product, &sum)) return std::nullopt;
  }
  return sum;
}

int KernelEmitter::index_bits(const SymExpr& expression) const {
  // A vector may run past the extent by less than its own length.
  constexpr std::int64_t kSlack = 1 << 12;
  if (!is_non_negative(expression)) return 64;
  auto bound = upper_bound(expression);
  return bound && *bound < (std::int64_t{1} << 31) - kSlack ? 32 : 64;
}

}  // namespace penstock::codegen
