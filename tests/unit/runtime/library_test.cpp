// oneDNN's kernels against plain loops, over layouts, ranks, post-ops, prepacking.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <map>

#include "runtime/library_kernel.h"
#include "runtime/threads.h"

namespace penstock::runtime {

namespace {

using Sizes = std::vector<std::int64_t>;

Sizes dense_strides(const Sizes& sizes) {
  Sizes strides(sizes.size());
  std::int64_t next = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = next;
    next *= sizes[i];
  }
  return strides;
}

/// A tensor with memory of its own.
struct Tensor {
  Operand operand;
  std::vector<float> memory;

  Tensor(Sizes sizes, Sizes strides) : operand{DType::float32, sizes, strides} {
    std::int64_t last = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) last += (sizes[i] - 1) * strides[i];
    memory.resize(static_cast<std::size_t>(last + 1));
    for (std::size_t i = 0; i < memory.size(); ++i) {
      memory[i] = static_cast<float>((i * 2654435761u % 1000) / 500.0 - 1.0);
    }
  }
  explicit Tensor(const Sizes& sizes) : Tensor(sizes, dense_strides(sizes)) {}
  /// Indices of more dims than there are are cut in front; dims of size 1 repeat.
  float& at(Sizes index) {
    index.erase(index.begin(),
                index.begin() + static_cast<std::ptrdiff_t>(index.size() - operand.sizes.size()));
    std::int64_t place = 0;
    for (std::size_t i = 0; i < index.size(); ++i) {
      place += (operand.sizes[i] == 1 ? 0 : index[i]) * operand.strides[i];
    }
    return memory[static_cast<std::size_t>(place)];
  }
};

void for_each_index(const Sizes& sizes, const std::function<void(const Sizes&)>& visit) {
  Sizes index(sizes.size(), 0);
  while (true) {
    visit(index);
    std::size_t i = sizes.size();
    while (i > 0 && ++index[i - 1] == sizes[i - 1]) index[--i] = 0;
    if (i == 0) return;
  }
}

struct Given {
  std::vector<Tensor*> inputs;  ///< null: absent
  Tensor* out;
  std::vector<Tensor*> post_ops;
};

struct Ready {
  std::unique_ptr<LibraryKernel> kernel;
  StoredWindow weight = {};  ///< what the second input is in a store
  Result<void> ran = {};
  void run(const Given& given, std::uint64_t version = kUnversioned) {
    std::vector<void*> inputs, post_ops;
    for (Tensor* tensor : given.inputs) inputs.push_back(tensor ? tensor->memory.data() : nullptr);
    for (Tensor* tensor : given.post_ops) post_ops.push_back(tensor->memory.data());
    void* outputs[] = {given.out->memory.data()};
    std::vector<std::uint64_t> versions(inputs.size(), version);
    void* scratch = std::aligned_alloc(64, (kernel->scratch_bytes() + 127) / 64 * 64);
    std::vector<StoredWindow> stored(inputs.size());
    if (stored.size() > 1) stored[1] = weight;
    LibraryMemory memory{inputs, outputs, post_ops, versions, scratch, stored};
    ran = kernel->run(memory);
    std::free(scratch);
  }
};

std::shared_ptr<Library> open(bool deterministic) {
  auto result = open_library(deterministic);
  REQUIRE_MESSAGE(result.has_value(), result.error().message);
  return *result;
}

Library& library() {
  static std::shared_ptr<Library> opened = open(false);
  return *opened;
}

Ready make(const LibraryCall& call, const Given& given, Library& of = library()) {
  LibraryOperands operands;
  for (Tensor* tensor : given.inputs) {
    operands.inputs.push_back(tensor ? tensor->operand : Operand{});
    operands.present.push_back(tensor != nullptr);
  }
  operands.outputs.push_back(given.out->operand);
  for (Tensor* tensor : given.post_ops) operands.post_ops.push_back(tensor->operand);
  auto kernel = of.make(call, operands);
  REQUIRE_MESSAGE(kernel.has_value(), kernel.error().message);
  return {std::move(*kernel)};
}

