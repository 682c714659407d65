// Loop nests: every combination of vector and scalar loops, tails, accumulators, masks and gathers,
// against plain C++.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernel_harness.h"

namespace penstock::codegen {

namespace {

const DType kF = DType::float32;

Loop make_loop(const char* variable, SymExpr extent, bool vectorize, int unroll = 1) {
  Loop loop;
  loop.variable = variable;
  loop.extent = std::move(extent);
  loop.schedule.vectorize = vectorize;
  loop.schedule.unroll = unroll;
  return loop;
}

std::vector<float> numbers(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>((i * 2654435761u % 1000) / 500.0 - 1.0);
  }
  return values;
}

}  // namespace

TEST_CASE("a sum of rows, of any length") {
  for (int unroll : {1, 2, 4}) {
    for (int lanes : {0, 8}) {
      Loop rows = make_loop("i0", sym("s0"), false);
      rows.schedule.parallel = true;
      Loop columns = make_loop("i1", sym("s1"), true, unroll);
      columns.body.push_back(load(0, 0, sym("i0") * sym("s1") + sym("i1"), kF));
      columns.accumulators.push_back({"sum", kF, 0, {1}});
      rows.body.push_back(nest(columns));
      rows.body.push_back(store(1, sym("i0"), 1, kF));
      LoopKernel kernel;
      kernel.name = "k0_sum";
      kernel.body.push_back(nest(rows));
      Compiled run(program_of(kernel, {kF, kF}, {"s0", "s1"}), lanes);
      for (std::int64_t n : {0, 1, 3, 15, 16, 17, 64, 100, 1000}) {
        auto x = numbers(5 * n + 1);
        std::vector<float> y(5, 99.0f);
        run({x.data(), y.data()}, 5, {5, n});
        for (int r = 0; r < 5; ++r) {
          double expected = std::accumulate(x.begin() + r * n, x.begin() + (r + 1) * n, 0.0);
          CHECK(std::fabs(y[r] - expected) <= 1e-4);
        }
      }
    }
  }
}

TEST_CASE("columns are summed in the lanes of an outer vector loop") {
  Loop columns = make_loop("i0", sym("s1"), true, 2);
  columns.schedule.parallel = true;
  Loop rows = make_loop("i1", sym("s0"), false);
  rows.body.push_back(load(0, 0, sym("i1") * sym("s1") + sym("i0"), kF));
  rows.accumulators.push_back({"amax", kF, 0, {1}});
  columns.body.push_back(nest(rows));
  columns.body.push_back(store(1, sym("i0"), 1, kF));
  LoopKernel kernel;
  kernel.name = "k0_amax";
  kernel.body.push_back(nest(columns));
  Compiled run(program_of(kernel, {kF, kF}, {"s0", "s1"}));
  for (std::int64_t n : {1, 7, 16, 33, 200}) {
    auto x = numbers(9 * n);
    std::vector<float> y(n);
    run({x.data(), y.data()}, n, {9, n});
    for (std::int64_t c = 0; c < n; ++c) {
      float expected = -INFINITY;
      for (int r = 0; r < 9; ++r) expected = std::max(expected, x[r * n + c]);
      CHECK(y[c] == expected);
    }
  }
}

TEST_CASE("welford has the mean and the squared deviations") {
  for (std::int64_t n : {1, 5, 16, 40, 64, 77, 768}) {
    Loop loop = make_loop("i0", n, true, 4);
    loop.body.push_back(load(0, 0, sym("i0"), kF));
    loop.accumulators.push_back({"welford", kF, 0, {1, 2, 3}});
    LoopKernel kernel;
    kernel.name = "k0_welford";
    kernel.body.push_back(nest(loop));
    for (int i = 0; i < 3; ++i) kernel.body.push_back(store(1, i, 1 + i, kF));
    Compiled run(program_of(kernel, {kF, kF}));
    auto x = numbers(n);
    for (float& value : x) value += 1000;
    std::vector<float> y(3);
    run({x.data(), y.data()});
    double mean = std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(n), m2 = 0;
    for (float value : x) m2 += (value - mean) * (value - mean);
    CHECK(std::fabs(y[0] - mean) <= 1e-3);
    CHECK(std::fabs(y[1] - m2) <= 1e-3 * (m2 + 1));
    CHECK(y[2] == static_cast<float>(n));
  }
}

TEST_CASE("argmax takes the first extreme, and NaN before all") {
  for (std::int64_t n : {1, 2, 16, 31, 200}) {
    Loop loop = make_loop("i0", n, true, 2);
    loop.body.push_back(load(0, 0, sym("i0"), kF));
    loop.accumulators.push_back({"argmax", kF, 0, {1}});
    LoopKernel kernel;
    kernel.name = "k0_argmax";
    kernel.body.push_back(nest(loop));
    kernel.body.push_back(store(1, 0, 1, DType::int64));
    Compiled run(program_of(kernel, {kF, DType::int64}));
    std::int64_t found = -1;
    std::vector<float> x(n, -INFINITY);
    run({x.data(), &found});
    CHECK(found == 0);
    x[n - 1] = 3;
    x[n / 2] = 3;
    run({x.data(), &found});
    CHECK(found == std::min(n / 2, n - 1));
    x[n - 1] = NAN;
    run({x.data(), &found});
    CHECK(found == n - 1);
  }
}

