#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capture/segment_client.h"
#include "capture/segment_start.h"
#include "guards/guard_program.h"
#include "guards/live_table.h"
#include "heap/occupied_gaps.h"
#include "jit/executors/executor.h"
#include "jit/gate/call_profile.h"
#include "jit/gate/entry_count.h"
#include "jit/gate/gate.h"
#include "jit/restore/restore.h"
#include "torch/autocast.h"

namespace penstock::jit {

/// How a run of an entry ended.
enum class Ran : std::uint8_t {
  done,      ///< the segment is behind us
  refused,   ///< nothing was changed: the segment has to be stepped
  raised,    ///< an effect behind the graph raised; a Python error is set
  branched,  ///< the branch behind the segment was taken as well; locals are pending
};

/// One compiled specialisation of a segment: guards in front, a graph, what to restore behind.
class Entry {
 public:
  /// Compiles guards and restore records. The graph's executor comes separately, so that it may
  /// come later.
  static Result<std::unique_ptr<Entry>> make(const record::CapturedSegment& segment);

  /// Compiles the guards anew with the conditions on symbolic sizes among `guards`. Before the
  /// first call.
  Result<void> add_conditions(std::span<const Guard> guards, PyCodeObject* code);

  /// Gives the entry its executor: from now on calls run it. Before that, for one that never gets
  /// any, and with null, a fitting call is stepped.
  void set_executor(std::unique_ptr<Executor> executor);
  bool runs() const { return executor_ != nullptr && (gate == nullptr || !gate->refuses()); }

  /// The gate refused it behind its calls: it has its executor still.
  bool was_given_up() const { return executor_ != nullptr && !runs(); }

  /// `pending`: what locals stand for that are no tensors yet; may be null.
  bool fits(const python::Frame& frame, const PendingLocals* pending = nullptr);
  std::vector<FailedGuard> explain(const python::Frame& frame);
  bool is_dead() const { return guards_->is_dead(); }

  /// After fits(): runs a segment that is the frame's rest and leaves only a result. Needs no
  /// frame. Null unless `ran` is done.
  python::PyRef run_direct(Ran& ran);
  bool is_direct() const { return runs() && restore_->only_returns(); }

  /// After fits(): runs the segment on a linked frame. `pending` is what fits() was asked with;
  /// what is left of it stands for locals behind the segment, unless the frame ended. `over_branch`
  /// needs takes_branch(): takes the branch behind the segment too.
  Ran run(python::Frame& frame, python::PyRef& result, PendingLocals& pending, bool over_branch);
  /// It ends before a branch on a bool that it computes, and may leave what it computes pending.
  bool takes_branch() const { return branch_.has_value() && runs() && executor_->leaves_pending(); }

  /// Calls are still measured, by turns with plain Python.
  bool is_measured() const { return runs() && gate != nullptr && gate->open(); }

  EntryId id() const { return interface_.id; }
  const Interface& interface() const { return interface_; }
  bool returns() const { return interface_.end.kind == SegmentEnd::Kind::returned; }
  bool announces() const { return restore_->announces(); }
  /// Unit at which stepping the segment ends; -1: the frame's return.
  std::int32_t end() const { return returns() ? -1 : interface_.end.offset; }

  /// It is between its first guard and its last effect, in this or another thread: torch may have
  /// let others run.
  bool is_active() const { return active_; }

  /// Why the last run did not succeed; its severity is `note` where torch refused an op.
  const Diagnostic& failure() const { return failure_; }

  /// Where entries are asked for.
  struct Surroundings {
    PyObject* backend = nullptr;  ///< the function of the program's that compiles graphs, or null
    int age = 0;                  ///< how often that was asked to forget what it made
    std::optional<torch::Autocast> autocast;
    std::uint64_t code_exchanges = 0;  ///< how many functions were given other code so far
  };
  /// True where the entry was recorded: what a function made before it was asked to forget serves
  /// no more, and ops are cast as they were.
  bool serves(const Surroundings& now) const {
    return backend_.get() == now.backend && (now.backend == nullptr || age_ == now.age) &&
           autocast_ == now.autocast && code_exchanges_ == now.code_exchanges;
  }
  void set_surroundings(const Surroundings& recorded) {
    backend_ = python::PyRef::borrow(recorded.backend);
    age_ = recorded.age;
    autocast_ = recorded.autocast;
    code_exchanges_ = recorded.code_exchanges;
  }
  /// No call will find it true again.
  bool is_outlived(const Surroundings& now) const {
    return is_dead() || code_exchanges_ != now.code_exchanges;
  }

