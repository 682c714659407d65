// What holds of the sizes that elements decide, in documents.
#include "ir/decided_sizes.h"

#include <doctest/doctest.h>

#include <string>

namespace penstock {
namespace {

using Step = std::variant<LibraryCall>;

LibraryCall item(Argument size, Argument memory = std::int64_t{0}) {
  LibraryCall call;
  call.name = "item";
  call.inputs = {0};
  call.attributes = {{"size", std::move(size)}, {"memory", std::move(memory)}};
  return call;
}

LibraryCall other() {
  LibraryCall call;
  call.name = "copy";
  return call;
}

Interface interface_of(std::int64_t least = 2) {
  Interface interface;
  interface.symbols = {
      {"s0", 0, 2, INT64_MAX, 3}, {"u0", kNoSource, least, 9, 4}, {"u1", kNoSource}};
  return interface;
}

const SymExpr u0 = SymExpr::symbol("u0"), u1 = SymExpr::symbol("u1"), s0 = SymExpr::symbol("s0");

std::string complaint(const std::vector<Step>& steps) {
  const DecidedSizes sizes(steps);
  auto checked = verify_decided_sizes(sizes, control_steps_of(steps), interface_of(), "graph");
  return checked ? std::string() : checked.error().message;
}

TEST_CASE("what needs a size stands behind the call that decides it") {
  const std::vector<Step> steps{other(), item(u0), item(u1, u0 * SymExpr(4)), other()};
  const DecidedSizes sizes(steps);
  CHECK(sizes.decided_by(s0 * SymExpr(2)) == -1);
  CHECK(sizes.decided_by(u0 + s0) == 0);
  CHECK(sizes.decided_by(u0 * u1) == 1);
  CHECK(verify_behind(sizes, 0, 2, "graph"));
  CHECK_FALSE(verify_behind(sizes, 1, 2, "graph"));
  CHECK_FALSE(verify_behind(sizes, 0, 0, "graph"));
  CHECK(complaint(steps) == "");
}

TEST_CASE("only symbols that no input gives are decided, and memory hangs on what is known") {
  CHECK(complaint({item(s0)}).find("s0 is no symbol that elements decide") != std::string::npos);
  CHECK(complaint({item(SymExpr::symbol("v7"))}).find("v7") != std::string::npos);
  CHECK(complaint({item(u0, u1), item(u1)}).find("its memory") != std::string::npos);
  CHECK(complaint({item(u0 + u1), item(u1)}).find("decided behind it") != std::string::npos);
}

TEST_CASE("no branch or loop decides") {
  LibraryCall loop;
  loop.name = "for";
  loop.attributes = {{"trips", std::int64_t{2}}, {"body", std::int64_t{1}}};
  CHECK(complaint({loop, item(u0)}).find("branch or a loop") != std::string::npos);
  CHECK(complaint({loop, other(), item(u0)}) == "");
}

TEST_CASE("an element is in the range, and the guards on its symbol hold") {
  Interface interface = interface_of();
  interface.guards.push_back({GuardKind::condition,
                              kNoSource,
                              kNoSource,
                              {},
                              {},
                              Condition{u0, Condition::Relation::less, s0},
                              {},
                              -1});
  const DecidedSize size{0, "u0", u0, 0};
  const auto fits = [&](std::int64_t element, std::optional<std::int64_t> known) {
    const SizeValue value = [&](const SymExpr& expression) {
      return expression.evaluate([&](std::string_view name) -> std::optional<std::int64_t> {
        return name == "u0" ? std::optional(element) : known;
      });
    };
    auto checked = check_decided(interface, size, element, value);
    if (!checked) CHECK(checked.error().code == Code::PS0812);
    return checked.has_value();
  };
  CHECK(fits(4, 5));
  CHECK(fits(4, std::nullopt));
  CHECK_FALSE(fits(4, 4));
  CHECK_FALSE(fits(1, 5));
  CHECK_FALSE(fits(10, 50));
  CHECK(waits_for_elements(interface, *interface.guards[0].condition));
  CHECK_FALSE(waits_for_elements(interface, Condition{s0, Condition::Relation::less, 7}));
}

}  // namespace
}  // namespace penstock
