#pragma once

#include <deque>
#include <functional>
#include <span>
#include <string>
#include <unordered_set>

#include "capture/segment_client.h"
#include "diag/pass.h"
#include "jit/entry.h"

namespace penstock::jit {

/// How often an entry was called. Stands in memory shared with the parent process, where there is
/// some, so that the number is right after a kill.
struct EntryCounter {
  EntryId id;
  std::uint32_t runs = 0;   ///< 1: its calls run compiled
  std::uint64_t calls = 0;
};

/// What a client does with recorded segments and how far it goes.
struct ClientOptions {
  int entry_limit = 8;  ///< entries per segment start
  std::span<EntryCounter> shared_counters;  ///< used first; more are made when they are full
  /// Called for every recorded segment, before it is compiled: writes its document.
  std::function<void(const capture::CapturedSegment&)> recorded;
  /// Told how long capture and guards of every segment took; may be null.
  PassTrace* trace = nullptr;
  /// One message to the person, for what is a defect of ours or a limit.
  std::function<void(const Diagnostic&)> report;
};

/// Compiles recorded segments and runs later calls of them: the client of `penstock run PROGRAM`.
class JitClient final : public capture::SegmentClient {
 public:
  /// `compiler` and `sink` must outlive the client.
  JitClient(GraphCompiler& compiler, capture::EventSink& sink, ClientOptions options);

  bool finish_call(python::Frame& frame) override;
  capture::Lookup lookup(python::Frame& frame) override;
  bool starts_at(const python::Bytecode& code, int offset) const override;
  EntryId captured(capture::CapturedSegment segment) override;

  /// The counter of every entry made, in the order of first capture.
  const std::vector<EntryCounter*>& counters() const { return counters_; }

 private:
  capture::Lookup run(Segment& segment, Entry& entry, python::Frame& frame);
  capture::Lookup miss(Segment& segment, python::Frame& frame);
  capture::Lookup step(const Segment& segment, const Entry* entry) const;
  Entry* find_fitting(Segment& segment, const python::Frame& frame);
  EntryCounter* new_counter(EntryId id);
  void install(Segment& segment, capture::CapturedSegment recorded, EntryId id);
  bool needs_gradients(const Graph& graph) const;
  void say(Diagnostic diagnostic, const Interface& interface);
  void note_failure(Entry& entry);

  GraphCompiler& compiler_;
  capture::EventSink& sink_;
  ClientOptions options_;
  std::int32_t next_frame_ = 0;
  std::vector<EntryCounter*> counters_;
  std::deque<EntryCounter> own_counters_;  // of entries beyond the shared ones
  std::unordered_set<std::string> told_;   // one message per code object and diagnostic
  // finish_call() found this entry to fit the frame, but it needs the frame linked: lookup() comes
  // next, and nothing runs between.
  const void* fitted_frame_ = nullptr;
  Entry* fitted_ = nullptr;
};

}  // namespace penstock::jit
