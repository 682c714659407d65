// A CUDA driver for tests, under the name of the real one: memory is the host's, kernels are the
// functions below, and a stream does at once what it is given, unless it is captured.
#include "fake_cuda.h"

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace {

enum : int { kSuccess = 0, kInvalid = 1, kCopyNode = 1, kKernelNode = 0 };

/// out[i] = 2 * in[i], and out[i] = one[i] + other[i], of eight elements.
void doubled(void** parameters) {
  float *in = *static_cast<float**>(parameters[0]), *out = *static_cast<float**>(parameters[1]);
  for (int i = 0; i < 8; ++i) out[i] = 2 * in[i];
}
void added(void** parameters) {
  float *one = *static_cast<float**>(parameters[0]), *other = *static_cast<float**>(parameters[1]);
  float* out = *static_cast<float**>(parameters[2]);
  for (int i = 0; i < 8; ++i) out[i] = one[i] + other[i];
}

/// As runtime/cuda/index_check.cpp says.
void check_indices(void** parameters) {
  const auto number = [&](int i) { return *static_cast<std::int64_t*>(parameters[i]); };
  const auto* places = *static_cast<const std::int64_t**>(parameters[0]);
  for (std::int64_t i = 0; i < number(1); ++i) {
    const bool good = (places[i] >= number(2) && places[i] < number(3)) || places[i] == number(4);
    fake_cuda()->bad_indices += !good;
  }
}

struct Kernel {
  void (*run)(void** parameters);
  int parameters;
};
const std::map<std::string, Kernel> kKernels = {
    {"doubled", {doubled, 2}}, {"added", {added, 3}}, {"check_indices_64", {check_indices, 5}}};

struct Node {
  int type = kKernelNode;
  const Kernel* kernel = nullptr;
  std::vector<std::uint64_t> words;
  std::function<void()> other;
  unsigned from_type = 2;  // of a copy
  void run() {
    if (other) return other();
    std::vector<void*> parameters;
    for (std::uint64_t& word : words) parameters.push_back(&word);
    kernel->run(parameters.data());
  }
  void set(void** parameters) {
    words.resize(static_cast<std::size_t>(kernel->parameters));
    for (std::size_t i = 0; i < words.size(); ++i) std::memcpy(&words[i], parameters[i], 8);
  }
};

struct Graph {
  std::vector<std::unique_ptr<Node>> nodes;
};

FakeCuda g_facts;
std::map<void*, std::unique_ptr<Graph>> g_captured;  // by stream
void* g_last = nullptr;
int g_context = 0, g_streams[4];
void* g_current = &g_context;

Graph* captured(void* stream) {
  const auto found = g_captured.find(stream);
  return found == g_captured.end() ? nullptr : found->second.get();
}

void put(void* stream, std::unique_ptr<Node> node) {
  Graph* graph = captured(stream);
  if (graph == nullptr) return node->run();
  g_last = node.get();
  graph->nodes.push_back(std::move(node));
}

}  // namespace