double matmul_element(Tensor& a, Tensor& b, Tensor* bias, const Sizes& index) {
  Sizes ia = index, ib = index;
  std::size_t rank = index.size();
  double sum = bias ? bias->at({index.back()}) : 0;
  for (std::int64_t k = 0; k < a.operand.sizes.back(); ++k) {
    ia[rank - 1] = k;
    ib[rank - 2] = k;
    sum += static_cast<double>(a.at(ia)) * b.at(ib);
  }
  return sum;
}

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

NamedArgument ints(std::string name, std::vector<std::int64_t> values) {
  Argument::Sequence list{Argument::Sequence::Kind::list, {}};
  for (std::int64_t value : values) list.items.push_back(value);
  return {std::move(name), list};
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
      {PostOp::Kind::hardsigmoid, [](double x, double) { return std::clamp(x / 6 + 0.5, 0.0, 1.0); }},
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
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
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
          if (op.kind == PostOp::Kind::add || op.kind == PostOp::Kind::mul) given.post_ops.push_back(&operand);
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
    std::vector<void*> inputs{a.memory.data(), b.memory.data(), nullptr}, outputs{out.memory.data()};
    const std::vector<std::uint64_t> versions(3, kUnversioned);
    std::unique_ptr<void, decltype(&std::free)> scratch(
        std::aligned_alloc(64, ready.kernel->scratch_bytes() / 64 * 64 + 64), std::free);
    bool again = false;
    const LibraryMemory memory{inputs, outputs, {}, versions, scratch.get(), {}, &again};
    CHECK(ready.kernel->run(memory).has_value());
    CHECK(again == broken);
  }
}

