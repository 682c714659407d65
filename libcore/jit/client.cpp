#include "jit/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "capture/tier_up.h"
#include "ir/device.h"
#include "jit/exceptions.h"
#include "jit/executors/checked_executor.h"
#include "jit/executors/gradient_paths.h"
#include "jit/executors/program_backend.h"
#include "jit/pipeline_compiler.h"
#include "ops/gradient.h"
#include "python/eval_breaker.h"
#include "python/exchanged_code.h"
#include "torch/autocast.h"
#include "torch/compile_region.h"
#include "torch/op_counter.h"
#include "torch/state.h"

namespace penstock::jit {
namespace {

using capture::Finish;
using capture::Found;
using capture::Lookup;
using python::PyRef;
using record::CapturedSegment;
using Clock = std::chrono::steady_clock;

/// Recordings of a segment, for calls that fit nothing, that gave nothing: behind so many the
/// segments that start later have it. Fewer of them where recordings are weighed.
constexpr int kMissLimit = 32, kMostInVain = 3;
/// Entries that no other call fitted: behind so many a segment is not recorded any more where that
/// is weighed.
constexpr std::ptrdiff_t kMostUnused = 3;
/// Failures of ours after which an entry runs no more.
constexpr int kFailureLimit = 3;

/// Gradient mode where the segment begins.
bool starts_in_grad_mode(const Graph& graph) {
  bool grad_mode = torch::grad_enabled();
  for (const Guard& guard : graph.interface.guards) {
    const bool* expected = guard.expected.as<bool>();
    if (guard.kind == GuardKind::grad_mode && expected != nullptr) grad_mode = *expected;
  }
  return grad_mode;
}

CodeSegments* segments_of(const python::Bytecode& code) {
  return static_cast<CodeSegments*>(code.data(python::CodeSlot::jit));
}

/// The entry that another thread, or code that an op of it called, is inside: the slots of its
/// guards must not be touched.
const Entry* active_entry(const Segment& segment) {
  for (const auto& entry : segment.entries) {
    if (entry->is_active()) return entry.get();
  }
  return nullptr;
}

/// Takes out the entries of which `goes` holds and that nobody is inside. What they hold is let go
/// by the caller, where nothing is half done: dropping a tensor lets other threads in.
template <class Goes>
std::vector<std::unique_ptr<Entry>> take_out(std::vector<std::unique_ptr<Entry>>& entries,
                                             const Goes& goes) {
  const auto stays = [&](const auto& entry) { return entry->is_active() || !goes(*entry); };
  const auto first = std::stable_partition(entries.begin(), entries.end(), stays);
  std::vector<std::unique_ptr<Entry>> taken(std::make_move_iterator(first),
                                            std::make_move_iterator(entries.end()));
  entries.erase(first, entries.end());
  return taken;
}

/// Entries of a segment that no call fitted but the one that they were recorded in.
std::ptrdiff_t count_unused(const Segment& segment) {
  return std::ranges::count_if(segment.entries,
                               [](const auto& entry) { return entry->count->calls <= 1; });
}

/// Calls that fit no entry pay for the next one, at a price that doubles with every entry that was
/// not used again but one: of sizes that change from call to call the first entry is for those of
/// one call, and the second for any.
bool recompile_pays(const Segment& segment) {
  const auto in_vain = std::clamp<std::ptrdiff_t>(count_unused(segment) - 1, 0, kMostUnused);
  return !segment.gave_up &&
         segment.missed >= segment.price * capture::TierUp::kSavedOneIn * (1 << in_vain);
}

/// Nobody can see the frame before the branch is behind it, and torch would read the same truth.
bool may_take_branch(const python::Frame& frame) {
  if (frame.has_object() || python::breaker_set(python::breaker_flag(frame.thread()))) return false;
  const auto bridge = torch::TensorBridge::get();
  return bridge && *bridge != nullptr && torch::has_torch_truth((*bridge)->tensor_type());
}

/// Says what an entry took before its graph is compiled.
void trace_recording(PassTrace& trace, const Interface& interface,
                     std::chrono::nanoseconds guards) {
  constexpr auto nothing = [] { return std::string(); };
  trace.after({"capture", "follow the program and record its ops"},
              std::chrono::nanoseconds(interface.capture_ns), nothing);
  trace.after({"guards", "compile guards and what to restore"}, guards, nothing);
}

/// A value that is not in the memory that kernels work on: whatever its sizes, no entry can compute
/// it.
const Value* value_elsewhere(const Graph& graph) {
  if (device_of(graph)) return nullptr;
  const auto found = std::find_if(graph.values.begin(), graph.values.end(),
                                  [](const Value& value) { return value.type.device != "cpu"; });
  return found == graph.values.end() ? nullptr : &*found;
}

/// A graph with these symbols could not be compiled: the next one has none that elements decide, or
/// none at all.
void refuse_sizes(const Interface& interface, record::ChangedNumbers& changed) {
  const bool decides = std::ranges::any_of(
      interface.symbols, [](const Symbol& symbol) { return symbol.source == kNoSource; });
  if (decides)
    changed.refuse_decided_sizes();
  else
    changed.refuse_sizes();
}

/// A graph could not be compiled: what the next recording leaves out, in words; empty: nothing.
/// `within`: it computes gradients.
std::string_view leave_out(const Interface& interface, Code why, bool within,
                           record::ChangedNumbers& changed) {
  if (within) {
    changed.refuse_gradients();
    return "with gradients within";
  }
  if (interface.symbols.empty() || why == Code::PS0709) return {};
  refuse_sizes(interface, changed);
  return "for sizes that change";
}

}  // namespace

JitClient::JitClient(GraphCompiler& compiler, capture::EventSink& sink, VerdictMemory* verdicts,
                     ClientOptions options)
    : compiler_(compiler), sink_(sink), verdicts_(verdicts), options_(std::move(options)) {}

// -- calls

Entry::Surroundings JitClient::surroundings() const {
  return {torch::region_backend(), backend_age_, torch::autocast_state(), python::code_exchanges()};
}

bool JitClient::is_tried(const Entry& entry) const {
  return std::ranges::find(tried_, &entry) != tried_.end();
}

Entry* JitClient::find_fitting(Segment& segment, const python::Frame& frame,
                               const PendingLocals* pending) {
  auto& entries = segment.entries;
  const Entry::Surroundings now = surroundings();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    Entry* entry = entries[i].get();
    if (!entry->serves(now) || is_tried(*entry) || !entry->fits(frame, pending)) continue;
    // Another thread may have moved it while its guards were tested.
    const auto found =
        std::ranges::find(entries, entry, [](const auto& each) { return each.get(); });
    std::rotate(entries.begin(), found, found + 1);
    return entry;
  }
  return nullptr;
}

