// Convolutions by cuDNN
//
// The library is told of a convolution and what is added to its result, and of the activation
// behind that, as one graph of operations; what lies between them is never in memory. Images and
// weights lie channels-last, as its fast kernels take them (fusion leaves all else to torch).
//
// Its heuristic names engines for such a graph, best first: the first that works, and gives the
// same bits each time, is kept for each alignment of the operands. With it nothing is searched or
// loaded in later runs, so that they can be recorded as a graph of the device.
#include "runtime/cuda/convolutions.h"

#include <algorithm>
#include <array>
#include <list>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "ir/device_epilogue.h"
#include "runtime/cuda/cudnn.h"

namespace penstock::runtime::cuda {

namespace {

// cudnn_graph.h: CUDNN_BACKEND_…_DESCRIPTOR
enum : int {
  kPointwise = 0,
  kConvolution = 1,
  kEngine = 2,
  kEngineConfig = 3,
  kHeuristic = 4,
  kExecutionPlan = 5,
  kConvolutionForward = 10,
  kPointwiseOperation = 13,
  kOperationGraph = 15,
  kVariantPack = 16,
  kTensor = 17
};
enum : int { kPointwiseMode = 0, kPointwisePrecision = 1 };  // CUDNN_ATTR_POINTWISE_…
enum : int {                                                 // CUDNN_ATTR_CONVOLUTION_…
  kComputeType = 100,
  kConvolutionMode = 101,
  kDilations = 102,
  kStrides = 103,
  kPaddingsBehind = 104,
  kPaddingsBefore = 105,
  kSpatialDims = 106
};
enum : int { kMode = 200, kGraphOfHeuristic = 201, kResults = 202 };  // CUDNN_ATTR_ENGINEHEUR_…
enum : int { kEngineOfConfig = 300 };                                 // CUDNN_ATTR_ENGINECFG_…
enum : int { kHandleOfPlan = 400, kConfigOfPlan = 401, kWorkspaceOfPlan = 402 };
enum : int { kAlpha = 700, kBeta = 701, kGeometry = 702, kW = 703, kX = 704, kY = 705 };
enum : int { kPointwiseFacts = 750, kPointwiseX = 751, kPointwiseB = 752, kPointwiseY = 753 };
enum : int { kHandleOfGraph = 800, kOperations = 801 };  // CUDNN_ATTR_OPERATIONGRAPH_…
enum : int { kAlignment = 900, kDataType = 901, kSizes = 902, kSteps = 903, kId = 906 };
enum : int { kIsVirtual = 907 };                                        // CUDNN_ATTR_TENSOR_…
enum : int { kIdsOfPack = 1000, kPointers = 1001, kWorkspace = 1003 };  // …_VARIANT_PACK_…
enum : int { kNotes = 1303 };                       // CUDNN_ATTR_ENGINE_NUMERICAL_NOTE
enum : int { kFloat = 0, kHalf = 2, kBfloat = 9 };  // CUDNN_DATA_…
enum : int { kAdd = 0, kRelu = 100 };               // CUDNN_POINTWISE_…
enum : int { kCrossCorrelation = 1 };
enum : int { kModeA = 3, kModeFallback = 2 };                              // CUDNN_HEUR_MODE_…
enum : int { kTensorCore = 0, kDownConverts = 1, kNondeterministic = 4 };  // …_NUMERICAL_NOTE_…

constexpr std::size_t kRank = 4;
constexpr std::int64_t kBestAlignment = 16;
constexpr std::int64_t kMostWorkspace = std::int64_t{256} << 20;
constexpr std::int64_t kMostNotes = 16;

using Numbers = std::vector<std::int64_t>;

/// Strides of an image that lies channels-last; a dim of one element has them too.
Numbers channels_last(const Numbers& sizes) {
  const std::int64_t c = sizes[1], h = sizes[2], w = sizes[3];
  return {c * h * w, 1, c * w, c};
}

bool lies_channels_last(const Operand& operand) {
  if (operand.sizes.size() != kRank) return false;
  const Numbers strides = channels_last(operand.sizes);
  for (std::size_t i = 0; i < kRank; ++i) {
    if (operand.sizes[i] != 1 && operand.strides[i] != strides[i]) return false;
  }
  return true;
}

/// As many numbers as an image has channels, one behind the other.
bool is_channel_vector(const Operand& operand, std::int64_t channels) {
  const std::size_t rank = operand.sizes.size();
  if (rank == 1) return operand.sizes[0] == channels && operand.strides[0] == 1;
  return rank == kRank && operand.sizes[1] == channels && operand.strides[1] == 1 &&
         operand.sizes[0] == 1 && operand.sizes[2] == 1 && operand.sizes[3] == 1;
}

std::optional<int> type_of(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return kFloat;
    case DType::float16:
      return kHalf;
    case DType::bfloat16:
      return kBfloat;
    default:
      return std::nullopt;
  }
}

Numbers numbers(const LibraryCall& call, std::string_view name) {
  Numbers made;
  for (const NamedArgument& attribute : call.attributes) {
    const auto* list = attribute.value.as<Argument::Sequence>();
    if (attribute.name != name || list == nullptr) continue;
    for (const Argument& item : list->items) {
      const auto* number = item.as<std::int64_t>();
      made.push_back(number != nullptr ? *number : -1);
    }
  }
  return made;
}

/// A convolution as the library is told of it.
struct Problem {
  int type = kFloat;
  Numbers input, weight, out;  ///< sizes
  Numbers strides, paddings, dilations;
  std::optional<std::size_t> residual, bias;  ///< operands of post-ops
  bool has_bias = false;                      ///< an input
  bool relu = false;
  bool adds_bias() const { return has_bias || bias; }
};

Result<Problem> make_problem(const LibraryCall& call, const LibraryOperands& operands) {
  const auto odd = failure(Code::PS0708, "cuDNN takes no operands that lie like these");
  const Operand &input = operands.inputs[0], &weight = operands.inputs[1],
                &out = operands.outputs.front();
  const auto type = type_of(out.dtype);
  Problem made;
  if (!type) return failure(Code::PS0708, "cuDNN is not called for images of this dtype");
  for (const Operand* image : {&input, &weight, &out}) {
    if (!lies_channels_last(*image) || image->dtype != out.dtype) return odd;
  }
  made.type = *type;
  made.input = input.sizes;
  made.weight = weight.sizes;
  made.out = out.sizes;
  made.strides = numbers(call, "stride");
  made.paddings = numbers(call, "padding");
  made.dilations = numbers(call, "dilation");
  std::vector<const Operand*> operand_of(call.post_ops.size());
  std::vector<std::size_t> number(call.post_ops.size());
  for (std::size_t i = 0, next = 0; i < call.post_ops.size(); ++i) {
    if (call.post_ops[i].operand == kNoBuffer) continue;
    number[i] = next;
    operand_of[i] = &operands.post_ops[next++];
  }
  made.has_bias = operands.present.size() > 2 && operands.present[2];
  const auto is_row = [&](std::size_t i) { return operand_of[i]->sizes != out.sizes; };
  const auto epilogue = device_epilogue(call.post_ops, made.has_bias, is_row);
  if (!epilogue || epilogue->alpha != 1) return odd;
  made.relu = epilogue->activation == PostOp::Kind::relu;
  if (epilogue->activation && !made.relu) return odd;
  if (made.has_bias && !is_channel_vector(operands.inputs[2], out.sizes[1])) return odd;
  if (epilogue->bias) {
    made.bias = number[*epilogue->bias];
    if (!is_channel_vector(*operand_of[*epilogue->bias], out.sizes[1])) return odd;
  }
  if (epilogue->residual) {
    made.residual = number[*epilogue->residual];
    if (!lies_channels_last(*operand_of[*epilogue->residual])) return odd;
  }
  return made;
}

/// Names of the tensors that have memory.
enum : std::int64_t { kInputId = 1, kWeightId, kOutId, kResidualId, kBiasId, kFirstVirtualId };

/// The graph of operations of one problem.
class GraphMaker {
 public:
  GraphMaker(void* handle, const Problem& problem, std::int64_t alignment)
      : handle_(handle), problem_(problem), alignment_(alignment) {}

