// What becomes of code, and of constants, that are not what a bundle says.
#include <cstdint>
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

namespace {

/// A blob's bytes, which say that a header of so many bytes comes before `rest`.
std::string with_length(std::uint64_t header, const std::string& rest) {
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) + rest;
}

}  // namespace

TEST_CASE("a constant that is damaged in the store is refused") {
  const std::string blob = test_store().put(with_length(2, "{}1234")).value();
  CHECK(StoredBlobs(test_store()).constant(blob).value() == "1234");
  std::fstream(test_store().blob_path(blob), std::ios::in | std::ios::out)
      .seekp(-1, std::ios::end)
      .put('x');
  const auto damaged = StoredBlobs(test_store()).constant(blob);
  REQUIRE(!damaged.has_value());
  CHECK(damaged.error().code == Code::PS0207);
}

TEST_CASE("a blob without a whole header holds no constant") {
  StoredBlobs blobs(test_store());
  CHECK(blobs.constant(test_store().put(with_length(4, "{}  1234")).value()).value() == "1234");
  CHECK(blobs.constant(test_store().put(with_length(2, "{}")).value()).value().empty());
  // With the eight bytes of the length itself, the largest lengths come to small numbers.
  for (const std::string& bytes :
       {std::string(), std::string("1234567"), with_length(3, "{}"), with_length(UINT64_MAX, "{}"),
        with_length(UINT64_MAX - 7, "{}")}) {
    const auto none = blobs.constant(test_store().put(bytes).value());
    REQUIRE(!none.has_value());
    CHECK(none.error().code == Code::PS0207);
    CHECK(none.error().message.find("holds no tensor") != std::string::npos);
  }
}

}  // namespace penstock::pipeline