TEST_CASE("masked loads touch nothing and give the value of the immediate") {
  // y[i] = 2 <= i < 7 ? x[i-2] : -1, x of 5 elements
  Loop loop = make_loop("i0", sym("s0"), true);
  loop.body.push_back(index_value(0, sym("i0"), DType::int64));
  loop.body.push_back(constant(1, std::int64_t{2}, DType::int64));
  loop.body.push_back(constant(2, std::int64_t{7}, DType::int64));
  loop.body.push_back(op("ge", 3, {0, 1}, DType::bool_));
  loop.body.push_back(op("lt", 4, {0, 2}, DType::bool_));
  loop.body.push_back(op("and", 5, {3, 4}, DType::bool_));
  Instruction masked = load(6, 0, sym("i0") - 2, kF);
  masked.operands = {5};
  masked.immediate = -1.0;
  loop.body.push_back(masked);
  loop.body.push_back(store(1, sym("i0"), 6, kF));
  LoopKernel kernel;
  kernel.name = "k0_pad";
  kernel.body.push_back(nest(loop));
  for (bool vectorize : {true, false}) {
    std::get<std::vector<Loop>>(kernel.body[0])[0].schedule.vectorize = vectorize;
    Compiled run(program_of(kernel, {kF, kF}, {"s0"}));
    std::vector<float> x = {1, 2, 3, 4, 5}, y(21, 0.0f);
    run({x.data(), y.data()}, 1, {21});
    for (int i = 0; i < 21; ++i) CHECK(y[i] == (i >= 2 && i < 7 ? x[i - 2] : -1.0f));
  }
}

TEST_CASE("masked stores touch nothing behind the last element") {
  // y[step * i] = x[i] where i >= 2, whose mask is true for the lanes behind the last i too
  for (const std::int64_t step : {1, 3}) {
    Loop loop = make_loop("i0", sym("s0"), true);
    loop.body.push_back(load(0, 0, sym("i0"), kF));
    loop.body.push_back(index_value(1, sym("i0"), DType::int64));
    loop.body.push_back(constant(2, std::int64_t{2}, DType::int64));
    loop.body.push_back(op("ge", 3, {1, 2}, DType::bool_));
    Instruction masked = store(1, sym("i0") * SymExpr(step), 0, kF);
    masked.operands.push_back(3);
    loop.body.push_back(masked);
    LoopKernel kernel;
    kernel.name = "k0_masked";
    kernel.body.push_back(nest(loop));
    Compiled run(program_of(kernel, {kF, kF}, {"s0"}));
    for (std::int64_t n : {1, 2, 7, 16, 21}) {
      const auto x = numbers(64);
      std::vector<float> y(3 * 64, 99.0f);
      run({const_cast<float*>(x.data()), y.data()}, 1, {n});
      for (std::int64_t i = 0; i < 3 * 64; ++i) {
        const bool written = i % step == 0 && i / step >= 2 && i / step < n;
        CHECK(y[i] == (written ? x[i / step] : 99.0f));
      }
    }
  }
}

TEST_CASE("gathers by integer scalars and by uneven indices") {
  // y[i] = x[index[i]] + x[(i // 3) % 4]
  Loop loop = make_loop("i0", 50, true, 2);
  loop.body.push_back(load(0, 1, sym("i0"), DType::int64));
  loop.body.push_back(load(1, 0, sym("v0"), kF));
  loop.body.push_back(load(2, 0, mod(floordiv(sym("i0"), 3), 4), kF));
  loop.body.push_back(op("add", 3, {1, 2}, kF));
  loop.body.push_back(store(2, sym("i0"), 3, kF));
  LoopKernel kernel;
  kernel.name = "k0_gather";
  kernel.body.push_back(nest(loop));
  Compiled run(program_of(kernel, {kF, DType::int64, kF}));
  auto x = numbers(100);
  std::vector<std::int64_t> index(50);
  for (int i = 0; i < 50; ++i) index[i] = (i * 37) % 100;
  std::vector<float> y(50);
  run({x.data(), index.data(), y.data()});
  for (int i = 0; i < 50; ++i) CHECK(y[i] == x[index[i]] + x[(i / 3) % 4]);
}

