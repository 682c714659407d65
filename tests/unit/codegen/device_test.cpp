#include "kernel_harness.h"

namespace penstock::codegen {
namespace {

Loop loop_over(const char* variable, SymExpr extent, Bind bind, std::int64_t unroll = 1) {
  Loop loop;
  loop.variable = variable;
  loop.extent = std::move(extent);
  loop.schedule.bind = bind;
  loop.schedule.vectorize = unroll > 1;
  loop.schedule.unroll = unroll;
  return loop;
}

/// b1[i0] = b0[i0] + b0[i0], in blocks of 256 threads.
LoopProgram doubled(DType dtype, SymExpr extent) {
  LoopKernel kernel;
  kernel.name = "k0_double";
  Loop loop = loop_over("i0", std::move(extent), Bind::global_x, dtype == DType::float32 ? 4 : 8);
  loop.body = {load(0, 0, sym("i0"), dtype), op("add", 1, {0, 0}, dtype),
               store(1, sym("i0"), 1, dtype)};
  kernel.body.push_back(nest(std::move(loop)));
  kernel.block_x = 256;
  LoopProgram program = program_of(std::move(kernel), {dtype, dtype}, {"s0"});
  program.device = "cuda:0";
  return program;
}

std::string ptx_of(const LoopProgram& program) {
  auto text = generate_text(program, {}, CodeText::assembly);
  REQUIRE_MESSAGE(text, (text ? "" : text.error().message));
  return *text;
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("neighbours are loaded and stored in one access") {
  for (DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
    const std::string text = ptx_of(doubled(dtype, 4096));
    CHECK(has(text, ".target sm_80"));
    CHECK(has(text, ".entry f0"));
    CHECK(has(text, ".maxntid 256, 1, 1"));
    CHECK(has(text, "ld.global.v4.u32"));
    CHECK(has(text, "st.global.v4"));
    CHECK(!has(text, "call"));
  }
}

TEST_CASE("where places are not known to begin at a multiple, elements are taken one by one") {
  LoopProgram program = doubled(DType::float32, 4096);
  auto& kernel = std::get<LoopKernel>(program.steps.front());
  Loop& loop = std::get<std::vector<Loop>>(kernel.body.front()).front();
  std::get<Instruction>(loop.body.front()).index = sym("i0") + SymExpr(1);
  const std::string text = ptx_of(program);
  CHECK(!has(text, "ld.global.v4"));
  CHECK(has(text, "ld.global.f32"));
  CHECK(has(text, "st.global.v4"));
}

TEST_CASE("a call says how many blocks it wants") {
  FileSink sink;
  auto bundle = generate(doubled(DType::float32, sym("s0")), {}, sink);
  REQUIRE(bundle);
  CHECK(bundle->device == "cuda:0");
  CHECK(bundle->code.front().format == "ptx");
  const auto& call = std::get<KernelCall>(bundle->steps.front());
  REQUIRE(call.launch);
  CHECK(call.launch->block_x == 256);
  CHECK(call.launch->grid_x == floordiv(sym("s0") + SymExpr(1023), 1024));
  CHECK(call.launch->grid_y == SymExpr(1));
}

TEST_CASE("threads of a block join by shuffles and over shared memory, and one stores") {
  LoopKernel kernel;
  kernel.name = "k0_sum";
  Loop rows = loop_over("i0", 100, Bind::global_y), row = loop_over("i1", 1024, Bind::thread_x, 4);
  row.body = {load(0, 0, SymExpr(1024) * sym("i0") + sym("i1"), DType::float32)};
  row.accumulators = {{"sum", DType::float32, 0, {1}}};
  rows.body = {nest(std::move(row)), store(1, sym("i0"), 1, DType::float32)};
  kernel.body.push_back(nest(std::move(rows)));
  for (int threads : {32, 128}) {
    kernel.block_x = threads;
    LoopProgram program = program_of(kernel, {DType::float32, DType::float32});
    program.device = "cuda:0";
    const std::string text = ptx_of(program);
    CHECK(has(text, "shfl.sync.bfly"));
    CHECK(has(text, "bar.sync") == (threads > 32));
    CHECK(has(text, ".shared") == (threads > 32));
  }
}

TEST_CASE("numbers of the host are parameters") {
  LoopKernel kernel;
  kernel.name = "k0_scale";
  Loop loop = loop_over("i0", 64, Bind::global_x);
  loop.body = {load(0, 0, sym("i0"), DType::float32), load(1, 1, 0, DType::float32),
               op("mul", 2, {0, 1}, DType::float32), store(2, sym("i0"), 2, DType::float32)};
  kernel.body.push_back(nest(std::move(loop)));
  kernel.block_x = 64;
  LoopProgram program = program_of(kernel, {DType::float32, DType::float32, DType::float32});
  program.device = "cuda:0";
  program.buffers[1].host = true;
  const std::string text = ptx_of(program);
  std::size_t loads = 0;
  for (std::size_t at = text.find("ld.global"); at != std::string::npos;
       at = text.find("ld.global", at + 1))
    ++loads;
  CHECK(loads == 1);
}

}  // namespace
}  // namespace penstock::codegen
