// What becomes of code that is not what a bundle says.
#include <fstream>

#include "compiled.h"

namespace penstock::pipeline {
namespace {

LoopProgram small_program(std::int64_t size) {
  GraphBuilder b;
  b.output(b.unary("exp", b.unary("neg", b.input({size}))));
  return fusion::fuse_graph(b);
}

/// The diagnostic of a run of the bundle up to its first step.
Diagnostic failure_of(const KernelBundle& bundle) {
  StoredBlobs blobs(test_store());
  auto executor = runtime::Executor::create(test_runtime(), bundle, blobs);
  if (!executor) return executor.error();
  auto inputs = fusion::random_inputs(bundle.interface, 1);
  auto done = (*executor)->prepare(arguments_of(inputs));
  REQUIRE(!done.has_value());
  return done.error();
}

}  // namespace

TEST_CASE("code that is damaged in the store is refused, and made again") {
  const LoopProgram program = small_program(53);
  const KernelBundle bundle = generate(program);
  const std::string path = test_store().blob_path(bundle.code.front().blob);
  std::fstream(path, std::ios::in | std::ios::out).seekp(-1, std::ios::end).put('x');
  CHECK(failure_of(bundle).code == Code::PS0207);
  const KernelBundle again = generate(program);
  CHECK(again.code.front().blob == bundle.code.front().blob);
  auto inputs = fusion::random_inputs(program.interface, 1);
  CHECK(run(*load(again), inputs).size() == 1);
}

TEST_CASE("a step whose function the code lacks breaks the bundle's contract") {
  KernelBundle bundle = generate(small_program(59));
  for (BundleStep& step : bundle.steps) {
    if (auto* kernel = std::get_if<KernelCall>(&step)) kernel->function = "nowhere";
  }
  const Diagnostic why = failure_of(bundle);
  CHECK(why.code == Code::PS0205);
  CHECK(facts(why.code).exit_status == 3);
  CHECK(why.message.find("nowhere") != std::string::npos);
}

}  // namespace penstock::pipeline
