// The parts of pt2: sizes as sympy writes them, trees of containers, the paths of a module's
// tensors, numbers of dtypes.
#include <doctest/doctest.h>

#include <string>

#include "interchange/pt2/numbers.h"
#include "interchange/pt2/sources.h"
#include "interchange/pt2/sympy.h"
#include "interchange/pt2/tree.h"

using namespace penstock;
using namespace penstock::pt2;

namespace {

constexpr const char* kS0 = "Symbol('s0', positive=True, integer=True)";

std::string read(const std::string& text) {
  auto size = read_sympy(text);
  return size ? size->to_string() : std::string(facts(size.error().code).id);
}

std::string replaced(std::string text) {
  for (std::size_t at = text.find("S0"); at != std::string::npos; at = text.find("S0", at + 1))
    text.replace(at, 2, kS0);
  return read(text);
}

}  // namespace

TEST_CASE("sizes are read") {
  CHECK(read("Integer(7)") == "7");
  CHECK(read("Integer(-7)") == "-7");
  CHECK(replaced("S0") == "s0");
  CHECK(read("Symbol('s0')") == "s0");
  CHECK(replaced("Add(S0, Integer(-1), S0)") == "2*s0-1");
  CHECK(replaced("Mul(Integer(4), S0, Add(S0, Integer(1)))") == "4*s0+4*s0*s0");
  CHECK(replaced("FloorDiv(Add(S0, Integer(1)), Integer(2))") == "floordiv(s0+1, 2)");
  CHECK(replaced("CleanDiv(S0, Integer(3))") == "floordiv(s0, 3)");
  CHECK(replaced("CeilDiv(S0, Integer(3))") ==
        (SymExpr(0) - floordiv(SymExpr(0) - SymExpr::symbol("s0"), 3)).to_string());
  CHECK(replaced("Mod(S0, Integer(3))") == "mod(s0, 3)");
  CHECK(replaced("PythonMod(S0, Integer(3))") == "mod(s0, 3)");
  CHECK(replaced("ModularIndexing(S0, Integer(2), Integer(3))") == "mod(floordiv(s0, 2), 3)");
  CHECK(replaced("Max(Integer(1), S0)") == maximum(1, SymExpr::symbol("s0")).to_string());
  CHECK(replaced("Min(Integer(9), S0, Integer(8))") ==
        minimum(minimum(9, SymExpr::symbol("s0")), 8).to_string());
  CHECK(replaced("Pow(S0, Integer(3))") == "s0*s0*s0");
}

