#include "jit/pipeline_compiler.h"

#include <malloc.h>

#include "autodiff/differentiate.h"
#include "autodiff/saved_operands.h"
#include "heap/file_pages.h"
#include "ir/device.h"
#include "jit/backends/backend_executor.h"
#include "jit/executors/chained_executor.h"
#include "jit/executors/gradient_executor.h"
#include "jit/executors/gradient_paths.h"
#include "jit/executors/gradient_stages.h"
#include "jit/executors/torch_device.h"
#include "jit/executors/torch_random.h"
#include "jit/gate/stored_verdicts.h"
#include "ops/gradient.h"
#include "python/eval_breaker.h"

namespace penstock::jit {

namespace {

/// Keeps what compilation does to the heap from the calls that come, where a graph is large.
class TrimmedHeap {
 public:
  /// While a call is recorded, small blocks that stay (the graph) come to lie between the tensors
  /// on the heap, so that the C library keeps the gaps; what the compiler needs would come on top
  /// of them.
  explicit TrimmedHeap(const Graph& graph) : large_(is_large(graph)) { trim(); }
  /// What the compiler needed must not stay under the calls that come, the plain one that the gate
  /// measures first.
  ~TrimmedHeap() { trim(); }
  TrimmedHeap(const TrimmedHeap&) = delete;
  TrimmedHeap& operator=(const TrimmedHeap&) = delete;
  void give_back_pages() const {
    if (large_) heap::give_back_file_pages();
  }

 private:
  void trim() const {
    if (large_) malloc_trim(0);
  }
  bool large_;
};

/// The plan of a graph whose outputs are tensors of their own.
OutputPlan plan_of_own(const Interface& interface) {
  OutputPlan plan;
  for (const Output& output : interface.outputs) {
    OutputPlan::PlannedOutput& planned = plan.outputs.emplace_back();
    planned.made = static_cast<std::int32_t>(plan.made.size());
    planned.whole = true;
    planned.type = output.type;
    plan.made.push_back(output.type);
  }
  return plan;
}

/// What torch would call the node behind the first tensor that the kernels make and the program
/// sees as it is.
std::string node_name(const OutputPlan& plan, const std::vector<Output>& captured) {
  for (std::size_t i = 0; i < plan.outputs.size(); ++i) {
    const std::string& name = captured[i].grad_fn;
    if (plan.outputs[i].made >= 0 && plan.outputs[i].whole && !name.empty()) return name;
  }
  return {};
}

/// All outputs, one behind the other.
ReturnTree tuple_of_outputs(const Graph& graph) {
  ReturnTree tuple;
  tuple.kind = Recipe::Kind::tuple;
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    Recipe& item = tuple.items.emplace_back();
    item.kind = Recipe::Kind::output;
    item.index = static_cast<std::int32_t>(i);
  }
  return tuple;
}

/// An op of ours that nothing runs on a GPU: draws of random numbers.
const FallbackCall* unknown_to_torch(const KernelBundle& bundle) {
  for (const BundleStep& step : bundle.steps) {
    const auto* call = std::get_if<FallbackCall>(&step);
    if (call != nullptr && call->op.starts_with("prim.")) return call;
  }
  return nullptr;
}

}  // namespace

bool is_large(const Graph& graph) {
  constexpr std::int64_t kMuch = std::int64_t{32} << 20;
  std::int64_t bytes = 0;
  for (std::size_t i = graph.interface.inputs.size(); i < graph.values.size(); ++i) {
    if (graph.values[i].type.device == "cpu") bytes += known_bytes(graph.values[i].type);
  }
  return bytes >= kMuch;
}

Result<std::unique_ptr<PipelineCompiler>> PipelineCompiler::create(const std::string& store,
                                                                   pipeline::CompileOptions options,
                                                                   bool deterministic,
                                                                   PassTrace& trace) {
  auto opened = store::Store::open(store);
  if (!opened) return tl::unexpected(opened.error());
  std::unique_ptr<PipelineCompiler> compiler(
      new PipelineCompiler(std::move(*opened), std::move(options), trace));
  compiler->runtime_->deterministic = deterministic;
  compiler->runtime_->random = std::make_shared<TorchRandom>();
  compiler->runtime_->open_device = torch_devices();
  compiler->runtime_->is_awaited = [] {
    return python::breaker_set(python::breaker_flag(PyThreadState_Get()));
  };
  return compiler;
}