TEST_CASE("convolutions of both layouts, grouped, strided, transposed") {
  struct Case {
    std::int64_t in, out, groups, kernel, stride, padding, dilation;
    bool transposed;
  };
  const Case cases[] = {{3, 16, 1, 3, 2, 1, 1, false}, {16, 16, 16, 3, 1, 1, 1, false},
                        {8, 12, 4, 1, 1, 0, 1, false}, {8, 8, 1, 3, 1, 2, 2, false},
                        {8, 6, 2, 3, 2, 1, 1, true}};
  for (const Case& c : cases) {
    for (bool last : {false, true}) {
      std::int64_t size = 9;
      std::int64_t result = c.transposed
                                ? (size - 1) * c.stride - 2 * c.padding + c.kernel
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
      for_each_index(y.operand.sizes, [&](const Sizes& i) { expected[place(i)] = bias.at({i[1]}); });
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

namespace {

class MemoryStore : public PackedStore {
 public:
  std::shared_ptr<const void> find(std::string_view key, std::size_t bytes) override {
    auto found = kept.find(std::string(key));
    if (found == kept.end() || found->second.size() != bytes) return nullptr;
    ++hits;
    std::shared_ptr<void> copy(std::aligned_alloc(64, (bytes + 63) / 64 * 64), std::free);
    std::memcpy(copy.get(), found->second.data(), bytes);
    return copy;
  }
  void keep(std::string_view key, std::string_view bytes) override { kept.emplace(key, bytes); }

  std::map<std::string, std::string> kept;
  int hits = 0;
};

struct NamedTensor : StoredTensor {
  explicit NamedTensor(std::string text) : text(std::move(text)) {}
  std::string_view name() const override { return text; }
  Result<void> check() override {
    ++checks;
    return whole ? Result<void>() : failure(Code::PS0207, "damaged");
  }
  std::string text;
  bool whole = true;
  int checks = 0;
};

/// A convolution whose output channels are multiplied by factors, and its weight.
struct ScaledConvolution {
  ScaledConvolution(Tensor weight, std::int64_t groups, bool transposed) : w(std::move(weight)) {
    call.name = "convolution";
    call.prepack = {1};
    call.attributes = {ints("stride", {1, 1}), ints("padding", {1, 1}), ints("dilation", {1, 1}),
                       {"transposed", transposed}, ints("output_padding", {0, 0}), {"groups", groups}};
  }
  /// The result of a kernel of its own, with `factor` times the usual factors.
  std::vector<float> run(Library& of, StoredTensor* stored, std::int64_t start = 0, float factor = 1) {
    for (std::size_t i = 0; i < scale.memory.size(); ++i) scale.memory[i] = factor * static_cast<float>(i + 1);
    Given given{{&x, &w, nullptr, &scale}, &y, {}};
    Ready ready = make(call, given, of);
    ready.weight = {stored, start};
    std::fill(y.memory.begin(), y.memory.end(), 0.0F);
    ready.run(given, 1);
    ran = ready.ran;
    return y.memory;
  }
  LibraryCall call;
  Tensor w, x{{2, 8, 9, 9}, {648, 1, 72, 8}}, y{{2, 8, 9, 9}, {648, 1, 72, 8}}, scale{{8}};
  Result<void> ran = {};
};

}  // namespace

TEST_CASE("factors of output channels are multiplied into weights of every layout") {
  for (const bool transposed : {false, true}) {
    for (const std::int64_t groups : {1, 2, 8}) {
      const Sizes sizes{8, 8 / groups, 3, 3};
      for (const Sizes& strides : {dense_strides(sizes), Sizes{sizes[1] * 9, 1, sizes[1] * 3, sizes[1]},
                                   Sizes{sizes[1] * 20, 20, 5, 1}}) {
        ScaledConvolution scaled(Tensor(sizes, strides), groups, transposed);
        const std::vector<float> actual = scaled.run(library(), nullptr);
        std::fill(scaled.scale.memory.begin(), scaled.scale.memory.end(), 1.0F);
        Given plain{{&scaled.x, &scaled.w, nullptr, nullptr}, &scaled.y, {}};
        make(scaled.call, plain).run(plain, 1);
        for (std::size_t i = 0; i < actual.size(); ++i) {
          CHECK(actual[i] == doctest::Approx(scaled.y.memory[i] * static_cast<float>(i % 8 + 1)).epsilon(1e-4));
        }
      }
    }
  }
}

TEST_CASE("what was packed of a stored weight is found again, and nothing else is") {
  auto store = std::make_shared<MemoryStore>();
  const auto fresh = [&] { return *open_library(false, store); };
  ScaledConvolution scaled(Tensor({8, 8, 3, 3}), 1, false);
  NamedTensor weight("weight"), other("other");
  const std::vector<float> expected = scaled.run(*fresh(), &weight);
  CHECK(weight.checks == 1);
  REQUIRE(store->kept.size() == 1);
  CHECK(store->kept.begin()->first.find(" isa ") != std::string::npos);

  weight.whole = false;  // nobody looks at what is not read
  CHECK(scaled.run(*fresh(), &weight) == expected);
  CHECK(scaled.ran.has_value());
  CHECK(store->hits == 1);
  CHECK(weight.checks == 1);
  weight.whole = true;

  // Another tensor, another part of it, other factors, another layout.
  scaled.run(*fresh(), &other);
  scaled.run(*fresh(), &weight, 64);
  scaled.run(*fresh(), &weight, 0, 2);
  ScaledConvolution(Tensor({8, 8, 3, 3}, {72, 1, 24, 8}), 1, false).run(*fresh(), &weight);
  CHECK(store->hits == 1);
  CHECK(store->kept.size() == 5);
  // What lies in no store is not kept in one.
  scaled.run(*fresh(), nullptr);
  CHECK(store->hits == 1);
  CHECK(store->kept.size() == 5);

  store->kept.clear();
  weight.whole = false;
  scaled.run(*fresh(), &weight);
  REQUIRE(!scaled.ran.has_value());
  CHECK(scaled.ran.error().code == Code::PS0207);
  CHECK(store->kept.empty());
}

TEST_CASE("pooling") {
  Tensor x({2, 4, 9, 9}), y({2, 4, 4, 4});
  for (bool max : {true, false}) {
    LibraryCall call;
    call.name = max ? "pool_max" : "pool_avg";
    call.attributes = {ints("kernel_size", {3, 3}), ints("stride", {2, 2}), ints("padding", {0, 0}),
                       {"ceil_mode", false}, {"count_include_pad", true}};
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

TEST_CASE("products of float64 have the sums of plain loops, in layouts and beyond a tile") {
  struct Shape {
    std::int64_t batch, rows, inner, columns;
    bool turned, shared;  ///< `a` lies by columns; one matrix `b` serves all
  };
  for (const Shape& s : {Shape{1, 101, 300, 270, false, false}, {3, 7, 5, 17, true, false}, {2, 1, 9, 33, false, true}, {2, 4, 0, 3, false, false}}) {
    auto fill = [](std::int64_t count, double seed) {
      std::vector<double> numbers(static_cast<std::size_t>(std::max<std::int64_t>(count, 1)));
      for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = std::sin(seed + static_cast<double>(i) * 0.7);
      return numbers;
    };
    std::int64_t size_a = s.rows * s.inner, size_b = s.inner * s.columns, size_out = s.rows * s.columns;
    std::vector<double> a = fill(s.batch * size_a, 1), b = fill(s.batch * size_b, 2), bias = fill(s.columns, 3),
                        more = fill(s.batch * size_out, 4), out(static_cast<std::size_t>(s.batch * size_out));
    Operand as{DType::float64, {s.batch, s.rows, s.inner}, {size_a, s.turned ? 1 : s.inner, s.turned ? s.rows : 1}};
    Operand bs{DType::float64, {s.shared ? 1 : s.batch, s.inner, s.columns}, {size_b, s.columns, 1}};
    Operand outs{DType::float64, {s.batch, s.rows, s.columns}, {size_out, s.columns, 1}};
    LibraryCall call;
    call.name = "matmul";
    call.post_ops = {{PostOp::Kind::scale, 0.5, 0, kNoBuffer}, {PostOp::Kind::add, 0, 0, 0}};
    auto kernel = library().make(call, {{as, bs, {DType::float64, {s.columns}, {1}}}, {outs}, {outs}, {true, true, true}});
    REQUIRE_MESSAGE(kernel.has_value(), kernel.error().message);
    std::vector<void*> inputs = {a.data(), b.data(), bias.data()}, outputs = {out.data()}, added = {more.data()};
    std::vector<std::uint64_t> versions(3, kUnversioned);
    std::shared_ptr<void> scratch(std::aligned_alloc(64, ((*kernel)->scratch_bytes() + 127) / 64 * 64), std::free);
    REQUIRE((*kernel)->run({inputs, outputs, added, versions, scratch.get()}));
    double worst = 0;
    for_each_index(outs.sizes, [&](const Sizes& at) {
      double sum = bias[static_cast<std::size_t>(at[2])];
      for (std::int64_t k = 0; k < s.inner; ++k) {
        sum += a[static_cast<std::size_t>(at[0] * size_a + at[1] * as.strides[1] + k * as.strides[2])] *
               b[static_cast<std::size_t>((s.shared ? 0 : at[0]) * size_b + k * s.columns + at[2])];
      }
      auto place = static_cast<std::size_t>(at[0] * size_out + at[1] * s.columns + at[2]);
      worst = std::max(worst, std::fabs(out[place] - (sum * 0.5 + more[place])));
    });
    CHECK(worst < 1e-12);
  }
}

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
  // Among them sums that oneDNN blocks by the number of threads: few results, long sums, a transposed operand.
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
      Tensor x({1, 64, edge, edge}, {64 * edge * edge, 1, 64 * edge, 64}), w({64, 64 / groups, 7, 7});
      Tensor y({1, 64, edge, edge}, {64 * edge * edge, 1, 64 * edge, 64});
      LibraryCall call;
      call.name = "convolution";
      call.attributes = {ints("stride", {1, 1}), ints("padding", {6, 6}), ints("dilation", {2, 2}),
                         {"transposed", false}, ints("output_padding", {0, 0}), {"groups", groups}};
      check(call, {{&x, &w, nullptr}, &y, {}});
    }
  }
  team.resize(before);
}

}  // namespace penstock::runtime
