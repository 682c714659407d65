#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "ir/call_rules.h"

using namespace penstock;

namespace {

CallRules made_of(std::string_view text) {
  CallRules rules;
  REQUIRE(rules.add(text, "/somewhere/my.rules", false));
  return rules;
}

std::string found(const CallRules& rules, std::vector<std::string> names, CallableKind kind) {
  const CallRule* rule = rules.find(names, kind);
  return rule == nullptr ? "none" : rule->text();
}

Diagnostic refused(std::string_view text) {
  CallRules rules;
  const auto read = rules.add(text, "/somewhere/my.rules", false);
  REQUIRE(!read);
  return read.error();
}

}  // namespace

TEST_CASE("a rule is passed over for what it cannot hold for") {
  const CallRules rules = made_of("whole *\ngraph *\nfact *\ninline *\nbreak *\n");
  CHECK(found(rules, {"m.f"}, CallableKind::python) == "my.rules:1: whole *");
  CHECK(found(rules, {"m.f"}, CallableKind::op) == "my.rules:2: graph *");
  CHECK(found(rules, {"m.f"}, CallableKind::c) == "my.rules:3: fact *");
  CHECK(found(rules, {"m.C"}, CallableKind::type) == "my.rules:4: inline *");
}

TEST_CASE("a model may say how a call that it does not follow breaks") {
  CallRules rules;
  REQUIRE(rules.add("model one PS0307 m.f : NAME is asked\nmodel two m.g\n", "own.rules", true));
  CHECK(rules.all()[0].handler == "one");
  CHECK(rules.all()[0].code == Code::PS0307);
  CHECK(rules.all()[0].reason_for("f") == "f is asked");
  CHECK(rules.all()[1].code == Code::PS0306);
}

TEST_CASE("the first rule that matches wins, whatever is more specific") {
  const CallRules rules =
      made_of("break m.f\n# a comment\n\ninline m.*  # and one behind\nnative m.f m.g\ninner *\n");
  CHECK(found(rules, {"m.f"}, CallableKind::python) == "my.rules:1: break m.f");
  CHECK(found(rules, {"m.g"}, CallableKind::python) == "my.rules:4: inline m.*");
  CHECK(found(rules, {"other"}, CallableKind::python) == "my.rules:6: inner *");
  CHECK(found(rules, {"other", "m.f"}, CallableKind::python) == "my.rules:1: break m.f");
}

TEST_CASE("a rule that cannot hold is passed over") {
  const CallRules rules = made_of("inline m.*\ngraph m.*\nfact m.*\nnative m.*");
  CHECK(found(rules, {"m.f"}, CallableKind::op) == "my.rules:2: graph m.*");
  CHECK(found(rules, {"m.f"}, CallableKind::c) == "my.rules:3: fact m.*");
  CHECK(found(made_of("inline *"), {"m.f"}, CallableKind::c) == "none");
}

TEST_CASE("prefixes end anywhere in a name, and a name may be one") {
  const CallRules rules = made_of("native importlib* copy.*\nbreak m.Class.<locals>.f");
  CHECK(found(rules, {"importlib._bootstrap.load"}, CallableKind::python) ==
        "my.rules:1: native importlib*");
  CHECK(found(rules, {"importlib"}, CallableKind::python) == "my.rules:1: native importlib*");
  CHECK(found(rules, {"copy"}, CallableKind::python) == "none");
  CHECK(found(rules, {"m.Class.<locals>.f"}, CallableKind::python) ==
        "my.rules:2: break m.Class.<locals>.f");
}

TEST_CASE(
    "rules of a user stand before those that are added behind, which are named without a place") {
  CallRules rules = made_of("native m.f : it says NAME");
  REQUIRE(rules.add("serve compile m.f\nmodel length m.g", "capture.rules", true));
  CHECK(found(rules, {"m.f"}, CallableKind::python) == "my.rules:1: native m.f");
  CHECK(rules.find(std::vector<std::string>{"m.f"}, CallableKind::python)->reason_for("f") ==
        "it says f");
  CHECK(found(rules, {"m.g"}, CallableKind::c) == "model m.g");
  CHECK(rules.find(std::vector<std::string>{"m.g"}, CallableKind::c)->handler == "length");
}

TEST_CASE("a name that begins with a dot is that of an attribute") {
  const CallRules rules =
      made_of("assume ._is_constant\nbreak m.f ._is_slow\ninline m.*\nassume ._is_slow");
  CHECK(rules.attributes() == std::vector<std::string>{"._is_constant", "._is_slow"});
  CHECK(found(rules, {"._is_constant", "m.f"}, CallableKind::python) ==
        "my.rules:1: assume ._is_constant");
  CHECK(found(rules, {"m.g"}, CallableKind::python) == "my.rules:3: inline m.*");
  CHECK(found(rules, {"._is_constant"}, CallableKind::c) == "none");
  for (const char* text : {"assume .", "assume .a.b", "assume .a*"}) {
    CHECK(refused(text).hint == "Write an attribute of functions as ._is_constant.");
  }
}

TEST_CASE("a code may stand before the names") {
  const CallRules rules = made_of("break PS0307 m.f : because\noutside m.g");
  const CallRule* first = rules.find(std::vector<std::string>{"m.f"}, CallableKind::c);
  CHECK(first->code == Code::PS0307);
  CHECK(first->reason_for("f") == "because");
  CHECK(rules.find(std::vector<std::string>{"m.g"}, CallableKind::c)->code == Code::PS0312);
}

TEST_CASE("a line that is no rule is refused with its place, and nothing of the file is used") {
  const Diagnostic unknown = refused("inline m.f\n  skip m.g\n");
  CHECK(unknown.code == Code::PS0101);
  CHECK(unknown.message == "no action is called 'skip'");
  REQUIRE(unknown.location);
  CHECK(unknown.location->line == 2);
  CHECK(unknown.location->column == 2);
  CHECK(unknown.location->end_column == 6);
  CHECK(refused("inline").message == "the rule names nothing that it is for");
  CHECK(refused("inline : because").message == "the rule names nothing that it is for");
  CHECK(refused("native a.*.b").message == "'*' stands inside 'a.*.b'");
  CHECK(refused("native a,b").message == "'a,b' is no dotted name");
  CHECK(refused("break PS0999 a").message == "PS0999 is no code of a break");
  CHECK(refused("break PS0101 a").message == "PS0101 is no code of a break");
  CHECK(refused("model length a").message == "'model' needs code of penstock's behind it");
  CHECK(refused(std::string_view("inline a\0b", 10)).message == "a rule file is text");
  CallRules rules;
  CHECK(!rules.add("inline a\nnonsense b", "x", false));
  CHECK(rules.all().empty());
}

TEST_CASE("no text crashes the reader") {
  std::uint32_t state = 1;
  const std::string_view alphabet = "inlebrakPS03* .:#\n\t<>_\xff";
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (int i = 0; i < 40; ++i) {
      state = state * 1664525 + 1013904223;
      text += alphabet[(state >> 16) % alphabet.size()];
    }
    CallRules rules;
    if (rules.add(text, "x", round % 2 == 0)) {
      for (const CallRule& rule : rules.all()) CHECK(!rule.pattern.empty());
    }
  }
}
