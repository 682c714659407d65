// Bundles for a device under a driver that is not one.
#pragma once

#include <dlfcn.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <deque>
#include <numeric>
#include <utility>

#include "fake_cuda.h"
#include "runtime/cuda/driver.h"
#include "runtime/executor.h"

namespace penstock::runtime {

/// The fake driver, in the process under the real one's name before anyone asks for that.
struct Fake {
  void* library = dlopen(PENSTOCK_TEST_CUDA, RTLD_NOW | RTLD_GLOBAL);
  template <class F>
  F find(const char* name) const {
    return reinterpret_cast<F>(dlsym(library, name));
  }
  FakeCuda& facts = *find<decltype(&fake_cuda)>("fake_cuda")();
  decltype(&fake_cuda_put) put = find<decltype(&fake_cuda_put)>("fake_cuda_put");
  decltype(&fake_cuda_put_host_copy) put_host_copy =
      find<decltype(&fake_cuda_put_host_copy)>("fake_cuda_put_host_copy");
};

inline Fake& fake() {
  static Fake fake;
  return fake;
}

inline int g_default = 0, g_other = 0;
inline void* g_stream = &g_default;  // torch's current one

/// As torch's: what is acquired while a graph is recorded is never given to anyone but other
/// graphs.
class Memory final : public MemoryPool {
 public:
  void* acquire(std::size_t bytes) override {
    if (!redirected) return MemoryPool::acquire(bytes);
    const auto fits = [&](const Block& block) { return block.free && block.bytes >= bytes; };
    auto found = std::ranges::find_if(graphs, fits);
    if (found == graphs.end())
      found = graphs.insert(found, {std::aligned_alloc(64, (bytes + 63) / 64 * 64), bytes, true});
    found->free = false;
    return found->at;
  }
  void release(void* block) override {
    const auto found = std::ranges::find(graphs, block, &Block::at);
    if (found == graphs.end()) return MemoryPool::release(block);
    found->free = true;
  }
  ~Memory() override {
    for (const Block& block : graphs) std::free(block.at);
  }
  bool redirected = false;

