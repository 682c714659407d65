// Convolutions of a GPU's library, under one that is not: what it is told for images and post-ops,
// which of its engines is taken, and what is refused.
#include <dlfcn.h>
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "device_harness.h"
#include "fake_cudnn.h"
#include "runtime/cuda/convolutions.h"

namespace penstock::runtime {

namespace {

FakeCudnn& library_facts() {
  static void* const library = dlopen(PENSTOCK_TEST_CUDNN, RTLD_NOW | RTLD_GLOBAL);
  return *reinterpret_cast<decltype(&fake_cudnn)>(dlsym(library, "fake_cudnn"))();
}

using Numbers = std::vector<std::int64_t>;

Numbers channels_last(const Numbers& sizes) {
  return {sizes[1] * sizes[2] * sizes[3], 1, sizes[1] * sizes[3], sizes[1]};
}

/// An image that lies channels-last, filled with small numbers of both signs.
struct Image {
  Operand operand;
  alignas(16) std::vector<float> memory;
  Image(Numbers sizes, float first) {
    const Numbers strides = channels_last(sizes);
    std::size_t count = 1;
    for (std::int64_t size : sizes) count *= static_cast<std::size_t>(size);
    operand = {DType::float32, std::move(sizes), strides};
    for (std::size_t i = 0; i < count; ++i)
      memory.push_back(std::sin(first + static_cast<float>(i)));
  }
  float at(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) const {
    const Numbers& s = operand.sizes;
    return memory[static_cast<std::size_t>(((n * s[2] + h) * s[3] + w) * s[1] + c)];
  }
};

struct Case {
  Image x = Image({2, 3, 7, 6}, 1), weight = Image({5, 3, 3, 2}, 2), out = Image({2, 5, 4, 5}, 3);
  Numbers stride = {2, 1}, padding = {1, 0}, dilation = {1, 1};
  std::optional<std::vector<float>> bias = {};
  std::vector<PostOp> post_ops = {};
  std::vector<Image> operands = {};

