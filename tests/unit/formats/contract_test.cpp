// What a document promises of its steps, at the edges of what is allowed.
#include <doctest/doctest.h>

#include <string>

#include "formats/pack.h"

using namespace penstock;
using namespace penstock::formats;

namespace {

/// The first graph of a sample.
template <class Level>
Level sample(const std::string& name) {
  auto reader = open_documents(std::string(PENSTOCK_SAMPLES) + "/" + name + ".json");
  REQUIRE(reader.has_value());
  auto documents = read_all(*reader);
  REQUIRE(documents.has_value());
  for (const Document& document : *documents) {
    const auto* graph = std::get_if<GraphDocument>(&document);
    if (graph != nullptr) return std::get<Level>(graph->graph);
  }
  FAIL("the sample has no graph");
  return {};
}

/// The message with which a broken contract is refused.
template <class Level>
std::string refusal(Level graph) {
  auto checked = verify(GraphDocument{std::move(graph), {}});
  REQUIRE(!checked.has_value());
  CHECK(checked.error().code == Code::PS0205);
  return checked.error().message;
}

KernelCall& first_kernel(KernelBundle& bundle) {
  for (BundleStep& step : bundle.steps) {
    if (auto* kernel = std::get_if<KernelCall>(&step)) return *kernel;
  }
  FAIL("the sample calls no kernel");
  return std::get<KernelCall>(bundle.steps.front());
}

}  // namespace

TEST_CASE("an index is below the number of what it counts") {
  const auto program = sample<LoopProgram>("loops");
  const auto count = static_cast<std::int32_t>(program.calls.size());
  REQUIRE(count > 0);
  LoopProgram edited = program;
  auto& calls = std::get<LoopKernel>(edited.steps.front()).calls;
  for (std::int32_t inside : {0, count - 1}) {
    calls = {inside};
    CHECK(verify(GraphDocument{edited, {}}).has_value());
  }
  for (std::int32_t outside : {-1, count, count + 1}) {
    calls = {outside};
    CHECK(refusal(edited) == "call " + std::to_string(outside) + " does not exist, there are " +
                                 std::to_string(count));
  }
  const auto bundle = sample<KernelBundle>("kernels");
  KernelBundle other = bundle;
  const std::string buffers = std::to_string(bundle.buffers.size());
  first_kernel(other).buffers.front() = static_cast<BufferId>(bundle.buffers.size());
  CHECK(refusal(other) == "buffer " + buffers + " does not exist, there are " + buffers);
}

TEST_CASE("a thread gets one iteration at least") {
  auto bundle = sample<KernelBundle>("kernels");
  first_kernel(bundle).grain = 1;
  CHECK(verify(GraphDocument{bundle, {}}).has_value());
  for (std::int64_t grain : {0, -1}) {
    first_kernel(bundle).grain = grain;
    CHECK(refusal(bundle) == "the grain is below 1");
  }
}
