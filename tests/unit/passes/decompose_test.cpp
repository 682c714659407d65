#include "passes/decompose.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>

#include "ops/contract.h"
#include "ops/interpreter.h"
#include "torch_graph.h"
#include "verifying_trace.h"

using namespace penstock;

namespace {

Graph decomposed(const TorchGraph& g) {
  VerifyingTrace trace;
  auto core = passes::decompose(g.graph, {}, trace);
  if (!core) FAIL(core.error().message);
  CHECK(ops::verify_contract(*core, Level::core));
  return std::move(*core);
}

Diagnostic refused(const TorchGraph& g) {
  VerifyingTrace trace;
  auto core = passes::decompose(g.graph, {}, trace);
  REQUIRE(!core);
  return core.error();
}

}  // namespace

TEST_CASE("a write to an input becomes an epilogue and an output") {
  TorchGraph g;
  ValueId x = g.input({SymExpr(4)});
  g.call("aten.add_.Tensor", {{"self", g.value(x)}, {"other", 1.0}});
  g.output(g.call("aten.mul.Tensor", {{"self", g.value(x)}, {"other", 2.0}}));
  Graph core = decomposed(g);
  CHECK(ops_of(core) == "prim.add prim.mul prim.copy_");
  REQUIRE(core.interface.mutations.size() == 1);
  CHECK(core.interface.mutations[0].input == 0);
  CHECK(core.interface.mutations[0].output == 1);
  CHECK(core.interface.outputs[1].alias.kind == OutputAlias::Kind::input);
}

TEST_CASE("on a GPU a row that an index chooses is written by loops, and several by torch") {
  const auto ops = [](std::int64_t count) {
    TorchGraph g;
    ValueId x = g.input({SymExpr(5), SymExpr(6)}), place = g.input({SymExpr(count)}, DType::int64),
            row = g.input({SymExpr(count), SymExpr(6)});
    for (Value& value : g.graph.values) value.type.device = "cuda:0";
    for (Input& input : g.graph.interface.inputs) input.type.device = "cuda:0";
    g.output(g.call("aten.index_copy.default", {{"self", g.value(x)},
                                                {"dim", std::int64_t{0}},
                                                {"index", g.value(place)},
                                                {"source", g.value(row)}}));
    return ops_of(decomposed(g));
  };
  CHECK(ops(1).starts_with("prim.check_index"));
  CHECK(ops(1).ends_with("prim.scatter"));
  CHECK(ops(2) == "aten.index_copy.default");
}

TEST_CASE("a write through a view replaces the part that it shows") {
  TorchGraph g;
  ValueId x = g.input({SymExpr(4), SymExpr(6)});
  ValueId z = g.call("aten.mul.Tensor", {{"self", g.value(x)}, {"other", 2.0}});
  ValueId row =
      g.call("aten.select.int",
             {{"self", g.value(z)}, {"dim", std::int64_t{0}}, {"index", std::int64_t{1}}});
  g.call("aten.zero_.default", {{"self", g.value(row)}});
  g.output(z);
  Graph core = decomposed(g);
  CHECK(ops_of(core).find("prim.scatter_slice") != std::string::npos);
  CHECK(core.interface.mutations.empty());
}

TEST_CASE("a write through a transposed view lies as the memory does") {
  TorchGraph g;
  ValueId x = g.input({SymExpr(2), SymExpr(2)}), y = g.input({SymExpr(2), SymExpr(2)});
  ValueId z = g.call("aten.mul.Tensor", {{"self", g.value(x)}, {"other", 2.0}});
  ValueId turned = g.call("aten.t.default", {{"self", g.value(z)}});
  g.call("aten.copy_.default", {{"self", g.value(turned)}, {"src", g.value(y)}});
  g.output(g.call("aten.add.Tensor", {{"self", g.value(z)}, {"other", 1.0}}));
  ops::HostTensor from = ops::HostTensor::contiguous(DType::float32, {2, 2}), to = from;
  from.assign(std::vector<double>{1, 2, 3, 4});
  auto outputs = ops::interpret(decomposed(g), {to, from});
  REQUIRE(outputs);
  CHECK((*outputs)[0].reals() == std::vector<double>{2, 4, 3, 5});
}

