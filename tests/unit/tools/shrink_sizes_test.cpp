#include "tools/reduce/shrink_sizes.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "../graph_builder.h"
#include "formats/safetensors.h"
#include "ops/contract.h"
#include "ops/host_tensor.h"

namespace penstock::tools {
namespace {

using ops::HostTensor;

struct TestStore {
  std::string path = "/tmp/penstock-sizes-XXXXXX";
  store::Store store;
  TestStore() : store((REQUIRE(mkdtemp(path.data()) != nullptr), path)) {}
  ~TestStore() { std::filesystem::remove_all(path); }

  /// Keeps 0, 1, 2, … and returns its blob.
  std::string keep(DType dtype, std::vector<std::int64_t> sizes) {
    HostTensor tensor = HostTensor::contiguous(dtype, sizes);
    for (std::int64_t i = 0; i < tensor.count(); ++i)
      is_integral(dtype) ? tensor.set_integer(i, i) : tensor.set_real(i, static_cast<double>(i));
    const std::string_view bytes(reinterpret_cast<const char*>(tensor.memory->data()),
                                 tensor.memory->size());
    return formats::put_tensor(store, {"x", dtype, std::move(sizes), bytes}).value();
  }

  std::vector<double> elements(const std::string& blob) const {
    auto found = formats::get_tensor(store, blob).value();
    HostTensor tensor = HostTensor::contiguous(found.tensor.dtype, found.tensor.sizes);
    std::memcpy(tensor.memory->data(), found.tensor.bytes.data(), found.tensor.bytes.size());
    return tensor.reals();
  }
};

/// neg of a recorded tensor of 8 by 6, whose result was recorded too.
Graph negated(TestStore& kept, std::vector<SymExpr> sizes) {
  GraphBuilder builder;
  builder.output(builder.unary("neg", builder.input(std::move(sizes))));
  builder.graph.interface.inputs[0].blob = kept.keep(DType::float32, {8, 6});
  return builder.graph;
}

std::optional<Graph> resized(const Graph& graph, const InputSize& size, std::int64_t value,
                             store::Store& store) {
  RecordedValues values(graph, store);
  return with_size(graph, values, size, value, SizeArguments::all, store);
}

TEST_CASE("sizes are found, each once, the largest first") {
  GraphBuilder builder;
  const SymExpr rows = builder.symbol("s0", 7);
  builder.output(builder.unary("neg", builder.input({8, 6, 1})));
  builder.input({6, rows});
  const std::vector<InputSize> sizes = input_sizes(builder.graph);
  REQUIRE(sizes.size() == 3);
  CHECK(sizes[0].value == 8);
  CHECK(sizes[1].symbol == "s0");
  CHECK(sizes[2].value == 6);
}

TEST_CASE("a smaller size cuts the data to its first elements and computes the results anew") {
  TestStore kept;
  const Graph graph = negated(kept, {8, 6});
  const auto smaller = resized(graph, {{}, 6}, 2, kept.store);
  REQUIRE(smaller.has_value());
  CHECK(ops::verify_contract(*smaller, smaller->level).has_value());
  CHECK(to_string(smaller->interface.inputs[0].type) == "float32[8, 2]");
  CHECK(to_string(smaller->interface.outputs[0].type) == "float32[8, 2]");
  const std::vector<double> data = kept.elements(smaller->interface.inputs[0].blob);
  REQUIRE(data.size() == 16);
  CHECK(data[1] == 1);
  CHECK(data[2] == 6);
  CHECK(kept.elements(smaller->interface.outputs[0].blob)[2] == -6);
}

TEST_CASE("a symbol gets smaller by the size that was recorded, and stays a symbol") {
  TestStore kept;
  GraphBuilder builder;
  const SymExpr rows = builder.symbol("s0", 8);
  builder.output(builder.unary("neg", builder.input({rows, 6})));
  builder.graph.interface.inputs[0].blob = kept.keep(DType::float32, {8, 6});
  const auto smaller = resized(builder.graph, {"s0", 8}, 2, kept.store);
  REQUIRE(smaller.has_value());
  CHECK(smaller->interface.symbols[0].hint == 2);
  CHECK(smaller->interface.inputs[0].type.sizes[0] == rows);
  CHECK(kept.elements(smaller->interface.inputs[0].blob).size() == 12);
  // Less than its range allows.
  CHECK(!resized(builder.graph, {"s0", 8}, 1, kept.store));
}

TEST_CASE("integers that were positions in the cut part are positions in what is left") {
  TestStore kept;
  GraphBuilder builder;
  builder.output(builder.unary("neg", builder.input({3, 8}, DType::int64)));
  builder.graph.interface.inputs[0].blob = kept.keep(DType::int64, {3, 8});
  const auto smaller = resized(builder.graph, {{}, 3}, 2, kept.store);
  REQUIRE(smaller.has_value());
  const std::vector<double> data = kept.elements(smaller->interface.inputs[0].blob);
  CHECK(data[2] == 0);  // was 2, of 3
  CHECK(data[3] == 3);  // no position before either
}

TEST_CASE("inputs that share memory, and data that is gone, are left alone") {
  TestStore kept;
  Graph graph = negated(kept, {8, 6});
  graph.interface.inputs[0].type.storage = 0;
  graph.interface.inputs.push_back(graph.interface.inputs[0]);
  CHECK(!resized(graph, {{}, 6}, 2, kept.store));
  graph = negated(kept, {8, 6});
  graph.interface.inputs[0].blob = std::string(32, '0');
  CHECK(!resized(graph, {{}, 6}, 2, kept.store));
}

TEST_CASE("the smallest size that is taken stays, size by size") {
  TestStore kept;
  Graph smallest = negated(kept, {8, 6});
  shrink_sizes(smallest, kept.store, [&](Graph graph) {
    const std::int64_t rows = graph.interface.inputs[0].type.sizes[0].constant().value();
    if (rows < 4) return false;
    smallest = std::move(graph);
    return true;
  });
  CHECK(to_string(smallest.interface.inputs[0].type) == "float32[4, 1]");
}

}  // namespace
}  // namespace penstock::tools