TEST_CASE("what is no size is refused") {
  for (const char* text : {"",
                           "s0",
                           "7",
                           "Integer(",
                           "Integer()",
                           "Integer(7",
                           "Integer(7))",
                           "Integer(1.5)",
                           "Integer(1) + Integer(2)",
                           "Symbol(s0)",
                           "Symbol('')",
                           "Symbol('1')",
                           "Symbol('a b')",
                           "Symbol('s0', positive=exit())",
                           "Symbol('s0', positive)",
                           "__import__('os')",
                           "FloorDiv(Integer(1))",
                           "Integer(99999999999999999999)",
                           "Pow(Integer(2))",
                           "Add()"})
    CHECK_MESSAGE(read(text) == "PS0201", text);
  for (const char* text : {"IntTrueDiv(Integer(1), Integer(2))", "Pow(Integer(2), Integer(-1))",
                           "Pow(Integer(2), Integer(17))", "Pow(Integer(2), Symbol('s0'))",
                           "Where(Integer(1))", "system(Integer(1))"})
    CHECK_MESSAGE(read(text) == "PS0211", text);
  std::string deep = "Integer(1)";
  for (int i = 0; i < 80; ++i) deep = "Add(Integer(1), " + deep + ")";
  CHECK(read(deep) == "PS0208");
  CHECK(read("Add(" + std::string(200'000, ' ') + "Integer(1))") == "PS0208");
}

TEST_CASE("sizes are written as they are read") {
  for (const char* text : {"0", "-3", "s0", "2*s0+1", "s0*s1-3", "floordiv(s0+1, 2)*s1",
                           "mod(s0, 4)", "min(s0, 8)", "max(s0*s0, s1)"}) {
    const SymExpr size = parse_sym_expr(text).value();
    auto again = read_sympy(to_sympy(size));
    REQUIRE(again);
    CHECK(*again == size);
  }
}

TEST_CASE("comparisons") {
  const auto condition =
      read_sympy_condition(std::string("StrictGreaterThan(") + kS0 + ", Integer(4))");
  REQUIRE(condition);
  CHECK(to_string(*condition) == "4 < s0");
  CHECK(to_string(read_sympy_condition(to_sympy(*condition)).value()) == "4 < s0");
  CHECK(to_string(read_sympy_condition("Ne(Integer(1), Symbol('s0'))").value()) == "1 != s0");
  CHECK(to_string(read_sympy_condition("true").value()) == "0 == 0");
  CHECK(to_string(read_sympy_condition("false").value()) == "0 == 1");
  CHECK(!read_sympy_condition("And(true, true)"));
  CHECK(!read_sympy_condition("Eq(Integer(1))"));
  CHECK(!read_sympy_condition("Eq(Integer(1), Integer(2)) or 1"));
}

TEST_CASE("trees of containers") {
  const std::string leaf = R"({"type": null, "context": null, "children_spec": []})";
  const std::string text =
      R"([1, {"type": "builtins.dict", "context": "[\"a\", 3]", "children_spec": [)" + leaf + ", " +
      R"({"type": "builtins.list", "context": "null", "children_spec": []}]}])";
  const auto tree = read_tree(text.substr(0, text.size() - 3) + "]}]");
  REQUIRE(tree);
  CHECK(tree->type == "builtins.dict");
  CHECK(count_leaves(*tree) == 1);
  const auto keys = keys_of(*tree);
  REQUIRE(keys);
  CHECK(*(*keys)[0].as<std::string>() == "a");
  CHECK(*(*keys)[1].as<std::int64_t>() == 3);
  CHECK(context_of(*keys) == R"(["a",3])");
  CHECK(to_text(read_tree(to_text(*tree)).value()) == to_text(*tree));
  Tree fewer = *tree;
  fewer.children.pop_back();
  CHECK(!keys_of(fewer));
  for (const char* wrong :
       {"", "{}", "[1]", "[2, {}]", "[1, {}]", "[1, 3]", R"([1, {"type": "x"}])",
        R"([1, {"type": 3, "context": null, "children_spec": []}])"})
    CHECK_MESSAGE(!read_tree(wrong), wrong);
  CHECK(read_tree(std::string(1000, '[')).error().code == Code::PS0208);
}

TEST_CASE("paths of a module's tensors") {
  Interface interface;
  SourceTable& sources = interface.sources;
  for (const InputKind kind : {InputKind::parameter, InputKind::buffer, InputKind::constant}) {
    const SourceId source = weight_source(sources, "layers.0.weight", kind);
    CHECK(weight_name(sources, source) == "layers.0.weight");
  }
  CHECK(sources.text(weight_source(sources, "a.b", InputKind::buffer)) ==
        "L['self'].__dict__['_modules']['a'].__dict__['_buffers']['b']");
  const SourceId other = sources.intern({SourceKind::global, kNoSource, "weight", 0, {}});
  CHECK(weight_name(sources, other).empty());
  interface.guards.push_back(temporary_buffer(sources, "a.b"));
  CHECK(is_temporary(interface, "a.b"));
  CHECK(!is_temporary(interface, "b"));
  CHECK(!is_temporary(interface, "a.c"));
}

TEST_CASE("the arguments' containers are what the guards tell") {
  const Tree leaf;
  const Tree in{
      "builtins.tuple",
      "null",
      {{"builtins.tuple",
        "null",
        {leaf, {"builtins.list", "null", {leaf, {"collections.OrderedDict", R"(["k"])", {leaf}}}}}},
       {"builtins.dict", R"(["flag"])", {leaf}}}};
  Interface interface;
  const auto places = argument_places(in, {"x", "pair", "flag"}, interface);
  REQUIRE(places.size() == 4);
  CHECK(interface.sources.text(places[2]) == "L['pair'][1]['k']");
  CHECK(interface.sources.text(places[3]) == "L['kwargs']['flag']");
  for (std::size_t i = 0; i < 3; ++i)
    interface.inputs.push_back({InputKind::user, "", places[i], {}, {}});
  interface.guards.push_back({GuardKind::equals, places[3], kNoSource, true, {}, {}, {}, -1});
  const ArgumentTree tree = argument_tree(interface);
  CHECK(to_text(tree.in) == to_text(in));
  CHECK(tree.leaves == places);
  CHECK(tree.names == std::vector<std::string>{"x", "pair", "flag"});
  interface.guards.clear();  // a document without guards: every tensor on its own
  CHECK(argument_tree(interface).leaves.size() == 3);
  CHECK(check_containers(in));
  Tree other = in;
  other.children[0].children[0] = {"collections.deque", "null", {leaf}};
  CHECK(!check_containers(other));
  other.children[0].children[0] = {"builtins.dict", "[1.5]", {leaf}};
  CHECK(!check_containers(other));
  other = in;
  other.children[1].type = "builtins.tuple";  // keyword arguments without names
  CHECK(!check_containers(other));
  CHECK(!check_containers(leaf));
}

TEST_CASE("what a function collects in *args are arguments of the call, a tuple is one of them") {
  Interface interface;
  SourceTable& sources = interface.sources;
  const auto local = [&](std::string name, std::int64_t slot) {
    return sources.intern({SourceKind::local, kNoSource, std::move(name), slot, {}});
  };
  const auto item = [&](SourceId base, std::int64_t index) {
    return sources.intern({SourceKind::item, base, {}, index, {}});
  };
  const auto guard = [&](GuardKind kind, SourceId source, Argument expected) {
    interface.guards.push_back({kind, source, kNoSource, std::move(expected), {}, {}, {}, -1});
  };
  const SourceId args = local("args", 1);
  const SourceId x = item(args, 0), pair = item(args, 1);
  const SourceId first = item(pair, 0), second = item(pair, 1);
  guard(GuardKind::length, args, std::int64_t{2});
  guard(GuardKind::type_is, pair, std::string("tuple"));
  guard(GuardKind::length, pair, std::int64_t{2});
  const SourceId options = local("options", 2);
  const SourceId flag =
      sources.intern({SourceKind::dict_item, options, {}, 0, std::string("flag")});
  guard(GuardKind::dict_keys, options,
        Argument::Sequence{Argument::Sequence::Kind::list, {std::string("flag")}});
  for (const auto& [name, source] :
       {std::pair{"x", x}, {"pair_0", first}, {"pair_1", second}, {"flag", flag}})
    interface.inputs.push_back({InputKind::user, name, source, {}, {}});
  const ArgumentTree tree = argument_tree(interface);
  CHECK(tree.leaves == std::vector<SourceId>{x, first, second, flag});
  CHECK(tree.names == std::vector<std::string>{"x", "args_1", "flag"});
  REQUIRE(tree.in.children[0].children.size() == 2);
  CHECK(tree.in.children[0].children[0].is_leaf());
  CHECK(tree.in.children[0].children[1].children.size() == 2);
  CHECK(tree.in.children[1].children.size() == 1);

  guard(GuardKind::type_is, args, std::string("tuple"));  // one argument that is called args
  CHECK(argument_tree(interface).in.children[0].children.size() == 1);
}

TEST_CASE("numbers of the schema") {
  CHECK(dtype_of(7) == DType::float32);
  CHECK(dtype_of(13) == DType::bfloat16);
  CHECK(!dtype_of(0));
  CHECK(!dtype_of(29));
  for (const DType dtype : {DType::uint8, DType::float16, DType::bool_, DType::complex128})
    CHECK(dtype_of(number_of(dtype)) == dtype);
  CHECK(memory_format_of(2) == "channels_last");
  CHECK(number_of_memory_format("preserve_format") == 4);
  CHECK(!memory_format_of(9));
}