  /// Keeps what the graph is made of.
  Result<CudnnDescriptor> make() {
    const int links =
        int{problem_.residual.has_value()} + int{problem_.adds_bias()} + int{problem_.relu};
    auto done = convolve(links);
    if (done && problem_.residual) done = link(kAdd, tensor(kResidualId, problem_.out));
    if (done && problem_.adds_bias())
      done = link(kAdd, tensor(kBiasId, {1, problem_.out[1], 1, 1}));
    if (done && problem_.relu) done = link(kRelu, nullptr);
    CudnnDescriptor graph(kOperationGraph);
    if (done) done = std::move(problem_found_);
    if (!done) return tl::unexpected(std::move(done.error()));
    std::vector<void*> operations;
    for (const CudnnDescriptor& operation : operations_) operations.push_back(operation.get());
    graph.set(kOperations, CudnnType::descriptor, std::span<void* const>(operations));
    graph.set(kHandleOfGraph, CudnnType::handle, handle_);
    done = graph.make("a graph of a convolution");
    if (!done) return tl::unexpected(std::move(done.error()));
    return graph;
  }

 private:
  const CudnnDescriptor* tensor(std::int64_t id, const Numbers& sizes) {
    const bool is_virtual = id >= kFirstVirtualId;
    CudnnDescriptor made(kTensor);
    made.set(kDataType, CudnnType::data, is_virtual ? int{kFloat} : problem_.type);
    made.set(kSizes, CudnnType::integer, std::span<const std::int64_t>(sizes));
    const Numbers strides = channels_last(sizes);
    made.set(kSteps, CudnnType::integer, std::span<const std::int64_t>(strides));
    made.set(kId, CudnnType::integer, id);
    made.set(kAlignment, CudnnType::integer, is_virtual ? kBestAlignment : alignment_);
    made.set(kIsVirtual, CudnnType::boolean, is_virtual);
    auto done = made.make("a tensor of a convolution");
    if (!done && problem_found_) problem_found_ = std::move(done);
    return &tensors_.emplace_back(std::move(made));
  }

