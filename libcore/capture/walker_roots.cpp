// The walker at roots: calls that an entry finishes, and roots that are recorded only where that
// pays (tier_up.h).
//
// A weighed root is run by CPython's evaluator and timed; what it calls are roots of their own. One
// is told from another by its code, by the module whose method it is (the code of torch.nn.Module's
// call is every model's and every layer's), and by the gradient mode, in which backward is compiled
// and gained from, too.
//
// A function with loops is called once, perhaps, and runs all that the program does: nothing can
// take over a frame that the evaluator runs. So its first calls are conducted, and the turns of its
// loops are roots (walker_turns.cpp). Where it steps on and on without an op, the evaluator gets
// the frame.

#include <algorithm>
#include <map>
#include <tuple>

#include "capture/cold_roots.h"
#include "capture/walker.h"
#include "policy/may_record.h"
#include "policy/shown_code.h"
#include "python/literal.h"
#include "python/rest.h"
#include "record/symbolic_sizes.h"
#include "torch/device_memory.h"
#include "torch/op_counter.h"
#include "torch/state.h"

namespace penstock::capture {

using python::Entry;
using python::Frame;
using python::Instruction;
using python::Opcode;
using Clock = std::chrono::steady_clock;

namespace {

/// Modules that share a code object and are told apart.
constexpr std::size_t kMostRoots = 512;
/// Calls of a function with loops that are conducted before any op in them was found to take long.
constexpr std::int64_t kConductedCalls = 2;
/// Instructions that a frame may step without an op.
constexpr int kMostIdle = 20'000;
/// What it takes to conduct an instruction, and one in how much of a frame's time those between its
/// segments may take: as long as nothing says what the loops in it are worth, where nothing does
/// for long, and where entries run in them, which make that time short.
constexpr std::chrono::nanoseconds kStep{50};
constexpr int kStepsOneIn = 8, kColdStepsOneIn = 32, kHotStepsOneIn = 2;
constexpr std::chrono::milliseconds kUndecided{500};
constexpr std::int64_t kStepsBetweenLooks = 2048;
/// What an op takes at least where ops cannot be counted.
constexpr std::chrono::microseconds kOpTime{20};

/// Ops that this thread has run and that are not made of nothing.
std::int64_t useful_ops() {
  return torch::ops_run() - torch::factory_ops_run();
}

bool has_loop(const python::Bytecode& code) {
  return std::ranges::any_of(code.instructions(), [](const Instruction& one) {
    return one.target >= 0 && one.target <= one.offset;
  });
}

/// The program says of an argument which of its sizes change.
bool has_marked_argument(const Frame& frame, const torch::TensorBridge& bridge) {
  for (int i = 0; i < frame.code()->co_argcount; ++i) {
    PyObject* argument = frame.local(i);
    if (argument != nullptr && bridge.is_tensor(argument) &&
        !record::marks_of(argument).dynamic.empty())
      return true;
  }
  return false;
}

/// A call of the root was timed.
void judge(CodeInfo& known, RootHistory& root) {
  if (root.trial.plain_turn()) ++known.plain_turns_due;
  if (root.trial.verdict() != RootTrial::Verdict::refused) return;
  root.state = RootHistory::State::given_up;
  known.some_given_up = true;
}

/// No entry ran in a call of a hot root, or one did.
void ran_hot(CodeInfo& known, RootHistory& root, bool useful) {
  if (!useful) known.some_useless = true;
  if (TierUp::ran_hot(root, useful)) known.some_given_up = true;
}

/// A recorded root ended: its time since `began` is none of the native one around it.
void add_hot_time(Region& region, Clock::time_point began) {
  region.native_roots.back().in_hot += Clock::now() - began;
}

/// The instructions of a frame that is conducted for its loops take too much of its time.
bool steps_too_much(const Activation& activation, const CodeInfo& known) {
  const std::chrono::nanoseconds time = Clock::now() - activation.began;
  const int one_in = known.loops == CodeInfo::Loops::hot ? kHotStepsOneIn
                     : time > kUndecided                 ? kColdStepsOneIn
                                                         : kStepsOneIn;
  return kStep * activation.steps * one_in > time;
}

}  // namespace

// -- calls that an entry finishes

/// A call that the client knows as a whole counts as a root: as one segment if an entry ran it.
std::optional<Entry> Walker::finish_call(Frame& frame, Region& region, CodeInfo& known) {
  const bool metered = is_metered(region);
  const bool timed = !region.native_roots.empty() && region.native_roots.back().timed;
  const bool told = metered && (sink_.times_every_root() || known.timed_calls.times_next());
  const auto begin = told || timed ? Clock::now() : Clock::time_point();
  const Finish finish = client_.finish_call(frame);
  region.entrances += finish == Finish::no ? 0 : 1;
  region.finds += finish == Finish::done || finish == Finish::plain ? 1 : 0;
  switch (finish) {
    case Finish::no:
      return std::nullopt;
    case Finish::refused:
      if (RootHistory* root = weighs(region) ? find_history(frame, known, false) : nullptr)
        ran_hot(known, *root, false);
      [[fallthrough]];
    case Finish::plain:
      if (metered) region.meter.enter(sink_);
      region.meter.segment_begins();  // its ops are counted with the entry's calls
      region.plain = true;
      return Entry::native_told;
    case Finish::done:
      break;
  }
  if (told) {
    const Clock::time_point end = Clock::now();
    const std::int64_t stands_for = known.timed_calls.took(end - begin);
    sink_.ran({Stretch::Kind::entry, client_.finished(), begin, end, stands_for});
    sink_.left_root({0, 0, end - begin, end - begin, begin, stands_for});
  }
  if (timed) add_hot_time(region, begin);
  if (known.some_useless) {
    if (RootHistory* root = find_history(frame, known, false)) root->useless = 0;
  }
  return Entry::finished;
}

void Walker::ran(PyThreadState* thread, bool returned) {
  Region& region = this->region(thread);
  if (!region.plain) {
    auto& engine_runs = region.engine_runs;
    if (engine_runs.empty() || engine_runs.back() != region.native_roots.size())
      return left_native(region);
    engine_runs.pop_back();
    return client_.engine_ended(thread, returned);
  }
  region.plain = false;
  if (region.plain_turn.root != nullptr) return left_plain_turn(region, returned);
  region.meter.segment_ends(Stretch::Kind::plain, {-1});
  client_.ran_plainly(thread, returned);
  if (is_metered(region)) sink_.left_root(region.meter.leave());
}

// -- weighed roots

bool Walker::weighs(const Region& region) const {
  return tier_up_ && (region.activations.empty() || region.activations.back()->cold);
}

RootHistory* Walker::find_history(Frame& frame, CodeInfo& known, bool make) {
  PyObject* self = frame.code()->co_argcount > 0 ? frame.local(0) : nullptr;
  if (self != nullptr && PyCell_Check(self)) self = PyCell_GET(self);
  if (self != nullptr) {
    const auto [type, added] = module_types_.try_emplace(Py_TYPE(self), false);
    if (added) type->second = policy::is_nn_module(self);
    if (!type->second || (known.roots.size() >= kMostRoots)) self = nullptr;
  }
  const auto key = reinterpret_cast<std::uintptr_t>(self) | (torch::grad_enabled() ? 1 : 0);
  if (const auto found = known.roots.find(key); found != known.roots.end()) return found->second;
  if (!make) return nullptr;
  RootHistory& root = histories_.emplace_back();
  known.roots.emplace(key, &root);
  root.gradients = torch::grad_enabled();
  if (policy::is_of_optimizer(frame)) {
    root.of_optimizer = known.some_given_up = true;
    root.state = RootHistory::State::given_up;
  }
  if (sink_.meters_roots()) {
    policy::ShownCode shown = policy::shown_code(frame);
    root.name = std::move(shown.name);
    root.location = std::move(shown.location);
  }
  return &root;
}

/// Of calls of what was given up some are looked at: what they call may become worth recording.
Entry Walker::leave_alone(const Frame& frame, Region& region, RootHistory& root) const {
  if (TierUp::is_given_up(&root)) {
    if (sink_.meters_roots() || !TierUp::may_be_unhooked(root)) return Entry::native_watched;
    if (TierUp::looks_at(root)) {
      region.native_roots.push_back(
          {.root = &root, .around = calls_seen_as_one(region), .entrances = region.entrances});
      return Entry::native_told;
    }
  }
  const bool counted = std::ranges::any_of(region.native_roots, &NativeRoot::counted);
  const bool unhooked = TierUp::is_quiet(root) && !counted && !sink_.meters_roots() &&
                        python::is_only_thread(frame.thread()) && conducts_all(region);
  if (!unhooked) return Entry::native;
  TierUp::ran_unseen(root);
  return Entry::unhooked;
}

Entry Walker::enter_weighed(Frame& frame, Region& region, CodeInfo& known, RootHistory* history) {
  RootHistory& root = history != nullptr ? *history : *find_history(frame, known, true);
  const bool cold = root.state == RootHistory::State::cold;
  if (cold && (has_marked_argument(frame, *bridge_) || becomes_hot(region, root)))
    root.state = RootHistory::State::hot;
  if (root.state == RootHistory::State::hot) {
    region.hot_began = Clock::now();
    client_.take_backward_saved();
    region.useful = region.unlike = region.waited = region.learning = false;
    conduct(frame, region, true);
    region.activations.back()->root = &root;
    return Entry::conduct;
  }
  if (root.state == RootHistory::State::given_up) return Entry::native_watched;
  const bool timed = TierUp::counts(root, calls_seen_as_one(region));
  if (is_conducted_for_loops(frame, known, root)) {
    conduct(frame, region, true);
    conduct_for_loops(frame, region);
    region.activations.back()->root = &root;
    return Entry::conduct;
  }
  begin_timed(region, root, timed);
  return Entry::native_told;
}

/// Plain Python's turn begins, a call's or a loop's.
void Walker::begin_timed(Region& region, RootHistory& root, bool timed) {
  if (is_metered(region)) region.meter.enter(sink_);
  NativeRoot call{.root = &root,
                  .timed = timed,
                  .around = calls_seen_as_one(region),
                  .entrances = region.entrances};
  if (timed) {
    call.counted = root.ops < 0 && torch::start_counting_ops(policy::makes_tensor_of_nothing);
    call.ops = useful_ops();
    call.began = Clock::now();
  }
  region.native_roots.push_back(call);
}

bool Walker::becomes_hot(const Region& region, RootHistory& root) const {
  for (const NativeRoot& outer : region.native_roots) {
    const bool whole = !has_inner_turn(outer) || outer.root->gathers;
    if (!TierUp::is_given_up(outer.root) && whole) TierUp::is_inside(root, *outer.root);
  }
  return tier_up_->pays(root);
}

void Walker::left_native(Region& region) {
  if (region.native_roots.empty()) return;
  const NativeRoot call = region.native_roots.back();
  region.native_roots.pop_back();
  RootHistory& root = *call.root;
  TierUp::looked_at(root, region.entrances == call.entrances);
  if (call.timed) {
    const std::chrono::nanoseconds time = Clock::now() - call.began - call.in_hot;
    std::optional<std::int64_t> ops;
    if (call.counted) {
      ops = useful_ops() - call.ops;
      torch::stop_counting_ops();
    } else if (root.ops < 0) {
      ops = time / kOpTime + 1;
    }
    if (ops) root.on_gpu = torch::uses_gpu();
    if (ops && *ops <= 0) {
      // Some calls without an op, and nobody looks at it any more.
      if (TierUp::ran_hot(root, false)) root.ops = 0;
    } else {
      tier_up_->ran(root, time * call.around, ops);
    }
    if (!region.native_roots.empty()) region.native_roots.back().in_hot += call.in_hot;
  }
  if (is_metered(region)) {
    const RootTotals totals = region.meter.leave();
    if (totals.native_ops > totals.native_factories) sink_.left_root(totals);
  }
}

std::optional<Entry> Walker::enter_plain_turn(Region& region, CodeInfo& known, RootHistory* root) {
  if (root == nullptr || root->state != RootHistory::State::hot || !root->trial.plain_turn())
    return std::nullopt;
  --known.plain_turns_due;
  ++region.entrances;
  python::note_event();
  if (is_metered(region)) region.meter.enter(sink_);
  region.plain = true;
  region.plain_turn = {root, &known, Clock::now()};
  return Entry::native_told;
}

void Walker::left_plain_turn(Region& region, bool returned) {
  const auto [root, code, began] = std::exchange(region.plain_turn, {});
  if (returned) root->trial.plain_ran(Clock::now() - began);
  judge(*code, *root);
  if (is_metered(region)) sink_.left_root(region.meter.leave());
}

void Walker::left_weighed(Frame& frame, Region& region, const Activation& activation,
                          bool returned) {
  if (activation.cold) return;
  if (!region.native_roots.empty() && region.native_roots.back().timed)
    add_hot_time(region, region.hot_began);
  CodeInfo& known = info(frame);
  RootHistory& root = *activation.root;
  ran_hot(known, root, region.useful);
  const bool learns = region.learning && root.learned < TierUp::kMostLearned;
  root.learned += learns ? 1 : 0;
  const bool waits = region.waited && root.waited < TierUp::kMostWaited;
  root.waited += waits ? 1 : 0;
  if (!returned || !region.useful || region.unlike || learns || waits || root.trial.plain_turn() ||
      root.trial.verdict() != RootTrial::Verdict::open)
    return;
  // Plain Python's turn is measured without its backward, too.
  const auto time = Clock::now() - region.hot_began - client_.take_backward_saved();
  region.waited ? root.trial.waited(time) : root.trial.entries_ran(time);
  judge(known, root);
}

void Walker::recorded(Region& region) {
  const std::int64_t compiled = client_.compiled_ops();
  region.useful = region.useful || compiled > 0;
  region.unlike = true;
  for (const auto& activation : region.activations) {
    RootHistory* root = activation->cold ? nullptr : activation->root;
    if (root != nullptr && compiled == 0 && torch::grad_enabled()) root->needs_gradients = true;
  }
  spent(region, compiled);
}

void Walker::spent(const Region& region, std::int64_t ops) {
  tier_up_->spent(ops, Clock::now() - region.started - region.ops);
}

// -- loops in frames that are called once

bool Walker::is_conducted_for_loops(Frame& frame, CodeInfo& known, const RootHistory& root) {
  using Loops = CodeInfo::Loops;
  if (known.loops == Loops::unknown)
    known.loops = has_loop(frame.bytecode()) ? Loops::cold : Loops::none;
  return known.loops == Loops::hot || (known.loops == Loops::cold && root.calls <= kConductedCalls);
}

bool Walker::gives_up(Activation& activation, Region& region, int steps) {
  activation.idle += steps;
  const bool often = ++activation.steps - activation.looked_at >= kStepsBetweenLooks;
  if (often) activation.looked_at = activation.steps;
  const bool too_much =
      often && activation.cold && steps_too_much(activation, info(*activation.frame));
  if (activation.idle <= kMostIdle && !too_much) return false;
  if (enclosing(region) != nullptr) return false;
  CodeInfo& known = info(*activation.frame);
  if (activation.cold && known.loops == CodeInfo::Loops::hot)
    known.loops = CodeInfo::Loops::given_up;
  return true;
}

// -- reports

void Walker::report_cold() const {
  if (!tier_up_ || !sink_.meters_roots()) return;
  std::map<std::tuple<std::string, std::string, int>, const RootHistory*> by_place;
  for (const RootHistory& root : histories_) {
    if (root.state == RootHistory::State::hot || root.ops == 0 || !root.location) continue;
    const RootHistory*& known =
        by_place[{root.name, root.location->file.text(), root.location->line}];
    if (known == nullptr || root.native > known->native) known = &root;
  }
  for (const auto& [place, root] : by_place) {
    SkipEvent skip;
    skip.code = std::string(facts(Code::PS0810).id);
    skip.name = root->name;
    skip.location = root->location;
    skip.reason = tier_up_->why_cold(*root);
    sink_.skipped(skip);
  }
}

void report_cold_roots(const python::FrameDriver& walker) {
  const auto* known = dynamic_cast<const Walker*>(&walker);
  if (known != nullptr) known->report_cold();
}

}  // namespace penstock::capture
