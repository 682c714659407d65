// A run of a bundle for a device as one graph: recorded once, behind a first run in which libraries
// have loaded what they need, and launched in each run from then on. What it takes is in
// runtime/plan_graph.h.
#include <algorithm>

#include "runtime/executor_state.h"

namespace penstock::runtime {

/// Takes memory for the steps and puts them into the stream that is recorded. Everything lies in
/// graphs' own memory, `taken` what is not torch's, but for what is lent; kernels find inputs where
/// they are in this run.
Result<void> Executor::State::record_steps(Plan& plan, PlanGraph::Recorded& recorded,
                                           std::vector<PooledMemory>& taken) {
  PlanGraph& graph = plan.graph;
  const auto take = [&](std::size_t bytes) {
    taken.emplace_back(pool(), bytes);
    return taken.back().data();
  };
  const auto take_output = [&](const MemorySource& source) {
    const auto* lent = recorded.lent_for(source.index);
    return lent != nullptr ? (*lent)->data() : take(plan.output_bytes[source.buffer]);
  };
  recorded.places.assign(graph.inputs.size(), nullptr);
  void* arena = plan.arena_bytes > 0 ? take(plan.arena_bytes) : nullptr;
  bool complete = true;
  for (const MemorySource& source : sources) {
    void*& memory = memories[source.buffer];
    if (source.kind == Buffer::Kind::input) memory = device->address(source.index);
    if (source.kind == Buffer::Kind::output) memory = take_output(source);
    if (source.kind == Buffer::Kind::prepared) memory = plan.prepared.memory.data();
    if (source.kind == Buffer::Kind::temporary) memory = arena;
    complete = complete && (source.kind != Buffer::Kind::output || memory != nullptr);
  }
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    if (graph.inputs[i].copied) recorded.places[i] = take(graph.inputs[i].bytes);
  }
  if (!complete ||
      !std::ranges::all_of(taken, [](const PooledMemory& memory) { return bool(memory); }))
    return failure(Code::PS0803, "no memory for a graph");
  for (const MemorySource& source : sources) {
    if (source.kind != Buffer::Kind::input) continue;
    const auto read = std::ranges::find(graph.inputs, source.index, &PlanGraph::ReadByTorch::input);
    if (read != graph.inputs.end() && read->copied)
      seen_by_torch[source.buffer] =
          recorded.places[static_cast<std::size_t>(read - graph.inputs.begin())];
  }
  set_pointers(plan);
  for (const PlannedStep& step : plan.steps) {
    if (step.kernel != nullptr) set_library_pointers(plan, step);
  }
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const PlannedStep& step = plan.steps[i];
    if (step.prepares) continue;
    auto done = run_step(step, plan, {}, nullptr, 1, false);
    if (!done) return tl::unexpected(std::move(done.error()));
    if (step.device_function == nullptr) continue;
    recorded.kernels.push_back(
        {static_cast<std::int32_t>(i), {device->words().begin(), device->words().end()}});
  }
  return {};
}

/// What the library reads is where torch's ops find it.
void Executor::State::set_library_pointers(const Plan& plan, const PlannedStep& step) {
  for (std::int32_t i = step.first; i < step.first + step.count; ++i) {
    const auto pointer = static_cast<std::size_t>(i);
    const BufferId memory = plan.pointer_memory[pointer];
    if (memory == kNoBuffer || seen_by_torch[memory] == nullptr) continue;
    pointers[pointer] = static_cast<char*>(seen_by_torch[memory]) + plan.pointer_start[pointer];
  }
}

/// Takes what the graph is to lend. It lasts from run to run, and so is none of the memory that all
/// graphs work on.
void Executor::State::take_lent(const Plan& plan, PlanGraph::Recorded& recorded) const {
  if (!recorded.lends) return;
  recorded.lent.assign(bundle.outputs.size(), nullptr);
  for (const MemorySource& source : sources) {
    if (source.kind != Buffer::Kind::output || static_cast<std::size_t>(source.index) < lent_from)
      continue;
    recorded.lent[static_cast<std::size_t>(source.index)] =
        std::make_shared<LentMemory>(PooledMemory(pool(), plan.output_bytes[source.buffer]));
  }
}

