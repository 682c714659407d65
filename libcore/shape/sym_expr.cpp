#include "shape/sym_expr.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <numeric>
#include <unordered_map>

#include "shape/saturating.h"
#include "shape/terms.h"

namespace penstock {

namespace {

using Kind = SymAtom::Kind;
using AtomRef = std::shared_ptr<const SymAtom>;

constexpr std::string_view kFunctionNames[] = {"", "floordiv", "mod", "min", "max"};

std::strong_ordering compare_atoms(const std::vector<AtomRef>& a, const std::vector<AtomRef>& b) {
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (a[i] == b[i]) continue;
    if (auto order = a[i]->text.compare(b[i]->text); order != 0) return order <=> 0;
  }
  return a.size() <=> b.size();
}

/// Adds b's terms, times `scale`, to a's: a merge of two sorted lists.
std::vector<SymTerm> merge(const std::vector<SymTerm>& a, const std::vector<SymTerm>& b,
                           std::int64_t scale) {
  std::vector<SymTerm> sum;
  sum.reserve(a.size() + b.size());
  auto x = a.begin();
  auto y = b.begin();
  while (x != a.end() || y != b.end()) {
    auto order = x == a.end()   ? std::strong_ordering::greater
                 : y == b.end() ? std::strong_ordering::less
                                : compare_atoms(x->atoms, y->atoms);
    if (order < 0) {
      sum.push_back(*x++);
    } else if (order > 0) {
      sum.push_back({saturating_multiply(y->coefficient, scale), y->atoms});
      ++y;
    } else {
      const auto c = saturating_add(x->coefficient, saturating_multiply(y->coefficient, scale));
      if (c != 0) sum.push_back({c, x->atoms});
      ++x, ++y;
    }
  }
  return sum;
}

SymTerm multiply(const SymTerm& a, const SymTerm& b) {
  SymTerm product{saturating_multiply(a.coefficient, b.coefficient), a.atoms};
  product.atoms.insert(product.atoms.end(), b.atoms.begin(), b.atoms.end());
  std::sort(product.atoms.begin(), product.atoms.end(),
            [](const AtomRef& x, const AtomRef& y) { return x->text < y->text; });
  return product;
}

/// With the divisor's sign. A product of quotient and divisor may not fit where this does.
std::int64_t floor_remainder(std::int64_t a, std::int64_t b) {
  if (b == -1) return 0;
  const std::int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

std::int64_t evaluate_atom(Kind kind, std::int64_t a, std::int64_t b) {
  switch (kind) {
    case Kind::floordiv:
      return saturating_floor_divide(a, b);
    case Kind::mod:
      return floor_remainder(a, b);
    case Kind::minimum:
      return std::min(a, b);
    case Kind::maximum:
      return std::max(a, b);
    case Kind::symbol:
      break;
  }
  return 0;
}

SymExpr apply(Kind kind, const SymExpr& a, const SymExpr& b) {
  switch (kind) {
    case Kind::floordiv:
      return floordiv(a, b);
    case Kind::mod:
      return mod(a, b);
    case Kind::minimum:
      return minimum(a, b);
    case Kind::maximum:
      return maximum(a, b);
    case Kind::symbol:
      break;
  }
  return a;
}

}  // namespace

SymExpr make_expression(std::int64_t constant, std::vector<SymTerm> terms) {
  SymExpr result(constant);
  if (!terms.empty()) {
    result.terms_ = std::make_shared<const std::vector<SymTerm>>(std::move(terms));
  }
  return result;
}

namespace {

SymExpr from_atom(Kind kind, std::string text, std::vector<SymExpr> operands) {
  auto atom = std::make_shared<const SymAtom>(SymAtom{kind, std::move(text), std::move(operands)});
  return make_expression(0, {SymTerm{1, {std::move(atom)}}});
}

SymExpr function(Kind kind, const SymExpr& a, const SymExpr& b) {
  std::string text(kFunctionNames[static_cast<int>(kind)]);
  text += '(' + a.to_string() + ", " + b.to_string() + ')';
  return from_atom(kind, std::move(text), {a, b});
}

/// Splits e into (part divisible by d) / d and the rest: e = quotient * d + rest.
void split_by_divisor(const SymExpr& e, std::int64_t d, SymExpr& quotient, SymExpr& rest) {
  std::vector<SymTerm> divided, kept;
  for (const SymTerm& term : e.terms()) {
    if (term.coefficient % d == 0) {
      divided.push_back({term.coefficient / d, term.atoms});
    } else {
      kept.push_back(term);
    }
  }
  quotient = make_expression(saturating_floor_divide(e.constant_term(), d), std::move(divided));
  rest = make_expression(floor_remainder(e.constant_term(), d), std::move(kept));
}

}  // namespace

SymExpr SymExpr::symbol(std::string_view name) {
  return from_atom(Kind::symbol, std::string(name), {});
}

const std::vector<SymTerm>& SymExpr::terms() const {
  static const std::vector<SymTerm> none;
  return terms_ ? *terms_ : none;
}

std::string_view SymExpr::symbol_name() const {
  if (!terms_ || constant_ != 0 || terms_->size() != 1) return {};
  const SymTerm& term = terms_->front();
  if (term.coefficient != 1 || term.atoms.size() != 1) return {};
  const SymAtom& atom = *term.atoms.front();
  return atom.kind == Kind::symbol ? std::string_view(atom.text) : std::string_view();
}

SymExpr operator+(const SymExpr& a, const SymExpr& b) {
  const auto constant = saturating_add(a.constant_, b.constant_);
  if (b.is_constant() && a.is_constant()) return constant;
  return make_expression(constant, merge(a.terms(), b.terms(), 1));
}

SymExpr operator-(const SymExpr& a, const SymExpr& b) {
  const auto constant = saturating_subtract(a.constant_, b.constant_);
  if (b.is_constant() && a.is_constant()) return constant;
  return make_expression(constant, merge(a.terms(), b.terms(), -1));
}

SymExpr operator*(const SymExpr& a, const SymExpr& b) {
  const auto constant = saturating_multiply(a.constant_, b.constant_);
  if (a.is_constant() && b.is_constant()) return constant;
  std::vector<SymTerm> sum = merge({}, b.terms(), a.constant_);
  if (a.constant_ == 0) sum.clear();
  if (b.constant_ != 0) sum = merge(sum, a.terms(), b.constant_);
  for (const SymTerm& x : a.terms()) {
    std::vector<SymTerm> row;
    for (const SymTerm& y : b.terms()) row.push_back(multiply(x, y));
    std::sort(row.begin(), row.end(), [](const SymTerm& p, const SymTerm& q) {
      return compare_atoms(p.atoms, q.atoms) < 0;
    });
    sum = merge(sum, row, 1);
  }
  return make_expression(constant, std::move(sum));
}

bool operator==(const SymExpr& a, const SymExpr& b) {
  if (a.constant_ != b.constant_ || a.terms().size() != b.terms().size()) return false;
  if (a.terms_ == b.terms_) return true;
  return std::equal(a.terms().begin(), a.terms().end(), b.terms().begin(),
                    [](const SymTerm& x, const SymTerm& y) {
                      return x.coefficient == y.coefficient && compare_atoms(x.atoms, y.atoms) == 0;
                    });
}

std::string SymExpr::to_string() const {
  std::string text;
  for (const SymTerm& term : terms()) {
    bool negative = term.coefficient < 0;
    if (negative)
      text += '-';
    else if (!text.empty())
      text += '+';
    std::uint64_t magnitude = negative ? 0 - static_cast<std::uint64_t>(term.coefficient)
                                       : static_cast<std::uint64_t>(term.coefficient);
    if (magnitude != 1) text += std::to_string(magnitude) + '*';
    for (std::size_t i = 0; i < term.atoms.size(); ++i) {
      if (i > 0) text += '*';
      text += term.atoms[i]->text;
    }
  }
  if (text.empty()) return std::to_string(constant_);
  if (constant_ > 0) text += '+';
  if (constant_ != 0) text += std::to_string(constant_);
  return text;
}

void SymExpr::for_each_symbol(const std::function<void(std::string_view)>& visit) const {
  for (const SymTerm& term : terms()) {
    for (const AtomRef& atom : term.atoms) {
      if (atom->kind == Kind::symbol) visit(atom->text);
      for (const SymExpr& operand : atom->operands) operand.for_each_symbol(visit);
    }
  }
}

SymExpr SymExpr::substitute(
    const std::function<std::optional<SymExpr>(std::string_view)>& value_of) const {
  SymExpr sum(constant_);
  for (const SymTerm& term : terms()) {
    SymExpr product(term.coefficient);
    for (const AtomRef& atom : term.atoms) {
      if (atom->kind != Kind::symbol) {
        product *= apply(atom->kind, atom->operands[0].substitute(value_of),
                         atom->operands[1].substitute(value_of));
      } else if (auto value = value_of(atom->text)) {
        product *= *value;
      } else {
        product *= make_expression(0, {SymTerm{1, {atom}}});
      }
    }
    sum += product;
  }
  return sum;
}

namespace {

/// Evaluates an expression and what stands in it, each operation once however often it stands
/// there.
class Evaluation {
 public:
  using ValueOf = std::function<std::optional<std::int64_t>(std::string_view)>;
  explicit Evaluation(const ValueOf& value_of) : value_of_(value_of) {}