  /// What an operation writes: the result, or what the next one reads.
  const CudnnDescriptor* written(bool last) {
    return tensor(last ? std::int64_t{kOutId} : next_id_++, problem_.out);
  }

  Result<void> convolve(int links) {
    left_ = links;
    CudnnDescriptor geometry(kConvolution), operation(kConvolutionForward);
    const int compute = kFloat, mode = kCrossCorrelation;
    const std::int64_t dims = kRank - 2;
    const auto list = [&](int attribute, const Numbers& values) {
      geometry.set(attribute, CudnnType::integer, std::span<const std::int64_t>(values));
    };
    geometry.set(kComputeType, CudnnType::data, compute);
    geometry.set(kConvolutionMode, CudnnType::convolution_mode, mode);
    geometry.set(kSpatialDims, CudnnType::integer, dims);
    list(kDilations, problem_.dilations);
    list(kStrides, problem_.strides);
    list(kPaddingsBefore, problem_.paddings);
    list(kPaddingsBehind, problem_.paddings);
    if (auto done = geometry.make("a convolution"); !done) return done;
    const float alpha = 1, beta = 0;
    operation.set(kGeometry, geometry);
    operation.set(kX, *tensor(kInputId, problem_.input));
    operation.set(kW, *tensor(kWeightId, problem_.weight));
    last_ = written(left_ == 0);
    operation.set(kY, *last_);
    operation.set(kAlpha, CudnnType::real, alpha);
    operation.set(kBeta, CudnnType::real, beta);
    facts_.push_back(std::move(geometry));
    return keep(std::move(operation), "a convolution's operation");
  }

  Result<void> link(int mode, const CudnnDescriptor* operand) {
    CudnnDescriptor pointwise(kPointwise), operation(kPointwiseOperation);
    const int precision = kFloat;
    pointwise.set(kPointwiseMode, CudnnType::pointwise_mode, mode);
    pointwise.set(kPointwisePrecision, CudnnType::data, precision);
    if (auto done = pointwise.make("what follows a convolution"); !done) return done;
    operation.set(kPointwiseFacts, pointwise);
    operation.set(kPointwiseX, *last_);
    if (operand != nullptr) operation.set(kPointwiseB, *operand);
    last_ = written(--left_ == 0);
    operation.set(kPointwiseY, *last_);
    facts_.push_back(std::move(pointwise));
    return keep(std::move(operation), "an operation behind a convolution");
  }