TEST_CASE("strided loads and stores transpose") {
  Loop rows = make_loop("i0", 20, false);
  Loop columns = make_loop("i1", 30, true);
  columns.body.push_back(load(0, 0, sym("i0") + sym("i1") * 20, kF));
  columns.body.push_back(store(1, sym("i0") * 30 + sym("i1"), 0, kF));
  columns.body.push_back(store(2, sym("i0") + (SymExpr(29) - sym("i1")) * 20, 0, kF));
  rows.body.push_back(nest(columns));
  LoopKernel kernel;
  kernel.name = "k0_transpose";
  kernel.body.push_back(nest(rows));
  Compiled run(program_of(kernel, {kF, kF, kF}));
  auto x = numbers(600);
  std::vector<float> y(600), z(600);
  run({x.data(), y.data(), z.data()});
  for (int i = 0; i < 20; ++i) {
    for (int j = 0; j < 30; ++j) {
      CHECK(y[i * 30 + j] == x[i + j * 20]);
      CHECK(z[i + (29 - j) * 20] == x[i + j * 20]);
    }
  }
}

TEST_CASE("softmax in three passes over a scratch row") {
  std::int64_t n = 100;
  LoopProgram program;
  Loop rows = make_loop("i0", sym("s0"), false);
  rows.schedule.parallel = true;
  Loop first = make_loop("i1", n, true, 2);
  first.body.push_back(load(0, 0, sym("i0") * n + sym("i1"), kF));
  first.accumulators.push_back({"amax", kF, 0, {1}});
  Loop second = make_loop("i2", n, true, 2);
  second.body.push_back(load(2, 0, sym("i0") * n + sym("i2"), kF));
  second.body.push_back(op("sub", 3, {2, 1}, kF));
  second.body.push_back(op("exp", 4, {3}, kF));
  second.body.push_back(store(2, sym("i2"), 4, kF));
  second.accumulators.push_back({"sum", kF, 4, {5}});
  Loop third = make_loop("i3", n, true, 2);
  third.body.push_back(load(6, 2, sym("i3"), kF));
  third.body.push_back(op("div", 7, {6, 5}, kF));
  third.body.push_back(store(1, sym("i0") * n + sym("i3"), 7, kF));
  rows.body = {nest(first), nest(second), nest(third)};
  LoopKernel kernel;
  kernel.name = "k0_softmax";
  kernel.body.push_back(nest(rows));
  program = program_of(kernel, {kF, kF, kF}, {"s0"});
  program.buffers[2].kind = Buffer::Kind::scratch;
  program.buffers[2].arena_offset = 64;
  program.buffers[2].bytes = n * 4;
  Compiled run(program);
  CHECK(run.call().scratch_bytes == 64 + n * 4);
  CHECK(run.call().buffers.size() == 2);
  auto x = numbers(7 * n);
  std::vector<float> y(7 * n);
  run({x.data(), y.data()}, 7, {7});
  for (int r = 0; r < 7; ++r) {
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += std::exp(static_cast<double>(x[r * n + i]));
    for (int i = 0; i < n; ++i) {
      CHECK(std::fabs(y[r * n + i] - std::exp(static_cast<double>(x[r * n + i])) / sum) <= 1e-7);
    }
  }
}

TEST_CASE("equal kernels share a function, whatever their names") {
  LoopProgram program = pointwise("exp", {kF}, kF);
  LoopProgram other = pointwise("exp", {kF}, kF);
  std::get<LoopKernel>(other.steps[0]).name = "another";
  program.steps.push_back(other.steps[0]);
  program.steps.push_back(pointwise("log", {kF}, kF).steps[0]);
  FileSink sink;
  CodegenStatistics statistics;
  auto bundle = generate(program, {}, sink, &statistics);
  REQUIRE(bundle.has_value());
  CHECK(statistics.kernels == 3);
  CHECK(statistics.functions == 2);
}

TEST_CASE("code stands alone: no undefined symbols, no dependencies") {
  FileSink sink;
  for (const char* cpu : {"x86-64-v3", "x86-64-v4", "znver5", "sapphirerapids"}) {
    LoopProgram program = pointwise("pow", {DType::float64, DType::float64}, DType::float64);
    for (const char* name : {"erf", "sin", "log1p", "tanh", "exp"}) {
      for (DType dtype : {DType::float32, DType::float16, DType::bfloat16}) {
        program.steps.push_back(pointwise(name, {dtype}, dtype).steps[0]);
      }
    }
    CodegenOptions options;
    options.cpus = {cpu};
    auto bundle = generate(program, options, sink);
    REQUIRE_MESSAGE(bundle.has_value(), bundle.error().message);
    std::string command = "llvm-nm-19 -D --undefined-only " + bundle->code[0].blob + " | grep -c .";
    FILE* pipe = popen(command.c_str(), "r");
    int undefined = -1;
    CHECK(fscanf(pipe, "%d", &undefined) == 1);
    pclose(pipe);
    CHECK(undefined == 0);
  }
}

TEST_CASE("CPUs below x86-64-v3 are refused") {
  FileSink sink;
  for (const char* cpu : {"x86-64", "x86-64-v2", "btver2", "no-such-cpu"}) {
    CodegenOptions options;
    options.cpus = {cpu};
    auto bundle = generate(pointwise("exp", {kF}, kF), options, sink);
    REQUIRE(!bundle.has_value());
    CHECK(bundle.error().code == Code::PS0703);
  }
}

}  // namespace penstock::codegen