/// False where it cannot be, and will not be tried again.
bool Executor::State::record_graph(Plan& plan, PlanGraph::Recorded& recorded) {
  recorded.kernels.clear();
  take_lent(plan, recorded);
  if (!device->begin_recording()) return false;
  std::vector<PooledMemory> taken;
  seen_by_torch.assign(bundle.buffers.size(), nullptr);
  auto done = record_steps(plan, recorded, taken);
  seen_by_torch.clear();
  auto graph = device->end_recording();
  if (!done || !graph) return false;
  recorded.graph = std::move(*graph);
  recorded.memories = memories;
  // What torch made itself is none's own: it is copied.
  for (const MemorySource& source : sources) {
    const auto* lent = recorded.lent_for(source.index);
    if (source.kind == Buffer::Kind::output && lent != nullptr &&
        (*lent)->data() != memories[source.buffer])
      recorded.lent[static_cast<std::size_t>(source.index)] = nullptr;
  }
  return true;
}

/// Kernels of ours work on the outputs themselves, torch's ops on memory of the graph's, which may
/// be lent.
Result<void> Executor::State::launch_graph(Plan& plan, PlanGraph::Recorded& recorded,
                                           std::span<OutputTensor> outputs) {
  const PlanGraph& graph = plan.graph;
  for (const MemorySource& source : sources) {
    void*& memory = memories[source.buffer];
    memory = recorded.memories[source.buffer];
    if (source.kind == Buffer::Kind::input) memory = device->address(source.index);
    if (source.kind != Buffer::Kind::output) continue;
    const auto* lent = recorded.lent_for(source.index);
    PooledMemory& own = outputs[source.index].memory;
    own = PooledMemory(lent != nullptr ? *lent : pool(), plan.output_bytes[source.buffer]);
    if (!own) return failure(Code::PS0803, "no memory for outputs");
    memory = own.data();
  }
  const auto index_of = [&](const PlanGraph::OfTorch& made) {
    return bundle.buffers[made.buffer].index;
  };
  for (const PlanGraph::OfTorch& made : graph.outputs)
    memories[made.buffer] = recorded.memories[made.buffer];
  set_pointers(plan);
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const PlanGraph::ReadByTorch& read = graph.inputs[i];
    if (!read.copied || read.bytes == 0) continue;
    auto copied = device->copy(recorded.places[i], device->address(read.input), read.bytes);
    if (!copied) return copied;
  }
  for (std::size_t i = 0; i < recorded.kernels.size(); ++i) {
    PlanGraph::Kernel& kernel = recorded.kernels[i];
    const PlannedStep& step = plan.steps[kernel.step];
    // A result of torch's may have taken its buffer's place behind the kernel.
    for (std::size_t word = 0; word < kernel.words.size(); ++word) {
      const std::size_t pointer = static_cast<std::size_t>(step.first) + word;
      if (graph.stays(bundle, plan.pointer_memory[pointer]))
        pointers[pointer] = reinterpret_cast<void*>(kernel.words[word]);
    }
    const std::span<void* const> own(pointers.data() + step.first,
                                     static_cast<std::size_t>(step.count));
    if (auto set = device->update(*recorded.graph, i, step, plan, own, kernel.words); !set)
      return set;
  }
  if (auto launched = recorded.graph->launch(); !launched) return launched;
  for (const PlanGraph::OfTorch& made : graph.outputs) {
    if (recorded.lent_for(index_of(made)) != nullptr) continue;
    void* output = outputs[index_of(made)].memory.data();
    if (made.bytes > 0) {
      if (auto copied = device->copy(output, memories[made.buffer], made.bytes); !copied)
        return copied;
    }
    memories[made.buffer] = output;
  }
  return {};
}

/// False: the steps are to be run one by one.
Result<bool> Executor::State::run_graph(Plan& plan, bool prepared,
                                        std::span<OutputTensor> outputs) {
  PlanGraph& graph = plan.graph;
  if (!graph.is_possible(bundle, plan, lent_from) || !device->takes_graphs()) return false;
  const bool lasts = prepared || std::ranges::none_of(plan.steps, &PlannedStep::prepares);
  const bool asks = graph.calls_torch() && fallback != nullptr;
  const std::uint64_t settings = asks ? fallback->settings() : 0;
  if (!lasts) return false;
  PlanGraph::Recorded* next = graph.next(device->addresses(), settings);
  if (next == nullptr) return false;
  if (next->graph == nullptr && !record_graph(plan, *next)) {
    graph.give_up();
    return false;
  }
  for (OutputTensor& output : outputs) output = OutputTensor();
  if (auto done = launch_graph(plan, *next, outputs); !done)
    return tl::unexpected(std::move(done.error()));
  for (std::size_t i = 0; i < outputs.size(); ++i) describe_output(plan, i, outputs);
  return true;
}

}  // namespace penstock::runtime
