#include "rich_graph.h"

#include <cmath>
#include <limits>

namespace penstock::formats {

namespace {

Argument list(Argument::Sequence::Kind kind, std::vector<Argument> items) {
  return Argument::Sequence{kind, std::move(items)};
}

std::vector<Argument> all_arguments(ValueId value) {
  using Kind = Argument::Sequence::Kind;
  using Named = Argument::Named;
  SymExpr s0 = SymExpr::symbol("s0");
  return {
      Argument(),
      true,
      std::int64_t{-7},
      std::int64_t{INT64_MIN},
      0.1,
      -0.0,
      5e-324,
      1.0,
      std::nan(""),
      HUGE_VAL,
      -HUGE_VAL,
      std::string("a \"q\" \\ \n \u00e9 \x01"),
      std::string("\xED\xA0\x80 lone surrogate"),
      std::string("value"),
      2 * s0 + 1,
      floordiv(s0, 8),
      DType::bfloat16,
      Argument::Value{value},
      Argument::Complex{1.5, -HUGE_VAL},
      Argument::Ellipsis{},
      Named{Named::Kind::device, "cuda:0"},
      Named{Named::Kind::layout, "strided"},
      Named{Named::Kind::memory_format, "channels_last"},
      Named{Named::Kind::object, "torch.relu"},
      Argument::Bytes{std::string("\0\xFF x", 4)},
      list(Kind::list, {}),
      list(Kind::list, {std::int64_t{1}, std::int64_t{-1}}),
      list(Kind::list, {Argument::Value{value}, std::int64_t{1}, std::nan("")}),
      list(Kind::tuple, {std::string("x"), list(Kind::tuple, {})}),
      list(Kind::slice, {Argument(), std::int64_t{3}, Argument()}),
      Argument::Dict{{{std::string("k"), std::int64_t{1}}, {std::int64_t{2}, s0}}},
  };
}

SourceId add(SourceTable& table, SourceKind kind, SourceId base, std::string name,
             std::int64_t index = 0, Argument key = {}) {
  return table.intern({kind, base, std::move(name), index, std::move(key)});
}

/// A path with every kind of step.
std::vector<SourceId> all_sources(SourceTable& table) {
  std::vector<SourceId> ids;
  SourceId self = add(table, SourceKind::local, kNoSource, "self", 0);
  ids = {self,
         add(table, SourceKind::cell, kNoSource, "it's", 4),
         add(table, SourceKind::stack, kNoSource, "", 2),
         add(table, SourceKind::global, kNoSource, "torch"),
         add(table, SourceKind::builtin, kNoSource, "len"),
         add(table, SourceKind::module, kNoSource, "torch.nn"),
         add(table, SourceKind::attribute, self, "__code__"),
         add(table, SourceKind::attribute, self, "size"),
         add(table, SourceKind::attribute, self, "not an identifier"),
         add(table, SourceKind::type, self, ""),
         add(table, SourceKind::length, self, "")};
  SourceId at = add(table, SourceKind::instance, self, "_modules");
  at = add(table, SourceKind::dict_item, at, "", 0, std::string("fc.\\'1]"));
  at = add(table, SourceKind::attribute, at, "weight");
  at = add(table, SourceKind::dict_item, at, "", 0, std::int64_t{3});
  at = add(table, SourceKind::item, at, "", 3);
  at = add(table, SourceKind::dict_item, at, "", 0,
           list(Argument::Sequence::Kind::tuple, {std::int64_t{1}, std::string("x")}));
  at = add(table, SourceKind::function, at, "");
  at = add(table, SourceKind::closure, at, "", 1);
  for (SourceKind kind : {SourceKind::code, SourceKind::defaults, SourceKind::kwdefaults,
                          SourceKind::self, SourceKind::offset}) {
    ids.push_back(add(table, kind, at, ""));
  }
  ids.push_back(add(table, SourceKind::size, at, "", 1));
  ids.push_back(add(table, SourceKind::stride, at, "", 0));
  return ids;
}

Recipe recipe(Recipe::Kind kind, std::vector<Recipe> items = {}) {
  Recipe out;
  out.kind = kind;
  out.items = std::move(items);
  return out;
}

Recipe literal(Argument argument) {
  Recipe out;
  out.literal = std::move(argument);
  return out;
}

/// A list of one recipe of every kind.
Recipe all_recipes(SourceId source) {
  Recipe output = recipe(Recipe::Kind::output), object = recipe(Recipe::Kind::object);
  output.index = object.index = 0;
  Recipe from = recipe(Recipe::Kind::source), symbol = recipe(Recipe::Kind::symbol);
  from.source = source;
  symbol.expression = SymExpr::symbol("s0") + 1;
  std::vector<Recipe> items{output, object, from, symbol, literal(std::string("name"))};
  for (auto kind :
       {Recipe::Kind::list, Recipe::Kind::tuple, Recipe::Kind::dict, Recipe::Kind::set,
        Recipe::Kind::frozenset, Recipe::Kind::slice, Recipe::Kind::instance,
        Recipe::Kind::function, Recipe::Kind::cell, Recipe::Kind::method, Recipe::Kind::call}) {
    items.push_back(recipe(kind, {literal(std::int64_t{1}), output}));
  }
  return recipe(Recipe::Kind::list, std::move(items));
}

}  // namespace

GraphDocument rich_graph() {
  Graph graph;
  Interface& interface = graph.interface;
  interface.id = {3, 1, 2};
  interface.name = "Model.forward.<locals>.f";
  interface.location = Location{"model.py", 12, 4, 13, -1};
  interface.after = "2/0";
  interface.start_offset = 46;
  interface.capture_ns = 1234567;
  std::vector<SourceId> sources = all_sources(interface.sources);
  interface.symbols = {{"s0", sources.back(), 2, 4096, 8}, {"u0", kNoSource, 0, INT64_MAX, {}}};
  SymExpr s0 = SymExpr::symbol("s0");
  TensorType type;
  type.dtype = DType::bool_;
  type.sizes = {s0, 3, mod(s0, 4)};
  type.strides = {maximum(s0, 9), minimum(1, s0), 1};
  type.storage_offset = s0 * 2;
  type.device = "cuda:0";
  type.storage = 2;
  type.requires_grad = true;
  for (auto kind : {InputKind::user, InputKind::parameter, InputKind::buffer, InputKind::constant,
                    InputKind::size, InputKind::scalar, InputKind::generator}) {
    TensorType number;
    number.dtype = DType::int64;
    const bool is_number = kind == InputKind::size || kind == InputKind::scalar;
    ValueId id = add_value(graph, to_string(kind), is_number ? number : type);
    Input input{
        kind, graph.values[id].name, sources[id % sources.size()], graph.values[id].type, {}};
    if (kind == InputKind::constant) input.source = kNoSource;
    if (kind == InputKind::user) input.blob = std::string(32, 'a');
    interface.inputs.push_back(input);
  }
  graph.values[4].is_scalar = true;
  graph.values[4].expression = s0;
  ValueId first = add_value(graph, "out", type), second = add_value(graph, "out", type);
  graph.values[second].type = {};
  graph.values[second].type.dtype = DType::int64;
  graph.values[second].is_scalar = true;
  graph.values[second].expression = SymExpr::symbol("u0");
  Node node{"aten.example.out", {}, {first, second}, 0};
  for (Argument& argument : all_arguments(0)) node.args.push_back({"a", std::move(argument)});
  node.args.front().name.clear();
  graph.nodes.push_back(node);
  const auto caller =
      std::make_shared<const StackFrame>(StackFrame{"main", {"main.py", 7, 0, 7, 4}, nullptr});
  graph.calls.push_back(
      {"call_method",
       "example",
       "example_",
       all_arguments(first),
       {{"key", std::string("v")}},
       std::make_shared<const StackFrame>(StackFrame{"f", {"model.py", 1, 2, 3, 4}, caller}),
       Argument::Value{first},
       3});
  graph.outputs = {first, 0};
  interface.outputs = {{type, {}, std::string(32, 'b')}, {type, {OutputAlias::Kind::input, 0}, {}}};
  interface.mutations = {{0, 1}};
  for (int kind = 0; kind <= static_cast<int>(GuardKind::condition); ++kind) {
    Guard guard{};
    guard.kind = static_cast<GuardKind>(kind);
    guard.source = sources[static_cast<std::size_t>(kind) % sources.size()];
    guard.expected = all_arguments(0)[static_cast<std::size_t>(kind) % 17];
    if (kind % 2 == 0) guard.other = sources.front();
    if (kind % 3 == 0) guard.location = Location{"model.py", kind, 0, kind, 1};
    if (guard.kind == GuardKind::tensor) guard.tensor = type;
    if (guard.kind == GuardKind::condition) {
      guard.condition = Condition{2 * s0, Condition::Relation::less_equal, 64};
    }
    interface.guards.push_back(guard);
  }
  interface.returns = all_recipes(sources.front());
  interface.objects = {recipe(Recipe::Kind::list)};
  for (int kind = 0; kind <= static_cast<int>(Restore::Kind::contents); ++kind) {
    Restore restore;
    restore.kind = static_cast<Restore::Kind>(kind);
    restore.index = kind;
    restore.name = kind % 2 ? "x" : "";
    restore.value = all_recipes(sources.front());
    if (kind % 3 == 0) restore.target = restore.key = literal(std::int64_t{1});
    interface.restore.push_back(restore);
  }
  interface.end = {SegmentEnd::Kind::loop, 12, "PS0301"};
  interface.frames.push_back({"helper", all_recipes(sources.front()), 8,
                              Location{"model.py", 3, 1, 3, 9}, interface.restore});
  return {std::move(graph), {}};
}

}  // namespace penstock::formats