  Result<void> keep(CudnnDescriptor operation, const char* what) {
    auto done = operation.make(what);
    operations_.push_back(std::move(operation));
    return done;
  }

  void* handle_;
  const Problem& problem_;
  std::int64_t alignment_;
  std::int64_t next_id_ = kFirstVirtualId;
  int left_ = 0;                           ///< operations to come
  const CudnnDescriptor* last_ = nullptr;  ///< what the operation before wrote
  Result<void> problem_found_;
  std::list<CudnnDescriptor> tensors_;
  std::vector<CudnnDescriptor> facts_, operations_;
};

bool has_note(const CudnnDescriptor& config, int note) {
  const CudnnDescriptor engine(kEngine);
  void* place = engine.get();
  if (config.read(kEngineOfConfig, CudnnType::descriptor, 1, &place) < 1) return false;
  std::array<int, kMostNotes> notes{};
  const std::int64_t count = engine.read(kNotes, CudnnType::note, kMostNotes, notes.data());
  return std::find(notes.begin(), notes.begin() + std::min(count, kMostNotes), note) !=
         notes.begin() + std::min(count, kMostNotes);
}

/// How one problem is computed, for operands of one alignment.
struct ConvolutionPlan {
  CudnnDescriptor config, plan;
  std::int64_t workspace = 0;
};

class PlanChooser {
 public:
  PlanChooser(void* handle, const Problem& problem, bool tf32)
      : handle_(handle), problem_(problem), tf32_(tf32) {}

  Result<ConvolutionPlan> choose(std::int64_t alignment) {
    GraphMaker maker(handle_, problem_, alignment);
    auto graph = maker.make();
    if (!graph) return tl::unexpected(std::move(graph.error()));
    for (const int mode : {kModeA, kModeFallback}) {
      for (CudnnDescriptor& config : configs(*graph, mode)) {
        if (!is_exact(config)) continue;
        if (auto plan = plan_of(std::move(config))) return std::move(*plan);
      }
    }
    return failure(Code::PS0708, "cuDNN has no such convolution");
  }

 private:
  static std::vector<CudnnDescriptor> configs(const CudnnDescriptor& graph, int mode) {
    std::vector<CudnnDescriptor> made;
    CudnnDescriptor heuristic(kHeuristic);
    heuristic.set(kGraphOfHeuristic, graph);
    heuristic.set(kMode, CudnnType::heuristic, mode);
    if (!heuristic.make("a heuristic")) return made;
    const std::int64_t count = heuristic.read(kResults, CudnnType::descriptor, 0, nullptr);
    std::vector<void*> places;
    for (std::int64_t i = 0; i < count; ++i)
      places.push_back(made.emplace_back(kEngineConfig).get());
    const std::int64_t given =
        heuristic.read(kResults, CudnnType::descriptor, count, places.data());
    while (static_cast<std::int64_t>(made.size()) > given) made.pop_back();
    return made;
  }

  /// What torch takes too: factors are rounded where the program allows it only.
  bool is_exact(const CudnnDescriptor& config) const {
    if (has_note(config, kNondeterministic) || has_note(config, kDownConverts)) return false;
    return problem_.type != kFloat || tf32_ || !has_note(config, kTensorCore);
  }

  std::optional<ConvolutionPlan> plan_of(CudnnDescriptor config) const {
    CudnnDescriptor plan(kExecutionPlan);
    plan.set(kHandleOfPlan, CudnnType::handle, handle_);
    plan.set(kConfigOfPlan, config);
    if (!plan.make("a plan")) return std::nullopt;
    std::int64_t workspace = 0;
    const bool known = plan.read(kWorkspaceOfPlan, CudnnType::integer, 1, &workspace) == 1;
    if (!known || workspace > kMostWorkspace) return std::nullopt;
    return ConvolutionPlan{std::move(config), std::move(plan), workspace};
  }

