// What holds for all kernels of the library.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>

#include "library_fixture.h"
#include "runtime/threads.h"

namespace penstock::runtime {

TEST_CASE("dtypes that oneDNN lacks are refused by name") {
  Operand a{DType::float16, {2, 2}, {2, 1}};
  LibraryCall call;
  call.name = "matmul";
  LibraryOperands operands{{a, a, {}}, {a}, {}, {true, true, false}};
  auto kernel = library().make(call, operands);
  REQUIRE(!kernel.has_value());
  CHECK(kernel.error().code == Code::PS0708);
}

TEST_CASE("a deterministic library gives the same bits for any number of threads") {
  const std::shared_ptr<Library> same = open(true);
  const ThreadTeam team;
  const int before = team.size();
  // The results of a kernel made for `threads`.
  const auto run = [&](const LibraryCall& call, Given given, int threads, std::string& name) {
    team.resize(threads);
    std::fill(given.out->memory.begin(), given.out->memory.end(), 0.5F);
    Ready ready = make(call, given, *same);
    ready.run(given, 1);
    name = std::string(ready.kernel->implementation());
    return given.out->memory;
  };
  const auto check = [&](const LibraryCall& call, const Given& given) {
    std::string one, two;
    const auto alone = run(call, given, 1, one), together = run(call, given, 2, two);
    CAPTURE(two);
    CHECK(std::memcmp(alone.data(), together.data(), alone.size() * sizeof(float)) == 0);
  };
  // Among them sums that oneDNN blocks by the number of threads: few results, long sums, a
  // transposed operand.
  for (const std::int64_t rows : {1, 4, 64}) {
    for (const std::int64_t depth : {100, 4096, 20000}) {
      for (const bool transposed : {false, true}) {
        Tensor a = transposed ? Tensor({rows, depth}, {1, rows}) : Tensor({rows, depth});
        Tensor b({depth, 16}), out({rows, 16}), bias({16});
        LibraryCall call;
        call.name = "matmul";
        call.post_ops.push_back({PostOp::Kind::sum, 0, 0, kNoBuffer});
        check(call, {{&a, &b, &bias}, &out, {}});
      }
    }
  }
  for (const std::int64_t groups : {1, 8, 64}) {
    for (const std::int64_t edge : {1, 7, 14}) {
      Tensor x({1, 64, edge, edge}, {64 * edge * edge, 1, 64 * edge, 64}),
          w({64, 64 / groups, 7, 7});
      Tensor y({1, 64, edge, edge}, {64 * edge * edge, 1, 64 * edge, 64});
      LibraryCall call;
      call.name = "convolution";
      call.attributes = {ints("stride", {1, 1}),         ints("padding", {6, 6}),
                         ints("dilation", {2, 2}),       {"transposed", false},
                         ints("output_padding", {0, 0}), {"groups", groups}};
      check(call, {{&x, &w, nullptr}, &y, {}});
    }
  }
  team.resize(before);
}

}  // namespace penstock::runtime
