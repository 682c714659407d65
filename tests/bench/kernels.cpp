// Times compiled kernels, one a line as JSON: {"name", "threads", "us", "gbs", "compile_ms"}. With
// a name as argument, that one alone. tests/bench/kernels.py runs it beside torch.
#define DOCTEST_CONFIG_IMPLEMENT
#include "../unit/pipeline/compiled.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <functional>

namespace penstock::pipeline {
namespace {

using Sizes = GraphBuilder::Sizes;

ValueId rows(GraphBuilder& b, ValueId reduced, ValueId like) {
  return b.broadcast(reduced, b.sizes(like), {0});
}

void add(GraphBuilder& b) {
  ValueId x = b.input({1 << 20}), y = b.input({1 << 20});
  b.output(b.binary("add", x, y));
}

void gelu(GraphBuilder& b) {
  Sizes sizes{512, 3072};
  ValueId given = b.input(sizes), bias = b.input({3072});
  ValueId x = b.binary("add", given, b.broadcast(bias, sizes, {1}));
  ValueId erf = b.unary("erf", b.binary("mul", x, 0.70710678118654752));
  b.output(b.binary("mul", b.binary("mul", x, 0.5), b.binary("add", erf, 1.0)));
}

void gelu_tanh(GraphBuilder& b) {
  Sizes sizes{512, 3072};
  ValueId given = b.input(sizes), bias = b.input({3072});
  ValueId x = b.binary("add", given, b.broadcast(bias, sizes, {1}));
  ValueId cube = b.binary("mul", b.binary("mul", x, x), x);
  ValueId inner =
      b.binary("mul", b.binary("add", x, b.binary("mul", cube, 0.044715)), 0.79788456080286536);
  b.output(b.binary("mul", b.binary("mul", x, 0.5), b.binary("add", b.unary("tanh", inner), 1.0)));
}

void softmax(GraphBuilder& b, std::int64_t count, std::int64_t width) {
  ValueId x = b.input({count, width});
  ValueId e = b.unary("exp", b.binary("sub", x, rows(b, b.reduce("amax", x, {1}), x)));
  b.output(b.binary("div", e, rows(b, b.reduce("sum", e, {1}), x)));
}

void layer_norm(GraphBuilder& b, std::int64_t count, std::int64_t width) {
  Sizes sizes{count, width};
  ValueId given = b.input(sizes), residual = b.input(sizes);
  ValueId w = b.input({width}), bias = b.input({width});
  ValueId x = b.binary("add", given, residual);
  auto [mean, m2] = b.welford(x, {1});
  ValueId scale = b.unary("rsqrt", b.binary("add", b.binary("div", m2, double(width)), 1e-5));
  ValueId normal = b.binary("mul", b.binary("sub", x, rows(b, mean, x)), rows(b, scale, x));
  b.output(b.binary("add", b.binary("mul", normal, b.broadcast(w, sizes, {1})),
                    b.broadcast(bias, sizes, {1})));
}

void column_sum(GraphBuilder& b) {
  b.output(b.reduce("sum", b.input({2048, 1024}), {0}));
}
void total_sum(GraphBuilder& b) {
  b.output(b.reduce("sum", b.input({2048, 1024}), {0, 1}));
}
void small(GraphBuilder& b) {
  b.output(b.binary("add", b.input({8}), 1.0));
}

const std::pair<const char*, std::function<void(GraphBuilder&)>> kKernels[] = {
    {"add_1048576", add},
    {"bias_gelu_512x3072", gelu},
    {"bias_gelu_tanh_512x3072", gelu_tanh},
    {"softmax_12288x128", [](GraphBuilder& b) { softmax(b, 12288, 128); }},
    {"softmax_768x2048", [](GraphBuilder& b) { softmax(b, 768, 2048); }},
    {"add_layer_norm_512x768", [](GraphBuilder& b) { layer_norm(b, 512, 768); }},
    {"add_layer_norm_4096x1024", [](GraphBuilder& b) { layer_norm(b, 4096, 1024); }},
    {"column_sum_2048x1024", column_sum},
    {"sum_2048x1024", total_sum},
    {"call_of_one_op", small},
};

void shift_buffers(std::vector<Statement>& body, BufferId shift) {
  for (Statement& statement : body) {
    if (auto* instruction = std::get_if<Instruction>(&statement)) {
      if (instruction->buffer != kNoBuffer) instruction->buffer += shift;
    } else {
      for (Loop& loop : std::get<std::vector<Loop>>(statement)) shift_buffers(loop.body, shift);
    }
  }
}

double microseconds(const std::function<void()>& body) {
  auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
      .count();
}

/// Processor time to make all kernels in one program, on one thread, a function.
void measure_compile() {
  LoopProgram all;
  for (const auto& [name, build] : kKernels) {
    GraphBuilder b;
    build(b);
    LoopProgram program = fusion::fuse_graph(b);
    auto shift = static_cast<BufferId>(all.buffers.size());
    for (Buffer buffer : program.buffers) {
      if (buffer.base != kNoBuffer) buffer.base += shift;
      all.buffers.push_back(buffer);
    }
    for (ProgramStep& step : program.steps) {
      auto* kernel = std::get_if<LoopKernel>(&step);
      if (kernel == nullptr) continue;
      shift_buffers(kernel->body, shift);
      all.steps.push_back(*kernel);
    }
  }
  codegen::CodegenOptions options;
  options.threads = 1;
  codegen::CodegenStatistics made;
  generate(all, options, &made);  // maps LLVM's pages
  options.lanes = 8;
  std::clock_t start = std::clock();
  generate(all, options, &made);
  double ms = static_cast<double>(std::clock() - start) * 1e3 / CLOCKS_PER_SEC;
  std::printf("{\"name\": \"compile\", \"functions\": %d, \"cpu_ms_per_function\": %.2f}\n",
              made.functions, ms / made.functions);
}

void measure(const char* name, const std::function<void(GraphBuilder&)>& build) {
  GraphBuilder b;
  build(b);
  LoopProgram program = fusion::fuse_graph(b);
  if (std::getenv("PENSTOCK_SHOW") != nullptr) std::fputs(to_text(program).c_str(), stderr);
  codegen::CodegenStatistics made;
  auto executor = load(generate(program, {}, &made));
  auto inputs = fusion::random_inputs(program.interface, 1);
  auto arguments = arguments_of(inputs);
  std::vector<runtime::OutputTensor> outputs(1);
  std::int64_t bytes = 0;
  for (const BundleStep& step : executor->bundle().steps) {
    if (auto* call = std::get_if<KernelCall>(&step)) bytes += *call->bytes.constant();
  }
  auto call = [&] { (void)executor->run(arguments, outputs); };
  call();
  double once = std::max(microseconds(call), 0.2);
  int repeats = std::max(1, static_cast<int>(1000 / once));
  std::vector<double> samples;
  for (int i = 0; i < 41; ++i) {
    samples.push_back(microseconds([&] {
                        for (int k = 0; k < repeats; ++k) call();
                      }) /
                      repeats);
  }
  std::nth_element(samples.begin(), samples.begin() + 20, samples.end());
  std::printf(
      "{\"name\": \"%s\", \"threads\": %d, \"us\": %.2f, \"gbs\": %.1f, \"compile_ms\": %.2f, "
      "\"functions\": %d}\n",
      name, test_runtime()->threads.size(), samples[20],
      static_cast<double>(bytes) / samples[20] * 1e-3,
      static_cast<double>(made.compile_ns + made.link_ns) * 1e-6, made.functions);
  std::fflush(stdout);
}

}  // namespace
}  // namespace penstock::pipeline

int main(int argc, char** argv) {
  doctest::Context context;
  context.setAsDefaultForAssertsOutOfTestCases();
  for (const auto& [name, build] : penstock::pipeline::kKernels) {
    if (argc < 2 || std::string(argv[1]) == name) penstock::pipeline::measure(name, build);
  }
  if (argc < 2 || std::string(argv[1]) == "compile") penstock::pipeline::measure_compile();
}