  void* handle_;
  const Problem& problem_;
  bool tf32_;
};

class Convolution final : public LibraryKernel {
 public:
  Convolution(void* handle, std::shared_ptr<const LibraryHost> host, Problem problem)
      : handle_(handle), host_(std::move(host)), problem_(std::move(problem)) {}

  std::size_t scratch_bytes() const override { return 0; }
  std::string_view implementation() const override { return "cudnn"; }

  Result<void> run(const LibraryMemory& memory) override {
    if (std::ranges::count(problem_.out, 0) > 0) return {};
    std::vector<std::int64_t> ids = {kInputId, kWeightId, kOutId};
    std::vector<void*> places = {memory.inputs[0], memory.inputs[1], memory.outputs[0]};
    const auto add = [&](std::int64_t id, void* place) {
      ids.push_back(id);
      places.push_back(place);
    };
    if (problem_.residual) add(kResidualId, memory.post_ops[*problem_.residual]);
    if (problem_.has_bias) add(kBiasId, memory.inputs[2]);
    if (problem_.bias) add(kBiasId, memory.post_ops[*problem_.bias]);
    const bool tf32 = problem_.type == kFloat && host_->allows_tf32 && host_->allows_tf32();
    auto plan = plan_for(tf32, places);
    if (!plan) return tl::unexpected(std::move(plan.error()));
    PooledMemory workspace;
    if ((*plan)->workspace > 0) {
      workspace = PooledMemory(host_->memory, static_cast<std::size_t>((*plan)->workspace));
      if (!workspace) return failure(Code::PS0803, "no memory for a convolution");
    }
    void* const workspace_place = workspace.data();
    CudnnDescriptor pack(kVariantPack);
    pack.set(kIdsOfPack, CudnnType::integer, std::span<const std::int64_t>(ids));
    pack.set(kPointers, CudnnType::pointer, std::span<void* const>(places));
    pack.set(kWorkspace, CudnnType::pointer, workspace_place);
    if (auto done = pack.make("a convolution's memory"); !done) return done;
    auto done = checked_cudnn(cudnn().set_stream(handle_, host_->stream()), "a stream");
    if (!done) return done;
    return checked_cudnn(cudnn().execute(handle_, (*plan)->plan.get(), pack.get()),
                         "a convolution");
  }

 private:
  Result<ConvolutionPlan*> plan_for(bool tf32, const std::vector<void*>& places) {
    std::int64_t alignment = kBestAlignment;
    for (void* place : places) {
      while (reinterpret_cast<std::uintptr_t>(place) % static_cast<std::uintptr_t>(alignment) != 0)
        alignment /= 2;
    }
    const auto key = std::pair(tf32, alignment);
    auto known = plans_.find(key);
    if (known == plans_.end()) {
      auto chosen = PlanChooser(handle_, problem_, tf32).choose(alignment);
      if (!chosen) return tl::unexpected(std::move(chosen.error()));
      known = plans_.emplace(key, std::move(*chosen)).first;
    }
    return &known->second;
  }

  void* handle_;
  std::shared_ptr<const LibraryHost> host_;
  Problem problem_;
  std::map<std::pair<bool, std::int64_t>, ConvolutionPlan> plans_;
};

class Convolutions final : public Library {
 public:
  explicit Convolutions(LibraryHost host) : host_(std::make_shared<LibraryHost>(std::move(host))) {}

  Result<std::unique_ptr<LibraryKernel>> make(const LibraryCall& call,
                                              const LibraryOperands& operands) override {
    auto problem = make_problem(call, operands);
    if (!problem) return tl::unexpected(std::move(problem.error()));
    // Never destroyed: the device may be gone when the process ends.
    if (handle_ == nullptr) {
      if (auto opened = checked_cudnn(cudnn().create(&handle_), "a handle"); !opened)
        return tl::unexpected(std::move(opened.error()));
    }
    return std::make_unique<Convolution>(handle_, host_, std::move(*problem));
  }

 private:
  std::shared_ptr<const LibraryHost> host_;
  void* handle_ = nullptr;
};

}  // namespace

std::unique_ptr<Library> open_convolutions(LibraryHost host) {
  if (!cudnn().complete) return nullptr;
  return std::make_unique<Convolutions>(std::move(host));
}

}  // namespace penstock::runtime::cuda
