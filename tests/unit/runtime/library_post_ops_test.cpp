// What is computed behind a product or a convolution in the same kernel.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "library_fixture.h"

namespace penstock::runtime {

TEST_CASE("post-ops") {
  struct Row {
    PostOp::Kind kind;
    std::function<double(double, double)> apply;
    double alpha = 0, beta = 0;
  };
  const Row rows[] = {
      {PostOp::Kind::relu, [](double x, double) { return std::max(x, 0.0); }},
      {PostOp::Kind::gelu_erf,
       [](double x, double) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }},
      {PostOp::Kind::gelu_tanh,
       [](double x, double) {
         return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
       }},
      {PostOp::Kind::silu, [](double x, double) { return x / (1 + std::exp(-x)); }},
      {PostOp::Kind::hardswish,
       [](double x, double) { return x * std::clamp(x + 3, 0.0, 6.0) / 6; }},
      {PostOp::Kind::hardsigmoid,
       [](double x, double) { return std::clamp(x / 6 + 0.5, 0.0, 1.0); }},
      {PostOp::Kind::sigmoid, [](double x, double) { return 1 / (1 + std::exp(-x)); }},
      {PostOp::Kind::tanh, [](double x, double) { return std::tanh(x); }},
      {PostOp::Kind::clamp, [](double x, double) { return std::clamp(x, -0.5, 0.7); }, -0.5, 0.7},
      {PostOp::Kind::scale, [](double x, double) { return 0.25 * x; }, 0.25},
      {PostOp::Kind::add, [](double x, double y) { return x + y; }},
      {PostOp::Kind::mul, [](double x, double y) { return x * y; }},
      {PostOp::Kind::sum, [](double x, double y) { return x + y; }},
  };
  static_assert(std::size(rows) == static_cast<std::size_t>(PostOp::Kind::sum) + 1);
  for (const Row& row : rows) {
    for (const Sizes& shape : {Sizes{6, 20}, Sizes{2, 3, 20}}) {
      Sizes a_sizes = shape, b_sizes(shape.size(), 1);
      a_sizes.back() = 8;
      b_sizes[shape.size() - 2] = 8;
      b_sizes.back() = 20;
      for (const Sizes& operand_sizes : {shape, Sizes{20}}) {
        Tensor a(a_sizes), b(b_sizes), out(shape), operand(operand_sizes);
        std::vector<float> before = out.memory;
        LibraryCall call;
        call.name = "matmul";
        call.post_ops.push_back({row.kind, row.alpha, row.beta, kNoBuffer});
        bool binary = row.kind == PostOp::Kind::add || row.kind == PostOp::Kind::mul;
        Given given{{&a, &b, nullptr}, &out, {}};
        if (binary) given.post_ops.push_back(&operand);
        Ready ready = make(call, given);
        ready.run(given);
        double worst = 0;
        std::size_t place = 0;
        for_each_index(shape, [&](const Sizes& index) {
          double other = binary ? operand.at(index) : before[place];
          ++place;
          double expected = row.apply(matmul_element(a, b, nullptr, index), other);
          worst = std::max(worst, std::fabs(out.at(index) - expected));
        });
        CAPTURE(to_string(row.kind));
        CHECK(worst < 1e-4);
      }
    }
  }
}

TEST_CASE("post-ops keep NaN, infinities, and the residual that they add in place") {
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              infinity = std::numeric_limits<float>::infinity();
  const std::vector<std::vector<PostOp>> chains = {
      {{PostOp::Kind::relu}},
      {{PostOp::Kind::clamp, -0.5, 0.7}},
      {{PostOp::Kind::hardsigmoid}},
      {{PostOp::Kind::sum}, {PostOp::Kind::relu}},
      {{PostOp::Kind::add}, {PostOp::Kind::relu}, {PostOp::Kind::scale, 0.5}},
      {{PostOp::Kind::relu}, {PostOp::Kind::mul}},
  };
  for (const float special : {nan, infinity, -infinity}) {
    for (const std::vector<PostOp>& chain : chains) {
      for (const std::int64_t rows : {3, 200}) {
        Tensor a({rows, 64}), b({64, 96}), bias({96}), out({rows, 96}), operand({96});
        a.at({1, 5}) = special;
        out.at({2, 7}) = special;
        const std::vector<float> before = out.memory;
        LibraryCall call;
        call.name = "matmul";
        call.post_ops = chain;
        Given given{{&a, &b, &bias}, &out, {}};
        for (const PostOp& op : chain) {
          if (op.kind == PostOp::Kind::add || op.kind == PostOp::Kind::mul)
            given.post_ops.push_back(&operand);
        }
        Ready ready = make(call, given);
        ready.run(given);
        CHECK(ready.ran.has_value());
        std::size_t place = 0, different = 0;
        for_each_index({rows, 96}, [&](const Sizes& index) {
          double x = matmul_element(a, b, &bias, index);
          for (const PostOp& op : chain) x = apply(op, x, operand.at(index), before[place]);
          const double got = out.at(index);
          ++place;
          const bool same = std::isnan(x) ? std::isnan(got) : x == got || std::fabs(x - got) < 1e-4;
          different += !same;
        });
        CAPTURE(to_string(chain.back().kind));
        CHECK(different == 0);
      }
    }
  }
}

TEST_CASE("a residual in place is asked for again where the caller can start again") {
  Tensor a({8, 64}), b({64, 96}), out({8, 96});
  LibraryCall call;
  call.name = "matmul";
  call.post_ops = {{PostOp::Kind::sum}, {PostOp::Kind::relu}};
  const Given given{{&a, &b, nullptr}, &out, {}};
  Ready ready = make(call, given);
  for (const bool broken : {false, true}) {
    if (broken) a.at({1, 5}) = std::numeric_limits<float>::quiet_NaN();
    std::vector<void*> inputs{a.memory.data(), b.memory.data(), nullptr},
        outputs{out.memory.data()};
    const std::vector<std::uint64_t> versions(3, kUnversioned);
    std::unique_ptr<void, decltype(&std::free)> scratch(
        std::aligned_alloc(64, ready.kernel->scratch_bytes() / 64 * 64 + 64), std::free);
    bool again = false;
    const LibraryMemory memory{inputs, outputs, {}, versions, scratch.get(), {}, &again};
    CHECK(ready.kernel->run(memory).has_value());
    CHECK(again == broken);
  }
}

}  // namespace penstock::runtime
