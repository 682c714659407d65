// oneDNN's convolutions and pools against plain loops.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "library_fixture.h"

namespace penstock::runtime {

TEST_CASE("a convolution whose kernel is an image, as the gradient of another one's weight") {
  struct Case {
    std::int64_t batch, in, out, groups, kernel, stride, padding, dilation;
  };
  for (const Case& c :
       {Case{4, 3, 16, 1, 3, 1, 1, 1}, Case{2, 16, 8, 1, 3, 2, 1, 1}, Case{3, 8, 8, 1, 1, 2, 0, 1},
        Case{2, 8, 12, 4, 3, 1, 1, 1}, Case{5, 16, 16, 16, 3, 2, 1, 1},
        Case{2, 4, 6, 2, 3, 1, 2, 2}, Case{1, 1, 1, 1, 5, 1, 2, 1}}) {
    for (bool last : {false, true}) {
      const std::int64_t edge = 11;
      const std::int64_t result =
          (edge + 2 * c.padding - c.dilation * (c.kernel - 1) - 1) / c.stride + 1;
      // Where strides end before the image does, there is more than the weight has.
      const std::int64_t taps =
          (edge + 2 * c.padding - c.stride * (result - 1) - 1) / c.dilation + 1;
      const std::int64_t inner = c.in / c.groups, columns = c.groups * c.batch;
      const auto made = [&](std::int64_t rows, std::int64_t channels, std::int64_t size) {
        Sizes sizes{rows, channels, size, size};
        if (!last) return Tensor(sizes);
        // What was channels-last before batch and channels were exchanged.
        return Tensor(sizes, {1, size * size * rows, size * rows, rows});
      };
      Tensor x = made(inner, columns, edge), g = made(c.out, c.batch, result),
             y = made(inner, c.out, taps);
      LibraryCall call;
      call.name = "convolution";
      call.attributes = {
          ints("stride", {c.dilation, c.dilation}), ints("padding", {c.padding, c.padding}),
          ints("dilation", {c.stride, c.stride}),   {"transposed", false},
          ints("output_padding", {0, 0}),           {"groups", c.groups}};
      Given given{{&x, &g}, &y, {}};
      Ready ready = make(call, given);
      ready.run(given, 1);
      double largest = 0;
      for_each_index(y.operand.sizes, [&](const Sizes& i) {
        double expected = 0;
        const std::int64_t group = i[1] / (c.out / c.groups);
        for_each_index({c.batch, result, result}, [&](const Sizes& k) {
          const std::int64_t row = i[2] * c.dilation - c.padding + k[1] * c.stride;
          const std::int64_t column = i[3] * c.dilation - c.padding + k[2] * c.stride;
          if (row < 0 || column < 0 || row >= edge || column >= edge) return;
          expected += double(x.at({i[0], group * c.batch + k[0], row, column})) *
                      double(g.at({i[1], k[0], k[1], k[2]}));
        });
        largest = std::max(largest, std::abs(expected - double(y.at(i))));
      });
      CHECK(largest < 1e-3);
    }
  }
}

TEST_CASE("convolutions of both layouts, grouped, strided, transposed") {
  struct Case {
    std::int64_t in, out, groups, kernel, stride, padding, dilation;
    bool transposed;
  };
  const Case cases[] = {{3, 16, 1, 3, 2, 1, 1, false},
                        {16, 16, 16, 3, 1, 1, 1, false},
                        {8, 12, 4, 1, 1, 0, 1, false},
                        {8, 8, 1, 3, 1, 2, 2, false},
                        {8, 6, 2, 3, 2, 1, 1, true}};
  for (const Case& c : cases) {
    for (bool last : {false, true}) {
      std::int64_t size = 9;
      std::int64_t result =
          c.transposed ? (size - 1) * c.stride - 2 * c.padding + c.kernel
                       : (size + 2 * c.padding - c.dilation * (c.kernel - 1) - 1) / c.stride + 1;
      auto activation = [&](std::int64_t channels, std::int64_t edge) {
        Sizes sizes{2, channels, edge, edge};
        if (!last) return Tensor(sizes);
        return Tensor(sizes, {channels * edge * edge, 1, channels * edge, channels});
      };
      Tensor x = activation(c.in, size), y = activation(c.out, result), bias({c.out});
      Tensor w(c.transposed ? Sizes{c.in, c.out / c.groups, c.kernel, c.kernel}
                            : Sizes{c.out, c.in / c.groups, c.kernel, c.kernel});
      LibraryCall call;
      call.name = "convolution";
      call.prepack = {1};
      call.attributes = {ints("stride", {c.stride, c.stride}),
                         ints("padding", {c.padding, c.padding}),
                         ints("dilation", {c.dilation, c.dilation}),
                         {"transposed", c.transposed},
                         ints("output_padding", {0, 0}),
                         {"groups", c.groups}};
      Given given{{&x, &w, &bias}, &y, {}};
      Ready ready = make(call, given);
      ready.run(given, 1);
      std::vector<double> expected(y.memory.size());
      auto place = [&](const Sizes& index) { return &y.at(index) - y.memory.data(); };
      for_each_index(y.operand.sizes,
                     [&](const Sizes& i) { expected[place(i)] = bias.at({i[1]}); });
      for_each_index(c.transposed ? x.operand.sizes : y.operand.sizes, [&](const Sizes& i) {
        std::int64_t per_group = (c.transposed ? c.in : c.out) / c.groups, group = i[1] / per_group;
        std::int64_t others = (c.transposed ? c.out : c.in) / c.groups;
        for_each_index({others, c.kernel, c.kernel}, [&](const Sizes& k) {
          std::int64_t row = i[2] * c.stride - c.padding + k[1] * c.dilation;
          std::int64_t column = i[3] * c.stride - c.padding + k[2] * c.dilation;
          std::int64_t edge = c.transposed ? result : size;
          if (row < 0 || column < 0 || row >= edge || column >= edge) return;
          Sizes other{i[0], group * others + k[0], row, column};
          double product = static_cast<double>(w.at({i[1], k[0], k[1], k[2]}));
          if (c.transposed) {
            expected[place(other)] += product * x.at(i);
          } else {
            expected[place(i)] += product * x.at(other);
          }
        });
      });
      double worst = 0;
      for (std::size_t i = 0; i < expected.size(); ++i) {
        worst = std::max(worst, std::fabs(y.memory[i] - expected[i]));
      }
      CHECK(worst < 1e-4);
    }
  }
}

TEST_CASE("pooling") {
  Tensor x({2, 4, 9, 9}), y({2, 4, 4, 4});
  for (bool max : {true, false}) {
    LibraryCall call;
    call.name = max ? "pool_max" : "pool_avg";
    call.attributes = {ints("kernel_size", {3, 3}),
                       ints("stride", {2, 2}),
                       ints("padding", {0, 0}),
                       {"ceil_mode", false},
                       {"count_include_pad", true}};
    Given given{{&x}, &y, {}};
    Ready ready = make(call, given);
    ready.run(given);
    double worst = 0;
    for_each_index(y.operand.sizes, [&](const Sizes& i) {
      double largest = -INFINITY, sum = 0;
      for_each_index({3, 3}, [&](const Sizes& k) {
        float value = x.at({i[0], i[1], 2 * i[2] + k[0], 2 * i[3] + k[1]});
        largest = std::max<double>(largest, value);
        sum += value;
      });
      worst = std::max(worst, std::fabs(y.at(i) - (max ? largest : sum / 9)));
    });
    CHECK(worst < 1e-5);
  }
}

}  // namespace penstock::runtime
