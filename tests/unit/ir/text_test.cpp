#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "ir/argument_text.h"
#include "ir/graph.h"

using namespace penstock;

TEST_CASE("sources read back as what they were") {
  for (std::string text : {"L['x']",
                           "C['self']",
                           "S[3]",
                           "L['o'].state[L['o'].rows[0]]['step']",
                           "G['d'][S[0]][type(L['x'])]",
                           "G['torch']",
                           "B['len']",
                           "M['torch.nn']",
                           "L['self']._modules['fc'].weight",
                           "L['x'].__dict__['y']",
                           "L['d'][(3)]",
                           "L['d'][3]",
                           "L['d'][(1, 'x')]",
                           "L['d'][True]",
                           "L['d'][None]",
                           "L['d'][1.5]",
                           "L['d'][torch.float32]",
                           "type(L['x'])",
                           "len(L['x'].items)",
                           "L['x'].size(1)",
                           "L['x'].stride(0)",
                           "L['x'].storage_offset()",
                           "getattr(L['x'], '__code__')",
                           "L['f'].__code__",
                           "L['f'].__closure__[2].cell_contents",
                           "L['m'].__func__.__defaults__[0]",
                           "getattr(L['x'], 'not a name').y",
                           "L['it\\'s']",
                           "L['\u00e9'].\u00e9",
                           "type(type(L['x']).f.__self__)",
                           "L['x'].__kwdefaults__['a']",
                           "(-L['x'])",
                           "(1.0 - (L['beta'] ** L['step']))",
                           "(-2 * len(L['x'].items))",
                           "abs((L['x'] // 3))",
                           "min(L['x'], float('-inf'))",
                           "(math.sqrt(float(L['x'])) <= int(G['y'].z))"}) {
    CAPTURE(text);
    SourceTable table;
    auto id = parse_source(text, table);
    REQUIRE(id.has_value());
    CHECK(table.text(*id) == text);
    std::size_t size = table.size();
    CHECK(parse_source(text, table).value() == *id);
    CHECK(table.size() == size);
  }
}

TEST_CASE("text that is no source is refused") {
  for (std::string text : {"",
                           "x",
                           "L['x'",
                           "L[x]",
                           "L['x'].",
                           "L['x']..y",
                           "L['x'][",
                           "S['x']",
                           "len(L['x']",
                           "L['x'].size()",
                           "L['x'] ",
                           "getattr(L['x'])",
                           "1",
                           "(1 + 2",
                           "(L['x'] @ 1)",
                           "(L['x'] +1)",
                           "('a' + L['x'])",
                           "min(L['x'])",
                           "L['x'][L['y']",
                           "L['x'][len(L['y'])]"}) {
    CAPTURE(text);
    SourceTable table;
    CHECK(!parse_source(text, table).has_value());
  }
  for (const std::string& part : {"len(", "L['x']["}) {
    std::string deep;
    for (int i = 0; i < 100000; ++i) deep += part;
    SourceTable table;
    CHECK(!parse_source(deep, table).has_value());
  }
}

TEST_CASE("an interned variable learns its slot later") {
  SourceTable table;
  SourceId id = parse_source("L['x']", table).value();
  CHECK(table[id].index == -1);
  CHECK(table.intern({SourceKind::local, kNoSource, "x", 4, {}}) == id);
  CHECK(table[id].index == 4);
}

TEST_CASE(
    "a source is interned once, however many there are, and keys that are written differently are "
    "others") {
  SourceTable table;
  const SourceId base = table.intern({SourceKind::local, kNoSource, "d", 0, {}});
  std::vector<SourceStep> steps;
  for (std::int64_t i = 0; i < 300; ++i) {
    steps.push_back({SourceKind::attribute, base, "name" + std::to_string(i), 0, {}});
    steps.push_back({SourceKind::instance, base, "name" + std::to_string(i), 0, {}});
    steps.push_back({SourceKind::dict_item, base, {}, 0, "name" + std::to_string(i)});
    steps.push_back({SourceKind::dict_item, base, {}, 0, i});
    steps.push_back({SourceKind::item, base, {}, i, {}});
    steps.push_back({SourceKind::item, base + 1 + static_cast<SourceId>(i), {}, 0, {}});
    steps.push_back({SourceKind::computed, base, {}, 0, {}, static_cast<SourceId>(i)});
  }
  for (const Argument& key :
       {Argument(true), Argument(1.0), Argument(0.0), Argument(-0.0), Argument(std::nan(""))}) {
    steps.push_back({SourceKind::dict_item, base, {}, 0, key});
  }
  std::vector<SourceId> ids;
  for (const SourceStep& step : steps) {
    ids.push_back(table.intern(step));
    CHECK(ids.back() == table.size() - 1);
  }
  for (std::size_t i = 0; i < steps.size(); ++i) CHECK(table.intern(steps[i]) == ids[i]);
  CHECK(table.size() == steps.size() + 1);
  SourceTable copy = table;
  CHECK(copy.intern(steps[17]) == ids[17]);
}