  std::optional<std::int64_t> of(const SymExpr& expression) {
    std::int64_t sum = expression.constant_term();
    for (const SymTerm& term : expression.terms()) {
      std::int64_t product = term.coefficient;
      for (const AtomRef& atom : term.atoms) {
        const auto value = of(*atom);
        if (!value || __builtin_mul_overflow(product, *value, &product)) return std::nullopt;
      }
      if (__builtin_add_overflow(sum, product, &sum)) return std::nullopt;
    }
    return sum;
  }

 private:
  std::optional<std::int64_t> of(const SymAtom& atom) {
    if (atom.kind == Kind::symbol) return value_of_(atom.text);
    if (const auto found = known_.find(&atom); found != known_.end()) return found->second;
    const auto a = of(atom.operands[0]), b = of(atom.operands[1]);
    const bool divides = atom.kind == Kind::floordiv || atom.kind == Kind::mod;
    std::optional<std::int64_t> value;
    if (a && b && !(divides && *b == 0)) value = evaluate_atom(atom.kind, *a, *b);
    known_.emplace(&atom, value);
    return value;
  }

  const ValueOf& value_of_;
  std::unordered_map<const SymAtom*, std::optional<std::int64_t>> known_;
};

}  // namespace

std::optional<std::int64_t> SymExpr::evaluate(
    const std::function<std::optional<std::int64_t>(std::string_view)>& value_of) const {
  return Evaluation(value_of).of(*this);
}

namespace {

constexpr std::int64_t kLargestDivisor = std::int64_t{1}
                                         << 31;  ///< that division in two steps is put together to

SymExpr one_term(const SymTerm& term) {
  return make_expression(0, {term});
}

/// The only atom of the term, where it is of this kind; else null.
const SymAtom* alone(const SymTerm& term, Kind kind) {
  return term.atoms.size() == 1 && term.atoms.front()->kind == kind ? term.atoms.front().get()
                                                                    : nullptr;
}

/// (x // c + k) // d = (x + k*c) // (c*d), for numbers c, d > 0 and k: sizes behind several strides
/// are one division.
std::optional<SymExpr> nested_quotient(const SymExpr& a, std::int64_t d) {
  if (a.terms().size() != 1 || a.terms().front().coefficient != 1) return std::nullopt;
  const SymAtom* inner = alone(a.terms().front(), Kind::floordiv);
  const std::int64_t c = inner != nullptr ? inner->operands[1].constant().value_or(0) : 0;
  if (c <= 0 || c >= kLargestDivisor || d >= kLargestDivisor / c ||
      a.constant_term() >= kLargestDivisor)
    return std::nullopt;
  return floordiv(inner->operands[0] + SymExpr(a.constant_term()) * SymExpr(c), c * d);
}

/// (x + y % d) // d where d divides x + y, but for a number k: (x + y + k) // d - y // d, what is
/// cut off or made whole.
std::optional<SymExpr> whole_quotient(const SymExpr& a, std::int64_t d) {
  for (const SymTerm& term : a.terms()) {
    const SymAtom* remainder = alone(term, Kind::mod);
    if (remainder == nullptr || remainder->operands[1] != SymExpr(d)) continue;
    const SymExpr sum = a - one_term(term) + SymExpr(term.coefficient) * remainder->operands[0];
    SymExpr quotient, rest;
    split_by_divisor(sum, d, quotient, rest);
    if (rest.is_constant())
      return quotient - SymExpr(term.coefficient) * floordiv(remainder->operands[0], d);
  }
  return std::nullopt;
}

/// a // d for d > 0 that divides no term of a: the first term positive, no common factor, no
/// division in two steps.
SymExpr canonical_quotient(const SymExpr& a, std::int64_t d) {
  // -x // d is minus the quotient that is rounded up.
  if (a.terms().front().coefficient < 0) return -floordiv(SymExpr(d - 1) - a, d);
  std::int64_t common = d;
  for (const SymTerm& term : a.terms())
    common = term.coefficient == saturated(true) ? 1 : std::gcd(common, term.coefficient);
  if (common > 1) {
    std::vector<SymTerm> terms = a.terms();
    for (SymTerm& term : terms) term.coefficient /= common;
    return floordiv(
        make_expression(saturating_floor_divide(a.constant_term(), common), std::move(terms)),
        d / common);
  }
  if (auto whole = whole_quotient(a, d)) return *whole;
  if (auto nested = nested_quotient(a, d)) return *nested;
  return function(Kind::floordiv, a, d);
}

/// The terms of `a` that the product `divisor`, one term, divides, as a quotient; and the rest.
std::pair<SymExpr, SymExpr> split_by_product(const SymExpr& a, const SymTerm& divisor) {
  SymExpr quotient;
  std::vector<SymTerm> rest;
  for (const SymTerm& term : a.terms()) {
    if (const auto part = divide_term(term, divisor))
      quotient += from_term(*part);
    else
      rest.push_back(term);
  }
  return {quotient, make_expression(a.constant_term(), std::move(rest))};
}

/// True for one term alone, whose coefficient is positive.
bool is_product(const SymExpr& expression) {
  return expression.constant_term() == 0 && expression.terms().size() == 1 &&
         expression.terms().front().coefficient > 0;
}

}  // namespace

SymExpr floordiv(const SymExpr& a, const SymExpr& b) {
  auto divisor = b.constant();
  if (!divisor) {
    if (a == b) return 1;
    if (!is_product(b)) return function(Kind::floordiv, a, b);
    const auto [quotient, rest] = split_by_product(a, b.terms().front());
    return rest == SymExpr(0) ? quotient : quotient + function(Kind::floordiv, rest, b);
  }
  if (*divisor == 0) return function(Kind::floordiv, a, b);
  if (*divisor == -1) return -a;
  if (a.is_constant()) return saturating_floor_divide(a.constant_term(), *divisor);
  // (q*d + r) // d = q + r // d, for whatever part of the polynomial d divides.
  SymExpr quotient, rest;
  split_by_divisor(a, *divisor, quotient, rest);
  if (rest.is_constant()) return quotient;  // 0 <= rest < d by construction
  return *divisor > 0 ? quotient + canonical_quotient(rest, *divisor)
                      : quotient + function(Kind::floordiv, rest, b);
}

SymExpr mod(const SymExpr& a, const SymExpr& b) {
  auto divisor = b.constant();
  if (!divisor) {
    if (a == b) return 0;
    if (!is_product(b)) return function(Kind::mod, a, b);
    const SymExpr rest = split_by_product(a, b.terms().front()).second;
    return rest == SymExpr(0) ? rest : function(Kind::mod, rest, b);
  }
  if (*divisor == 0) return function(Kind::mod, a, b);
  if (*divisor == -1) return 0;
  if (a.is_constant()) return evaluate_atom(Kind::mod, a.constant_term(), *divisor);
  SymExpr quotient, rest;
  split_by_divisor(a, *divisor, quotient, rest);
  if (rest.is_constant()) return rest;
  // (k*(x % (n*d)) + r) % d = (k*x + r) % d
  for (const SymTerm& term : rest.terms()) {
    const SymAtom* inner = alone(term, Kind::mod);
    if (inner == nullptr || inner->operands[1].constant().value_or(0) % *divisor != 0) continue;
    if (inner->operands[1].constant().value_or(0) == 0) continue;
    return mod(rest - one_term(term) + SymExpr(term.coefficient) * inner->operands[0], b);
  }
  // -x % d is what x lacks to the next multiple of d: with x itself it is one quotient.
  if (*divisor > 0 && rest.terms().front().coefficient < 0) return rest - b * floordiv(rest, b);
  return function(Kind::mod, rest, b);
}

SymExpr minimum(const SymExpr& a, const SymExpr& b) {
  SymExpr difference = a - b;
  if (auto d = difference.constant()) return *d <= 0 ? a : b;
  return a.to_string() < b.to_string() ? function(Kind::minimum, a, b)
                                       : function(Kind::minimum, b, a);
}

SymExpr maximum(const SymExpr& a, const SymExpr& b) {
  SymExpr difference = a - b;
  if (auto d = difference.constant()) return *d >= 0 ? a : b;
  return a.to_string() < b.to_string() ? function(Kind::maximum, a, b)
                                       : function(Kind::maximum, b, a);
}

namespace {

/// Recursive descent over: sum := product (('+'|'-') product)*, product := unary (('*'|'//'|'%')
/// unary)*, unary := '-' unary | integer | name | name '(' sum ',' sum ')' | '(' sum ')'.
/// The depth is bounded, for the text may come from a document.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<SymExpr> parse() {
    auto value = sum(0);
    skip_space();
    if (value && position_ != text_.size()) return fail("unexpected text");
    return value;
  }