Result<std::unique_ptr<BundleExecutor>> PipelineCompiler::load(KernelBundle bundle,
                                                               OutputPlan plan) {
  if (const FallbackCall* call = unknown_to_torch(bundle); call != nullptr)
    return failure(Code::PS0811, call->op + " has no kernel for " + bundle.device);
  const auto start = std::chrono::steady_clock::now();
  auto executor =
      BundleExecutor::create(runtime_, versions_, std::move(bundle), blobs_, std::move(plan));
  trace_.after({"load", "load machine code and library kernels"},
               std::chrono::steady_clock::now() - start, [] { return std::string(); });
  return executor;
}

void PipelineCompiler::offer_to(BackendOptions options) {
  backends_ = std::make_shared<Backends>(std::move(options), store_);
}

Result<std::unique_ptr<Executor>> PipelineCompiler::compile(Graph graph) {
  if (!backends_) return compile_own(std::move(graph));
  if (ops::goes_backward(graph)) {
    backends_->tell_all(graph.interface.id, BackendEvent::Outcome::untried,
                        "it goes backward itself");
    return compile_own(std::move(graph));
  }
  if (device_of(graph).value_or("") == "cpu") return compile_offered(std::move(graph));
  backends_->tell_all(graph.interface.id, BackendEvent::Outcome::untried,
                      "the graph is not on the CPU");
  return compile_own(std::move(graph));
}

/// Code for a graph's GPU is made for what that runs.
void PipelineCompiler::make_code_for(const Graph& graph) {
  const std::string device = device_of(graph).value_or("cpu");
  if (is_gpu(device)) options_.codegen.gpus = {device_target(device)};
}

/// Our own code, with the graph at hand for back ends.
Result<std::unique_ptr<Executor>> PipelineCompiler::compile_offered(Graph graph) {
  const TrimmedHeap trimmed(graph);
  OfferedGraph offered;
  const auto keys = StoredVerdicts::open(store_.directory(), "back ends");
  if (keys) offered.key = (*keys)->key_of(graph);
  auto plan = plan_outputs(graph);
  if (!plan) return tl::unexpected(plan.error());
  offered.graph = graph;
  offered.graph.interface.returns = tuple_of_outputs(graph);
  auto bundle = pipeline::compile(std::move(graph), options_, code_, trace_);
  trimmed.give_back_pages();
  if (!bundle) return tl::unexpected(bundle.error());
  offered.bundle = bundle_of_call(*bundle, *plan);
  offered.plan = *plan;
  offered.versions = versions_;
  offered.load = [this](KernelBundle call, OutputPlan of_outputs,
                        runtime::FallbackRunner& runner) -> Result<std::unique_ptr<Executor>> {
    return BundleExecutor::create(runtime_, versions_, std::move(call), blobs_,
                                  std::move(of_outputs), &runner);
  };
  auto own = load(std::move(*bundle), std::move(*plan));
  if (!own) return tl::unexpected(own.error());
  if (offered.bundle.outputs.empty()) {
    backends_->tell_all(offered.graph.interface.id, BackendEvent::Outcome::untried,
                        "it makes no tensor but views of what it is given");
    return own;
  }
  return offer_to_backends(backends_, std::move(*own), std::move(offered));
}

Result<std::unique_ptr<Executor>> PipelineCompiler::compile_own(Graph graph) {
  const TrimmedHeap trimmed(graph);
  auto plan = plan_outputs(graph);
  if (!plan) return tl::unexpected(plan.error());
  make_code_for(graph);
  auto bundle = pipeline::compile(std::move(graph), options_, code_, trace_);
  trimmed.give_back_pages();
  if (!bundle) return tl::unexpected(bundle.error());
  return load(std::move(*bundle), std::move(*plan));
}