TEST_CASE("a write through a view of complex elements replaces the part that it shows") {
  struct View {
    const char* op;
    std::vector<NamedArgument> args;
    const char* put;
  };
  const View views[] = {
      {"aten.select.int",
       {{"dim", std::int64_t{0}}, {"index", std::int64_t{1}}},
       "aten.select_scatter.default"},
      {"aten.slice.Tensor",
       {{"dim", std::int64_t{1}}, {"start", std::int64_t{2}}, {"end", std::int64_t{4}}},
       "aten.slice_scatter.default"},
      {"aten.narrow.default",
       {{"dim", std::int64_t{1}}, {"start", std::int64_t{2}}, {"length", std::int64_t{2}}},
       "aten.slice_scatter.default"},
      {"aten.split.Tensor",
       {{"split_size", std::int64_t{3}}, {"dim", std::int64_t{1}}},
       "aten.slice_scatter.default"},
      {"aten.unbind.int", {{"dim", std::int64_t{0}}}, "aten.select_scatter.default"},
      {"aten.diagonal.default", {}, "aten.diagonal_scatter.default"},
      {"aten.t.default", {}, "aten.permute.default"},
      {"aten.view.default", {{"size", TorchGraph::list({24})}}, "aten.reshape.default"},
      {"aten.unsqueeze.default", {{"dim", std::int64_t{0}}}, "aten.reshape.default"},
      {"aten.as_strided.default",
       {{"size", TorchGraph::list({3, 2})}, {"stride", TorchGraph::list({2, 7})}},
       "aten.scatter.src"},
      {"aten.unfold.default",
       {{"dimension", std::int64_t{0}}, {"size", std::int64_t{2}}, {"step", std::int64_t{2}}},
       "aten.scatter.src"},
  };
  for (const View& view : views) {
    CAPTURE(view.op);
    TorchGraph g;
    ValueId x = g.input({SymExpr(4), SymExpr(6)}, DType::complex64);
    ValueId z = g.call("aten.mul.Tensor", {{"self", g.value(x)}, {"other", 2.0}});
    std::vector<NamedArgument> args = view.args;
    args.insert(args.begin(), {"self", g.value(z)});
    ValueId shown = g.call(view.op, std::move(args));
    g.call("aten.zero_.default", {{"self", g.value(shown)}});
    g.output(z);
    Graph core = decomposed(g);
    // What is written is what the output comes of.
    auto put = std::find_if(core.nodes.begin(), core.nodes.end(),
                            [&](const Node& node) { return node.op == view.put; });
    REQUIRE(put != core.nodes.end());
    const std::string& last = core.nodes.back().op;
    const bool laid_out_anew = last == "aten.clone.default" || last == "aten.reshape.default";
    CHECK((core.outputs.front() == put->results.front() || laid_out_anew));
  }
}

TEST_CASE("a write through a view that cannot be undone is refused, never dropped") {
  TorchGraph g;
  ValueId x = g.input({SymExpr(4), SymExpr(1)}, DType::complex64);
  ValueId z = g.call("aten.mul.Tensor", {{"self", g.value(x)}, {"other", 2.0}});
  ValueId wide = g.call("aten.expand.default", {{"self", g.value(z)}, {"size", g.list({4, 3})}});
  g.call("aten.zero_.default", {{"self", g.value(wide)}});
  g.output(z);
  CHECK(refused(g).code == Code::PS0602);

  // A view that only torch knows: where it lies was seen when it ran.
  TorchGraph unknown;
  x = unknown.input({SymExpr(4)});
  z = unknown.call("aten.exp.default", {{"self", unknown.value(x)}});
  TensorType type = unknown.graph.values[z].type;
  unknown.graph.values[z].type.storage = type.storage = 0;
  ValueId shown = add_value(unknown.graph, "shown", type);
  unknown.graph.nodes.push_back({"my.window.default", {{"self", unknown.value(z)}}, {shown}, -1});
  unknown.call("aten.zero_.default", {{"self", unknown.value(shown)}});
  unknown.output(z);
  CHECK(refused(unknown).code == Code::PS0602);

  TorchGraph several;
  x = several.input({SymExpr(4)});
  std::vector<ValueId> made = {add_value(several.graph, "a", type),
                               add_value(several.graph, "b", type)};
  several.graph.nodes.push_back({"my.both_.default", {{"self", several.value(x)}}, made, -1});
  several.output(x);
  CHECK(refused(several).code == Code::PS0602);
}

