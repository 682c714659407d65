#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "capture/segment_client.h"
#include "capture/segment_start.h"
#include "guards/guard_check.h"
#include "torch/autocast.h"

namespace penstock::capture {

/// Receives each graph as it is recorded. Called with the GIL held.
class GraphSink {
 public:
  virtual ~GraphSink() = default;
  /// A new entry; its interface has its id. Not called twice for the same entry.
  virtual void captured(const record::CapturedSegment& segment) = 0;
  /// A later call fitted the entry.
  virtual void used(EntryId) {}
};

/// The client of capture mode: keeps the guards of the entries that were recorded, counts the calls
/// that they fit, and asks for a new entry when none fits, up to a limit.
class EntryTable : public SegmentClient {
 public:
  EntryTable(GraphSink& graphs, EventSink& events, bool wants_examples)
      : graphs_(graphs), events_(events), wants_examples_(wants_examples) {}

  Lookup lookup(python::Frame& frame, bool over_branches) override;
  bool starts_at(const python::Bytecode& code, int offset) const override;
  EntryId captured(record::CapturedSegment segment) override;
  bool wants_examples() const override { return wants_examples_; }
  bool runs_entries() const override { return false; }

  /// How often each entry was used, its recording included, in order of first capture.
  struct Count {
    EntryId id;
    std::int64_t calls = 0;
    std::size_t nodes = 0;
  };
  std::vector<Count> counts() const;

 private:
  struct Entry {
    Interface interface;
    guards::LiveObjects live;
    std::int64_t calls = 1;
    std::size_t nodes = 0;
    bool replaced = false;  ///< a later one stands for it; kept for its count
    std::optional<torch::Autocast> autocast;
  };
  struct Segment {
    SegmentStart start;
    std::vector<std::unique_ptr<Entry>> entries;

    bool has_room() const;
  };
  struct Codes;

  Segment* find(const python::Bytecode& code, int offset) const;

  GraphSink& graphs_;
  EventSink& events_;
  bool wants_examples_;
  std::int32_t next_number_ = 0;
  std::map<std::pair<const PyCodeObject*, int>, Segment> segments_;
  std::vector<python::PyRef> codes_;  ///< keeps the keys of `segments_` alive
};

}  // namespace penstock::capture
