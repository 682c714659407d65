#include "codegen/probe.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

#include "bundle/kernel_abi.h"
#include "codegen/target.h"

namespace penstock::codegen {

namespace {

Instruction instruction(std::string op, ScalarId result, std::vector<ScalarId> operands) {
  Instruction made;
  made.op = std::move(op);
  made.result = result;
  made.operands = std::move(operands);
  return made;
}

Instruction access(const char* op, ScalarId result, BufferId buffer, const SymExpr& index,
                   std::vector<ScalarId> operands) {
  Instruction made = instruction(op, result, std::move(operands));
  made.buffer = buffer;
  made.index = index;
  return made;
}

/// y = x + 1 over `s0` elements.
LoopKernel copy_kernel() {
  SymExpr i = SymExpr::symbol("i0");
  Loop loop{"i0", SymExpr::symbol("s0"), {true, 1, true, 0, 4}, {}, {}};
  Instruction one = instruction("constant", 1, {});
  one.immediate = 1.0;
  loop.body = {access("load", 0, 0, i, {}), one, instruction("add", 2, {0, 1}),
               access("store", -1, 1, i, {2})};
  return {"copy", {std::vector<Loop>{loop}}, {}, "probe"};
}

constexpr std::int64_t kFmaRounds = 20000;
constexpr int kFmaChain = 16;

/// Chains of fma on eight vectors that never leave their registers.
LoopKernel fma_kernel(int lanes) {
  SymExpr i = SymExpr::symbol("i0");
  Loop loop{"i0", SymExpr(8 * lanes), {false, 1, true, 0, 8}, {}, {}};
  loop.body = {access("load", 0, 0, i, {})};
  Loop rounds{"i1", kFmaRounds, {}, {{"sum", DType::float32, kFmaChain, {100}}}, {}};
  // Each round starts from a value that depends on the round, so that nothing is invariant.
  Instruction number = instruction("index", 1, {});
  number.index = SymExpr::symbol("i1");
  rounds.body = {number};
  for (int step = 2; step <= kFmaChain; ++step) {
    rounds.body.push_back(instruction("fma", step, {step - 1, 0, 0}));
  }
  loop.body.push_back(std::vector<Loop>{rounds});
  loop.body.push_back(access("store", -1, 1, i, {100}));
  return {"fma", {std::vector<Loop>{loop}}, {}, "probe"};
}

/// Keeps code in a file that has no name.
class MemorySink : public CodeSink {
 public:
  ~MemorySink() override {
    if (descriptor_ >= 0) close(descriptor_);
  }
  std::optional<std::string> find(std::string_view) override { return std::nullopt; }
  Result<std::string> put(std::string_view, std::string_view elf) override {
    descriptor_ = memfd_create("probe", MFD_CLOEXEC);
    if (descriptor_ < 0 || write(descriptor_, elf.data(), elf.size()) < 0) {
      return failure(Code::PS0704, "no memory for the probe's code");
    }
    return "/proc/self/fd/" + std::to_string(descriptor_);
  }

 private:
  int descriptor_ = -1;
};

double best_seconds(int runs, const auto& body) {
  double best = 1e9;
  for (int run = 0; run < runs; ++run) {
    auto start = std::chrono::steady_clock::now();
    body();
    best = std::min(
        best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

LoopProgram probe_program(int lanes) {
  LoopProgram program;
  Symbol size;
  size.name = "s0";
  program.interface.symbols.push_back(size);
  for (std::int32_t i = 0; i < 2; ++i) {
    Buffer buffer;
    buffer.kind = Buffer::Kind::input;
    buffer.index = i;
    program.buffers.push_back(buffer);
  }
  program.steps = {copy_kernel(), fma_kernel(lanes)};
  return program;
}

}  // namespace

Result<Roofs> probe(const CodegenOptions& options) {
  auto target = find_target(options.cpus.empty() ? "host" : options.cpus.front(), options.lanes);
  if (!target) return tl::unexpected(target.error());
  Roofs roofs{target->cpu, target->lanes, 0, {}};
  MemorySink sink;
  auto bundle = generate(probe_program(target->lanes), options, sink);
  if (!bundle) return tl::unexpected(bundle.error());
  void* handle = dlopen(bundle->code[0].blob.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return failure(Code::PS0705, dlerror());
  auto function = [&](int step) {
    return reinterpret_cast<penstock_kernel>(
        dlsym(handle, std::get<KernelCall>(bundle->steps[step]).function.c_str()));
  };
  penstock_kernel copy = function(0), fma = function(1);
  constexpr std::int64_t kLargest = std::int64_t{64} << 20;
  std::vector<float> x(kLargest / 4, 1.0f), y(kLargest / 4);
  void* buffers[] = {x.data(), y.data()};
  std::int64_t size = 0;
  double seconds = best_seconds(9, [&] { fma(buffers, &size, 0, 1, nullptr); });
  double operations = 2.0 * 8 * target->lanes * (kFmaChain - 1) * kFmaRounds;
  roofs.fma_gflops = operations / seconds * 1e-9;
  for (std::int64_t bytes = std::int64_t{256} << 10; bytes <= kLargest; bytes *= 4) {
    size = bytes / 4;
    int repeats = static_cast<int>(std::max<std::int64_t>(1, (std::int64_t{4} << 20) / bytes));
    double time = best_seconds(7, [&] {
      for (int i = 0; i < repeats; ++i) copy(buffers, &size, 0, size, nullptr);
    });
    roofs.copies.push_back({bytes, 2.0 * static_cast<double>(bytes) * repeats / time * 1e-9});
  }
  dlclose(handle);
  return roofs;
}

}  // namespace penstock::codegen