namespace {

/// A graph that doubles a matrix of 2 x 3, seen turned: torch keeps how it lies. `view` looks at
/// that and is written with zeros where it is to be; then the matrix is given, or what `view`
/// shows.
std::vector<double> through_view(const char* view, std::vector<NamedArgument> args, bool write) {
  TorchGraph g;
  const ValueId x = g.input({SymExpr(2), SymExpr(3)});
  const ValueId turned = g.call("aten.t.default", {{"self", g.value(x)}});
  const ValueId z = g.call("aten.mul.Tensor", {{"self", g.value(turned)}, {"other", 2.0}});
  args.insert(args.begin(), {"self", g.value(z)});
  const ValueId shown = g.call(view, std::move(args));
  if (write) g.call("aten.zero_.default", {{"self", g.value(shown)}});
  g.output(g.call("aten.add.Tensor", {{"self", g.value(write ? z : shown)}, {"other", 1.0}}));
  ops::HostTensor from = ops::HostTensor::contiguous(DType::float32, {2, 3});
  from.assign(std::vector<double>{1, 2, 3, 4, 5, 6});
  auto outputs = ops::interpret(decomposed(g), {from});
  REQUIRE(outputs);
  return (*outputs)[0].reals();
}

}  // namespace

TEST_CASE("places in memory are those where torch has the elements") {
  const std::vector<NamedArgument> row = {{"size", TorchGraph::list({2, 2})},
                                          {"stride", TorchGraph::list({3, 1})},
                                          {"storage_offset", std::int64_t{1}}};
  CHECK(through_view("aten.as_strided.default", row, false) == std::vector<double>{5, 7, 11, 13});
  CHECK(through_view("aten.as_strided.default", row, true) ==
        std::vector<double>{3, 9, 1, 1, 1, 1});
}

TEST_CASE("windows that do not overlap are written, others refused") {
  const auto windows = [](std::int64_t dim, std::int64_t size, std::int64_t step) {
    return std::vector<NamedArgument>{{"dimension", dim}, {"size", size}, {"step", step}};
  };
  CHECK(through_view("aten.unfold.default", windows(0, 1, 2), true) ==
        std::vector<double>{1, 1, 5, 11, 1, 1});
  CHECK(through_view("aten.unfold.default", windows(0, 2, 2), true) ==
        std::vector<double>{1, 1, 1, 1, 7, 13});
  TorchGraph g;
  const ValueId x = g.input({SymExpr(6)});
  const ValueId z = g.call("aten.exp.default", {{"self", g.value(x)}});
  std::vector<NamedArgument> args = windows(0, 3, 2);
  args.insert(args.begin(), {"self", g.value(z)});
  g.call("aten.zero_.default", {{"self", g.value(g.call("aten.unfold.default", std::move(args)))}});
  g.output(z);
  CHECK(refused(g).code == Code::PS0602);
}

TEST_CASE("a number is written as elements of the tensor's dtype") {
  const Argument numbers[] = {2.5, std::int64_t{3}, true};
  for (DType dtype : {DType::float32, DType::bfloat16, DType::int32, DType::uint8, DType::bool_,
                      DType::complex64}) {
    for (const Argument& number : numbers) {
      TorchGraph g;
      ValueId x = g.input({SymExpr(4)}, dtype);
      g.call("aten.copy_.default", {{"self", g.value(x)}, {"src", number}});
      g.output(x);
      const Graph core = decomposed(g);
      CHECK(ops_of(core) ==
            (is_complex(dtype) ? "aten.full.default prim.copy_" : "prim.full prim.copy_"));
    }
  }
}

