#include "runtime/plan_graph.h"

#include <algorithm>
#include <utility>

#include "runtime/plan.h"

namespace penstock::runtime {

namespace {

/// So long does the GPU copy what the CPU would call an op of torch's in.
constexpr std::size_t kCopiedPerCall = std::size_t{2} << 20;
/// Libraries load what they need in the first run.
constexpr int kRunsBefore = 1;
/// Addresses that change more often are not worth it.
constexpr int kMostRecordings = 4;
/// Runs in a row for which what stays is waited for.
constexpr int kMostAway = 3;
/// What a plan lends is its own between steps, too.
constexpr std::int64_t kMostLent = std::int64_t{4} << 30;

/// Bytes from the first element to the end of the last.
std::size_t extent(const Window& window) {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < window.sizes.size(); ++i) {
    if (window.sizes[i] == 0) return 0;
    last += (window.sizes[i] - 1) * window.strides[i];
  }
  return static_cast<std::size_t>(window.start +
                                  (last + 1) * static_cast<std::int64_t>(facts(window.dtype).size));
}

}  // namespace

bool PlanGraph::Recorded::is_out() const {
  return std::ranges::any_of(
      lent, [](const auto& memory) { return memory != nullptr && memory->is_out(); });
}

bool PlanGraph::is_possible(const KernelBundle& bundle, const Plan& plan, std::size_t lent_from) {
  if (state_ == State::unknown) state_ = decide(bundle, plan, lent_from);
  return state_ == State::possible;
}

PlanGraph::State PlanGraph::decide(const KernelBundle& bundle, const Plan& plan,
                                   std::size_t lent_from) {
  for (const BundleStep& step : bundle.steps) {
    if (std::holds_alternative<KernelCall>(step)) continue;
    if (!note_call(step, bundle, plan)) return State::impossible;
    ++torch_calls_;
  }
  for (const Mutation& mutation : bundle.interface.mutations) {
    for (ReadByTorch& read : inputs) read.stays |= read.input == mutation.input;
  }
  for (const Saved& saved : bundle.interface.training.saved) {
    for (ReadByTorch& read : inputs) read.stays |= read.input == saved.input;
  }
  std::size_t lent = 0;
  const auto is_lent = [&](const Buffer& buffer) {
    return buffer.kind == Buffer::Kind::output &&
           static_cast<std::size_t>(buffer.index) >= lent_from;
  };
  for (std::size_t i = 0; i < bundle.buffers.size(); ++i)
    lent += is_lent(bundle.buffers[i]) ? plan.output_bytes[i] : 0;
  may_lend_ = lent > 0 && lent <= static_cast<std::size_t>(kMostLent);
  for (OfTorch& output : outputs) output.lent = may_lend_ && is_lent(bundle.buffers[output.buffer]);
  return bundle.steps.empty() ? State::impossible : State::possible;
}

/// False: it is called with what may differ each time.
bool PlanGraph::note_call(const BundleStep& step, const KernelBundle& bundle, const Plan& plan) {
  bool same = true;
  const auto note = [&](BufferId id, bool written) {
    if (id == kNoBuffer) return;
    const BufferId memory = plan.windows[id].memory;
    const Buffer& buffer = bundle.buffers[memory];
    if (buffer.kind == Buffer::Kind::input) {
      same = same && !buffer.host && bundle.interface.inputs[buffer.index].type.device != "cpu";
      note_input(bundle, plan, id, written);
    } else if (buffer.kind == Buffer::Kind::output) {
      note_output(plan, memory);
    }
  };
  if (const auto* call = std::get_if<FallbackCall>(&step)) {
    for (const NamedArgument& argument : call->arguments)
      for_each_value(argument.value, [&](ValueId id) { note(static_cast<BufferId>(id), false); });
    for (const BufferId output : call->outputs) note(output, true);
  } else {
    const auto& library = std::get<LibraryCall>(step);
    for (const BufferId input : library.inputs) note(input, false);
    for (const PostOp& op : library.post_ops) note(op.operand, false);
    for (const BufferId output : library.outputs) note(output, true);
  }
  return same;
}

void PlanGraph::note_input(const KernelBundle& bundle, const Plan& plan, BufferId id,
                           bool written) {
  const std::int32_t index = bundle.buffers[plan.windows[id].memory].index;
  const InputKind kind = bundle.interface.inputs[index].kind;
  auto known = std::ranges::find(inputs, index, &ReadByTorch::input);
  if (known == inputs.end()) known = inputs.insert(known, {.input = index});
  known->stays |= written || kind == InputKind::parameter || kind == InputKind::buffer;
  known->bytes = std::max(known->bytes, extent(plan.windows[id]));
}

void PlanGraph::note_output(const Plan& plan, BufferId memory) {
  if (std::ranges::find(outputs, memory, &OfTorch::buffer) == outputs.end())
    outputs.push_back({memory, extent(plan.windows[memory])});
}

bool PlanGraph::stays(const KernelBundle& bundle, BufferId memory) const {
  return memory != kNoBuffer &&
         (bundle.buffers[memory].kind == Buffer::Kind::temporary ||
          std::ranges::find(outputs, memory, &OfTorch::buffer) != outputs.end());
}

/// What is copied takes less time than is won.
bool PlanGraph::is_cheap(bool lends) const {
  std::size_t bytes = 0;
  for (const ReadByTorch& read : inputs) bytes += read.copied ? read.bytes : 0;
  for (const OfTorch& made : outputs) bytes += lends && made.lent ? 0 : made.bytes;
  return bytes <= torch_calls_ * kCopiedPerCall;
}

void PlanGraph::forget_recorded() {
  lending_ = Recorded();
  copying_ = Recorded();
  away_ = 0;
}

/// Whether an input is elsewhere that is not copied. What stays may come back.
bool PlanGraph::has_moved(std::span<void* const> addresses) {
  const bool recorded = lending_.graph != nullptr || copying_.graph != nullptr;
  bool moved = false, away = false;
  for (ReadByTorch& read : inputs) {
    const void* now = addresses[static_cast<std::size_t>(read.input)];
    if (read.copied || read.address == now) continue;
    if (read.stays && recorded) {
      away = true;
      continue;
    }
    read.address = now;
    moved = true;
    if (runs_ > 0) read.copied = !read.stays;
  }
  if (moved) forget_recorded();
  away_ = away ? away_ + 1 : 0;
  if (away_ <= kMostAway) return away;
  for (ReadByTorch& read : inputs) read.address = addresses[static_cast<std::size_t>(read.input)];
  forget_recorded();
  return false;
}

PlanGraph::Recorded* PlanGraph::next(std::span<void* const> addresses, std::uint64_t settings) {
  if (std::exchange(settings_, settings) != settings) forget_recorded();
  const bool away = has_moved(addresses);
  if (runs_ < kRunsBefore) {
    ++runs_;
    return nullptr;
  }
  if (away) return nullptr;
  const bool lends = may_lend_ && !lending_.is_out();
  Recorded& recorded = lends ? lending_ : copying_;
  if (recorded.graph != nullptr) return &recorded;
  const bool costs = !is_cheap(lends);
  if (costs && may_lend_ && !lends) return nullptr;  // until what is lent comes back
  if (++recordings_ > (may_lend_ ? 2 : 1) * kMostRecordings || costs) {
    give_up();
    return nullptr;
  }
  recorded.lends = lends;
  return &recorded;
}

}  // namespace penstock::runtime
