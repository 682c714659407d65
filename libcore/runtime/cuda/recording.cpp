// A graph is recorded by putting a run's work, kernels of ours and ops of torch's, into a stream
// that the driver is told to record; nothing is done then. Each kernel's node is what the stream's
// next work would wait for, right behind its launch: by it other parameters are set in the
// executable graph, which costs a fraction of a launch. All else (kernels of libraries, copies,
// fills) keeps its parameters.
#include "runtime/cuda/recording.h"

#include <utility>

namespace penstock::runtime::cuda {

namespace {

constexpr unsigned kNonBlocking = 1;                           // CU_STREAM_NON_BLOCKING
constexpr int kRelaxed = 2;                                    // CU_STREAM_CAPTURE_MODE_RELAXED
constexpr std::size_t kLeastFree = 8;                          // an eighth
constexpr int kMemoryType = 2;                                 // CU_POINTER_ATTRIBUTE_MEMORY_TYPE
constexpr unsigned kDevice = 2, kAny = 4;                      // CU_MEMORYTYPE_DEVICE, …_UNIFIED
enum : int { kKernel = 0, kCopy = 1, kFill = 2, kEmpty = 5 };  // CU_GRAPH_NODE_TYPE_…

/// A kernel's node needs its parameters only while it is set.
class Graph final : public DeviceGraph {
 public:
  Graph(void* graph, void* executable, std::vector<RecordedKernel> kernels,
        std::function<void*()> current_stream)
      : graph_(graph),
        executable_(executable),
        kernels_(std::move(kernels)),
        current_stream_(std::move(current_stream)) {}
  ~Graph() override {
    driver().destroy_executable(executable_);
    driver().destroy_graph(graph_);
  }

  Result<void> set_parameters(std::size_t number, void** parameters) override {
    RecordedKernel& kernel = kernels_[number];
    kernel.launch.parameters = parameters;
    return checked(driver().set_kernel(executable_, kernel.node, &kernel.launch),
                   "a kernel's parameters");
  }

  Result<void> launch() override {
    return checked(driver().launch_graph(executable_, current_stream_()), "starting a graph");
  }

 private:
  void* graph_;
  void* executable_;
  std::vector<RecordedKernel> kernels_;
  std::function<void*()> current_stream_;
};

bool is_on_device(const CopyNode::End& end) {
  if (end.type == kDevice) return true;
  unsigned type = 0;
  return end.type == kAny &&
         driver().pointer_attribute(&type, kMemoryType, end.device) == kSuccess && type == kDevice;
}

/// What the host has may be elsewhere, or be something else, when the graph is launched.
Result<void> check_nodes(void* graph) {
  std::size_t count = 0;
  if (auto done = checked(driver().list_nodes(graph, nullptr, &count), "a graph's nodes"); !done)
    return done;
  std::vector<void*> nodes(count);
  if (auto done = checked(driver().list_nodes(graph, nodes.data(), &count), "a graph's nodes");
      !done)
    return done;
  for (void* node : nodes) {
    int type = -1;
    if (auto done = checked(driver().node_type(node, &type), "a graph's node"); !done) return done;
    CopyNode copy;
    const bool good = type == kKernel || type == kFill || type == kEmpty ||
                      (type == kCopy && driver().copy_node(node, &copy) == kSuccess &&
                       is_on_device(copy.from) && is_on_device(copy.to));
    if (!good) return failure(Code::PS0811, "a graph with work of the host");
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Recording>> Recording::open() {
  if (!driver().has_graphs) return failure(Code::PS0811, "the driver has no graphs");
  void* stream = nullptr;
  if (auto done = checked(driver().make_stream(&stream, kNonBlocking), "a stream"); !done)
    return tl::unexpected(std::move(done.error()));
  return std::unique_ptr<Recording>(new Recording(stream));
}

/// Other threads go on as they like: nothing of theirs is in this stream.
Result<void> Recording::begin() {
  kernels_.clear();
  std::size_t free = 0, total = 0;
  if (auto done = checked(driver().memory_info(&free, &total), "the device's memory"); !done)
    return done;
  // What graphs work on stays theirs, and torch cannot have it back for the program.
  if (free < total / kLeastFree) return failure(Code::PS0811, "the device's memory is in use");
  return checked(driver().begin_capture(stream_, kRelaxed), "recording a stream");
}

Result<void> Recording::note_kernel(const KernelNode& launch) {
  int state = 0;
  std::uint64_t id = 0;
  void* graph = nullptr;
  void* const* nodes = nullptr;
  std::size_t count = 0;
  auto known = checked(driver().capture_info(stream_, &state, &id, &graph, &nodes, &count),
                       "a recorded kernel");
  if (!known) return known;
  if (count != 1) return failure(Code::PS0811, "a kernel has no node of its own");
  kernels_.push_back({nodes[0], launch});
  return {};
}

Result<std::unique_ptr<DeviceGraph>> Recording::end(std::function<void*()> current_stream) {
  void *graph = nullptr, *executable = nullptr;
  auto done = checked(driver().end_capture(stream_, &graph), "a recorded stream");
  if (done && graph == nullptr) done = failure(Code::PS0811, "nothing was recorded");
  if (done) done = check_nodes(graph);
  if (done) done = checked(driver().instantiate(&executable, graph, 0), "a graph");
  if (done) {
    return std::make_unique<Graph>(graph, executable, std::move(kernels_),
                                   std::move(current_stream));
  }
  if (graph != nullptr) driver().destroy_graph(graph);
  return tl::unexpected(std::move(done.error()));
}

}  // namespace penstock::runtime::cuda