Result<std::unique_ptr<Executor>> PipelineCompiler::compile_gradients(
    Graph graph, std::shared_ptr<Gate> gate, std::shared_ptr<StepTrial> trial) {
  if (backends_) {
    backends_->tell_all(graph.interface.id, BackendEvent::Outcome::untried,
                        "torch records its gradients");
  }
  const TrimmedHeap trimmed(graph);
  if (const Node* write = autodiff::write_to_what_torch_saved(graph))
    return failure(Code::PS0504, write->op + " writes what torch keeps for gradients");
  auto stages = split_stages(graph);
  if (!stages) return compile_stage(std::move(graph), std::move(gate), std::move(trial));
  FirstStage front;
  front.draws = draws_numbers(stages->first);
  front.gpu = gpu_index(device_of(stages->first).value_or("cpu"));
  Graph whole = stages->first;
  const auto planned = plan_outputs(whole);
  if (!planned) return tl::unexpected(planned.error());
  for (const OutputPlan::Writes& write : planned->input_writes) front.writes.push_back(write.index);
  auto first = compile_gradients(std::move(stages->first), gate, trial);
  if (!first) return first;
  front.executor = std::move(*first);
  const bool second_records = records_gradients(stages->second);
  auto second = second_records ? compile_gradients(std::move(stages->second), gate, trial)
                               : compile_own(std::move(stages->second));
  if (!second) return second;
  return chain_executors(std::move(front), std::move(*second), graph.interface.inputs.size(),
                         stages->handed);
}

/// A graph in which no output that requires grad leads to another one.
Result<std::unique_ptr<Executor>> PipelineCompiler::compile_stage(
    Graph graph, std::shared_ptr<Gate> gate, std::shared_ptr<StepTrial> trial) {
  GradientParts parts;
  if (gate) parts.backward_number = gate->expect_backward();
  parts.gate = std::move(gate);
  parts.trial = std::move(trial);
  const std::vector<Output> captured = graph.interface.outputs;
  auto plan = plan_outputs(graph);
  if (!plan) return tl::unexpected(plan.error());
  auto tracked = track_outputs(graph, *plan, captured);
  if (!tracked) return tl::unexpected(tracked.error());
  parts.tracked = std::move(*tracked);
  parts.device = device_of(graph).value_or("cpu");
  parts.name = node_name(*plan, captured);
  auto recorded = autodiff::mark_constants(graph);
  if (!recorded) return tl::unexpected(recorded.error());
  parts.recorded = std::move(*recorded);
  const GradientPaths paths(graph, parts.tracked);
  if (paths.is_chained(*plan, captured))
    return failure(Code::PS0504, "an output that requires grad leads to another one");
  if (paths.count_parts() > 1)
    return failure(Code::PS0504, "outputs that require grad have nothing but inputs in common");
  make_code_for(graph);
  auto bundles = pipeline::compile_training(std::move(graph), options_, code_, trace_);
  if (is_large(parts.recorded)) {
    heap::give_back_file_pages();
    parts.give_back_memory = [this] { give_back_memory(); };
  }
  if (!bundles) return tl::unexpected(bundles.error());
  parts.mutations = bundles->forward.interface.mutations;
  parts.backward_interface = bundles->backward.interface;
  for (const Gradient& gradient : parts.backward_interface.training.gradients)
    parts.reached_from.push_back(paths.outputs_of(static_cast<std::size_t>(gradient.input)));
  OutputPlan gradients = plan_of_own(bundles->backward.interface);
  auto forward = load(std::move(bundles->forward), std::move(*plan));
  if (!forward) return tl::unexpected(forward.error());
  auto backward = load(std::move(bundles->backward), std::move(gradients));
  if (!backward) return tl::unexpected(backward.error());
  parts.forward = std::move(*forward);
  parts.backward = std::move(*backward);
  return make_gradient_executor(std::move(parts));
}

void PipelineCompiler::give_back_memory() {
  heap::give_back_file_pages();
  runtime_->memory->give_back();
  malloc_trim(0);
}

}  // namespace penstock::jit
