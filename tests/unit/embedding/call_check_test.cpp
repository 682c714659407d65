#include "embedding/call_check.h"

#include <doctest/doctest.h>

using namespace penstock;
using embedding::CallSizes;

namespace {

/// A bundle with one input of sizes [rows, 2*rows] and a guard that there are at most ten.
KernelBundle bundle_of_rows() {
  KernelBundle bundle;
  bundle.symbols = {"rows"};
  Symbol rows;
  rows.name = "rows";
  rows.minimum = 2;
  bundle.interface.symbols = {rows};
  Guard most;
  most.condition = Condition{SymExpr::symbol("rows"), Condition::Relation::less_equal, 10};
  bundle.interface.guards = {most};
  return bundle;
}

Result<void> check(const KernelBundle& bundle, std::int64_t rows) {
  const std::vector<std::int64_t> sizes{rows, 2 * rows}, strides{2 * rows, 1};
  const std::vector<runtime::TensorArgument> arguments{{nullptr, sizes, strides}};
  const std::vector<runtime::SymbolBinding> bindings{{runtime::SymbolBinding::Kind::size, 0, 0}};
  return embedding::check_call(bundle, CallSizes(bundle, bindings, arguments));
}

}  // namespace

TEST_CASE("a call is checked against ranges and conditions") {
  const KernelBundle bundle = bundle_of_rows();
  CHECK(check(bundle, 10));
  for (const std::int64_t rows : {1, 11}) {
    auto refused = check(bundle, rows);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == Code::PS0806);
  }
}

TEST_CASE("sizes are those of the call, and nothing is known of other symbols") {
  const KernelBundle bundle = bundle_of_rows();
  const std::vector<std::int64_t> sizes{3, 6}, strides{6, 1};
  const std::vector<runtime::TensorArgument> arguments{{nullptr, sizes, strides}};
  const std::vector<runtime::SymbolBinding> bindings{{runtime::SymbolBinding::Kind::size, 0, 1}};
  const CallSizes bound(bundle, bindings, arguments);
  CHECK(bound.values() == std::vector<std::int64_t>{6});
  CHECK(bound(SymExpr::symbol("rows") * 2 + 1) == 13);
  CHECK_FALSE(bound(SymExpr::symbol("columns")));
}