TEST_CASE("the bytes of a tensor are known where no symbol says how many there are") {
  TensorType type;
  type.sizes = {2, 3, 5};
  CHECK(known_bytes(type) == 120);
  type.dtype = DType::int64;
  CHECK(known_bytes(type) == 240);
  type.sizes = {};
  CHECK(known_bytes(type) == 8);
  type.sizes = {7, 0};
  CHECK(known_bytes(type) == 0);
  type.sizes = {7, SymExpr::symbol("s0")};
  CHECK(known_bytes(type) == 0);
}

TEST_CASE("literals read back as what they were") {
  for (std::string text : {"None",
                           "True",
                           "False",
                           "...",
                           "0",
                           "-7",
                           "9223372036854775807",
                           "1.0",
                           "-0.0",
                           "1e-05",
                           "5e-324",
                           "float('inf')",
                           "float('-inf')",
                           "'a\\'b\\\\c\\n'",
                           "b'\\x00\\xffx'",
                           "[]",
                           "[1, 2]",
                           "()",
                           "(1,)",
                           "(1, [2, ()])",
                           "slice(None, 3, None)",
                           "{'a': 1, 2: [3]}",
                           "torch.float32",
                           "torch.bool",
                           "torch.channels_last",
                           "torch.strided",
                           "device('cuda:0')",
                           "<torch.nn.functional.relu>",
                           "complex(1.0, -2.5)"}) {
    CAPTURE(text);
    std::string_view rest = text;
    auto literal = parse_literal(rest);
    REQUIRE(literal.has_value());
    CHECK(rest.empty());
    CHECK(to_string(*literal) == text);
  }
  std::string_view nan = "float('nan')";
  CHECK(std::isnan(*parse_literal(nan)->as<double>()));
  for (std::string text : {"", "[1", "(1", "'abc", "{1: 2", "1.5.2", "--1", "1e", "x", "<abc",
                           "b'\\xZZ'", "99999999999999999999"}) {
    CAPTURE(text);
    std::string_view rest = text;
    auto literal = parse_literal(rest);
    CHECK((!literal.has_value() || !rest.empty()));
  }
}

TEST_CASE("entry ids and conditions read back") {
  for (std::string text : {"0/0", "12/3", "0/0_1"}) {
    CHECK(to_string(parse_entry_id(text).value()) == text);
  }
  for (std::string text : {"", "0", "0/", "/0", "-1/0", "0/0_", "0/0x", "a/b"}) {
    CHECK(!parse_entry_id(text).has_value());
  }
  CHECK(to_string(parse_condition("s0 >= 2*s1").value()) == "2*s1 <= s0");
  CHECK(to_string(parse_condition("s0 != 10").value()) == "s0 != 10");
  CHECK(!parse_condition("s0").has_value());
  CHECK(!parse_condition("s0 = 1").has_value());
}

TEST_CASE("fresh names are unique and cost no search") {
  Graph graph;
  graph.values.push_back({"add_1", {}, false, {}});
  CHECK(graph.values[add_value(graph, "add", {})].name == "add");
  CHECK(graph.values[add_value(graph, "add", {})].name == "add_2");
  CHECK(graph.values[add_value(graph, "add_1", {})].name == "add_1_1");
  for (int i = 0; i < 100000; ++i) add_value(graph, "x", {});
  CHECK(graph.values.back().name == "x_99999");
}