/// When a call begins that is to be profiled.
Clock::time_point JitClient::profiled_since() const {
  return options_.profile == nullptr ? Clock::time_point() : Clock::now();
}

Finish JitClient::finish_call(python::Frame& frame) {
  fitted_ = nullptr;  // of a frame that was not conducted then
  tried_.clear();
  CodeSegments* segments = segments_of(frame.bytecode());
  if (segments == nullptr) return Finish::no;
  Segment* segment = segments->find(0);
  if (segment == nullptr || segment->entries.empty()) return Finish::no;
  if (frame.is_generator() || frame.unit() != 0) return Finish::no;
  if (active_entry(*segment) != nullptr) return Finish::no;
  const Clock::time_point called = profiled_since();
  Entry* entry = find_fitting(*segment, frame);
  if (entry == nullptr) return Finish::no;
  if (entry->returns() && leave_to_python(*entry, frame.thread())) {
    return entry->runs() ? Finish::plain : Finish::refused;
  }
  if (entry->is_direct() && !is_plain_turn(*entry) && entry->runs())
    return finish_by(*entry, frame, called);
  fitted_ = entry;
  fitted_frame_ = frame.raw();
  return Finish::no;
}

/// Runs a call that is the entry's whole.
Finish JitClient::finish_by(Entry& entry, python::Frame& frame, Clock::time_point called) {
  const bool is_measured = entry.is_measured();
  const auto begin = is_measured ? entry.gate->now() : Gate::Nanoseconds();
  if (is_measured) trial_->call_begins(*entry.gate, frame.thread());
  Ran ran = Ran::refused;
  PyRef result = entry.run_direct(ran);
  if (ran != Ran::done) {
    note_failure(entry);
    note_tried(entry, frame);
    // Raised: an input was written, but the result could not be made. The error is the call's.
    frame.attachment = nullptr;
    return ran == Ran::raised ? Finish::done : Finish::no;
  }
  ++entry.count->calls;
  backward_saved_ns_ += entry.count->gate.backward_saved_ns;
  finished_ = entry.id();
  if (entry.profile != nullptr) entry.profile->ended(Clock::now() - called);
  if (is_measured) measured(entry, begin);
  frame.attachment = result.release();
  return Finish::done;
}

