#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "capture/dry_calls.h"
#include "capture/loop_tests.h"
#include "capture/natural_loops.h"
#include "capture/root_meter.h"
#include "capture/tier_up.h"
#include "capture/unrolled_loops.h"
#include "ir/event.h"
#include "policy/compile_api.h"
#include "python/frame.h"
#include "python/hook.h"
#include "record/walk.h"
#include "torch/autocast.h"
#include "torch/compile_region.h"
#include "torch/fused_step.h"

// What the walker remembers: of a thread inside a root, of a conducted frame, of code.

namespace penstock::capture {

/// A turn of a loop in a frame that is conducted for its loops: a root like a call.
struct Turn {
  enum class Kind : std::uint8_t {
    unseen,  ///< nobody looks at it
    timed,   ///< plain Python runs it, and is timed
    hot,     ///< entries run in it
    plain,   ///< plain Python runs it, to be compared with those in which entries run
  };
  int loop;  ///< its place in NaturalLoops::all()
  Kind kind = Kind::unseen;
  RootHistory* root = nullptr;
  std::chrono::steady_clock::time_point began = {};
  std::int64_t steps = 0;  ///< Activation::steps when it began
};

/// A conducted frame.
struct Activation {
  python::Frame* frame;
  record::FrameShadow* shadow = nullptr;  ///< while it is part of the segment being recorded
  int followed = 0;        ///< instructions since the start of the segment being followed
  bool first = false;      ///< a root that has not begun
  bool step_once = false;  ///< the next instruction is the one that broke
  bool resumes = false;    ///< the next instruction is the one behind a branch that broke
  bool announced = false;  ///< the next instruction's call makes inlined frames real
  policy::Served served =
      policy::Served::none;  ///< an entry point of torch.compile, or what stands around a region
  bool answered = false;     ///< the entry point was asked for its result
  python::PyRef refusal;     ///< of a region: what must come out of it, whatever caught it
  python::PyRef backend;     ///< of a region: the program's function that compiles its graphs
  std::optional<record::DynamicSizes> dynamic;  ///< of a region: what torch.compile was given
  RootHistory* root = nullptr;                  ///< a weighed root
  bool cold = false;  ///< it is conducted for the loops in it alone, and in no turn that is hot
  bool is_program = false;        ///< it is the body of the program's main module
  NaturalLoops* loops = nullptr;  ///< where it is conducted for them
  std::vector<Turn> turns;        ///< those that have begun, outermost first
  /// Of a call that is conducted for what may be inside: Region::finds when it began.
  std::optional<std::uint64_t> finds;
  int idle = 0;            ///< instructions since an entry ran, or might have been recorded
  std::int64_t steps = 0;  ///< instructions that were conducted between segments, or in their place
  std::int64_t looked_at = 0;  ///< steps when it was last asked whether they are too many
  std::chrono::steady_clock::time_point began;  ///< where it is conducted for its loops
};

/// A weighed root that plain Python runs.
struct NativeRoot {
  RootHistory* root;
  const Activation* loop_in = nullptr;  ///< of a loop's turn the frame
  bool timed = false, counted = false;
  std::int64_t around = 1;      ///< calls that it stands for, as those around it are not all seen
  std::uint64_t entrances = 0;  ///< Region::entrances when it began
  std::int64_t ops = 0;         ///< of the thread when it began
  std::chrono::steady_clock::time_point began = {};
  std::chrono::nanoseconds in_hot{0};  ///< in roots inside that are recorded
};

/// It is the turn of a loop, and a loop inside it is at a turn of its own: what comes from that
/// loop's iterator is in no graph of the outer one's, unless that gathers what the turns compute.
inline bool has_inner_turn(const NativeRoot& call) {
  return call.loop_in != nullptr && call.loop_in->turns.back().root != call.root;
}

struct CodeInfo;

/// A call of a hot root that plain Python runs, to be compared with those in which entries run.
struct PlainTurn {
  RootHistory* root = nullptr;  ///< null: there is none
  CodeInfo* code = nullptr;
  std::chrono::steady_clock::time_point began;
};

/// What a thread is doing inside a root.
struct Region {
  enum class Mode : std::uint8_t { glue, recording, following };
  /// How far a recorded segment goes: steps of its frames, outermost first.
  struct Plan {
    bool returns = false;
    std::vector<int> steps;
    std::vector<PyCodeObject*> codes;
  };