extern "C" {

FakeCuda* fake_cuda() {
  return &g_facts;
}
void fake_cuda_put(void* stream, std::function<void()> work) {
  auto node = std::make_unique<Node>();
  node->other = std::move(work);
  put(stream, std::move(node));
}
void fake_cuda_put_host_copy(void* stream) {
  auto node = std::make_unique<Node>();
  node->type = kCopyNode;
  node->from_type = 1;
  node->other = [] {};
  put(stream, std::move(node));
}

int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return kSuccess;
}
int cuDeviceGetAttribute(int* value, int, int) {
  *value = 9;
  return kSuccess;
}
int cuDeviceGetName(char* name, int length, int) {
  std::strncpy(name, "Fake", static_cast<std::size_t>(length));
  return kSuccess;
}
int cuDriverGetVersion(int* version) {
  *version = 13000;
  return kSuccess;
}
int cuDevicePrimaryCtxRetain(void** context, int) {
  *context = &g_context;
  return kSuccess;
}
int cuCtxGetCurrent(void** context) {
  *context = g_current;
  return kSuccess;
}
int cuCtxSetCurrent(void* context) {
  g_current = context;
  return kSuccess;
}
int cuModuleLoadDataEx(void** module, const void*, unsigned, int*, void**) {
  *module = &g_facts;
  return kSuccess;
}
int cuModuleUnload(void*) {
  return kSuccess;
}
int cuModuleGetFunction(void** function, void*, const char* name) {
  const auto found = kKernels.find(name);
  if (found == kKernels.end()) return kInvalid;
  *function = const_cast<Kernel*>(&found->second);
  return kSuccess;
}
int cuLaunchKernel(void* function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                   unsigned, void* stream, void** parameters, void**) {
  ++g_facts.launches;
  auto node = std::make_unique<Node>();
  node->kernel = static_cast<Kernel*>(function);
  node->set(parameters);
  put(stream, std::move(node));
  return kSuccess;
}
int cuMemcpyHtoD_v2(std::uint64_t to, const void* from, std::size_t bytes) {
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return kSuccess;
}
int cuMemcpyDtoDAsync_v2(std::uint64_t to, std::uint64_t from, std::size_t bytes, void* stream) {
  ++g_facts.copies;
  fake_cuda_put(stream, [=] {
    std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes);
  });
  return kSuccess;
}
int cuStreamSynchronize(void*) {
  return kSuccess;
}
int cuStreamIsCapturing(void* stream, int* state) {
  *state = captured(stream) != nullptr || g_facts.program_captures == stream;
  return kSuccess;
}
int cuGetErrorString(int, const char** text) {
  *text = "fake";
  return kSuccess;
}
int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  *total = 8000;
  *free = g_facts.free_memory;
  return kSuccess;
}
int cuStreamCreate(void** stream, unsigned) {
  *stream = &g_streams[0];
  return kSuccess;
}
int cuStreamBeginCapture_v2(void* stream, int) {
  g_captured[stream] = std::make_unique<Graph>();
  return kSuccess;
}
int cuStreamEndCapture(void* stream, void** graph) {
  *graph = g_captured[stream].release();
  g_captured.erase(stream);
  return kSuccess;
}
int cuStreamGetCaptureInfo_v2(void*, int* state, std::uint64_t*, void**, void* const** nodes,
                              std::size_t* count) {
  *state = 1;
  *nodes = &g_last;
  *count = 1;
  return kSuccess;
}
int cuGraphGetNodes(void* graph, void** nodes, std::size_t* count) {
  const auto& all = static_cast<Graph*>(graph)->nodes;
  *count = all.size();
  for (std::size_t i = 0; nodes != nullptr && i < all.size(); ++i) nodes[i] = all[i].get();
  return kSuccess;
}
int cuGraphNodeGetType(void* node, int* type) {
  *type = static_cast<Node*>(node)->type;
  return kSuccess;
}
int cuGraphMemcpyNodeGetParams(void* node, void* copy) {
  // CUDA_MEMCPY3D: srcMemoryType and dstMemoryType stand behind four sizes of their end.
  const unsigned device = 2;
  std::memcpy(static_cast<char*>(copy) + 32, &static_cast<Node*>(node)->from_type, 4);
  std::memcpy(static_cast<char*>(copy) + 88 + 32, &device, 4);
  return kSuccess;
}
int cuPointerGetAttribute(void* value, int, std::uint64_t) {
  *static_cast<unsigned*>(value) = 2;
  return kSuccess;
}
int cuGraphInstantiateWithFlags(void** executable, void* graph, unsigned long long) {
  if (g_facts.refuses_graphs) return kInvalid;
  ++g_facts.graphs;
  ++g_facts.alive;
  *executable = graph;
  return kSuccess;
}
int cuGraphExecKernelNodeSetParams_v2(void*, void* node, const void* kernel) {
  ++g_facts.updates;
  void** parameters = nullptr;
  std::memcpy(&parameters, static_cast<const char*>(kernel) + 40, 8);
  static_cast<Node*>(node)->set(parameters);
  return kSuccess;
}
int cuGraphLaunch(void* executable, void* stream) {
  ++g_facts.graph_launches;
  g_facts.stream = stream;
  for (const auto& node : static_cast<Graph*>(executable)->nodes) node->run();
  return kSuccess;
}
int cuGraphExecDestroy(void*) {
  --g_facts.alive;
  return kSuccess;
}
int cuGraphDestroy(void* graph) {
  delete static_cast<Graph*>(graph);
  return kSuccess;
}

}  // extern "C"