Lookup JitClient::lookup(python::Frame& frame, bool over_branches) {
  if (tried_frame_ != frame.raw()) tried_.clear();
  Lookup answer = look_up(frame, over_branches);
  tried_.clear();
  return answer;
}

Lookup JitClient::look_up(python::Frame& frame, bool over_branches) {
  CodeSegments* segments = segments_of(frame.bytecode());
  Segment* segment = segments == nullptr ? nullptr : segments->find(frame.unit());
  if (segment == nullptr) return {};
  const Clock::time_point called = profiled_since();
  Entry* entry = nullptr;
  if (fitted_ != nullptr && fitted_frame_ == frame.raw() && frame.unit() == 0) entry = fitted_;
  fitted_ = nullptr;
  if (entry == nullptr) {
    if (const Entry* active = active_entry(*segment)) return step(*segment, active);
    entry = find_fitting(*segment, frame);
  }
  if (entry == nullptr) return miss(*segment, frame);
  if (leave_to_python(*entry, frame.thread())) return step(*segment, entry);
  if (entry->is_measured()) return measure(*segment, *entry, frame, called);
  return run(*segment, *entry, frame, over_branches, called);
}

Lookup JitClient::step(const Segment& segment, const Entry* entry) const {
  Lookup answer;
  answer.found = Found::step;
  answer.id = entry != nullptr ? entry->id() : segment.start.id();
  answer.end = entry != nullptr ? entry->end() : segment.end;
  answer.measured = entry != nullptr && entry->runs();
  return answer;
}

/// Runs the entry, and behind each branch that is taken the entry that fits there. The call began
/// at `called`.
Lookup JitClient::run(Segment& segment, Entry& entry, python::Frame& frame, bool over_branches,
                      Clock::time_point called) {
  PendingLocals pending;
  Lookup answer;
  for (Entry* next = &entry; next != nullptr; next = find_next(frame, pending)) {
    const bool over = over_branches && next->takes_branch() && may_take_branch(frame);
    const Ran ran = next->run(frame, answer.value, pending, over);
    if (ran == Ran::refused) note_failure(*next);
    if (ran == Ran::refused && !answer.branched && note_tried(*next, frame))
      return run_other(segment, *next, frame, over_branches, called);
    if (ran == Ran::refused && answer.branched) break;  // it is looked up again, with real locals
    ++next->count->calls;
    if (ran == Ran::refused) return step(segment, &entry);
    backward_saved_ns_ += next->count->gate.backward_saved_ns;
    if (next->profile != nullptr) {
      const auto now = Clock::now();
      next->profile->ended(now - std::exchange(called, now));
    }
    answer.id = next->id();
    answer.branched = ran == Ran::branched;
    answer.found = ran == Ran::raised                    ? Found::raised
                   : ran == Ran::done && next->returns() ? Found::returned
                                                         : Found::moved;
    answer.announced = answer.found == Found::moved && ran == Ran::done && next->announces();
    if (ran != Ran::branched) return answer;
    torch::count_op_as_run();  // aten::is_nonzero
  }
  if (!pending.settle(frame)) answer.found = Found::raised;
  return answer;
}

/// Whether elements decided a size that the entry, whose run failed, is not for.
bool JitClient::note_tried(const Entry& entry, const python::Frame& frame) {
  if (entry.failure().code != Code::PS0812) return false;
  tried_.push_back(&entry);
  tried_frame_ = frame.raw();
  return true;
}

Lookup JitClient::run_other(Segment& segment, const Entry& entry, python::Frame& frame,
                            bool over_branches, Clock::time_point called) {
  ++entry.count->calls;
  Entry* other = find_fitting(segment, frame);
  if (other == nullptr) return miss(segment, frame);
  if (!other->runs() || other->is_measured()) return step(segment, other);
  return run(segment, *other, frame, over_branches, called);
}