 private:
  static constexpr int kMaxDepth = 64;
  static constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  static constexpr std::size_t kMostTerms = 4096, kHighestDegree = 64;

  /// Nothing that penstock writes is as large; products of sums double with every factor.
  static bool is_large(const SymExpr& expression) {
    const std::vector<SymTerm>& terms = expression.terms();
    return terms.size() > kMostTerms ||
           std::any_of(terms.begin(), terms.end(),
                       [](const SymTerm& term) { return term.atoms.size() > kHighestDegree; });
  }

  Result<SymExpr> fail(std::string_view what) const {
    return failure(Code::PS0201, "size expression '" + std::string(text_.substr(0, 80)) +
                                     "': " + std::string(what) + " at character " +
                                     std::to_string(position_ + 1));
  }
  void skip_space() {
    while (position_ < text_.size() && text_[position_] == ' ') ++position_;
  }
  bool take(std::string_view token) {
    skip_space();
    if (text_.substr(position_, token.size()) != token) return false;
    position_ += token.size();
    return true;
  }
  /// Behind a minus: takes the digits of the least number, whose opposite is none of 64 bits.
  bool take_least() {
    constexpr std::string_view kDigits = "9223372036854775808";
    const std::size_t before = position_;
    const bool found = take(kDigits) && (position_ == text_.size() || !is_word(text_[position_]));
    if (!found) position_ = before;
    return found;
  }
  static bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  }
  Result<SymExpr> sum(int depth) {
    auto left = product(unary(depth), depth);
    while (left) {
      bool plus = take("+");
      if (!plus && !take("-")) break;
      const bool least = !plus && take_least();
      auto right = product(least ? Result<SymExpr>(kLeast) : unary(depth), depth);
      if (!right) return right;
      left = plus || least ? *left + *right : *left - *right;
      if (is_large(*left)) return fail("too large");
    }
    return left;
  }
  Result<SymExpr> product(Result<SymExpr> left, int depth) {
    int divisions = 0;
    while (left) {
      bool divide = take("//"), modulo = !divide && take("%");
      if (!divide && !modulo && !take("*")) break;
      auto right = unary(depth);
      if (!right) return right;
      // What is divided stands inside of the division, which is written as a function.
      if ((divide || modulo) && ++divisions > kMaxDepth - depth) return fail("nested too deeply");
      if (is_large(*left) || is_large(*right)) return fail("too large");
      left = divide ? floordiv(*left, *right) : modulo ? mod(*left, *right) : *left * *right;
    }
    return left;
  }
  Result<SymExpr> unary(int depth) {
    if (depth > kMaxDepth) return fail("nested too deeply");
    if (take("-")) {
      if (take_least()) return SymExpr(kLeast);
      auto value = unary(depth + 1);
      return value ? Result<SymExpr>(-*value) : value;
    }
    if (take("(")) {
      auto value = sum(depth + 1);
      if (value && !take(")")) return fail("expected ')'");
      return value;
    }
    skip_space();
    std::size_t start = position_;
    while (position_ < text_.size() && is_word(text_[position_])) ++position_;
    std::string_view word = text_.substr(start, position_ - start);
    if (word.empty()) return fail("expected a number or a symbol");
    if (std::isdigit(static_cast<unsigned char>(word.front()))) return number(word);
    return name(word, depth);
  }
  Result<SymExpr> number(std::string_view digits) const {
    std::int64_t value = 0;
    for (char c : digits) {
      if (!std::isdigit(static_cast<unsigned char>(c)) ||
          __builtin_mul_overflow(value, std::int64_t{10}, &value) ||
          __builtin_add_overflow(value, std::int64_t{c - '0'}, &value)) {
        return fail("not a 64-bit integer");
      }
    }
    return SymExpr(value);
  }
  Result<SymExpr> name(std::string_view word, int depth) {
    if (!take("(")) return SymExpr::symbol(word);
    for (int kind = 1; kind <= 4; ++kind) {
      if (word != kFunctionNames[kind]) continue;
      auto a = sum(depth + 1);
      if (!a) return a;
      if (!take(",")) return fail("expected ','");
      auto b = sum(depth + 1);
      if (!b) return b;
      if (!take(")")) return fail("expected ')'");
      return apply(static_cast<Kind>(kind), *a, *b);
    }
    return fail("unknown function");
  }

  std::string_view text_;
  std::size_t position_ = 0;
};

}  // namespace

Result<SymExpr> parse_sym_expr(std::string_view text) {
  return Parser(text).parse();
}

}  // namespace penstock
