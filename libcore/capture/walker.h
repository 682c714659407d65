#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "capture/backend_client.h"
#include "capture/region.h"
#include "capture/segment_client.h"
#include "capture/tier_up.h"
#include "policy/roots.h"
#include "python/conductor.h"
#include "record/walk.h"
#include "torch/compile_region.h"

namespace penstock::capture {

/// The driver of capture: see make_walker().
class Walker : public python::FrameDriver {
 public:
  /// `only`: see RootPolicy. Without `tier_up` every root is recorded at its first call.
  Walker(std::string only, policy::Callables callables, record::DynamicSizes dynamic,
         std::optional<TierUp> tier_up, SegmentClient& client, EventSink& sink)
      : callables_(std::move(callables)),
        roots_(std::move(only), callables_),
        dynamic_(dynamic),
        tier_up_(std::move(tier_up)),
        client_(client),
        sink_(sink),
        backends_(dynamic_cast<BackendClient*>(&client)) {
    if (backends_ != nullptr) torch::set_runs_backends();
  }

  python::Entry enter(python::Frame& frame) override;
  python::Directive instruction(python::Frame& frame,
                                const python::Instruction& instruction) override;
  bool stepped(python::Frame& frame, const python::Instruction& instruction,
               python::Outcome outcome) override;
  void unwound(python::Frame& frame, int depth) override;
  void leave(python::Frame& frame, python::Leaving how, PyObject* value) override;
  void ran(PyThreadState* thread, bool returned) override;
  /// See report_cold_roots().
  void report_cold() const;

 private:
  using Mode = Region::Mode;
  using Plan = Region::Plan;

