// Products of a GPU's library, under one that is not: what it is told for operands that lie in any
// way, and in a bundle, recorded and not.
#include <dlfcn.h>
#include <doctest/doctest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "device_harness.h"
#include "fake_cublaslt.h"
#include "runtime/cuda/products.h"

namespace penstock::runtime {

namespace {

FakeCublaslt& library_facts() {
  static void* const library = dlopen(PENSTOCK_TEST_CUBLASLT, RTLD_NOW | RTLD_GLOBAL);
  return *reinterpret_cast<decltype(&fake_cublaslt)>(dlsym(library, "fake_cublaslt"))();
}

using Numbers = std::vector<std::int64_t>;

/// A window of so many elements' reach, filled with small numbers.
struct Tensor {
  Operand operand;
  std::vector<float> memory;
  Tensor(Numbers sizes, Numbers strides, float first) {
    std::int64_t last = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) last += (sizes[i] - 1) * strides[i];
    operand = {DType::float32, std::move(sizes), std::move(strides)};
    memory.resize(static_cast<std::size_t>(last) + 1);
    for (std::size_t i = 0; i < memory.size(); ++i)
      memory[i] = std::sin(first + static_cast<float>(i));
  }
  float at(const Numbers& index) const {
    std::int64_t place = 0;
    for (std::size_t i = 0; i < index.size(); ++i)
      place += operand.sizes[i] == 1 ? 0 : index[i] * operand.strides[i];
    return memory[static_cast<std::size_t>(place)];
  }
};

struct Case {
  Tensor left, right, out;
  std::optional<Tensor> bias = {};
  std::vector<PostOp> post_ops = {};
  std::vector<Tensor> operands = {};