  LibraryCall call() const {
    LibraryCall made;
    made.name = "convolution";
    made.inputs = {0, 1, bias ? 2 : kNoBuffer};
    made.outputs = {3};
    made.post_ops = post_ops;
    const auto list = [](const Numbers& numbers) {
      Argument::Sequence sequence{Argument::Sequence::Kind::list, {}};
      for (std::int64_t number : numbers) sequence.items.emplace_back(number);
      return Argument(std::move(sequence));
    };
    made.attributes = {
        {"stride", list(stride)}, {"padding", list(padding)}, {"dilation", list(dilation)}};
    for (PostOp& op : made.post_ops) {
      if (op.kind == PostOp::Kind::add) op.operand = 4;
    }
    return made;
  }
  Result<std::unique_ptr<LibraryKernel>> make(Library& library) const {
    LibraryOperands made;
    const Operand vector{DType::float32, {out.operand.sizes[1]}, {1}};
    made.inputs = {x.operand, weight.operand, bias ? vector : Operand()};
    made.present = {true, true, bias.has_value()};
    made.outputs = {out.operand};
    for (const Image& image : operands) made.post_ops.push_back(image.operand);
    return library.make(call(), made);
  }
  float convolved(std::int64_t n, std::int64_t o, std::int64_t h, std::int64_t w) const {
    float sum = bias ? (*bias)[static_cast<std::size_t>(o)] : 0;
    const Numbers &image = x.operand.sizes, &kernel = weight.operand.sizes;
    for (std::int64_t c = 0; c < kernel[1]; ++c) {
      for (std::int64_t i = 0; i < kernel[2]; ++i) {
        for (std::int64_t j = 0; j < kernel[3]; ++j) {
          const std::int64_t row = h * stride[0] + i * dilation[0] - padding[0],
                             column = w * stride[1] + j * dilation[1] - padding[1];
          if (row >= 0 && row < image[2] && column >= 0 && column < image[3])
            sum += x.at(n, c, row, column) * weight.at(o, c, i, j);
        }
      }
    }
    return sum;
  }
  bool right_everywhere() const {
    const Numbers& s = out.operand.sizes;
    for (std::int64_t n = 0; n < s[0]; ++n) {
      for (std::int64_t o = 0; o < s[1]; ++o) {
        for (std::int64_t h = 0; h < s[2]; ++h) {
          for (std::int64_t w = 0; w < s[3]; ++w) {
            float value = convolved(n, o, h, w);
            std::size_t next = 0;
            for (const PostOp& op : post_ops) {
              const Image* other = op.kind == PostOp::Kind::add ? &operands[next++] : nullptr;
              const bool row = other != nullptr && other->operand.sizes[2] == 1;
              const float addend = other == nullptr ? 0
                                   : row            ? other->at(0, o, 0, 0)
                                                    : other->at(n, o, h, w);
              value = static_cast<float>(apply(op, value, addend, 0));
            }
            if (std::fabs(out.at(n, o, h, w) - value) > 1e-4F) return false;
          }
        }
      }
    }
    return true;
  }
};

std::unique_ptr<Library> open(bool tf32 = false) {
  library_facts() = FakeCudnn();
  fake().facts = FakeCuda();
  auto library = cuda::open_convolutions(
      {std::make_shared<MemoryPool>(), [] { return &g_default; }, [tf32] { return tf32; }});
  REQUIRE(library != nullptr);
  return library;
}

/// Runs it twice.
void run(Case& made, Library& library) {
  auto kernel = made.make(library);
  REQUIRE_MESSAGE(kernel, (kernel ? "" : kernel.error().message));
  std::vector<void*> inputs = {made.x.memory.data(), made.weight.memory.data(),
                               made.bias ? made.bias->data() : nullptr};
  std::vector<void*> outputs = {made.out.memory.data()}, operands;
  for (Image& image : made.operands) operands.push_back(image.memory.data());
  const LibraryMemory memory{inputs, outputs, operands, {}};
  for (int i = 0; i < 2; ++i) {
    auto done = (*kernel)->run(memory);
    REQUIRE_MESSAGE(done, (done ? "" : done.error().message));
  }
  CHECK(library_facts().heuristics == 1);  // chosen once
}

TEST_CASE("a convolution of strides, paddings and dilations") {
  auto library = open();
  Case plain;
  run(plain, *library);
  CHECK(plain.right_everywhere());
  auto other = open();
  Case apart;
  apart.stride = {1, 2};
  apart.padding = {0, 2};
  apart.dilation = {2, 3};
  apart.out = Image({2, 5, 3, 4}, 3);
  run(apart, *other);
  CHECK(apart.right_everywhere());
}

TEST_CASE("what follows a convolution is part of its graph") {
  using Kind = PostOp::Kind;
  const Image residual({2, 5, 4, 5}, 5), row({1, 5, 1, 1}, 6);
  const PostOp add{Kind::add}, relu{Kind::relu};
  const auto with = [&](bool has_bias, std::vector<PostOp> ops, std::vector<Image> operands) {
    Case made;
    if (has_bias) made.bias = {0.5F, -1, 0.25F, 2, -0.75F};
    made.post_ops = std::move(ops);
    made.operands = std::move(operands);
    return made;
  };
  for (Case made : {with(true, {}, {}), with(false, {relu}, {}), with(true, {relu}, {}),
                    with(true, {add}, {residual}), with(true, {add, relu}, {residual}),
                    with(false, {add, add, relu}, {residual, row}), with(false, {add}, {row})}) {
    auto library = open();
    run(made, *library);
    CHECK(library_facts().convolutions == 2);
    CHECK(made.right_everywhere());
  }
  auto library = open();
  for (Case made : {with(false, {relu, add}, {residual}), with(false, {{Kind::gelu_tanh}}, {}),
                    with(false, {{Kind::scale, 0.5}}, {}), with(true, {add}, {row}),
                    with(false, {add, add}, {residual, residual}),
                    with(false, {add}, {Image({2, 5, 1, 1}, 5)})})
    CHECK(!made.make(*library));
}

TEST_CASE("engines give the same bits each time, and round factors where the program allows it") {
  for (const bool allowed : {false, true}) {
    auto library = open(allowed);
    Case made;
    run(made, *library);
    CHECK(library_facts().engine == (allowed ? 1 : 2));
  }
}

TEST_CASE("the library is told how far addresses are aligned") {
  auto library = open();
  Case made;
  std::vector<float> room(made.x.memory.size() + 8);
  auto kernel = made.make(*library);
  REQUIRE(kernel);
  const auto begin = reinterpret_cast<std::uintptr_t>(room.data());
  float* even = room.data() + (16 - begin % 16) % 16 / sizeof(float);
  alignas(16) float weight[90], out[200];
  std::copy(made.weight.memory.begin(), made.weight.memory.end(), weight);
  for (const int elements : {0, 1, 2}) {
    std::copy(made.x.memory.begin(), made.x.memory.end(), even + elements);
    std::vector<void*> inputs = {even + elements, weight, nullptr}, outputs = {out};
    REQUIRE((*kernel)->run({inputs, outputs, {}, {}}));
    CHECK(library_facts().alignment == (elements == 0 ? 16 : 4 * elements));
    std::copy(out, out + 200, made.out.memory.begin());
    CHECK(made.right_everywhere());
  }
}

TEST_CASE("images that lie otherwise are refused, and what no engine does") {
  auto library = open();
  Case rows;
  rows.x.operand.strides = {126, 42, 6, 1};
  CHECK(!rows.make(*library));
  Case weight;
  weight.weight.operand.strides = {18, 6, 2, 1};
  CHECK(!weight.make(*library));
  Case doubles;
  for (Image* image : {&doubles.x, &doubles.weight, &doubles.out})
    image->operand.dtype = DType::float64;
  CHECK(!doubles.make(*library));
  library_facts().knows_none = true;
  Case unknown;
  auto kernel = unknown.make(*library);
  REQUIRE(kernel);
  std::vector<void*> inputs = {unknown.x.memory.data(), unknown.weight.memory.data(), nullptr},
                     outputs = {unknown.out.memory.data()};
  CHECK(!(*kernel)->run({inputs, outputs, {}, {}}));
}

TEST_CASE("nothing stays behind") {
  {
    auto library = open();
    library_facts().workspace = 4096;
    Case made;
    run(made, *library);
    CHECK(made.right_everywhere());
  }
  fake().facts = FakeCuda();
  CHECK(library_facts().alive == 0);
}

}  // namespace

}  // namespace penstock::runtime