TEST_CASE("outputs that look at inputs or each other are aliases") {
  TorchGraph g;
  ValueId x = g.input({SymExpr(4), SymExpr(6)});
  g.output(g.call("aten.t.default", {{"self", g.value(x)}}));
  ValueId z = g.call("aten.exp.default", {{"self", g.value(x)}});
  g.output(z);
  g.output(g.call("aten.view.default", {{"self", g.value(z)}, {"size", g.list({24})}}));
  Graph core = decomposed(g);
  CHECK(core.interface.outputs[0].alias.kind == OutputAlias::Kind::input);
  CHECK(core.interface.outputs[1].alias.kind == OutputAlias::Kind::none);
  CHECK(core.interface.outputs[2].alias.kind == OutputAlias::Kind::output);
  CHECK(core.interface.outputs[2].alias.index == 1);
}

TEST_CASE("outputs own their memory although their values are merged") {
  TorchGraph g;
  ValueId x = g.input({SymExpr(4)});
  g.output(g.call("aten.exp.default", {{"self", g.value(x)}}));
  g.output(g.call("aten.exp.default", {{"self", g.value(x)}}));
  g.output(g.call("aten.clone.default", {{"self", g.value(x)}}));
  CHECK(ops_of(decomposed(g)) == "prim.exp prim.clone prim.clone");
}

TEST_CASE("an output lies as the program's result did") {
  TorchGraph g;
  ValueId a = g.input({SymExpr(4), SymExpr(6)});
  g.output(g.call("aten.exp.default", {{"self", g.value(a)}}));
  g.graph.interface.outputs[0].type.strides = {1, 4};
  Graph core = decomposed(g);
  CHECK(ops_of(core) == "prim.exp prim.permute prim.clone prim.permute");
  CHECK(core.values[core.outputs[0]].type.strides == std::vector<SymExpr>{1, 4});
}

TEST_CASE("views compose and what is done twice is merged") {
  TorchGraph g;
  ValueId x = g.input({SymExpr(4), SymExpr(6)});
  ValueId a = g.call("aten.reshape.default", {{"self", g.value(x)}, {"shape", g.list({2, 12})}});
  ValueId b = g.call("aten.reshape.default", {{"self", g.value(a)}, {"shape", g.list({24})}});
  ValueId c = g.call("aten.reshape.default", {{"self", g.value(x)}, {"shape", g.list({24})}});
  g.output(g.call("aten.add.Tensor", {{"self", g.value(b)}, {"other", g.value(c)}}));
  CHECK(ops_of(decomposed(g)) == "prim.reshape prim.add");
}

TEST_CASE("a kept dim and its broadcast are one broadcast") {
  TorchGraph g;
  ValueId x = g.input({SymExpr(4), SymExpr(6)});
  g.output(g.call("aten.softmax.int", {{"self", g.value(x)}, {"dim", std::int64_t{-1}}}));
  CHECK(ops_of(decomposed(g)) ==
        "prim.amax prim.broadcast prim.sub prim.exp prim.sum prim.broadcast prim.div");
}

TEST_CASE("splats become numbers") {
  TorchGraph g;
  ValueId x = g.input({SymExpr(4)});
  ValueId ones = g.call("aten.ones_like.default", {{"self", g.value(x)}});
  ValueId y = g.call("aten.mul.Tensor", {{"self", g.value(x)}, {"other", g.value(ones)}});
  g.output(g.call("aten.sub.Tensor", {{"self", g.value(ones)}, {"other", g.value(y)}}));
  Graph core = decomposed(g);
  CHECK(ops_of(core) == "prim.sub");
}

