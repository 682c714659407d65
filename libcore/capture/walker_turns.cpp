// The walker at loops of frames that are called once: each turn of a loop is a root.
//
// A training loop stands in main() or in the program's main module, and its turns are what the
// program does. The frame is conducted, which costs little beside what a turn calls, and a turn is
// weighed as a call is (tier_up.h): its ops are counted, it is timed, what it calls waits for it,
// and where it pays, segments are recorded from its first instruction to its last one. Python's
// turns are compared with those in which entries run. What iterates is Python's: FOR_ITER is
// between turns.

#include <algorithm>

#include "capture/walker.h"
#include "policy/shown_code.h"
#include "python/rest.h"
#include "torch/state.h"

namespace penstock::capture {

using python::Directive;
using python::Entry;
using python::Frame;
using python::Instruction;
using Clock = std::chrono::steady_clock;

namespace {

/// What an instruction takes longer that is conducted than one that the evaluator runs, which has
/// the frame where entries are refused.
constexpr std::chrono::nanoseconds kConducting{20};
/// Turns in which a loop may wait for an entry, and one in how much of their time what conducting
/// adds may be.
constexpr int kMostWaiting = 32, kWaitingOneIn = 8;

/// `steps`: instructions that were conducted in it.
void judge_plain_turn(const Turn& turn, std::int64_t steps) {
  turn.root->trial.plain_ran(Clock::now() - turn.began - kConducting * steps);
  if (turn.root->trial.verdict() == RootTrial::Verdict::refused)
    turn.root->state = RootHistory::State::given_up;
}

/// A turn that no entry fits is stepped until another entry pays, which may be never. It is given
/// up where the frame's instructions take much of that time.
void weigh_waiting(const Region& region, RootHistory& root, std::int64_t steps) {
  root.waiting = region.executed ? 0 : root.waiting + 1;
  const bool dear = kConducting * steps * kWaitingOneIn > Clock::now() - region.hot_began;
  if (root.waiting >= kMostWaiting && dear) root.state = RootHistory::State::given_up;
}

/// Where no loop of the frame is hot any more, instructions may not take as much of its time.
void left_to_python(CodeInfo& known) {
  const bool hot = std::ranges::any_of(
      known.turns, [](const auto& turn) { return turn.second->state == RootHistory::State::hot; });
  if (!hot && known.loops == CodeInfo::Loops::hot) known.loops = CodeInfo::Loops::cold;
}

/// True for the body of the module that the program is.
bool is_main_module(const Frame& frame) {
  return (frame.code()->co_flags & CO_OPTIMIZED) == 0 && frame.names() == frame.globals() &&
         PyUnicode_CompareWithASCIIString(frame.code()->co_name, "<module>") == 0 &&
         policy::module_name(frame.globals()) == "__main__";
}

}  // namespace

/// Not yet known is whether the program imports torch at all. Where it does not, its loops step
/// until the evaluator takes the frame.
std::optional<Entry> Walker::enter_program(Frame& frame, Region& region) {
  if (began_ || !is_main_module(frame)) return std::nullopt;
  began_ = true;
  const bool weighed = tier_up_ && client_.runs_entries() && region.activations.empty();
  if (!weighed || !roots_.is_wanted(frame) || !roots_.is_followed(frame)) return std::nullopt;
  CodeInfo& known = info(frame);
  known.natural_loops = std::make_unique<NaturalLoops>(frame.bytecode());
  if (known.natural_loops->all().empty()) return std::nullopt;
  known.loops = CodeInfo::Loops::cold;
  conduct(frame, region, false);
  conduct_for_loops(frame, region);
  region.activations.back()->is_program = true;
  return Entry::conduct;
}

/// The frame is conducted for its loops, whose turns are roots.
void Walker::conduct_for_loops(Frame& frame, Region& region) {
  Activation& activation = *region.activations.back();
  CodeInfo& known = info(frame);
  if (known.natural_loops == nullptr)
    known.natural_loops = std::make_unique<NaturalLoops>(frame.bytecode());
  activation.first = false;
  activation.cold = true;
  activation.loops = known.natural_loops.get();
  activation.began = Clock::now();
}

/// Before each instruction: ends the turns that it is behind, and begins the one of which it is the
/// first.
Directive Walker::pass_turns(Activation& activation, Region& region,
                             const Instruction& instruction) {
  const NaturalLoops& loops = *activation.loops;
  while (!activation.turns.empty()) {
    const Turn& turn = activation.turns.back();
    const auto& loop = loops.all()[static_cast<std::size_t>(turn.loop)];
    if (!loop.is_between_turns(instruction)) break;
    const Directive ended = end_segment_with_turn(activation, region, instruction);
    if (ended == Directive::raised) return ended;
    end_turn(activation, region, true);
  }
  const int inner = loops.innermost(instruction);
  if (inner < 0 || loops.all()[static_cast<std::size_t>(inner)].begin != instruction.offset)
    return Directive::step;
  const bool inside =
      !activation.turns.empty() && (activation.turns.back().kind == Turn::Kind::hot ||
                                    activation.turns.back().kind == Turn::Kind::plain);
  if (!inside) begin_turn(activation, region, inner);
  return Directive::step;
}

/// The frame's segment, if it is in one, ends before the instruction.
Directive Walker::end_segment_with_turn(Activation& activation, Region& region,
                                        const Instruction& instruction) {
  if (region.start != &activation) return Directive::step;
  if (region.mode == Region::Mode::recording) {
    region.ends_turn = true;
    const Directive ended = record(activation, region, instruction);
    region.ends_turn = false;
    return ended;
  }
  follow(activation, region, instruction);
  if (region.mode == Region::Mode::following) {  // it was left otherwise than it ends
    client_.stepped(*activation.frame, false);
    region.mode = Region::Mode::glue;
    region.meter.segment_ends(Stretch::Kind::plain, region.last);
    region.start = nullptr;
  }
  return Directive::step;
}

RootHistory& Walker::history_of_turn(Activation& activation, int loop) {
  CodeInfo& known = info(*activation.frame);
  const bool gradients = torch::grad_enabled();
  const auto [at, added] = known.turns.try_emplace(2 * loop + (gradients ? 1 : 0), nullptr);
  if (!added) return *at->second;
  RootHistory& root = histories_.emplace_back();
  at->second = &root;
  root.gradients = gradients;
  if (sink_.meters_roots()) {
    root.name = "loop in " + policy::shown_code(*activation.frame).name;
    const auto& head = *activation.loops->all()[static_cast<std::size_t>(loop)].head;
    root.location = activation.frame->bytecode().location(head);
  }
  return root;
}

/// What becomes of the turn of the root that begins.
Turn::Kind Walker::kind_of_turn(Activation& activation, Region& region, RootHistory& root) {
  using Kind = Turn::Kind;
  if (root.state == RootHistory::State::given_up || !knows_ops()) return Kind::unseen;
  if (root.state == RootHistory::State::hot)
    return root.trial.plain_turn() ? Kind::plain : Kind::hot;
  if (!TierUp::looks_at(root)) return Kind::unseen;
  if (!becomes_hot(region, root)) return Kind::timed;
  root.state = RootHistory::State::hot;
  info(*activation.frame).loops = CodeInfo::Loops::hot;
  return Kind::hot;
}

void Walker::begin_turn(Activation& activation, Region& region, int loop) {
  Turn& turn = activation.turns.emplace_back(Turn{.loop = loop, .steps = activation.steps});
  if (bridge_ != nullptr) {
    turn.root = &history_of_turn(activation, loop);
    turn.kind = kind_of_turn(activation, region, *turn.root);
  }
  switch (turn.kind) {
    case Turn::Kind::unseen:
      break;
    case Turn::Kind::timed:
      begin_timed(region, *turn.root, TierUp::counts(*turn.root, calls_seen_as_one(region)));
      region.native_roots.back().loop_in = &activation;
      break;
    case Turn::Kind::plain:
      if (is_metered(region)) region.meter.enter(sink_);
      region.plain = true;
      turn.began = Clock::now();
      break;
    case Turn::Kind::hot:
      if (!has_root(region)) {
        region.any_op = false;
        if (sink_.meters_roots() && region.native_roots.empty()) region.meter.enter(sink_);
      }
      region.last = EntryId{-1, 0, 0};
      client_.take_backward_saved();
      region.useful = region.executed = region.unlike = region.waited = region.learning = false;
      activation.cold = false;
      activation.root = turn.root;
      activation.resumes = true;
      ++region.entrances;
      python::note_event();
      region.hot_began = Clock::now();
      break;
  }
}

void Walker::end_turn(Activation& activation, Region& region, bool whole) {
  const Turn turn = activation.turns.back();
  activation.turns.pop_back();
  switch (turn.kind) {
    case Turn::Kind::unseen:
      return;
    case Turn::Kind::timed:
      left_native(region);
      if (turn.root->ops > 0) activation.idle = 0;
      return;
    case Turn::Kind::hot:
      weigh_waiting(region, *turn.root, activation.steps - turn.steps);
      end_hot_turn(activation, region, whole);
      break;
    case Turn::Kind::plain:
      region.plain = false;
      activation.idle = 0;
      if (whole) judge_plain_turn(turn, activation.steps - turn.steps);
      if (is_metered(region)) sink_.left_root(region.meter.leave());
      break;
  }
  if (turn.root->state == RootHistory::State::given_up) left_to_python(info(*activation.frame));
}

void Walker::end_hot_turn(Activation& activation, Region& region, bool whole) {
  left_weighed(*activation.frame, region, activation, whole);
  activation.root = nullptr;
  activation.cold = true;
  activation.step_once = false;  // behind an entry that came to the next turn's first instruction
  if (is_metered(region)) sink_.left_root(region.meter.leave());
}

/// What changes from turn to turn is no constant of a turn's first recording either.
const record::ChangedNumbers& Walker::numbers_of_turn(const Activation& activation, Region& region,
                                                      const record::ChangedNumbers* known) {
  region.changed = known != nullptr ? *known : record::ChangedNumbers();
  const auto loop = static_cast<std::size_t>(activation.turns.back().loop);
  for (std::string& source :
       changing_sources(activation.loops->all()[loop], activation.frame->bytecode()))
    region.changed.note(std::move(source));
  return region.changed;
}

}  // namespace penstock::capture