void JitClient::stepped(const python::Frame& frame, bool whole) {
  if (missed_run_.thread == frame.thread()) {
    const MissedRun run = std::exchange(missed_run_, {});
    run.segment->missed += Clock::now() - run.begin;
  }
  ran_plainly(frame.thread(), whole);
}

/// The entry that goes on where the frame stands behind a branch; null: nothing does.
Entry* JitClient::find_next(const python::Frame& frame, const PendingLocals& pending) {
  constexpr std::size_t kMostReplaced = 64;  // objects that wait to be let go
  if (pending.replaced.size() > kMostReplaced) return nullptr;
  Segment* segment = segments_of(frame.bytecode())->find(frame.unit());
  if (segment == nullptr || active_entry(*segment) != nullptr) return nullptr;
  Entry* entry = find_fitting(*segment, frame, &pending);
  return entry != nullptr && entry->runs() && !entry->is_measured() ? entry : nullptr;
}

bool JitClient::has_room(const Segment& segment) const {
  const Entry::Surroundings now = surroundings();
  std::size_t serving = 0, reused = 0;
  for (const auto& entry : segment.entries) {
    if (!entry->serves(now)) continue;
    ++serving;
    reused += entry->count->calls > 1;
  }
  return capture::has_room(serving, reused, options_.entry_limit);
}

Lookup JitClient::miss(Segment& segment, python::Frame& frame) {
  auto& entries = segment.entries;
  // What is recorded again and again for calls that never come back is not worth more of them.
  const bool weighed = options_.weighs_recompiles && !torch::in_compiled_region();
  if (!segment.gave_up && segment.misses >= (weighed ? kMostInVain : kMissLimit)) {
    Lookup answer;
    answer.found = Found::pass;
    return answer;
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {  // other threads may add some
    Entry* entry = entries[i].get();
    const bool is_new = entry->count->calls <= 1 && entry->id() == segment.start.last();
    if (is_new && !segment.gave_up)
      segment.start.changed().note_moment(entry->explain(frame), entry->is_dead());
  }
  const Entry::Surroundings now = surroundings();
  const auto dead = take_out(entries, [&](const Entry& entry) { return entry.is_outlived(now); });
  if (weighed && count_unused(segment) >= kMostUnused) segment.gave_up = true;
  if (weighed && !recompile_pays(segment)) {
    Lookup answer = step(segment, nullptr);
    answer.measured = !segment.gave_up;
    if (missed_run_.thread == nullptr) missed_run_ = {frame.thread(), &segment, Clock::now()};
    return answer;
  }
  if (segment.gave_up) return step(segment, nullptr);
  ++segment.misses;
  std::vector<RecompileEvent::Entry> misfits;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    Entry* entry = entries[i].get();
    if (!entry->serves(now)) continue;
    misfits.push_back({entry->id(), entry->explain(frame)});
    if (!is_tried(*entry)) continue;
    segment.start.changed().note_decided();
    misfits.back().failed.push_back({GuardKind::condition,
                                     {},
                                     "the size that elements decide",
                                     {},
                                     entry->failure().message,
                                     entry->failure().location,
                                     {}});
  }
  segment.start.missed(std::move(misfits));
  if (has_room(segment)) {
    Lookup answer;
    answer.found = Found::miss;
    answer.changed = &segment.start.changed();
    return answer;
  }
  if (!segment.start.tell_limit(sink_)) return step(segment, nullptr);
  Diagnostic diagnostic{Code::PS0502, {}, {}, {}, {}, Severity::warning};
  diagnostic.message = "segment " + std::to_string(segment.start.id().frame) + " has " +
                       std::to_string(entries.size()) +
                       " entries; calls that fit none of them are stepped";
  say(std::move(diagnostic), entries.front()->interface());
  return step(segment, nullptr);
}

bool JitClient::starts_at(const python::Bytecode& code, int offset) const {
  CodeSegments* segments = segments_of(code);
  return segments != nullptr && segments->find(offset) != nullptr;
}

// -- recorded segments

