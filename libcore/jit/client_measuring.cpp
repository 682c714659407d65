// The client where calls are measured: whose turn it is, what plain Python took, and verdicts.
#include <algorithm>
#include <limits>
#include <utility>

#include "ir/subgraphs.h"
#include "jit/client.h"
#include "jit/gate/measured_device.h"

namespace penstock::jit {

using capture::Found;
using capture::Lookup;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::size_t kAllGaps = std::numeric_limits<std::size_t>::max();

}  // namespace

/// Plain Python is to run the next call of the entry, to be measured.
bool JitClient::is_plain_turn(Entry& entry) {
  if (!entry.is_measured()) return false;
  const bool plain = trial_->turn(*entry.gate) == Gate::Turn::plain;
  for (const StepTrial::Settled& settled : trial_->take_settled())
    keep_verdict(*settled.gate, settled.key);
  if (entry.gate->refuses()) refuse(entry);
  return plain && entry.is_measured();
}

/// Of what an entry and the compiler hold, before plain Python runs its call.
void JitClient::give_back_memory(Entry& entry) {
  const bool in_step = entry.gate->company() == Gate::Company::step;
  const bool held = in_step ? trial_->entries_hold_memory() : entry.gate->entry_holds_memory();
  if (!entry.is_large || !held) return;
  compiler_.give_back_memory();
  entry.gate->memory_was_given_back();
  if (in_step) trial_->memory_was_given_back();
  entry.gaps = std::make_unique<heap::OccupiedGaps>();
  entry.gaps->take(kAllGaps);
}

/// Plain Python runs a call of the entry: it has no executor (any more), or it is Python's turn to
/// be measured.
bool JitClient::leave_to_python(Entry& entry, PyThreadState* thread) {
  const bool plain = is_plain_turn(entry) && plain_run_.thread == nullptr;
  const bool runs = entry.runs();  // no more, where its turn brought a verdict against it
  if (runs && !plain) {
    entry.gaps.reset();
    return false;
  }
  if (entry.was_given_up()) {
    keep_verdict(*entry.gate, entry.verdict_key);
    refuse(entry);
  }
  ++entry.count->calls;
  if (entry.count->runs != 0) ++entry.count->plain_calls;
  if (!runs) return true;
  give_back_memory(entry);
  trial_->call_begins(*entry.gate, thread);
  plain_run_ = {thread, entry.gate, entry.verdict_key, entry.gate->now()};
  return true;
}

/// Runs the entry while its calls are measured.
Lookup JitClient::measure(Segment& segment, Entry& entry, python::Frame& frame,
                          Clock::time_point called) {
  const auto begin = entry.gate->now();
  trial_->call_begins(*entry.gate, frame.thread());
  Lookup answer = run(segment, entry, frame, false, called);
  if (answer.found == Found::moved || answer.found == Found::returned) measured(entry, begin);
  return answer;
}

void JitClient::measured(Entry& entry, Gate::Nanoseconds begin) {
  for (const auto until = Clock::now() + options_.handicap;
       Clock::now() < until;) {  // a sleep would be longer
  }
  const Gate::Nanoseconds returned = Gate::steady_time() - begin, time = entry.gate->now() - begin;
  entry.gate->entry_took(time, std::min(returned, time));
  trial_->call_ended(*entry.gate, Gate::Turn::entry, time);
  keep_verdict(*entry.gate, entry.verdict_key);
  if (entry.gate->refuses()) refuse(entry);
}

void JitClient::refuse(Entry& entry) {
  entry.why_not = "plain Python is faster";
  entry.set_executor(nullptr);
}

/// A call by plain Python ended, `whole` if where the segment does.
void JitClient::ran_plainly(PyThreadState* thread, bool whole) {
  if (plain_run_.thread != thread) return;
  const PlainRun run = std::exchange(plain_run_, {});
  if (!whole) return run.gate->plain_was_lost();
  const Gate::Nanoseconds returned = Gate::steady_time() - run.begin,
                          time = run.gate->now() - run.begin;
  run.gate->plain_took(time, std::min(returned, time));
  trial_->call_ended(*run.gate, Gate::Turn::plain, time);
  keep_verdict(*run.gate, run.verdict_key);
}

void JitClient::keep_verdict(const Gate& gate, const std::string& key) {
  const GateReport& report = gate.report();
  if (report.verdict != GateReport::Verdict::open) verdicts_->keep(key, report);
}

/// Gives the entry its gate. True if an earlier process found that plain Python is faster.
namespace {

/// Whether plain Python has torch trace and compile in every call: it does where gradients go
/// through its control flow. That takes many times what any entry does, and changes nn.Module on
/// the way, so that entries with modules would fit no more.
bool compiles_in_each_call(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [&](const Node& node) {
    return find_control_op(node.op) != nullptr &&
           std::ranges::any_of(node.results,
                               [&](ValueId id) { return graph.values[id].type.requires_grad; });
  });
}

}  // namespace

bool JitClient::was_refused(Entry& entry, const Graph& graph) {
  if (verdicts_ == nullptr || compiles_in_each_call(graph)) return false;
  const auto start = Clock::now();
  GateReport& report = entry.count->gate;
  entry.verdict_key = verdicts_->key_of(graph);
  report = verdicts_->find(entry.verdict_key).value_or(GateReport{});
  entry.gate = std::make_shared<Gate>(report, clock_of(graph));
  if (options_.trace != nullptr) {
    options_.trace->after({"gate", "look whether an earlier process has measured"},
                          Clock::now() - start, [] { return std::string(); });
  }
  return entry.gate->refuses();
}

}  // namespace penstock::jit
