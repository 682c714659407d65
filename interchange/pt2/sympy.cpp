#include "interchange/pt2/sympy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <vector>

namespace penstock::pt2 {

namespace {

/// How a function of sympy's, or of torch's in it, is written for parse_sym_expr, which has the
/// limits: an infix operator between any number of operands, or a pattern of exactly so many.
struct FunctionRow {
  std::string_view name;
  std::string_view infix;    ///< empty: `pattern` holds
  std::string_view pattern;  ///< {0}, {1}, {2}
  std::size_t operands;      ///< of the pattern
};
constexpr FunctionRow kFunctions[] = {
    {"Add", "+", "", 0},
    {"Mul", "*", "", 0},
    {"FloorDiv", "", "floordiv({0},{1})", 2},
    {"CleanDiv", "", "floordiv({0},{1})", 2},
    {"CeilDiv", "", "(0-floordiv(0-({0}),{1}))", 2},
    {"Mod", "", "mod({0},{1})", 2},
    {"PythonMod", "", "mod({0},{1})", 2},
    {"ModularIndexing", "", "mod(floordiv({0},{1}),{2})", 3},
    {"Identity", "", "{0}", 1},
};

/// Comparisons, by their names in sympy.
struct RelationRow {
  std::string_view name;
  std::string_view text;
};
constexpr RelationRow kRelations[] = {
    {"Equality", "=="},
    {"Unequality", "!="},
    {"StrictLessThan", "<"},
    {"LessThan", "<="},
    {"StrictGreaterThan", ">"},
    {"GreaterThan", ">="},
    {"Eq", "=="},
    {"Ne", "!="},
};

constexpr int kDeepest = 64;
constexpr std::size_t kLongest = 100'000;  ///< bytes of a text; sizes of torch's have some hundred
constexpr std::int64_t kHighestPower = 16;

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// Rewrites srepr's calls as the infix text of sizes.
class Translator {
 public:
  explicit Translator(std::string_view text) : text_(text) {}

  Result<std::string> all() {
    auto out = expression(0);
    if (out && position_ != text_.size()) return fail("there is more behind it");
    return out;
  }

  /// The operands of a comparison and what stands between them; its name is read already.
  Result<std::string> comparison(std::string_view relation) {
    auto left = expression(1);
    if (!left) return left;
    if (!take(",")) return fail("expected ','");
    auto right = expression(1);
    if (!right) return right;
    if (!take(")") || position_ != text_.size()) return fail("expected ')' and its end");
    return fmt::format("{} {} {}", *left, relation, *right);
  }

  bool take(std::string_view wanted) {
    skip();
    if (!text_.substr(position_).starts_with(wanted)) return false;
    position_ += wanted.size();
    return true;
  }
  std::string_view word() {
    skip();
    const std::size_t start = position_;
    while (position_ < text_.size() && is_word(text_[position_])) ++position_;
    return text_.substr(start, position_ - start);
  }

 private:
  void skip() {
    while (position_ < text_.size() && text_[position_] == ' ') ++position_;
  }
  tl::unexpected<Diagnostic> fail(std::string_view why) const {
    return failure(Code::PS0201,
                   fmt::format("'{}' is no size as sympy writes it: {} at character {}",
                               text_.substr(0, 80), why, position_ + 1));
  }

  Result<std::string> expression(int depth) {
    if (depth > kDeepest) return failure(Code::PS0208, "a size is nested too deeply");
    const std::string_view name = word();
    if (!take("(")) return fail("expected a function");
    if (name == "Integer") return integer();
    if (name == "Symbol") return symbol();
    if (name == "Pow" || name == "PowByNatural") return power(depth);
    auto operands = list(depth);
    if (!operands) return tl::unexpected(std::move(operands.error()));
    return apply(name, *operands);
  }

  Result<std::string> integer() {
    const bool negative = take("-");
    const std::string_view digits = word();
    if (digits.empty() ||
        !std::ranges::all_of(digits, [](unsigned char c) { return std::isdigit(c) != 0; }))
      return fail("expected a number");
    if (!take(")")) return fail("expected ')'");
    return negative ? fmt::format("(-{})", digits) : std::string(digits);
  }

  /// Symbol('s0', positive=True, integer=True): of what is known of it only that it is an integer
  /// counts.
  Result<std::string> symbol() {
    if (!take("'")) return fail("expected a quoted name");
    const std::string name(word());
    if (name.empty() || std::isdigit(static_cast<unsigned char>(name.front())) != 0 || !take("'"))
      return fail("expected a quoted name");
    while (take(",")) {
      const std::string_view key = word();
      if (!take("=")) return fail("expected '='");
      const std::string_view value = word();
      if (key.empty() || (value != "True" && value != "False"))
        return fail("expected True or False");
    }
    if (!take(")")) return fail("expected ')'");
    return name;
  }

  Result<std::string> power(int depth) {
    auto operands = list(depth);
    if (!operands) return tl::unexpected(std::move(operands.error()));
    if (operands->size() != 2) return fail("a power has two operands");
    const std::string& exponent = operands->back();
    std::int64_t times = 0;
    for (const char c : exponent) {
      if (std::isdigit(static_cast<unsigned char>(c)) == 0 || times > kHighestPower)
        return unknown(fmt::format("the power of {}", exponent.substr(0, 40)));
      times = times * 10 + (c - '0');
    }
    if (times < 1 || times > kHighestPower)
      return unknown(fmt::format("the power of {}", exponent.substr(0, 40)));
    return joined(std::vector<std::string>(static_cast<std::size_t>(times), operands->front()),
                  "*");
  }

