// Compiled code against the interpreter of loop programs, over ops, dtypes, sizes and shapes of
// nests.
#include <numeric>

#include "compiled.h"

namespace penstock::pipeline {
namespace {

using Sizes = GraphBuilder::Sizes;

/// The prims of a group whose operands are tensors alone.
std::vector<std::string> prims(std::string_view wanted) {
  std::vector<std::string> names;
#define PS_PRIM(name, group, operands, attributes, result) \
  if (wanted == #group) names.emplace_back(#name);
#include "ops/prims.def"
#undef PS_PRIM
  return names;
}

const DType kReals[] = {DType::float32, DType::float64, DType::float16, DType::bfloat16};
const DType kIntegers[] = {DType::uint8, DType::int8, DType::int16, DType::int32, DType::int64};

/// How far results may be apart that differ by one rounding of the dtype.
double tolerance_of(DType dtype) {
  switch (dtype) {
    case DType::float16:
      return 2e-3;
    case DType::bfloat16:
      return 1.6e-2;
    case DType::float64:
      return 1e-12;
    case DType::float32:
      return 1e-5;
    default:
      return 0;
  }
}

bool takes(const std::string& prim, DType dtype) {
  static const std::string bits[] = {"and", "or", "xor", "not"}, shifts[] = {"shl", "shr"};
  bool bitwise = std::find(std::begin(bits), std::end(bits), prim) != std::end(bits);
  bool shift = std::find(std::begin(shifts), std::end(shifts), prim) != std::end(shifts);
  if (is_floating(dtype)) return !bitwise && !shift;
  static const std::string integer[] = {
      "neg",       "abs",  "sign", "add", "sub", "mul", "maximum", "minimum", "floordiv",
      "remainder", "fmod", "eq",   "ne",  "lt",  "le",  "gt",      "ge",      "pow"};
  return bitwise || shift ||
         std::find(std::begin(integer), std::end(integer), prim) != std::end(integer);
}

bool compares(const std::string& prim) {
  return prim == "eq" || prim == "ne" || prim == "lt" || prim == "le" || prim == "gt" ||
         prim == "ge";
}

void check_all(const std::vector<std::string>& names, bool binary, DType dtype, const Sizes& sizes,
               const codegen::CodegenOptions& options = {}) {
  // Many outputs in few programs: compiling is most of the time.
  GraphBuilder b;
  ValueId x = b.input(sizes, dtype), y = b.input(sizes, dtype);
  for (const std::string& name : names) {
    if (!takes(name, dtype)) continue;
    if (!binary && (name == "isfinite" || name == "isnan")) continue;
    if (name == "pow" && !is_floating(dtype)) continue;
    if (!binary) {
      b.output(b.unary(name, x));
    } else if (compares(name)) {
      b.output(b.compare(name, x, GraphBuilder::value(y)));
    } else {
      // Divisors stay away from 0.
      bool divides = name == "floordiv" || name == "remainder" || name == "fmod" || name == "div";
      ValueId other = divides
                          ? b.binary("maximum", y,
                                     is_floating(dtype) ? Argument(0.5) : Argument(std::int64_t{1}))
                          : y;
      b.output(b.binary(name, x, other));
    }
  }
  CAPTURE(facts(dtype).name);
  check_compiled(b, tolerance_of(dtype), 1, options);
}

TEST_CASE("unary prims of all dtypes") {
  for (DType dtype : kReals) check_all(prims("unary"), false, dtype, {37});
  for (DType dtype : kIntegers) check_all(prims("unary"), false, dtype, {37});
}

TEST_CASE("binary prims of all dtypes") {
  for (DType dtype : kReals) check_all(prims("binary"), true, dtype, {53});
  for (DType dtype : kIntegers) check_all(prims("binary"), true, dtype, {53});
}

TEST_CASE("conversions between all dtypes") {
  std::vector<DType> all(std::begin(kReals), std::end(kReals));
  all.insert(all.end(), std::begin(kIntegers), std::end(kIntegers));
  all.push_back(DType::bool_);
  for (DType from : all) {
    GraphBuilder b;
    ValueId x = b.input({45}, from);
    for (DType to : all) {
      if (to != from) b.output(b.convert(x, to));
    }
    CAPTURE(facts(from).name);
    check_compiled(b, 0);
  }
}

TEST_CASE("the same for CPUs without AVX-512") {
  codegen::CodegenOptions options;
  options.cpus = {"x86-64-v3"};
  const std::vector<std::string> some = {"add",  "sub", "mul", "maximum",  "exp",
                                         "tanh", "erf", "log", "sigmoid",  "neg",
                                         "abs",  "and", "eq",  "floordiv", "where"};
  for (DType dtype : {DType::float32, DType::float64, DType::float16, DType::bfloat16, DType::uint8,
                      DType::int32, DType::int64}) {
    for (bool binary : {false, true}) {
      std::vector<std::string> names;
      for (const std::string& name : prims(binary ? "binary" : "unary")) {
        if (std::find(some.begin(), some.end(), name) != some.end()) names.push_back(name);
      }
      check_all(names, binary, dtype, {43}, options);
    }
  }
  for (std::int64_t width : {5, 40, 100}) {
    GraphBuilder b;
    ValueId x = b.input({9, width});
    b.output(b.reduce("sum", x, {1}));
    b.output(b.reduce("amax", x, {0}));
    b.output(b.reduce("argmax", x, {1}));
    auto [mean, m2] = b.welford(x, {1});
    b.output(mean);
    b.output(m2);
    check_compiled(b, 2e-5, 1, options);
  }
}

TEST_CASE("sizes: none, one, odd, large") {
  for (std::int64_t n : {0, 1, 2, 15, 16, 17, 255, 1000, 100003}) {
    GraphBuilder b;
    ValueId x = b.input({n});
    b.output(b.binary("add", b.unary("tanh", x), 1.0));
    b.output(b.reduce("sum", x, {0}));
    check_compiled(b, 2e-5);
  }
}

TEST_CASE("reductions over any dims") {
  const std::vector<std::int64_t> choices[] = {{0}, {1}, {2}, {0, 1}, {1, 2}, {0, 2}, {0, 1, 2}};
  for (const auto& dims : choices) {
    GraphBuilder b;
    ValueId x = b.input({5, 17, 33});
    for (const char* kind : {"sum", "amax", "amin", "prod"}) b.output(b.reduce(kind, x, dims));
    auto [mean, m2] = b.welford(x, dims);
    b.output(mean);
    b.output(m2);
    if (dims.size() == 1) b.output(b.reduce("argmax", x, dims));
    check_compiled(b, 2e-5);
  }
}

TEST_CASE("rows: softmax and layer_norm of any width") {
  for (std::int64_t width : {1, 7, 16, 31, 64, 100, 768}) {
    GraphBuilder b;
    Sizes sizes{6, width}, rows{6};
    ValueId x = b.input(sizes);
    ValueId e =
        b.unary("exp", b.binary("sub", x, b.broadcast(b.reduce("amax", x, {1}), sizes, {0})));
    b.output(b.binary("div", e, b.broadcast(b.reduce("sum", e, {1}), sizes, {0})));
    auto [mean, m2] = b.welford(x, {1});
    ValueId scale = b.unary("rsqrt", b.binary("add", b.binary("div", m2, double(width)), 1e-5));
    b.output(b.binary("mul", b.binary("sub", x, b.broadcast(mean, sizes, {0})),
                      b.broadcast(scale, sizes, {0})));
    check_compiled(b, 2e-5);
  }
}

TEST_CASE("symbolic sizes: one bundle for all") {
  GraphBuilder b;
  SymExpr n = b.symbol("s0", 6), m = b.symbol("s1", 50);
  Sizes sizes{n, m};
  ValueId x = b.input(sizes);
  ValueId shifted = b.binary("sub", x, b.broadcast(b.reduce("amax", x, {1}), sizes, {0}));
  b.output(b.unary("exp", shifted));
  LoopProgram program = fusion::fuse_graph(b);
  auto executor = load(generate(program));
  for (auto [rows, columns] : {std::pair{6, 50}, {1, 1}, {33, 17}, {2, 1000}, {6, 50}}) {
    program.interface.symbols[0].hint = rows;
    program.interface.symbols[1].hint = columns;
    auto inputs = fusion::random_inputs(program.interface, 3);
    auto expected = fusion::interpret(program, inputs);
    REQUIRE(expected.has_value());
    auto actual = run(*executor, inputs);
    CHECK(fusion::difference(actual[0], fusion::numbers(*expected)[0]) < 1e-5);
  }
}

TEST_CASE("one executor for more sizes than it keeps plans of") {
  GraphBuilder b;
  SymExpr n = b.symbol("s0", 6);
  ValueId x = b.input({n, 40}), w = b.input({40, 24}), fixed = b.input({30, 40});
  ValueId y = b.matmul(b.unary("exp", x), w);
  b.output(b.matmul(b.permute(x, {1, 0}), b.unary("tanh", y)));
  b.output(b.matmul(fixed, w));
  b.output(y);
  LoopProgram program = fusion::fuse_graph(b);
  auto executor = load(generate(program));
  std::vector<std::int64_t> rows(24);
  std::iota(rows.begin(), rows.end(), 2);
  rows.insert(rows.end(), {25, 3, 200, 2, 24, 201});
  for (std::int64_t size : rows) {
    program.interface.symbols[0].hint = size;
    auto inputs = fusion::random_inputs(program.interface, 3);
    auto expected = fusion::interpret(program, inputs);
    REQUIRE(expected.has_value());
    auto actual = run(*executor, inputs);
    for (std::size_t i = 0; i < actual.size(); ++i) {
      CHECK(fusion::difference(actual[i], fusion::numbers(*expected)[i]) < 1e-4);
    }
  }
}

TEST_CASE("views, transposes and library calls") {
  GraphBuilder b;
  ValueId x = b.input({4, 6, 8}), w = b.input({6, 8}), v = b.input({24, 8});
  ValueId heads = b.permute(b.reshape(b.unary("exp", x), {4, 6, 2, 4}), {0, 2, 1, 3});
  b.output(b.binary("add", b.unary("neg", heads), 1.0));
  ValueId y = b.matmul(v, b.permute(w, {1, 0}));
  b.output(b.binary("maximum", y, 0.0));
  b.output(b.reshape(b.permute(x, {2, 0, 1}), {8, 24}));
  check_compiled(b, 1e-5);
}

TEST_CASE("results do not depend on the number of threads") {
  GraphBuilder b;
  ValueId x = b.input({300, 501});
  b.output(b.unary("exp", x));
  b.output(b.reduce("sum", x, {1}));
  b.output(b.reduce("sum", x, {0}));
  b.output(b.reduce("sum", x, {0, 1}));
  LoopProgram program = fusion::fuse_graph(b);
  auto executor = load(generate(program));
  auto inputs = fusion::random_inputs(program.interface, 1);
  int before = test_runtime()->threads.size();
  test_runtime()->threads.resize(1);
  auto one = run(*executor, inputs);
  for (int threads : {2, 3}) {
    test_runtime()->threads.resize(threads);
    CHECK(run(*executor, inputs) == one);
  }
  test_runtime()->threads.resize(before);
}

TEST_CASE("code is found again by its structure") {
  GraphBuilder b;
  b.output(b.unary("cosh", b.input({77})));
  LoopProgram program = fusion::fuse_graph(b);
  codegen::CodegenStatistics first, second, other;
  KernelBundle one = generate(program, {}, &first);
  KernelBundle two = generate(program, {}, &second);
  CHECK(first.cached == 0);
  CHECK(second.cached == 1);
  CHECK(one.code[0].blob == two.code[0].blob);
  const bool wide = __builtin_cpu_supports("avx512f");  // what this CPU has by itself
  codegen::CodegenOptions options;
  options.lanes = wide ? 8 : 16;
  options.cpus = {wide ? "x86-64-v3" : "x86-64-v4"};
  generate(program, options, &other);
  CHECK(other.cached == 0);
}

TEST_CASE("memory comes back to the pool when outputs are gone") {
  GraphBuilder b;
  b.output(b.unary("exp", b.input({1000})));
  LoopProgram program = fusion::fuse_graph(b);
  auto executor = load(generate(program));
  auto inputs = fusion::random_inputs(program.interface, 1);
  auto arguments = arguments_of(inputs);
  std::vector<runtime::OutputTensor> outputs(1);
  std::size_t used = test_runtime()->memory->used_bytes();
  REQUIRE(executor->run(arguments, outputs).has_value());
  void* first = outputs[0].data;
  CHECK(test_runtime()->memory->used_bytes() > used);
  outputs[0] = runtime::OutputTensor();
  CHECK(test_runtime()->memory->used_bytes() == used);
  REQUIRE(executor->run(arguments, outputs).has_value());
  CHECK(outputs[0].data == first);
}

}  // namespace
}  // namespace penstock::pipeline