  EntryCount* count = nullptr;  ///< how often it fitted; not owned
  std::string why_not;          ///< why it has no executor, for reports
  bool is_large = false;        ///< the memory that calls take is worth some milliseconds
  int failures = 0;             ///< runs that failed
  std::shared_ptr<Gate> gate;   ///< null: the entry is used, whatever it costs
  std::string verdict_key;      ///< where its verdict is kept
  /// Held while plain Python runs to be measured. What a recorded call and a compilation leave is
  /// spread over the heap: Python's tensors would lie now in one gap and now in another, and take
  /// more memory than without penstock.
  std::unique_ptr<heap::OccupiedGaps> gaps;
  EntryProfile* profile = nullptr;  ///< of its calls, where somebody asks; not owned

 private:
  /// A conditional jump on the topmost of the stack, in units.
  struct Branch {
    bool jumps_if = false;
    int target = 0, next = 0;
  };

  Entry() = default;
  static std::optional<Branch> find_branch(const Interface& interface,
                                           const RestoreProgram& restore, PyCodeObject* code);
  /// Nobody could see torch's engine go where the graph itself goes backward. Needs: fits() is
  /// checking, the guards hold.
  bool goes_backward_unseen() const;
  Ran compute(python::Frame* frame, PendingLocals* left = nullptr);
  Result<Ran> execute(python::Frame* frame, bool& written, PendingLocals* left);
  Result<Ran> execute_over(python::Frame& frame, PendingLocals& left);
  ExecutorCall executor_call() const;

  Interface interface_;
  python::PyRef backend_;
  int age_ = 0;
  std::optional<torch::Autocast> autocast_;
  std::uint64_t code_exchanges_ = 0;
  guards::LiveTable live_;
  std::unique_ptr<guards::GuardProgram> guards_;
  std::unique_ptr<RestoreProgram> restore_;
  std::unique_ptr<Executor> executor_;
  std::optional<Branch> branch_;
  std::vector<std::size_t> leaves_;  ///< inputs to which the graph itself goes backward
  bool inference_ = false;  ///< recorded in inference mode: what is made then is of another kind
  bool active_ = false;
  Diagnostic failure_{Code::PS0505, {}, {}, {}, {}, Severity::warning};
  std::vector<guards::InputValue> inputs_;  ///< of the last call
  std::vector<std::uint32_t> changed_;      ///< in the call that runs
  // Of the call that runs: kept to save allocations, cleared behind it.
  std::vector<python::PyRef> outputs_;
  std::vector<PendingTensor> pending_outputs_;
};

/// All entries of one segment start, most recently used first.
struct Segment {
  capture::SegmentStart start;
  std::int32_t offset = 0;
  std::vector<std::unique_ptr<Entry>> entries;
  bool gave_up = false;               ///< calls that fit no entry are stepped and recorded no more
  std::int32_t end = -1;              ///< where stepping ends then
  int misses = 0;                     ///< since the last entry was made
  std::chrono::nanoseconds price{0};  ///< that the last entry took to record and compile
  std::chrono::nanoseconds missed{
      0};  ///< that calls which fit none have taken since, where that is weighed
};

/// The segments of one code object, by the unit at which they start.
struct CodeSegments final : python::CodeData {
  explicit CodeSegments(std::size_t units) : by_unit(units, -1) {}
  Segment* find(int unit) {
    if (unit < 0 || unit >= static_cast<int>(by_unit.size()) || by_unit[unit] < 0) return nullptr;
    return segments[by_unit[unit]].get();
  }
  Segment& make(int unit) {
    by_unit[unit] = static_cast<std::int32_t>(segments.size());
    segments.push_back(std::make_unique<Segment>());
    segments.back()->offset = unit;
    return *segments.back();
  }
  std::vector<std::int32_t> by_unit;
  std::vector<std::unique_ptr<Segment>> segments;
};

}  // namespace penstock::jit
