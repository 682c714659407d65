// Matrix products against plain loops, over layouts, ranks, dtypes, prepacking.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "library_fixture.h"

namespace penstock::runtime {

namespace {

void check_matmul(Tensor a, Tensor b, Tensor out, bool with_bias, bool prepack) {
  Tensor bias({out.operand.sizes.back()});
  LibraryCall call;
  call.name = "matmul";
  if (prepack) call.prepack = {1};
  Given given{{&a, &b, with_bias ? &bias : nullptr}, &out, {}};
  Ready ready = make(call, given);
  for (std::uint64_t version : {kUnversioned, std::uint64_t{1}, std::uint64_t{1}}) {
    ready.run(given, version);
    double worst = 0;
    for_each_index(out.operand.sizes, [&](const Sizes& index) {
      double expected = matmul_element(a, b, with_bias ? &bias : nullptr, index);
      worst = std::max(worst, std::fabs(out.at(index) - expected));
    });
    CHECK(worst < 1e-4);
  }
}

}  // namespace

TEST_CASE("matrix products of every layout") {
  for (bool bias : {false, true}) {
    for (bool prepack : {false, true}) {
      check_matmul(Tensor({7, 30}), Tensor({30, 12}), Tensor({7, 12}), bias, prepack);
      check_matmul(Tensor({1, 64}), Tensor({64, 50}, {1, 64}), Tensor({1, 50}), bias, prepack);
      check_matmul(Tensor({2, 5, 16}), Tensor({1, 16, 8}, {0, 1, 16}), Tensor({2, 5, 8}), bias,
                   prepack);
      // Rows with a gap, columns of every other element, a repeated row.
      check_matmul(Tensor({4, 8}, {20, 1}), Tensor({8, 6}, {24, 2}), Tensor({4, 6}, {12, 1}), bias,
                   prepack);
      check_matmul(Tensor({4, 8}, {0, 1}), Tensor({8, 6}), Tensor({4, 6}), bias, prepack);
    }
  }
  // Heads as strided views: [b, h, l, d] in memory as [b, l, h, d].
  check_matmul(Tensor({2, 3, 10, 16}, {480, 16, 48, 1}), Tensor({2, 3, 16, 10}, {480, 16, 1, 48}),
               Tensor({2, 3, 10, 10}), false, false);
  check_matmul(Tensor({2, 3, 10, 10}), Tensor({2, 3, 10, 16}, {480, 16, 48, 1}),
               Tensor({2, 3, 10, 16}, {480, 16, 48, 1}), false, false);
}

TEST_CASE("a kernel for sizes that vary is generated once they came back often enough") {
  Tensor a({20, 64}), b({64, 128}), out({20, 128});
  LibraryCall call;
  call.name = "matmul";
  const Given given{{&a, &b, nullptr}, &out, {}};
  const std::string generated(make(call, given).kernel->implementation());
  Ready ready = make(call, given, library(), true);
  const std::string of_any_size(ready.kernel->implementation());
  CHECK(of_any_size == "gemm:jit");
  std::vector<std::string> used;
  for (int i = 0; i < 100; ++i) {
    out.memory.assign(out.memory.size(), 99.0f);
    ready.run(given);
    REQUIRE(ready.ran.has_value());
    CHECK(std::fabs(out.at({19, 127}) - matmul_element(a, b, nullptr, {19, 127})) < 1e-4);
    used.emplace_back(ready.kernel->implementation());
  }
  CHECK(used.at(9) == of_any_size);
  CHECK(used.at(99) == generated);
}

TEST_CASE("a large second matrix that no one packs ahead is read as it is now") {
  Tensor a({256, 4}), b({4, 1024}), out({256, 1024});
  LibraryCall call;
  call.name = "matmul";
  const Given given{{&a, &b, nullptr}, &out, {}};
  Ready ready = make(call, given);
  for (int run = 0; run < 2; ++run) {
    // The same version: it counts only for what may be packed ahead.
    ready.run(given, 1);
    for_each_index(out.operand.sizes, [&](const Sizes& index) {
      CHECK(out.at(index) ==
            doctest::Approx(matmul_element(a, b, nullptr, index)).epsilon(1e-4).scale(1));
    });
    for (float& element : b.memory) element *= 2;
  }
}

TEST_CASE("rows times matrices of their own, as attention decodes") {
  struct Shape {
    Sizes a, a_strides, b, b_strides;
    std::string_view implementation;
  };
  const Shape shapes[] = {
      {{2, 3, 1, 64}, {192, 64, 64, 1}, {2, 3, 64, 77}, {14784, 4928, 1, 64}, "row by columns"},
      {{2, 3, 1, 77}, {231, 77, 77, 1}, {2, 3, 77, 64}, {14784, 4928, 64, 1}, "row by rows"},
      {{1, 12, 1, 64},
       {768, 64, 768, 1},
       {1, 12, 64, 601},
       {461568, 38464, 1, 64},
       "row by columns"},  // by threads
      {{1, 12, 1, 601},
       {7212, 601, 601, 1},
       {1, 12, 601, 64},
       {461568, 38464, 64, 1},
       "row by rows"},
      {{2, 4, 1, 9},
       {36, 9, 9, 1},
       {2, 4, 9, 45},
       {405, 0, 45, 1},
       "row by rows"},                                                       // shared in a group
      {{3, 1, 13}, {39, 39, 3}, {3, 13, 5}, {70, 1, 14}, "row by columns"},  // every third element
      {{3, 1, 1}, {1, 1, 1}, {3, 1, 70}, {70, 70, 1}, "row by rows"},
      {{3, 1, 20}, {20, 20, 1}, {3, 20, 1}, {20, 1, 1}, "row by columns"},
      {{3, 1, 20}, {20, 20, 1}, {3, 20, 1}, {40, 2, 1}, "row by rows"},
  };
  for (const Shape& shape : shapes) {
    Tensor a(shape.a, shape.a_strides), b(shape.b, shape.b_strides);
    Sizes sizes = shape.a;
    sizes.back() = shape.b.back();
    Tensor out(sizes), mask(Sizes{sizes.back()}), gate(sizes);
    LibraryCall call;
    call.name = "matmul";
    call.post_ops = {{PostOp::Kind::scale, 0.125, 0, kNoBuffer},
                     {PostOp::Kind::add, 0, 0, 0},
                     {PostOp::Kind::mul, 0, 0, 0}};
    const Given given{{&a, &b, nullptr}, &out, {&mask, &gate}};
    Ready ready = make(call, given);
    CHECK(ready.kernel->implementation() == shape.implementation);
    ready.run(given);
    double worst = 0;
    for_each_index(sizes, [&](const Sizes& index) {
      const double sum = matmul_element(a, b, nullptr, index);
      worst = std::max(worst, std::fabs(out.at(index) -
                                        (sum * 0.125 + mask.at({index.back()})) * gate.at(index)));
    });
    CHECK(worst < 1e-4);
  }
}

TEST_CASE("a packed weight follows its version") {
  Tensor a({3, 16}), b({16, 16}), out({3, 16});
  LibraryCall call;
  call.name = "matmul";
  call.prepack = {1};
  Given given{{&a, &b, nullptr}, &out, {}};
  Ready ready = make(call, given);
  ready.run(given, 5);
  for (float& value : b.memory) value *= 2;
  ready.run(given, 6);
  double expected = matmul_element(a, b, nullptr, {2, 3});
  CHECK(std::fabs(out.at({2, 3}) - expected) < 1e-4);
  for (float& value : b.memory) value *= 2;
  ready.run(given, kUnversioned);
  expected = matmul_element(a, b, nullptr, {2, 3});
  CHECK(std::fabs(out.at({2, 3}) - expected) < 1e-4);
}

TEST_CASE("products of float64 have the sums of plain loops, in layouts and beyond a tile") {
  struct Shape {
    std::int64_t batch, rows, inner, columns;
    bool turned, shared;  ///< `a` lies by columns; one matrix `b` serves all
  };
  for (const Shape& s : {Shape{1, 101, 300, 270, false, false},
                         {3, 7, 5, 17, true, false},
                         {2, 1, 9, 33, false, true},
                         {2, 4, 0, 3, false, false}}) {
    auto fill = [](std::int64_t count, double seed) {
      std::vector<double> numbers(static_cast<std::size_t>(std::max<std::int64_t>(count, 1)));
      for (std::size_t i = 0; i < numbers.size(); ++i)
        numbers[i] = std::sin(seed + static_cast<double>(i) * 0.7);
      return numbers;
    };
    std::int64_t size_a = s.rows * s.inner, size_b = s.inner * s.columns,
                 size_out = s.rows * s.columns;
    std::vector<double> a = fill(s.batch * size_a, 1), b = fill(s.batch * size_b, 2),
                        bias = fill(s.columns, 3), more = fill(s.batch * size_out, 4),
                        out(static_cast<std::size_t>(s.batch * size_out));
    Operand as{DType::float64,
               {s.batch, s.rows, s.inner},
               {size_a, s.turned ? 1 : s.inner, s.turned ? s.rows : 1}};
    Operand bs{
        DType::float64, {s.shared ? 1 : s.batch, s.inner, s.columns}, {size_b, s.columns, 1}};
    Operand outs{DType::float64, {s.batch, s.rows, s.columns}, {size_out, s.columns, 1}};
    LibraryCall call;
    call.name = "matmul";
    call.post_ops = {{PostOp::Kind::scale, 0.5, 0, kNoBuffer}, {PostOp::Kind::add, 0, 0, 0}};
    auto kernel = library().make(
        call, {{as, bs, {DType::float64, {s.columns}, {1}}}, {outs}, {outs}, {true, true, true}});
    REQUIRE_MESSAGE(kernel.has_value(), kernel.error().message);
    std::vector<void*> inputs = {a.data(), b.data(), bias.data()}, outputs = {out.data()},
                       added = {more.data()};
    std::vector<std::uint64_t> versions(3, kUnversioned);
    std::shared_ptr<void> scratch(
        std::aligned_alloc(64, ((*kernel)->scratch_bytes() + 127) / 64 * 64), std::free);
    REQUIRE((*kernel)->run({inputs, outputs, added, versions, scratch.get()}));
    double worst = 0;
    for_each_index(outs.sizes, [&](const Sizes& at) {
      double sum = bias[static_cast<std::size_t>(at[2])];
      for (std::int64_t k = 0; k < s.inner; ++k) {
        sum += a[static_cast<std::size_t>(at[0] * size_a + at[1] * as.strides[1] +
                                          k * as.strides[2])] *
               b[static_cast<std::size_t>((s.shared ? 0 : at[0]) * size_b + k * s.columns + at[2])];
      }
      auto place = static_cast<std::size_t>(at[0] * size_out + at[1] * s.columns + at[2]);
      worst = std::max(worst, std::fabs(out[place] - (sum * 0.5 + more[place])));
    });
    CHECK(worst < 1e-12);
  }
}

}  // namespace penstock::runtime
