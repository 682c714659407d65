// Answers questions about size expressions, one a line, for tests that compare with sympy. Ranges
// of symbols come first: "range NAME LOWER UPPER", '-' for none; "assume E" says that E >= 0. Then
//   text E        the canonical text
//   simplify E    the simplified one
//   bounds E      lower and upper, '-' for none
//   equal E ; F   less E ; F   less_equal E ; F      true, false or unknown
#include <iostream>
#include <limits>
#include <sstream>
#include <string>

#include "shape/prover.h"

using namespace penstock;

namespace {

std::string text_of(std::optional<bool> truth) {
  return !truth ? "unknown" : *truth ? "true" : "false";
}

std::string bound_text(std::int64_t bound) {
  using Limits = std::numeric_limits<std::int64_t>;
  return bound == Limits::min() || bound == Limits::max() ? "-" : std::to_string(bound);
}

std::optional<SymExpr> bound(const std::string& text) {
  if (text == "-") return std::nullopt;
  return SymExpr(static_cast<std::int64_t>(std::stoll(text)));
}

std::string answer(const std::string& question, const std::string& rest, const RangeFacts& facts) {
  const std::size_t semicolon = rest.find(';');
  const auto left = parse_sym_expr(rest.substr(0, semicolon));
  if (!left) return "error " + left.error().message;
  if (question == "text") return left->to_string();
  if (question == "simplify") return simplify(*left, facts).to_string();
  if (question == "bounds") {
    const Interval interval = bounds(*left, facts);
    return bound_text(interval.lower) + " " + bound_text(interval.upper);
  }
  const auto right = parse_sym_expr(rest.substr(semicolon + 1));
  if (!right) return "error " + right.error().message;
  if (question == "equal") return text_of(prove_equal(*left, *right, facts));
  if (question == "less") return text_of(prove_less(*left, *right, facts));
  return text_of(prove_less_equal(*left, *right, facts));
}

}  // namespace

int main() {
  RangeFacts facts;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string question, name, lower, upper, rest;
    words >> question;
    if (question == "range") {
      words >> name >> lower >> upper;
      facts.set(name, {bound(lower), bound(upper)});
      continue;
    }
    std::getline(words, rest);
    if (question == "assume") {
      if (const auto expression = parse_sym_expr(rest)) facts.assume(*expression);
      continue;
    }
    std::cout << answer(question, rest, facts) << "\n";
  }
}
