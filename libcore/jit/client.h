#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>

#include "capture/backend_client.h"
#include "capture/segment_client.h"
#include "diag/pass.h"
#include "jit/entry.h"
#include "jit/gate/entry_count.h"

namespace penstock::jit {

/// What a client does with recorded segments and how far it goes.
struct ClientOptions {
  int entry_limit =
      capture::kEntryLimit;  ///< entries per segment start, unless most of them are used again
  /// Every call by an entry takes so much longer while the gate measures: what --handicap asks for.
  std::chrono::nanoseconds handicap{0};
  /// A call that fits no entry is recorded only once such calls have taken so long that it pays
  /// (capture/tier_up.h).
  bool weighs_recompiles = false;
  /// The first runs of every entry are compared with torch's (jit/executors/checked_executor.h).
  bool self_check = false;
  /// Called for every recorded segment, before it is compiled: writes its document. The answer is
  /// where its calls are counted; null: in the client's own memory.
  std::function<EntryCount*(const record::CapturedSegment&)> recorded;
  /// Told how long capture and guards of every segment took; may be null. The compiler has a trace
  /// of its own for what it does.
  PassTrace* trace = nullptr;
  /// Told of every call that an entry runs; may be null. Outlives the client.
  CallProfile* profile = nullptr;
  /// One message to the person, for what is a defect of ours or a limit.
  std::function<void(const Diagnostic&)> report;
};

/// Compiles recorded segments and runs later calls of them: the client of `penstock run PROGRAM`.
class JitClient final : public capture::SegmentClient, public capture::BackendClient {
 public:
  /// `compiler`, `sink` and `verdicts` must outlive the client. `verdicts` null: every entry is
  /// used.
  JitClient(GraphCompiler& compiler, capture::EventSink& sink, VerdictMemory* verdicts,
            ClientOptions options);

  capture::Finish finish_call(python::Frame& frame) override;
  EntryId finished() const override { return finished_; }
  void ran_plainly(PyThreadState* thread, bool whole) override;
  void engine_begins(PyThreadState* thread) override { trial_->engine_begins(thread); }
  void engine_ended(PyThreadState* thread, bool returned) override {
    trial_->engine_ended(thread, returned);
  }
  capture::Lookup lookup(python::Frame& frame, bool over_branches) override;
  void stepped(const python::Frame& frame, bool whole) override;
  bool starts_at(const python::Bytecode& code, int offset) const override;
  EntryId captured(record::CapturedSegment segment) override;
  std::int64_t compiled_ops() const override { return compiled_ops_; }
  std::chrono::nanoseconds take_backward_saved() override {
    return std::chrono::nanoseconds(std::exchange(backward_saved_ns_, 0));
  }
  bool wants_examples() const override;
  python::PyRef take_error() override { return std::exchange(backend_error_, {}); }
  void forget_backends() override { ++backend_age_; }

  /// The counter of every entry made, in the order of first capture.
  const std::vector<EntryCount*>& counters() const { return counters_; }

 private:
  using Time = std::chrono::steady_clock::time_point;
  capture::Lookup run(Segment& segment, Entry& entry, python::Frame& frame, bool over_branches,
                      Time called);
  capture::Lookup measure(Segment& segment, Entry& entry, python::Frame& frame, Time called);
  bool is_plain_turn(Entry& entry);
  bool leave_to_python(Entry& entry, PyThreadState* thread);
  void give_back_memory(Entry& entry);
  void keep_verdict(const Gate& gate, const std::string& key);
  capture::Finish finish_by(Entry& entry, python::Frame& frame, Time called);
  Time profiled_since() const;
  void measured(Entry& entry, Gate::Nanoseconds begin);
  static void refuse(Entry& entry);
  bool was_refused(Entry& entry, const Graph& graph);
  Entry* find_next(const python::Frame& frame, const PendingLocals& pending);
  capture::Lookup miss(Segment& segment, python::Frame& frame);
  capture::Lookup step(const Segment& segment, const Entry* entry) const;
  Entry::Surroundings surroundings() const;
  capture::Lookup look_up(python::Frame& frame, bool over_branches);
  bool is_tried(const Entry& entry) const;
  bool note_tried(const Entry& entry, const python::Frame& frame);
  /// Goes on where elements decide a size that the entry is not for: with another entry that fits,
  /// or as a call that none fits.
  capture::Lookup run_other(Segment& segment, const Entry& entry, python::Frame& frame,
                            bool over_branches, std::chrono::steady_clock::time_point called);
  Entry* find_fitting(Segment& segment, const python::Frame& frame,
                      const PendingLocals* pending = nullptr);
  void install(Segment& segment, record::CapturedSegment recorded, EntryCount& count);
  bool has_room(const Segment& segment) const;
  /// False where a function of the program's that was to compile the graph raised.
  bool give_program_backend(Entry& entry, const record::CapturedSegment& recorded);
  Result<void> give_executor(Entry& entry, Graph graph, PyCodeObject* code, bool gradients);
  EntryCount& new_count(const record::CapturedSegment& recorded);
  void say(Diagnostic diagnostic, const Interface& interface, bool to_person = true);
  void note_failure(Entry& entry);

  /// A call that plain Python runs to be measured.
  struct PlainRun {
    PyThreadState* thread = nullptr;  ///< null: there is none
    std::shared_ptr<Gate> gate;
    std::string verdict_key;
    Gate::Nanoseconds begin{0};
  };
  GraphCompiler& compiler_;
  capture::EventSink& sink_;
  VerdictMemory* verdicts_;
  ClientOptions options_;
  std::int32_t next_frame_ = 0;
  std::vector<EntryCount*> counters_;
  std::deque<EntryCount> own_counters_;  // of entries that have no shared one
  PlainRun plain_run_;
  std::shared_ptr<StepTrial> trial_ = std::make_shared<StepTrial>();
  /// A call that is stepped because it fits no entry, and recording it does not pay yet.
  struct MissedRun {
    PyThreadState* thread = nullptr;  ///< null: there is none
    Segment* segment = nullptr;
    Time begin;
  };
  MissedRun missed_run_;
  python::PyRef backend_error_;
  int backend_age_ = 0;
  std::int64_t compiled_ops_ = 0;         // of the last segment
  std::int64_t backward_saved_ns_ = 0;    // by the entries that ran
  std::unordered_set<std::string> told_;  // one message per code object and diagnostic
  // finish_call() found this entry to fit the frame, but it needs the frame linked: lookup() comes
  // next, and nothing runs between.
  /// Entries that fitted the frame until elements decided another size than theirs.
  std::vector<const Entry*> tried_;
  const void* tried_frame_ = nullptr;
  const void* fitted_frame_ = nullptr;
  Entry* fitted_ = nullptr;
  EntryId finished_{-1};  // of the last call that finish_call() did
};

}  // namespace penstock::jit