EntryId JitClient::captured(CapturedSegment recorded) {
  python::Bytecode& bytecode = python::bytecode_of(recorded.code);
  CodeSegments* segments = segments_of(bytecode);
  if (segments == nullptr) {
    const auto units = static_cast<std::size_t>(Py_SIZE(recorded.code));
    auto made = std::make_unique<CodeSegments>(units);
    segments = made.get();
    bytecode.set_data(python::CodeSlot::jit, std::move(made));
  }
  const std::int32_t start = recorded.graph.interface.start_offset;
  Segment* segment = segments->find(start);
  if (segment == nullptr) {
    segment = &segments->make(start);
    segment->start = capture::SegmentStart(next_frame_++);
  }
  compiled_ops_ = 0;
  segment->misses = 0;
  segment->missed = {};
  Interface& interface = recorded.graph.interface;
  const auto added = segment->start.add(interface, sink_);
  const EntryId id = interface.id;
  const auto dropped = take_out(segment->entries, [&](const Entry& entry) {
    return std::ranges::find(added.replaced, entry.id()) != added.replaced.end();
  });
  EntryCount& count = new_count(recorded);
  if (added.contradiction) {
    // The next recording ends before it.
    count.runs = 0;
    sink_.restarted({id, "a guard cannot hold: " + *added.contradiction, interface.location});
    return id;
  }
  const Clock::time_point begin = Clock::now();
  const std::chrono::nanoseconds recording(interface.capture_ns);
  install(*segment, std::move(recorded), count);
  segment->price = recording + (Clock::now() - begin);
  return id;
}

void JitClient::install(Segment& segment, CapturedSegment recorded, EntryCount& count) {
  const SegmentEnd& end = recorded.graph.interface.end;
  segment.end = end.kind == SegmentEnd::Kind::returned ? -1 : end.offset;
  const auto start = Clock::now();
  auto entry = without_exceptions([&] { return Entry::make(recorded); });
  if (options_.trace != nullptr)
    trace_recording(*options_.trace, recorded.graph.interface, Clock::now() - start);
  if (!entry) {
    segment.gave_up = true;
    return say(std::move(entry.error()), recorded.graph.interface);
  }
  const Interface& interface = (*entry)->interface();
  const bool grad_mode = starts_in_grad_mode(recorded.graph),
             gradients = gives_gradients(recorded.graph),
             within = ops::goes_backward(recorded.graph), passes_twice = gradients || within;
  (*entry)->count = &count;
  (*entry)->set_surroundings(surroundings());
  if (options_.profile != nullptr) (*entry)->profile = &options_.profile->add(interface);
  if (torch::region_backend() != nullptr) {
    if (!give_program_backend(**entry, recorded)) return;
  } else if (gradients && !grad_mode) {
    (*entry)->why_not = facts(Code::PS0504).title;
    say({Code::PS0504, (*entry)->why_not, {}, {}, {}, Severity::note}, interface, false);
  } else if (was_refused(**entry, recorded.graph)) {
    refuse(**entry);
  } else if (const Value* value = value_elsewhere(recorded.graph); value != nullptr) {
    (*entry)->why_not = value->name + " is on the device " + value->type.device;
    // A tensor on meta has no data, so that there is nothing to compile and nothing to tell the
    // user.
    say({Code::PS0505, (*entry)->why_not, {}, {}, {}, Severity::warning}, interface,
        value->type.device != "meta");
  } else if (auto given =
                 give_executor(**entry, std::move(recorded.graph), recorded.code, gradients);
             !given) {
    // Other sizes would take as long.
    if (given.error().code == Code::PS0709 && !within) segment.gave_up = true;
    const std::string_view without =
        leave_out(interface, given.error().code, within, segment.start.changed());
    if (!without.empty()) {
      // The next call that fits no entry is recorded so.
      count.runs = 0;
      return sink_.restarted({interface.id,
                              fmt::format("not compiled {}: {}", without, given.error().message),
                              interface.location});
    }
    (*entry)->why_not = given.error().message;
    // What has no backward here is torch's to run, as if there were no entry.
    const bool gradients_only =
        given.error().code == Code::PS0504 || given.error().code == Code::PS0606;
    if (gradients_only) given.error().severity = Severity::note;
    say(std::move(given.error()), interface, !gradients_only);
  }
  count.runs = (*entry)->runs() ? 1 : 0;
  if (count.runs != 0)
    compiled_ops_ = std::int64_t{count.nodes} * (passes_twice ? capture::TierUp::kPasses : 1);
  segment.entries.insert(segment.entries.begin(), std::move(*entry));
}

