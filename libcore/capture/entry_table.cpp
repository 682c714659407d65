#include "capture/entry_table.h"

#include <algorithm>

#include "python/bytecode.h"

namespace penstock::capture {

using python::PyRef;

EntryTable::Segment* EntryTable::find(const python::Bytecode& code, int offset) const {
  auto found = segments_.find({code.code(), offset});
  return found == segments_.end() ? nullptr : const_cast<Segment*>(&found->second);
}

bool EntryTable::starts_at(const python::Bytecode& code, int offset) const {
  return !segments_.empty() && find(code, offset) != nullptr;
}

Lookup EntryTable::lookup(python::Frame& frame, bool) {
  Segment* segment = find(frame.bytecode(), frame.unit());
  Lookup lookup;
  if (segment == nullptr) return lookup;
  auto bridge = python::TensorBridge::get();
  if (!bridge || *bridge == nullptr) return lookup;
  segment->failed.clear();
  for (const auto& entry : segment->entries) {
    GuardCheck check(entry->interface, entry->live, frame, **bridge);
    if (!check.holds()) continue;
    ++entry->calls;
    graphs_.used(entry->interface.id);
    lookup.found = Found::step;
    lookup.id = entry->interface.id;
    lookup.end = entry->interface.end.offset;
    return lookup;
  }
  for (const auto& entry : segment->entries) {
    GuardCheck check(entry->interface, entry->live, frame, **bridge);
    segment->failed.push_back({entry->interface.id, check.failures()});
  }
  if (segment->entries.size() < kLimit) {
    lookup.found = Found::miss;
    return lookup;
  }
  if (!segment->limit_reported) {
    segment->limit_reported = true;
    events_.recompiled({EntryId{segment->number, -1, 0}, true, segment->failed});
  }
  lookup.found = Found::step;
  lookup.id = EntryId{segment->number, -1, 0};
  lookup.end = segment->entries.back()->interface.end.offset;
  return lookup;
}

EntryId EntryTable::captured(CapturedSegment captured) {
  Interface& interface = captured.graph.interface;
  const auto key = std::pair<const PyCodeObject*, int>(captured.code, interface.start_offset);
  Segment& segment = segments_[key];
  if (segment.number < 0) {
    segment.number = next_number_++;
    codes_.push_back(PyRef::borrow(reinterpret_cast<PyObject*>(captured.code)));
  }
  interface.id = EntryId{segment.number, static_cast<std::int32_t>(segment.entries.size()), 0};
  if (!segment.entries.empty()) {
    events_.recompiled({interface.id, false, std::move(segment.failed)});
    segment.failed.clear();
  }
  graphs_.captured(captured);
  auto entry = std::make_unique<Entry>();
  entry->interface = interface;
  entry->nodes = captured.graph.nodes.size();
  entry->live = std::move(captured.live);
  segment.entries.push_back(std::move(entry));
  return interface.id;
}

std::vector<EntryTable::Count> EntryTable::counts() const {
  std::vector<Count> counts;
  for (const auto& [key, segment] : segments_) {
    for (const auto& entry : segment.entries) {
      counts.push_back({entry->interface.id, entry->calls, entry->nodes});
    }
  }
  std::sort(counts.begin(), counts.end(), [](const Count& a, const Count& b) {
    return std::pair(a.id.frame, a.id.recompile) < std::pair(b.id.frame, b.id.recompile);
  });
  return counts;
}

}  // namespace penstock::capture
