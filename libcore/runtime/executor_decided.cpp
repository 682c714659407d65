// Sizes that elements decide in a run: what waited for one is planned, and gets memory.
#include "ir/call_location.h"
#include "runtime/executor_state.h"

namespace penstock::runtime {

/// The element is there: makes it the size `part`.
Result<void> Executor::State::decide(Plan& plan, std::size_t part, const RunCall& call) {
  const PlannedStep& step = plan.steps[decided.sizes.all()[part].step];
  const std::int64_t size =
      *static_cast<const std::int64_t*>(pointers[static_cast<std::size_t>(step.first)]);
  auto planned = decide_plan(plan_context(), plan, part, size);
  if (planned) planned = take_memory(plan, part, call);
  if (!planned && !planned.error().location)
    planned.error().location = location_of(bundle.calls, std::get<LibraryCall>(*step.step).calls);
  return planned;
}

Result<void> Executor::State::take_memory(const Plan& plan, std::size_t part, const RunCall& call) {
  const std::size_t bytes = plan.decided[part].now.arena_bytes;
  PooledMemory& arena = call.memory.decided[part] = PooledMemory();
  if (bytes > 0) arena = PooledMemory(pool(), bytes);
  bool complete = bytes == 0 || arena;
  for (const BufferId id : decided.parts[part].buffers) {
    const Buffer& buffer = bundle.buffers[static_cast<std::size_t>(id)];
    if (buffer.kind == Buffer::Kind::temporary) memories[id] = arena.data();
    if (buffer.kind != Buffer::Kind::output) continue;
    PooledMemory& own = call.outputs[static_cast<std::size_t>(buffer.index)].memory;
    own = PooledMemory(pool(), plan.output_bytes[id]);
    memories[id] = own.data();
    complete = complete && own;
  }
  // Calls of a library may want more than those that were known before.
  const std::size_t scratch =
      plan.decided[part].now.scratch_bytes * static_cast<std::size_t>(call.threads);
  if (call.memory.scratch_bytes < scratch) {
    call.memory.scratch = PooledMemory(pool(), scratch);
    call.memory.scratch_bytes = scratch;
    complete = complete && call.memory.scratch;
  }
  if (!complete) return failure(Code::PS0803, "no memory for what elements decide the size of");
  for (const std::int32_t step : decided.parts[part].steps)
    set_pointers(plan, plan.steps[static_cast<std::size_t>(step)]);
  return {};
}

}  // namespace penstock::runtime