Result<void> JitClient::give_executor(Entry& entry, Graph graph, PyCodeObject* code,
                                      bool gradients) {
  entry.is_large = is_large(graph);
  std::optional<Graph> recorded;
  if (options_.self_check && !gradients && !ops::goes_backward(graph)) recorded = graph;
  const bool weighed = gradients && entry.gate != nullptr && entry.gate->open();
  if (weighed) trial_->add(entry.gate, entry.verdict_key);
  auto executor = without_exceptions([&] {
    return gradients ? compiler_.compile_gradients(std::move(graph), entry.gate,
                                                   weighed ? trial_ : nullptr)
                     : compiler_.compile(std::move(graph));
  });
  if (!executor) return tl::unexpected(std::move(executor.error()));
  if (auto added = entry.add_conditions((*executor)->guards(), code); !added) return added;
  const auto bridge = torch::TensorBridge::get();
  if (recorded && bridge && *bridge != nullptr) {
    *executor = check_first_runs(std::move(*executor), std::move(*recorded), **bridge);
  }
  entry.set_executor(std::move(*executor));
  return {};
}

bool JitClient::wants_examples() const {
  return torch::region_backend() != nullptr;
}

bool JitClient::give_program_backend(Entry& entry, const CapturedSegment& recorded) {
  auto executor =
      without_exceptions([&] { return make_program_backend(recorded, backend_error_); });
  if (!executor) {
    entry.why_not = executor.error().message;
    say(std::move(executor.error()), recorded.graph.interface);
    return true;
  }
  if (*executor != nullptr) {
    entry.set_executor(std::move(*executor));
    return true;
  }
  entry.count->runs = 0;
  backend_error_ = take_python_error();
  return false;
}

EntryCount& JitClient::new_count(const CapturedSegment& recorded) {
  EntryCount* count = options_.recorded ? options_.recorded(recorded) : nullptr;
  if (count == nullptr) count = &own_counters_.emplace_back();
  const EntryId id = recorded.graph.interface.id;
  *count = {
      id.frame, id.recompile, static_cast<std::uint32_t>(recorded.graph.nodes.size()), 0, 1, 0, {}};
  count->gate.verdict = GateReport::Verdict::off;
  counters_.push_back(count);
  return *count;
}

/// A refusal of torch's own is the program's: stepping raises it again, at its line.
void JitClient::note_failure(Entry& entry) {
  const Diagnostic& failure = entry.failure();
  if (failure.severity == Severity::note) return;
  if (failure.code == Code::PS0506) {  // it would be wrong again
    entry.why_not = failure.message;
    entry.set_executor(nullptr);
    entry.count->runs = 0;
    return say({Code::PS0506,
                "entry " + to_string(entry.id()) + ": " + failure.message,
                {},
                {},
                {},
                Severity::warning},
               entry.interface());
  }
  Diagnostic diagnostic{Code::PS0505, {}, {}, {}, {}, Severity::warning};
  diagnostic.message =
      "entry " + to_string(entry.id()) + " failed and was stepped: " + failure.message;
  if (++entry.failures >= kFailureLimit) {
    entry.why_not = failure.message;
    entry.set_executor(nullptr);
    entry.count->runs = 0;
  }
  say(std::move(diagnostic), entry.interface());
}

/// One message per function and diagnostic, and a document of it.
void JitClient::say(Diagnostic diagnostic, const Interface& interface, bool to_person) {
  std::string key = interface.name + "\n" + std::string(facts(diagnostic.code).id);
  if (interface.location) {
    key += "\n" + interface.location->file.text();
    if (!diagnostic.location) diagnostic.location = interface.location;
  }
  if (!told_.insert(std::move(key)).second) return;
  if (diagnostic.code != Code::PS0502) {  // the recompile document has told of the limit
    SkipEvent skip;
    skip.code = std::string(facts(diagnostic.code).id);
    skip.name = interface.name;
    skip.location = interface.location;
    skip.reason = diagnostic.message;
    skip.bypass = diagnostic.code != Code::PS0504 && diagnostic.code != Code::PS0709;
    sink_.skipped(skip);
  }
  if (to_person && options_.report) options_.report(diagnostic);
}

}  // namespace penstock::jit