TEST_CASE("only what changes no number is left out: -0 plus 0 is 0") {
  const auto left = [](const char* op, DType dtype, double number) {
    TorchGraph g;
    const ValueId x = g.input({SymExpr(4)}, dtype);
    const Argument other =
        is_floating(dtype) ? Argument(number) : Argument(static_cast<std::int64_t>(number));
    g.output(g.call(op, {{"self", g.value(x)}, {"other", other}}));
    return ops_of(decomposed(g));
  };
  CHECK(left("aten.add.Tensor", DType::float32, 0.0) == "prim.add");
  CHECK(left("aten.add.Tensor", DType::int64, 0.0).find("prim.add") == std::string::npos);
  CHECK(left("aten.sub.Tensor", DType::float32, 0.0).find("prim.sub") == std::string::npos);
  CHECK(left("aten.sub.Tensor", DType::float32, -0.0) == "prim.sub");
  CHECK(left("aten.mul.Tensor", DType::float32, 1.0).find("prim.mul") == std::string::npos);
}

TEST_CASE("an unknown op stays; one that writes gets a copy") {
  TorchGraph g;
  ValueId x = g.input({SymExpr(4)});
  ValueId y = add_value(g.graph, "y", g.graph.values[x].type);
  g.graph.nodes.push_back({"aten.mystery_.default", {{"self", g.value(x)}}, {y}, -1});
  g.output(y);
  CHECK(ops_of(decomposed(g)).ends_with("aten.mystery_.default prim.copy_"));
}

TEST_CASE("16-bit arithmetic is done in float32, visibly") {
  TorchGraph g;
  ValueId x = g.input({SymExpr(4)}, DType::bfloat16);
  g.output(g.call("aten.exp.default", {{"self", g.value(x)}}));
  CHECK(ops_of(decomposed(g)) == "prim.convert prim.exp prim.convert");
}

TEST_CASE("a width of 16 bits that versions of torch take otherwise is torch's matter") {
  const auto left = [](DType dtype, double width) {
    TorchGraph g;
    const ValueId x = g.input({SymExpr(4)}, dtype);
    const ValueId y = add_value(g.graph, "y", g.graph.values[x].type);
    g.graph.nodes.push_back(
        {"aten.softshrink.default", {{"self", g.value(x)}, {"lambd", Argument(width)}}, {y}, -1});
    g.output(y);
    return ops_of(decomposed(g));
  };
  CHECK(left(DType::bfloat16, 0.3) == "aten.softshrink.default");
  CHECK(left(DType::float16, 0.3) == "aten.softshrink.default");
  CHECK(left(DType::bfloat16, 0.5).find("aten.") == std::string::npos);
  CHECK(left(DType::float32, 0.3).find("aten.") == std::string::npos);
}

TEST_CASE("indices are checked unless what computes them proves them inside") {
  const auto checks =
      [](const std::function<ValueId(TorchGraph&, ValueId ids, ValueId table)>& index,
         bool sized = false) {
        TorchGraph g;
        const SymExpr rows = sized ? g.symbol("s0", 8) : SymExpr(4);
        ValueId ids = g.input({SymExpr(3)}, DType::int64), table = g.input({rows, SymExpr(6)});
        ValueId chosen = index(g, ids, table);
        g.output(g.call("aten.embedding.default",
                        {{"weight", g.value(table)}, {"indices", g.value(chosen)}}));
        std::string ops = ops_of(decomposed(g));
        return ops.find("prim.check_index") != std::string::npos;
      };
  const auto one = [](const char* op, std::vector<NamedArgument> more) {
    return [=](TorchGraph& g, ValueId ids, ValueId) {
      std::vector<NamedArgument> args = {{"self", g.value(ids)}};
      args.insert(args.end(), more.begin(), more.end());
      return g.call(op, args);
    };
  };
  const auto number = [](std::int64_t n) { return Argument(n); };
  CHECK(checks([](TorchGraph&, ValueId ids, ValueId) { return ids; }));
  CHECK(checks(one("aten.add.Tensor", {{"other", number(1)}})));
  CHECK(!checks(one("aten.remainder.Scalar", {{"other", number(4)}})));
  CHECK(checks(one("aten.remainder.Scalar", {{"other", number(5)}})));
  CHECK(!checks(one("aten.clamp.default", {{"min", number(0)}, {"max", number(3)}})));
  CHECK(checks(one("aten.clamp.default", {{"min", number(-1)}, {"max", number(3)}})));
  CHECK(checks(one("aten.clamp.default", {{"max", number(3)}})));
  const auto extreme = [&](std::int64_t dim) {
    return [=](TorchGraph& g, ValueId, ValueId table) {
      return g.call("aten.argmax.default", {{"self", g.value(table)}, {"dim", number(dim)}});
    };
  };
  CHECK(!checks(extreme(0)));
  CHECK(checks(extreme(1)));
  CHECK(!checks(extreme(0), true));
  CHECK(checks(extreme(1), true));
  const auto counted = [&](std::int64_t start, std::int64_t end) {
    return [=](TorchGraph& g, ValueId, ValueId) {
      return g.call("aten.arange.start",
                    {{"start", number(start)}, {"end", number(end)}, {"dtype", DType::int64}});
    };
  };
  CHECK(!checks(counted(0, 4)));
  CHECK(checks(counted(1, 5)));
  CHECK(checks(counted(-1, 3)));
}

