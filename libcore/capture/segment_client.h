#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "capture/root_meter.h"
#include "ir/event.h"
#include "python/conductor.h"
#include "python/mode.h"
#include "python/object.h"
#include "record/captured_segment.h"
#include "record/changed_numbers.h"

namespace penstock::capture {

/// Where capture and jit report what they did; tools/extension connects it to documents. Called
/// with the GIL held.
class EventSink : public StretchLog {
 public:
  virtual void broke(const BreakEvent&) {}
  virtual void skipped(const SkipEvent&) {}
  virtual void recompiled(const RecompileEvent&) {}
  virtual void restarted(const RestartEvent&) {}
  /// The program's torch is not known, and why: plain Python runs all of it. Told once.
  virtual void declines(const Diagnostic&) {}
  /// True: left_root() is called, which costs an op and a segment some tens of nanoseconds.
  virtual bool meters_roots() const { return false; }
  /// True: it is told of every root, however short.
  virtual bool times_every_root() const { return false; }
  /// True: works_on() and worked() are called.
  virtual bool shows_work() const { return false; }
  /// What may take long begins: "recording Net.forward", "compiling Net.forward".
  virtual void works_on(const std::string&) {}
  virtual void worked() {}
  /// A thread has left a root.
  virtual void left_root(const RootTotals&) {}
};

/// What a client knows about a call of a segment.
enum class Found : std::uint8_t {
  none,      ///< no segment starts here as far as the client knows: the walker decides
  miss,      ///< a segment starts here, no entry fits: record one
  step,      ///< do not record: step to `end`, inlined callees natively
  pass,      ///< what was recorded here gave nothing: segments may start behind the instruction
  moved,     ///< the segment was executed: locals, stack and place are those behind it
  returned,  ///< the segment was executed and is the rest of the frame: `value` is its result
  raised,    ///< a Python error is set, raised by the instruction at the frame's place
};

struct Lookup {
  Found found = Found::none;
  EntryId id;  ///< moved, returned; step: of the entry that fits (recompile -1: none does)
  std::int32_t end = -1;  ///< step: unit of the root's frame at which stepping ends; -1: its return
  python::PyRef value;    ///< returned
  /// moved: the segment ended inside functions that it inlined, and their frames are announced
  /// (python/materialise.h). The frame stands at its call: step it, then withdraw_frames(frame).
  bool announced = false;
  /// moved: the branch behind the segment (and perhaps more segments and branches) was taken too.
  bool branched = false;
  /// step: the entry that fits is used again; this call is measured beside it.
  bool measured = false;
  /// miss: the numbers that differed between calls of the segment; valid until captured().
  const record::ChangedNumbers* changed = nullptr;
};

/// What became of a call that the client was asked about before it ran.
enum class Finish : std::uint8_t {
  no,       ///< the walker decides
  done,     ///< the call is done, Frame::attachment is its result
  plain,    ///< plain Python is to run it, and all that it calls; ran_plainly() is told when it has
            ///< ended
  refused,  ///< the same, and so it will be the next time: the entry that fits is not used
};

/// What becomes of recorded segments: capture mode writes them, jit mode compiles and runs them.
/// Called with the GIL held, from any thread.
class SegmentClient {
 public:
  virtual ~SegmentClient() = default;

  /// Asked by the walker's enter() first of all, for every call (no resume) that comes while it is
  /// not recording and that no rule keeps native: the frame has run nothing and is not linked.
  /// Cheap when nothing is known of the code.
  virtual Finish finish_call(python::Frame&) { return Finish::no; }
  /// The entry that ran the last call of which finish_call() said `done`.
  virtual EntryId finished() const { return {-1}; }
  /// A call that finish_call() left to plain Python `returned`, or a Python error is set.
  virtual void ran_plainly(PyThreadState*, bool returned) { static_cast<void>(returned); }

  /// torch's engine begins to go backward in the thread, perhaps inside another of its runs.
  virtual void engine_begins(PyThreadState*) {}
  /// It `returned`, or a Python error is set.
  virtual void engine_ended(PyThreadState*, bool returned) { static_cast<void>(returned); }

  /// False for a client that notes segments down and never runs what becomes of them.
  virtual bool runs_entries() const { return true; }

  /// Asked whenever a root stands at a place where a segment may start: at its first instruction
  /// (offset 0, before MAKE_CELL, COPY_FREE_VARS and RESUME ran) and, behind the end of a segment,
  /// before each instruction. frame.unit() is the offset; the frame is linked, its state real.
  ///
  /// A segment that starts at 0 and does not return runs the prologue too: when it `moved`, cells
  /// are made and free variables copied. In guards a `cell` source at offset 0 is the content that
  /// the cell will have. Restore::cell with index >= 0 means the frame's own cell in that slot.
  ///
  /// `over_branches`: where a segment ends before a branch on a tensor that it made, the client may
  /// take the branch itself and go on behind it; `moved` then names the last segment that ran.
  virtual Lookup lookup(python::Frame& frame, bool over_branches) = 0;

  /// A segment that lookup() let be stepped in this thread was left: at its end if `whole`.
  virtual void stepped(const python::Frame&, bool whole) { static_cast<void>(whole); }

  /// True if a segment is known to start at `offset` of `code` (cheap; no guard is checked).
  virtual bool starts_at(const python::Bytecode& code, int offset) const = 0;

  /// A segment is complete. Returns the id it got, for `after` of the next one and for breaks.
  virtual EntryId captured(record::CapturedSegment segment) = 0;

  /// How many ops the last captured() compiled, those of backward among them; 0 where it made no
  /// entry that runs.
  virtual std::int64_t compiled_ops() const { return 0; }

  /// How much less backward is known to take behind the entries that have run since this was asked
  /// last than behind plain Python's ops; negative if it takes more.
  virtual std::chrono::nanoseconds take_backward_saved() { return {}; }

  /// Snapshots of mutated inputs and the outputs are kept for captured().
  virtual bool wants_examples() const { return false; }
};

/// Makes the walker: the driver that decides which frames are roots (DESIGN's rules and the
/// settings only, fullgraph, dynamic, rules), records segments while the program runs, and goes on
/// behind what `client` executed. Client and sink must outlive it.
Result<std::unique_ptr<python::FrameDriver>> make_walker(const python::Settings& settings,
                                                         SegmentClient& client, EventSink& sink);

}  // namespace penstock::capture
