#include <dlfcn.h>
#include <doctest/doctest.h>

#include "library_fixture.h"

// Products by the BLAS that torch brings, for which a small library stands here. Which processors
// they are for is the library's matter: elsewhere they are oneDNN's, and as right.

namespace penstock::runtime {

namespace {

const bool is_intel = __builtin_cpu_is("intel") != 0;

/// Keeps torch's library in the process.
void bring_torch() {
  static void* torch = dlopen(PENSTOCK_TEST_BLAS, RTLD_NOW | RTLD_LOCAL);
  REQUIRE_MESSAGE(torch != nullptr, dlerror());
}

LibraryCall product(std::vector<PostOp> post_ops = {}) {
  LibraryCall call;
  call.name = "matmul";
  call.op = "aten.mm.default";
  call.post_ops = std::move(post_ops);
  return call;
}

void expect_product(Tensor& a, Tensor& b, Tensor& out, double factor = 1, bool adds = false,
                    std::vector<PostOp> post_ops = {}) {
  bring_torch();
  const Tensor before = out;
  Given given{{&a, &b, nullptr}, &out, {}};
  Ready ready = make(product(std::move(post_ops)), given);
  CHECK((ready.kernel->implementation() == "blas:sgemm") == is_intel);
  ready.run(given);
  REQUIRE(ready.ran.has_value());
  for_each_index(out.operand.sizes, [&](const Sizes& index) {
    const double held = adds ? Tensor(before).at(index) : 0;
    const double expected = factor * matmul_element(a, b, nullptr, index) + held;
    CHECK(out.at(index) == doctest::Approx(expected).epsilon(1e-4).scale(1));
  });
}

}  // namespace

TEST_CASE("plain products of all layouts are those of the process's BLAS") {
  constexpr std::int64_t m = 48, k = 80, n = 96;
  for (const Sizes& of_a : {Sizes{k, 1}, Sizes{1, m}, Sizes{k + 3, 1}, Sizes{1, m + 5}}) {
    for (const Sizes& of_b : {Sizes{n, 1}, Sizes{1, k}, Sizes{n + 7, 1}, Sizes{1, k + 1}}) {
      Tensor a({m, k}, of_a), b({k, n}, of_b), out({m, n}, {n + 2, 1});
      expect_product(a, b, out);
    }
  }
}

TEST_CASE("a batch in front of the rows joins them") {
  Tensor a({3, 16, 80}), b({80, 96}), out({3, 16, 96});
  expect_product(a, b, out);
}

TEST_CASE("a factor and the sum with what was there are words of BLAS") {
  Tensor a({48, 80}), b({80, 96}), out({48, 96});
  expect_product(a, b, out, 0.5, false, {{PostOp::Kind::scale, 0.5}});
  expect_product(a, b, out, 1, true, {{PostOp::Kind::sum}});
  expect_product(a, b, out, 0.25, true, {{PostOp::Kind::scale, 0.25}, {PostOp::Kind::sum}});
}

TEST_CASE("what BLAS has no words for, small products and deterministic ones are oneDNN's") {
  bring_torch();
  const auto implementation = [](const LibraryCall& call, Tensor& a, Tensor& b, Tensor& out,
                                 Library& of = library()) {
    return std::string(make(call, Given{{&a, &b, nullptr}, &out, {}}, of).kernel->implementation());
  };
  Tensor a({48, 80}), b({80, 96}), out({48, 96}), batched_a({2, 48, 80}), batched_b({2, 80, 96}),
      batched_out({2, 48, 96}), small_a({4, 8}), small_b({8, 4}), small_out({4, 4}),
      far({48, 80}, {160, 2});
  CHECK(implementation(product({{PostOp::Kind::relu}}), a, b, out) != "blas:sgemm");
  CHECK(implementation(product({{PostOp::Kind::sum}, {PostOp::Kind::scale, 2}}), a, b, out) !=
        "blas:sgemm");
  LibraryCall packed = product();
  packed.prepack = {1};
  CHECK(implementation(packed, a, b, out) != "blas:sgemm");
  CHECK(implementation(product(), batched_a, batched_b, batched_out) != "blas:sgemm");
  CHECK(implementation(product(), small_a, small_b, small_out) != "blas:sgemm");
  CHECK(implementation(product(), far, b, out) != "blas:sgemm");
  CHECK(implementation(product(), a, b, out, *open(true)) != "blas:sgemm");
}

}  // namespace penstock::runtime