  /// Asked for every instruction, nearly always by the thread that asked before.
  Region& region(PyThreadState* thread) {
    if (last_region_ == nullptr || last_region_->first != thread) {
      last_region_ = &*regions_.try_emplace(thread).first;
    }
    return last_region_->second;
  }
  CodeInfo& info(python::Frame& frame);
  // -- frames that begin (walker_frames.cpp)
  python::Entry decide(python::Frame& frame);
  python::Entry enter_recorded(python::Frame& frame, Region& region);
  void warned(Region& region);
  python::Entry enter_followed(python::Frame& frame, Region& region);
  python::Entry enter_root(python::Frame& frame, Region& region);
  bool rests(python::Frame& frame, const Region& region) const;
  std::optional<python::Entry> enter_engine_run(python::Frame& frame, Region& region);
  python::Entry enter_made_real(python::Frame& frame, Region& region);
  python::Entry enter_polyfill(python::Frame& frame, Region& region);
  python::Entry conduct(python::Frame& frame, Region& region, bool first);
  bool finds_torch();
  /// A rule of the user's leaves code to Python that would be a root.
  void report_left(python::Frame& frame);
  // -- roots, and what plain Python runs of them (walker_roots.cpp)
  std::optional<python::Entry> finish_call(python::Frame& frame, Region& region, CodeInfo& known);
  /// Whether a root of this frame would be recorded only where that pays.
  bool weighs(const Region& region) const;
  /// The root that the frame is a call of, if there was one; `make` it if not.
  RootHistory* find_history(python::Frame& frame, CodeInfo& known, bool make);
  /// A call of a root that nobody looks at, or that was given up.
  python::Entry leave_alone(const python::Frame& frame, Region& region, RootHistory& root) const;
  /// A call of a root, whose history is made if it has none.
  python::Entry enter_weighed(python::Frame& frame, Region& region, CodeInfo& known,
                              RootHistory* history);
  bool becomes_hot(const Region& region, RootHistory& root) const;
  void begin_timed(Region& region, RootHistory& root, bool timed);
  static bool is_conducted_for_loops(python::Frame&, CodeInfo&, const RootHistory&);
  void left_native(Region& region);
  void left_weighed(python::Frame&, Region&, const Activation&, bool returned);
  /// Python's turn in the trial of the root that the frame is a call of, if it is.
  std::optional<python::Entry> enter_plain_turn(Region& region, CodeInfo& known, RootHistory* root);
  void left_plain_turn(Region& region, bool returned);
  // -- loops' turns (walker_turns.cpp)
  std::optional<python::Entry> enter_program(python::Frame& frame, Region& region);
  void conduct_for_loops(python::Frame& frame, Region& region);
  python::Directive pass_turns(Activation&, Region&, const python::Instruction&);
  python::Directive end_segment_with_turn(Activation&, Region&, const python::Instruction&);
  void begin_turn(Activation& activation, Region& region, int loop);
  Turn::Kind kind_of_turn(Activation& activation, Region& region, RootHistory& root);
  RootHistory& history_of_turn(Activation& activation, int loop);
  void end_turn(Activation& activation, Region& region, bool whole);
  static const record::ChangedNumbers& numbers_of_turn(const Activation&, Region&,
                                                       const record::ChangedNumbers* known);
  void end_hot_turn(Activation& activation, Region& region, bool whole);
  /// So many more instructions were stepped for nothing. True if it were so many that the evaluator
  /// takes the frame.
  bool gives_up(Activation& activation, Region& region, int steps);
  /// The client got a segment of so many ops.
  void recorded(Region& region);
  /// What was recorded last has taken time, and so many ops were compiled.
  void spent(const Region& region, std::int64_t ops);
  // -- torch.compile and its kin (walker_regions.cpp)
  policy::Served served(python::Frame& frame);
  python::Entry enter_served(python::Frame& frame, Region& region, policy::Served served);
  python::Directive serve(Activation& activation, const python::Instruction& instruction);
  static Activation* enclosing(Region& region);
  /// Which sizes become symbols there.
  record::DynamicSizes dynamic_sizes(Region& region) const;
  /// True inside a region that torch.compiler.disable made.
  static bool is_disabled(Region& region);
  /// What begins or has ended is metered as a root: no other one is around it.
  bool is_metered(const Region& region) const;
  python::Directive abandon(Region& region, record::BreakReason reason);
  bool refuses(Region&, const Activation&, const record::BreakReason&, const Location&);
  static python::Directive backend_raised(Region& region, python::PyRef error);
  // -- between segments (walker_glue.cpp)
  python::Directive glue(Activation&, Region&, const python::Instruction&);
  bool may_record(python::Frame& frame, const python::Instruction& instruction);
  python::Directive look_up(Activation& activation, Region& region,
                            const python::Instruction& instruction, Lookup& lookup, bool& record);
  python::Directive moved(Activation& activation, Region& region, const Lookup& lookup);
  python::Directive follow(Activation&, Region&, const python::Instruction&);
  /// The instruction that ended a segment is about to be stepped.
  static python::Directive step_break(Activation&, const python::Instruction&);
  // -- a segment as it is recorded (walker_segments.cpp)
  void start(Activation&, Region&, const record::ChangedNumbers*, bool trial, bool patient);
  python::Directive record(Activation&, Region&, const python::Instruction&);
  /// True where a loop's turn ends that is a root, or where a segment that began inside a loop
  /// comes to the loop's test, which reads Python data: the next turn is a segment of its own.
  bool is_end_of_turn(const Region&, const Activation&, const python::Instruction&);
  /// False when nothing was captured.
  bool end(Region& region, SegmentEnd end, const record::Operand* result);
  void drop(Region& region);
  void report_break(const record::BreakReason&, const Location&, EntryId after);
  python::PyRef take_error() {
    return backends_ == nullptr ? python::PyRef() : backends_->take_error();
  }
  // -- where it cannot end (walker_ends.cpp)
  /// From now on segments end before `place`, for the first reason that was said.
  void end_before(const record::RaisePlace& place, record::BreakReason reason);
  /// The same, for this reason from now on.
  void end_before_now(const record::RaisePlace& place, record::BreakReason reason);
  /// Where a segment that cannot end here must end the next time; false when it can end here.
  bool ends_earlier(const record::Walk& walk);
  using Ends = std::map<record::RaisePlace, record::BreakReason>;
  /// Why a segment ends before the instruction, if it does.
  Ends::const_iterator known_end(const Region&, const record::FrameShadow&,
                                 const python::Instruction&) const;
  static void withdraw(Activation& activation);
  /// Entries are told apart by segment start and recompile number.
  static std::uint64_t key_of(EntryId id) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(id.frame)) << 32 |
           static_cast<std::uint32_t>(id.recompile);
  }
  /// Trials at one place that may record no op.
  static constexpr int kMostTrials = 3;

  policy::Callables callables_;
  policy::RootPolicy roots_;
  record::DynamicSizes dynamic_;
  std::optional<TierUp> tier_up_;
  SegmentClient& client_;
  EventSink& sink_;
  BackendClient* backends_;  ///< the client, where it is one
  torch::SchemaTable schemas_;
  torch::TensorBridge* bridge_ = nullptr;
  bool began_ = false;     ///< the program's main module was seen
  bool declined_ = false;  ///< the program's torch is not known: nothing is looked at any more
  std::unordered_map<PyThreadState*, Region> regions_;  ///< its elements stay where they are
  std::pair<PyThreadState* const, Region>* last_region_ = nullptr;
  std::unordered_set<std::string> reported_;
  /// Instructions that segments end before, and why: an exception raised there was being handled,
  /// an object made there not finished, a segment had to end, or as Walk::must_end_before() says.
  Ends ends_before_;
  Ends warned_at_;  ///< where torch showed a warning once
  /// The code of those instructions: no later code may get its address, and with it these ends.
  std::unordered_map<const PyCodeObject*, python::PyRef> codes_with_ends_;
  /// By segment start and recompile number.
  std::unordered_map<std::uint64_t, Plan> plans_;
  /// Of segments that no graph could go on behind: why, by the same key.
  std::unordered_map<std::uint64_t, std::pair<record::BreakReason, Location>> ends_;
  policy::CompileApi compile_api_;
  std::deque<RootHistory> histories_;  ///< of every root, also of code that is gone
  std::unordered_map<PyTypeObject*, bool> module_types_;
};

}  // namespace penstock::capture