  LibraryCall call() const {
    LibraryCall made;
    made.name = "matmul";
    made.inputs = {0, 1, bias ? 2 : kNoBuffer};
    made.outputs = {3};
    made.post_ops = post_ops;
    for (PostOp& op : made.post_ops) {
      if (op.kind == PostOp::Kind::add) op.operand = 4;
    }
    return made;
  }
  Result<std::unique_ptr<LibraryKernel>> make(Library& library) const {
    LibraryOperands made;
    made.inputs = {left.operand, right.operand, bias ? bias->operand : Operand()};
    made.present = {true, true, bias.has_value()};
    made.outputs = {out.operand};
    for (const Tensor& tensor : operands) made.post_ops.push_back(tensor.operand);
    return library.make(call(), made);
  }
  float expected(Numbers index) const {
    Numbers a = index, b = index;
    float sum = 0;
    for (std::int64_t k = 0; k < left.operand.sizes.back(); ++k) {
      a.back() = k;
      b[b.size() - 2] = k;
      sum += left.at(a) * right.at(b);
    }
    if (bias)
      sum += bias->memory[static_cast<std::size_t>(index.back() * bias->operand.strides[0])];
    std::size_t next = 0;
    for (const PostOp& op : post_ops) {
      const float operand = op.kind == PostOp::Kind::add ? operands[next++].at(index) : 0;
      sum = static_cast<float>(apply(op, sum, operand, 0));
    }
    return sum;
  }
  bool right_everywhere() const {
    Numbers index(out.operand.sizes.size());
    while (true) {
      if (std::fabs(out.at(index) - expected(index)) > 1e-4F) return false;
      std::size_t i = index.size();
      while (i > 0 && ++index[i - 1] == out.operand.sizes[i - 1]) index[--i] = 0;
      if (i == 0) return true;
    }
  }
};

/// Opens the library with memory of the host's.
std::unique_ptr<Library> open(bool tf32 = false) {
  library_facts() = FakeCublaslt();
  fake().facts = FakeCuda();
  auto library = cuda::open_products(
      {std::make_shared<MemoryPool>(), [] { return &g_default; }, [tf32] { return tf32; }});
  REQUIRE(library != nullptr);
  return library;
}

/// Runs it twice; how many products the library was asked for in the second run.
int run(Case& made, Library& library) {
  auto kernel = made.make(library);
  REQUIRE_MESSAGE(kernel, (kernel ? "" : kernel.error().message));
  std::vector<void*> inputs = {made.left.memory.data(), made.right.memory.data(),
                               made.bias ? made.bias->memory.data() : nullptr};
  std::vector<void*> outputs = {made.out.memory.data()}, operands;
  for (Tensor& tensor : made.operands) operands.push_back(tensor.memory.data());
  LibraryMemory memory{inputs, outputs, operands, {}};
  REQUIRE((*kernel)->run(memory));
  const int choices = library_facts().choices, products = library_facts().products;
  auto done = (*kernel)->run(memory);
  REQUIRE_MESSAGE(done, (done ? "" : done.error().message));
  CHECK(library_facts().choices == choices);  // chosen once
  return library_facts().products - products;
}

TEST_CASE("products of operands in any order") {
  auto library = open();
  const std::vector<Numbers> left = {{7, 1}, {1, 3}, {9, 1}}, right = {{5, 1}, {1, 7}, {6, 1}},
                             out = {{5, 1}, {8, 1}, {1, 3}};
  for (const Numbers& a : left) {
    for (const Numbers& b : right) {
      for (const Numbers& o : out) {
        Case made{{{3, 7}, a, 1}, {{7, 5}, b, 2}, {{3, 5}, o, 3}};
        run(made, *library);
        CHECK(made.right_everywhere());
      }
    }
  }
}

TEST_CASE("one row, one column, one of each, and one between") {
  auto library = open();
  for (const Numbers& sizes : {Numbers{1, 7, 5}, {3, 7, 1}, {1, 7, 1}, {3, 1, 5}, {1, 1, 1}}) {
    const std::int64_t m = sizes[0], k = sizes[1], n = sizes[2];
    for (const bool turned : {false, true}) {
      Case made{{{m, k}, turned ? Numbers{1, m} : Numbers{k, 1}, 1},
                {{k, n}, turned ? Numbers{1, k} : Numbers{n, 1}, 2},
                {{m, n}, {n, 1}, 3}};
      run(made, *library);
      CHECK(made.right_everywhere());
    }
  }
}

TEST_CASE("batches of several dims, of which one is the library's") {
  auto library = open();
  // As attention's: heads lie inside of rows, and one factor is the same for all of a dim.
  Case made{{{2, 3, 4, 5}, {60, 5, 15, 1}, 1},
            {{2, 1, 5, 6}, {30, 7, 1, 5}, 2},
            {{2, 3, 4, 6}, {72, 6, 18, 1}, 3}};
  CHECK(run(made, *library) == 2);
  CHECK(made.right_everywhere());
}

TEST_CASE("epilogues are one product") {
  using Kind = PostOp::Kind;
  const Tensor bias({5}, {1}, 4), residual({3, 5}, {6, 1}, 5), row({1, 5}, {0, 1}, 6);
  const PostOp add{Kind::add}, relu{Kind::relu}, gelu{Kind::gelu_tanh}, half{Kind::scale, 0.5};
  const Case plain{{{3, 7}, {7, 1}, 1}, {{7, 5}, {1, 7}, 2}, {{3, 5}, {5, 1}, 3}};
  const auto with = [&](bool has_bias, std::vector<PostOp> ops, std::vector<Tensor> operands) {
    Case made = plain;
    if (has_bias) made.bias = bias;
    made.post_ops = std::move(ops);
    made.operands = std::move(operands);
    return made;
  };
  auto library = open();
  for (Case made :
       {with(true, {}, {}), with(true, {relu}, {}), with(true, {gelu}, {}), with(false, {gelu}, {}),
        with(true, {add}, {residual}), with(false, {half, add, add, relu}, {residual, row})}) {
    CHECK(run(made, *library) == 1);
    CHECK(made.right_everywhere());
  }
  // What is none:
  for (Case made : {with(true, {half}, {}), with(false, {relu, add}, {residual}),
                    with(false, {{Kind::gelu_erf}}, {}), with(true, {add}, {row}),
                    with(false, {add, add}, {residual, residual})})
    CHECK(!made.make(*library));
}

TEST_CASE("odd rows at even places are whole vectors, and the rest") {
  auto library = open();
  Case made{{{3, 7}, {7, 1}, 1}, {{7, 10}, {1, 7}, 2}, {{3, 10}, {12, 1}, 3}};
  made.bias = Tensor({10}, {1}, 4);
  made.post_ops = {{PostOp::Kind::add}};
  made.operands = {Tensor({3, 10}, {10, 1}, 5)};
  CHECK(run(made, *library) == 2);
  CHECK(made.right_everywhere());
  Case plain{{{3, 7}, {7, 1}, 1}, {{7, 10}, {10, 1}, 2}, {{3, 10}, {12, 1}, 3}};
  CHECK(run(plain, *library) == 2);
  CHECK(plain.right_everywhere());
}

TEST_CASE("factors are rounded where the program allows it") {
  for (const bool allowed : {false, true}) {
    auto library = open(allowed);
    Case made{{{3, 7}, {7, 1}, 1}, {{7, 5}, {5, 1}, 2}, {{3, 5}, {5, 1}, 3}};
    run(made, *library);
    CHECK(library_facts().compute == (allowed ? 77 : 68));
  }
}

TEST_CASE("what is refused") {
  auto library = open();
  Case walks{{{3, 7}, {14, 2}, 1}, {{7, 5}, {5, 1}, 2}, {{3, 5}, {5, 1}, 3}};
  CHECK(!walks.make(*library));
  Case repeats{{{3, 7}, {0, 1}, 1}, {{7, 5}, {5, 1}, 2}, {{3, 5}, {5, 1}, 3}};
  CHECK(!repeats.make(*library));
  Case turned{{{3, 7}, {7, 1}, 1}, {{7, 5}, {5, 1}, 2}, {{3, 5}, {1, 3}, 3}};
  turned.bias = Tensor({5}, {1}, 4);
  CHECK(!turned.make(*library));
  library_facts().knows_none = true;
  Case unknown{{{3, 7}, {7, 1}, 1}, {{7, 5}, {5, 1}, 2}, {{3, 5}, {5, 1}, 3}};
  auto kernel = unknown.make(*library);
  REQUIRE(kernel);
  std::vector<void*> inputs = {unknown.left.memory.data(), unknown.right.memory.data(), nullptr},
                     outputs = {unknown.out.memory.data()};
  CHECK(!(*kernel)->run({inputs, outputs, {}, {}}));
}

TEST_CASE("nothing stays behind") {
  {
    auto library = open();
    Case made{{{3, 7}, {7, 1}, 1}, {{7, 5}, {5, 1}, 2}, {{3, 5}, {5, 1}, 3}};
    run(made, *library);
    CHECK(library_facts().alive == 0);
  }
  auto library = open();
  library_facts().workspace = 4096;
  Case made{{{3, 7}, {7, 1}, 1}, {{7, 5}, {5, 1}, 2}, {{3, 5}, {5, 1}, 3}};
  run(made, *library);
  CHECK(made.right_everywhere());
}

/// The bundle with x times w's first element in the place of torch's x + 1.
KernelBundle with_product() {
  KernelBundle bundle = two_outputs();
  LibraryCall product;
  product.name = "matmul";
  product.inputs = {0, 1, kNoBuffer};
  product.outputs = {2};
  for (BufferId* id : {&product.inputs[0], &product.inputs[1], &product.outputs[0]}) {
    Buffer view = view_of(bundle, *id);
    view.sizes = {*id == 1 ? 1 : 8, 1};
    view.strides = {1, 1};
    bundle.buffers.push_back(std::move(view));
    *id = static_cast<BufferId>(bundle.buffers.size() - 1);
  }
  bundle.steps.front() = std::move(product);
  return bundle;
}

bool right(Running& running, float* x, float* w) {
  running.call(x, w);
  const auto& outputs = running.kept.back();
  bool good = true;
  for (int i = 0; i < 8; ++i) {
    const float first = x[i] * w[0] + 2 * w[i];
    good = good && static_cast<float*>(outputs[0].data)[i] == first &&
           static_cast<float*>(outputs[1].data)[i] == first + 1;
  }
  return good;
}

TEST_CASE("products are part of a bundle's graph") {
  library_facts() = FakeCublaslt();
  library_facts().workspace = 256;
  Running running(with_product());
  float *x = running.tensor(1), *w = running.tensor(100);
  for (int i = 0; i < 4; ++i) CHECK(right(running, x, w));
  CHECK(fake().facts.graphs == 1);
  CHECK(fake().facts.graph_launches == 3);
  CHECK(library_facts().products == 2);  // run, and recorded
}

TEST_CASE("what a product reads is copied where it moves, and its weights are not") {
  library_facts() = FakeCublaslt();
  Running running(with_product());
  for (float value = 0; value < 6; ++value)
    CHECK(right(running, running.tensor(value), running.tensor(100 + value)));
  CHECK(fake().facts.graphs == 1);
  CHECK(library_facts().products == 2);
  KernelBundle bundle = with_product();
  bundle.interface.inputs[1].kind = InputKind::parameter;
  Running moving(std::move(bundle));
  float* x = moving.tensor(1);
  for (float value = 0; value < 20; ++value) CHECK(right(moving, x, moving.tensor(value)));
  CHECK(fake().facts.graphs == 4);
}

TEST_CASE("indices are looked at on the device, in each run") {
  KernelBundle bundle = two_outputs();
  Input places;
  places.name = "places";
  places.type = vector_of_8();
  places.type.dtype = DType::int64;
  bundle.interface.inputs[1] = places;
  bundle.buffers[1].dtype = DType::int64;
  LibraryCall check;
  check.name = "check_index";
  check.inputs = {1};
  check.attributes = {{"dim", std::int64_t{0}},
                      {"size", std::int64_t{5}},
                      {"wraps", false},
                      {"ignored", std::int64_t{-100}}};
  bundle.steps = {check, torch_op(0, 4), torch_op(4, 5)};
  Running running(std::move(bundle));
  float* x = running.tensor(1);
  alignas(64) std::int64_t at[8] = {0, 1, 2, 3, 4, -100, 0, 0};
  const auto call = [&] { running.call(x, reinterpret_cast<float*>(at)); };
  call();
  call();
  CHECK(fake().facts.bad_indices == 0);
  at[1] = 5;
  call();
  CHECK(fake().facts.bad_indices == 1);
  at[2] = -1;
  call();
  CHECK(fake().facts.bad_indices == 3);
  CHECK(fake().facts.graph_launches == 3);
}

TEST_CASE("calls that only the CPU's library has are refused") {
  KernelBundle bundle = with_product();
  std::get<LibraryCall>(bundle.steps.front()).name = "sort";
  auto runtime = std::make_shared<Runtime>();
  runtime->open_device = [](const std::string&) {
    return cuda::open_device(
        0, {std::make_shared<Memory>(), [] { return g_stream; }, nullptr, {}, {}});
  };
  Blobs blobs;
  Torch torch;
  CHECK(!Executor::create(std::move(runtime), std::move(bundle), blobs, &torch));
}

}  // namespace

}  // namespace penstock::runtime