TEST_CASE("an index is checked once, where it lies") {
  TorchGraph g;
  ValueId ids = g.input({SymExpr(6)}, DType::int64), table = g.input({SymExpr(4), SymExpr(6)});
  ValueId square = g.call("aten.view.default", {{"self", g.value(ids)}, {"size", g.list({2, 3})}});
  for (ValueId index : {ids, square}) {
    g.output(g.call("aten.embedding.default",
                    {{"weight", g.value(table)}, {"indices", g.value(index)}}));
  }
  Graph core = decomposed(g);
  const std::string ops = ops_of(core);
  CHECK(ops.find("prim.check_index") == ops.rfind("prim.check_index"));
  const auto check = std::ranges::find(core.nodes, "prim.check_index", &Node::op);
  REQUIRE(check != core.nodes.end());
  CHECK(*find_argument(*check, "self") == Argument(Argument::Value{ids}));
}

TEST_CASE("a demand on a flag is a check of a place that is there where the flag is set") {
  TorchGraph g;
  ValueId x = g.input({SymExpr(4)});
  ValueId large =
      g.call("aten.gt.Scalar", {{"self", g.value(x)}, {"other", Argument(std::int64_t{0})}});
  ValueId flag = g.call("aten.all.default", {{"self", g.value(large)}});
  g.graph.nodes.push_back({"aten._assert_async.default", {{"self", g.value(flag)}}, {}, -1});
  g.output(g.call("aten.exp.default", {{"self", g.value(x)}}));
  Graph core = decomposed(g);
  const std::string ops = ops_of(core);
  CHECK(ops.find("aten.") == std::string::npos);
  const auto check = std::ranges::find(core.nodes, "prim.check_index", &Node::op);
  REQUIRE(check != core.nodes.end());
  CHECK(*find_argument(*check, "size") == Argument(std::int64_t{1}));
}

TEST_CASE("writes to inputs that overlap are refused") {
  TorchGraph g;
  ValueId x = g.input({SymExpr(4)}, DType::float32, 0);
  ValueId y = g.input({SymExpr(2)}, DType::float32, 0);
  g.call("aten.zero_.default", {{"self", g.value(x)}});
  g.output(g.call("aten.exp.default", {{"self", g.value(y)}}));
  CHECK(refused(g).code == Code::PS0602);
}

TEST_CASE("results keep their names and sizes their symbols") {
  TorchGraph g;
  ValueId x = g.input({g.symbol("s0", 8), 4});
  g.output(g.call("aten.gelu.default", {{"self", g.value(x)}}));
  Graph core = decomposed(g);
  CHECK(core.values[core.outputs[0]].name == "v");
  CHECK(to_string(core.values[core.outputs[0]].type) == "float32[s0, 4]");
  CHECK(core.interface.guards.empty());
}