  Mode mode = Mode::glue;
  std::vector<std::unique_ptr<Activation>> activations;
  std::unique_ptr<record::Walk> walk;
  Activation* start = nullptr;  ///< the segment's own frame (recording, following)
  int trial_unit = 0;
  bool trial = false;       ///< dropped if it records no op …
  bool patient = false;     ///< … at all; else: if its first instruction runs none
  bool ends_turn = false;   ///< it ends before the instruction, with which a loop's turn ends
  bool with_root = false;   ///< recording: it ends where its root does, and in another might go on
  bool at_factory = false;  ///< it starts there: dropped unless an op takes what that makes
  UnrolledLoops unrolled;   ///< recording
  record::ChangedNumbers changed;  ///< recording: those of the loop and of entries before
  Plan plan;                       ///< following
  int until = -1;                  ///< following without a plan: unit of `start`'s frame
  std::size_t level = 0;
  EntryId last{-1, 0, 0};  ///< of the segment before
  RootMeter meter;
  bool plain = false;  ///< plain Python runs a call, and all that it calls
  bool any_op = false;
  std::uint64_t entrances = 0;           ///< calls so far that were more than plain Python
  std::vector<NativeRoot> native_roots;  ///< outermost first
  /// Runs of torch's engine, outermost first: in how many native roots each of them began.
  std::vector<std::size_t> engine_runs;
  std::uint64_t finds = 0;  ///< entries that ran or were measured, and recordings that began
  bool learning = false;  ///< since the hot root began, what will be done no more was done in vain
  bool useful = false;    ///< an entry ran since the hot root began, or one was made
  bool executed = false;  ///< an entry ran since then
  bool unlike = false;    ///< … but something was recorded
  bool waited = false;  ///< … but an entry is waited for, or a segment's plain turn was measured
  PlainTurn plain_turn;
  std::chrono::steady_clock::time_point hot_began;
  std::chrono::steady_clock::time_point started;
  std::chrono::steady_clock::time_point op_started;
  std::chrono::nanoseconds ops{0};
};

/// True when a frame of the program is conducted: what stands around regions does not count, nor,
/// between turns that are hot, the body of the main module.
inline bool has_root(const Region& region) {
  return std::ranges::any_of(region.activations, [](const auto& activation) {
    const bool no_root = activation->is_program && activation->cold;
    return activation->served == policy::Served::none && !no_root;
  });
}

/// No thread conducts a frame but the region's: none could miss a call that runs without the hook.
inline bool conducts_all(const Region& region) {
  return static_cast<std::size_t>(python::frames_conducted()) == region.activations.size();
}

/// For how many calls one stands that is seen in the innermost native root.
inline std::int64_t calls_seen_as_one(const Region& region) {
  if (region.native_roots.empty()) return 1;
  const NativeRoot& around = region.native_roots.back();
  return around.around * TierUp::calls_seen_as_one(*around.root);
}

/// Whether graphs can say what ops do in this thread. A function of the program's that compiles
/// them gets calls, which would be cast once more.
inline bool knows_ops() {
  return torch::ops_run_plainly() ||
         (torch::region_backend() == nullptr && torch::autocast_state().has_value());
}

/// What the walker remembers of a code object.
struct CodeInfo : python::CodeData {
  bool native = false;  ///< a root that records no op
  TimedCalls timed_calls;
  bool holds_segment = false;  ///< one was recorded in a frame of it, or below
  DryCalls dry_calls;
  DryCalls dry_starts;                      ///< recordings from the first instruction of a root
  std::unordered_map<int, int> dry_trials;  ///< by unit: trials that recorded no op
  /// RootPolicy::names_tensors() for globals of that version.
  std::uint64_t globals_version = 0;
  bool names_tensors = false;
  std::optional<policy::Served> served;  ///< once asked
  std::optional<bool> runs_engine;       ///< once asked: torch goes backward in it
  /// Once asked; null: it is no loop of an optimizer's that torch has a kernel for.
  std::optional<std::unique_ptr<torch::FusedStep>> fused_step;
  std::optional<std::vector<LoopTest>> loop_tests;  ///< once asked
  // Where roots are weighed:
  std::unordered_map<std::uintptr_t, RootHistory*> roots;  ///< by the module and the gradient mode
  enum class Loops : std::uint8_t { unknown, none, cold, hot, given_up } loops = Loops::unknown;
  std::unique_ptr<NaturalLoops> natural_loops;       ///< once asked
  std::unordered_map<int, RootHistory*> turns;       ///< by the loop and the gradient mode
  bool some_given_up = false, some_useless = false;  ///< of the roots
  int plain_turns_due = 0;                           ///< of the roots
};

}  // namespace penstock::capture