 private:
  struct Block {
    void* at;
    std::size_t bytes;
    bool free;
  };
  std::vector<Block> graphs;
};

class Blobs final : public BlobSource {
 public:
  Result<std::string_view> code(const std::string&) override { return "ptx"; }
  Result<void> check_code(const std::string&, std::string_view) override { return {}; }
  Result<std::string_view> constant(const std::string&) override { return "none"; }
};

/// torch's op: out[i] = in[i] + 1, in memory of its own or, where it may not be kept, the output's.
class Torch final : public FallbackRunner {
 public:
  bool adopts = true, copies_from_host = false, fails = false;
  std::uint64_t setting = 1;
  int begun = 0, refused = 0;
  bool expects_adoption = true;
  std::deque<std::array<float, 64>> results;
  Result<void> begin() override {
    ++begun;
    return {};
  }
  std::uint64_t settings() override { return setting; }
  Result<void> run(const FallbackCall&, const std::function<TensorWindow(BufferId)>&) override {
    return failure(Code::PS0801, "not on the host");
  }
  Result<void> run_on_device(const FallbackCall& call,
                             const std::function<TensorWindow(BufferId)>& window,
                             const Adopt& adopt) override {
    if (fails && g_stream != &g_default) return failure(Code::PS0505, "it waits for the device");
    if (copies_from_host) fake().put_host_copy(g_stream);
    const ValueId id = call.arguments.front().value.as<Argument::Value>()->id;
    const auto* in = static_cast<const float*>(window(static_cast<BufferId>(id)).data);
    auto* out = static_cast<float*>(window(call.outputs[0]).data);
    if (adopts) out = results.emplace_back().data();
    if (adopts && !adopt(call.outputs[0], out)) {
      REQUIRE(!expects_adoption);
      ++refused;
      out = static_cast<float*>(window(call.outputs[0]).data);
    }
    fake().put(g_stream, [in, out] {
      for (int i = 0; i < 8; ++i) out[i] = in[i] + 1;
    });
    return {};
  }
};

inline TensorType vector_of_8() {
  TensorType type;
  type.sizes = {8};
  type.strides = {1};
  type.device = "cuda:0";
  return type;
}

inline BufferId add_buffer(KernelBundle& bundle, Buffer::Kind kind, std::int32_t index) {
  Buffer buffer;
  buffer.name = "b" + std::to_string(bundle.buffers.size());
  buffer.kind = kind;
  buffer.index = index;
  buffer.sizes = {8};
  buffer.strides = {1};
  buffer.bytes = 64;
  if (kind == Buffer::Kind::temporary) {
    buffer.arena_offset = bundle.arena_bytes;
    bundle.arena_bytes = bundle.arena_bytes + SymExpr(64);
  }
  bundle.buffers.push_back(std::move(buffer));
  return static_cast<BufferId>(bundle.buffers.size() - 1);
}

inline KernelCall kernel(const char* function, std::vector<BufferId> buffers) {
  KernelCall call;
  call.name = call.function = function;
  call.buffers = std::move(buffers);
  call.launch = Launch();
  return call;
}

inline FallbackCall torch_op(BufferId in, BufferId out) {
  FallbackCall call;
  call.op = "aten.op.default";
  call.arguments = {{"self", Argument::Value{static_cast<ValueId>(in)}}};
  call.outputs = {out};
  return call;
}

/// A view of a buffer, in its sizes.
inline Buffer view_of(const KernelBundle& bundle, BufferId base) {
  Buffer view = bundle.buffers[static_cast<std::size_t>(base)];
  view.name = "view";
  view.kind = Buffer::Kind::view;
  view.base = base;
  return view;
}

/// Two inputs and two outputs: first = torch(x) + 2 w, second = torch(first), which is 2 more.
inline KernelBundle two_outputs() {
  KernelBundle bundle;
  bundle.device = "cuda:0";
  bundle.code = {{"sm_80", {}, "blob", "", "ptx"}};
  for (const char* name : {"x", "w"}) {
    Input input;
    input.name = name;
    input.type = vector_of_8();
    bundle.interface.inputs.push_back(std::move(input));
  }
  for (int i = 0; i < 2; ++i) bundle.interface.outputs.push_back({vector_of_8(), {}, ""});
  const BufferId x = add_buffer(bundle, Buffer::Kind::input, 0);
  const BufferId w = add_buffer(bundle, Buffer::Kind::input, 1);
  const BufferId one = add_buffer(bundle, Buffer::Kind::temporary, -1);
  const BufferId two = add_buffer(bundle, Buffer::Kind::temporary, -1);
  const BufferId first = add_buffer(bundle, Buffer::Kind::output, 0);
  const BufferId second = add_buffer(bundle, Buffer::Kind::output, 1);
  bundle.outputs = {first, second};
  bundle.steps = {torch_op(x, one), kernel("doubled", {w, two}), kernel("added", {one, two, first}),
                  torch_op(first, second)};
  return bundle;
}

/// Of a process that has done nothing on the device yet.
inline std::shared_ptr<Runtime> new_runtime() {
  g_stream = &g_default;
  fake().facts = FakeCuda();
  auto runtime = std::make_shared<Runtime>();
  runtime->open_device = [memory = std::make_shared<Memory>()](const std::string&) {
    cuda::Host host;
    host.memory = memory;
    host.current_stream = [] { return g_stream; };
    host.redirect = [memory](void* stream) {
      memory->redirected = true;
      return std::shared_ptr<void>(std::exchange(g_stream, stream), [memory](void* before) {
        memory->redirected = false;
        g_stream = before;
      });
    };
    return cuda::open_device(0, std::move(host));
  };
  return runtime;
}

/// An executor of it, and tensors that move from call to call or do not.
struct Running {
  Torch torch;
  Blobs blobs;
  std::unique_ptr<Executor> executor;
  struct alignas(64) Eight {
    float at[16];
  };
  std::deque<Eight> tensors;

  explicit Running(KernelBundle bundle = two_outputs(),
                   std::shared_ptr<Runtime> runtime = new_runtime()) {
    auto made = Executor::create(std::move(runtime), std::move(bundle), blobs, &torch);
    REQUIRE_MESSAGE(made, (made ? "" : made.error().message));
    executor = std::move(*made);
  }

  float* tensor(float value) {
    tensors.emplace_back();
    std::iota(tensors.back().at, tensors.back().at + 16, value);
    return tensors.back().at;
  }

  /// Runs it; the outputs are the last of `kept`.
  void call(float* x, float* w) {
    const std::int64_t size = 8, stride = 1;
    std::array<TensorArgument, 2> inputs = {TensorArgument{x, {&size, 1}, {&stride, 1}},
                                            TensorArgument{w, {&size, 1}, {&stride, 1}}};
    std::array<OutputTensor, 2> outputs;
    auto done = executor->run(inputs, outputs);
    REQUIRE_MESSAGE(done, (done ? "" : done.error().message));
    kept.push_back(std::move(outputs));
  }
  /// Whether both outputs are what they should be, in memory of their own.
  bool right(float* x, float* w) {
    call(x, w);
    const auto& outputs = kept.back();
    bool good = outputs[0].data != outputs[1].data;
    for (int i = 0; i < 8; ++i) {
      const float first = x[i] + 1 + 2 * w[i];
      good = good && static_cast<float*>(outputs[0].data)[i] == first &&
             static_cast<float*>(outputs[1].data)[i] == first + 1;
    }
    return good;
  }
  std::deque<std::array<OutputTensor, 2>> kept;  // so that the next run's are elsewhere
};

}  // namespace penstock::runtime
