#include "diag/diagnostic.h"

#include <algorithm>

namespace penstock {

const std::vector<CodeFacts>& all_codes() {
  static const std::vector<CodeFacts> rows = {
#define PS_CODE(id, exit, title, explanation, hint) {Code::id, #id, exit, title, explanation, hint},
#include "diag/codes.def"
#undef PS_CODE
  };
  return rows;
}

const CodeFacts& facts(Code code) {
  return all_codes()[static_cast<std::size_t>(code)];
}

const CodeFacts* find_code(std::string_view id) {
  const auto& rows = all_codes();
  auto row = std::find_if(rows.begin(), rows.end(), [&](const CodeFacts& f) { return f.id == id; });
  return row == rows.end() ? nullptr : &*row;
}

}  // namespace penstock