namespace {

/// A convolution and a batch normalisation whose parameters are of `kind`; returns what decompose
/// makes of it.
Graph normalised(InputKind kind, bool reads_twice, DType dtype = DType::float32,
                 const std::string& device = "cpu") {
  TorchGraph g;
  const auto input = [&](std::vector<SymExpr> sizes) {
    const ValueId id = g.input(std::move(sizes), dtype);
    g.graph.values[id].type.device = g.graph.interface.inputs[id].type.device = device;
    return id;
  };
  ValueId x = input({SymExpr(2), SymExpr(3), SymExpr(5), SymExpr(5)});
  g.graph.interface.inputs[0].kind = InputKind::user;
  ValueId weight = input({SymExpr(4), SymExpr(3), SymExpr(3), SymExpr(3)});
  std::vector<ValueId> vectors;
  for (int i = 0; i < 4; ++i) vectors.push_back(input({SymExpr(4)}));
  for (std::size_t i = 1; i < g.graph.interface.inputs.size(); ++i)
    g.graph.interface.inputs[i].kind = kind;
  ValueId y = g.call("aten.conv2d.default", {{"input", g.value(x)}, {"weight", g.value(weight)}});
  g.output(g.call("aten.batch_norm.default", {{"input", g.value(y)},
                                              {"weight", g.value(vectors[0])},
                                              {"bias", g.value(vectors[1])},
                                              {"running_mean", g.value(vectors[2])},
                                              {"running_var", g.value(vectors[3])},
                                              {"training", false},
                                              {"momentum", 0.1},
                                              {"eps", 1e-5}}));
  if (reads_twice) g.output(g.call("aten.exp.default", {{"self", g.value(y)}}));
  return decomposed(g);
}

}  // namespace

TEST_CASE("a batch normalisation of parameters is folded into the convolution before it") {
  Graph core = normalised(InputKind::parameter, false);
  REQUIRE(!core.nodes.empty());
  CHECK(core.nodes.back().op == "aten.convolution.default");
  const std::vector<SymExpr>& image = core.values[core.nodes.back().results.front()].type.sizes;
  for (const Node& node : core.nodes) {
    if (&node != &core.nodes.back()) CHECK(core.values[node.results.front()].type.sizes != image);
  }
}

TEST_CASE("on a GPU it is folded in bfloat16 too, and all that is made is there") {
  const auto folded = [](DType dtype, const char* device) {
    const Graph core = normalised(InputKind::parameter, false, dtype, device);
    for (const Value& value : core.values) CHECK(value.type.device == device);
    return core.nodes.back().op == "aten.convolution.default";
  };
  CHECK(folded(DType::bfloat16, "cuda:0"));
  CHECK(folded(DType::float32, "cuda:0"));
  CHECK(!folded(DType::float16, "cuda:0"));  // it may overflow
  CHECK(!folded(DType::bfloat16, "cpu"));
}

TEST_CASE("statistics are not written by torch's op unseen") {
  TorchGraph g;
  const auto input = [&](std::vector<SymExpr> sizes) {
    const ValueId id = g.input(std::move(sizes));
    g.graph.values[id].type.device = g.graph.interface.inputs[id].type.device = "cuda:0";
    return id;
  };
  const ValueId x = input({SymExpr(64), SymExpr(8), SymExpr(32), SymExpr(32)}),
                mean = input({SymExpr(8)}), variance = input({SymExpr(8)});
  g.output(g.call("aten.batch_norm.default", {{"input", g.value(x)},
                                              {"weight", Argument()},
                                              {"bias", Argument()},
                                              {"running_mean", g.value(mean)},
                                              {"running_var", g.value(variance)},
                                              {"training", true},
                                              {"momentum", 0.1},
                                              {"eps", 1e-5}}));
  const std::string ops = ops_of(decomposed(g));
  CHECK_MESSAGE(ops.find("aten.batch_norm") == std::string::npos, ops);
  CHECK_MESSAGE(ops.find("aten.var_mean") != std::string::npos, ops);  // of few channels
  CHECK_MESSAGE(ops.find("prim.copy_") != std::string::npos, ops);
}

TEST_CASE("what the program passes in, or reads before, is not folded") {
  CHECK(normalised(InputKind::user, false).nodes.back().op == "prim.add");
  CHECK(normalised(InputKind::parameter, true).nodes.back().op != "aten.convolution.default");
}