  Result<std::vector<std::string>> list(int depth) {
    std::vector<std::string> operands;
    do {
      auto operand = expression(depth + 1);
      if (!operand) return tl::unexpected(std::move(operand.error()));
      operands.push_back(std::move(*operand));
      length_ += operands.back().size();
      if (length_ > kLongest * kDeepest) return failure(Code::PS0208, "a size is too large");
    } while (take(","));
    if (!take(")")) return fail("expected ')'");
    return operands;
  }

  Result<std::string> joined(const std::vector<std::string>& operands, std::string_view infix) {
    std::string out = "(";
    for (const std::string& operand : operands) {
      if (out.size() > 1) out += infix;
      out += operand;
      if (out.size() > kLongest) return failure(Code::PS0208, "a size is too large");
    }
    return out + ")";
  }

  Result<std::string> apply(std::string_view name, const std::vector<std::string>& operands) {
    if (name == "Min" || name == "Max") {
      std::string out = operands.front();
      for (std::size_t i = 1; i < operands.size(); ++i)
        out = fmt::format("{}({},{})", name == "Min" ? "min" : "max", out, operands[i]);
      return out;
    }
    for (const FunctionRow& row : kFunctions) {
      if (row.name != name) continue;
      if (!row.infix.empty()) return joined(operands, row.infix);
      if (operands.size() != row.operands) return fail(fmt::format("{} operands", row.operands));
      auto operand = [&](std::size_t i) { return i < operands.size() ? operands[i] : ""; };
      return fmt::format(fmt::runtime(row.pattern), operand(0), operand(1), operand(2));
    }
    return unknown(name);
  }

  static tl::unexpected<Diagnostic> unknown(std::string_view name) {
    auto refused = failure(Code::PS0211, fmt::format("a size has {}", name.substr(0, 80)));
    refused.value().hint =
        "Sizes are sums, products, floor divisions, remainders, minima and maxima of integers.";
    return refused;
  }

  std::string_view text_;
  std::size_t position_ = 0;
  std::size_t length_ = 0;  ///< of all operands so far
};

std::string call(std::string_view name, const std::vector<std::string>& operands) {
  if (operands.size() == 1) return operands.front();
  return fmt::format("{}({})", name, fmt::join(operands, ", "));
}

std::string write(const SymExpr& expression);

std::string write(const SymAtom& atom) {
  constexpr std::string_view kNames[] = {"", "FloorDiv", "PythonMod", "Min", "Max"};
  // What sympy takes for granted of a symbol has to be what torch made it with.
  if (atom.kind == SymAtom::Kind::symbol)
    return fmt::format("Symbol('{}', positive=True, integer=True)", atom.text);
  return fmt::format("{}({}, {})", kNames[static_cast<std::size_t>(atom.kind)],
                     write(atom.operands[0]), write(atom.operands[1]));
}

std::string write(const SymExpr& expression) {
  std::vector<std::string> sum;
  if (expression.constant_term() != 0 || expression.is_constant())
    sum.push_back(fmt::format("Integer({})", expression.constant_term()));
  if (expression.is_constant()) return sum.front();
  for (const SymTerm& term : expression.terms()) {
    std::vector<std::string> product;
    if (term.coefficient != 1) product.push_back(fmt::format("Integer({})", term.coefficient));
    for (const auto& atom : term.atoms) product.push_back(write(*atom));
    sum.push_back(call("Mul", product));
  }
  return call("Add", sum);
}

}  // namespace

Result<SymExpr> read_sympy(std::string_view text) {
  if (text.size() > kLongest) return failure(Code::PS0208, "a size is too large");
  auto infix = Translator(text).all();
  if (!infix) return tl::unexpected(std::move(infix.error()));
  return parse_sym_expr(*infix);
}

Result<Condition> read_sympy_condition(std::string_view text) {
  if (text == "true") return Condition{0, Condition::Relation::equal, 0};
  if (text == "false") return Condition{0, Condition::Relation::equal, 1};
  if (text.size() > kLongest) return failure(Code::PS0208, "a size is too large");
  Translator translator(text);
  const std::string_view name = translator.word();
  for (const RelationRow& row : kRelations) {
    if (row.name != name || !translator.take("(")) continue;
    auto infix = translator.comparison(row.text);
    if (!infix) return tl::unexpected(std::move(infix.error()));
    return parse_condition(*infix);
  }
  return failure(Code::PS0211,
                 fmt::format("'{}' is no comparison of two sizes", text.substr(0, 80)));
}

std::string to_sympy(const SymExpr& expression) {
  return write(expression);
}

std::string to_sympy(const Condition& condition) {
  constexpr std::string_view kNames[] = {"Equality", "Unequality", "StrictLessThan", "LessThan"};
  return fmt::format("{}({}, {})", kNames[static_cast<std::size_t>(condition.relation)],
                     write(condition.left), write(condition.right));
}

}  // namespace penstock::pt2
