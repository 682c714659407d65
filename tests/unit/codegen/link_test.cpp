// What linking leaves of the process that it happens in: as it was before.
#include <csignal>
#include <filesystem>

#include "kernel_harness.h"

namespace penstock::codegen {
namespace {

void of_program(int) {}

/// Links a kernel that stores `count` numbers by loops of their own; the size of the code.
std::uintmax_t link_stores(int count) {
  LoopKernel kernel;
  kernel.name = "k0_stores";
  for (int k = 0; k < count; ++k) {
    Loop loop;
    loop.variable = "i" + std::to_string(k);
    loop.extent = sym("s0");
    loop.schedule.vectorize = true;
    SymExpr index = sym(loop.variable.c_str());
    loop.body.push_back(constant(2 * k, Argument{k + 0.5}, DType::float32));
    loop.body.push_back(load(2 * k + 1, 0, index, DType::float32));
    loop.body.push_back(op("add", 2 * count + k, {2 * k, 2 * k + 1}, DType::float32));
    loop.body.push_back(store(1, index, 2 * count + k, DType::float32));
    kernel.body.push_back(nest(loop));
  }
  CodegenOptions options;
  options.cpus = {"host"};
  FileSink sink;
  auto bundle =
      generate(program_of(kernel, {DType::float32, DType::float32}, {"s0"}), options, sink);
  REQUIRE_MESSAGE(bundle.has_value(), bundle.error().message);
  return std::filesystem::file_size(bundle->code.at(0).blob);
}

TEST_CASE("linking leaves every signal to the program") {
  struct sigaction own {};
  own.sa_handler = of_program;
  struct sigaction before[NSIG] = {};
  sigaction(SIGUSR1, &own, &before[SIGUSR1]);
  for (int number = 1; number < NSIG; ++number) sigaction(number, nullptr, &before[number]);
  sigset_t mask_before, mask_after;
  pthread_sigmask(SIG_BLOCK, nullptr, &mask_before);
  link_stores(1);
  pthread_sigmask(SIG_BLOCK, nullptr, &mask_after);
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction after {};
    if (sigaction(number, nullptr, &after) != 0) continue;
    CAPTURE(number);
    CHECK(sigismember(&mask_after, number) == sigismember(&mask_before, number));
    CHECK((after.sa_handler == before[number].sa_handler));
  }
  own.sa_handler = SIG_DFL;
  sigaction(SIGUSR1, &own, nullptr);
}

TEST_CASE("code larger than a pipe holds is linked whole") {
  CHECK(link_stores(1000) > (1 << 16));
}

}  // namespace
}  // namespace penstock::codegen
