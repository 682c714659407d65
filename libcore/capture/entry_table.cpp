#include "capture/entry_table.h"

#include <algorithm>

#include "python/bytecode.h"
#include "torch/autocast.h"

namespace penstock::capture {

using guards::GuardCheck;
using python::PyRef;

bool EntryTable::Segment::has_room() const {
  std::size_t in_use = 0, reused = 0;
  for (const auto& entry : entries) {
    if (entry->replaced) continue;
    ++in_use;
    if (entry->calls > 1) ++reused;
  }
  return capture::has_room(in_use, reused, kEntryLimit);
}

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
  auto bridge = torch::TensorBridge::get();
  if (!bridge || *bridge == nullptr) return lookup;
  const auto autocast = torch::autocast_state();
  for (const auto& entry : segment->entries) {
    if (entry->replaced || entry->autocast != autocast) continue;
    GuardCheck check(entry->interface, entry->live, frame, **bridge);
    if (!check.holds()) continue;
    ++entry->calls;
    graphs_.used(entry->interface.id);
    lookup.found = Found::step;
    lookup.id = entry->interface.id;
    lookup.end = entry->interface.end.offset;
    return lookup;
  }
  std::vector<RecompileEvent::Entry> misfits;
  for (const auto& entry : segment->entries) {
    if (entry->replaced || entry->autocast != autocast) continue;
    GuardCheck check(entry->interface, entry->live, frame, **bridge);
    misfits.push_back({entry->interface.id, check.failures()});
  }
  segment->start.missed(std::move(misfits));
  if (segment->has_room()) {
    lookup.found = Found::miss;
    lookup.changed = &segment->start.changed();
    return lookup;
  }
  segment->start.tell_limit(events_);
  lookup.found = Found::step;
  lookup.id = segment->start.id();
  lookup.end = segment->entries.back()->interface.end.offset;
  return lookup;
}

EntryId EntryTable::captured(record::CapturedSegment captured) {
  Interface& interface = captured.graph.interface;
  const auto key = std::pair<const PyCodeObject*, int>(captured.code, interface.start_offset);
  const auto [place, is_new] = segments_.try_emplace(key);
  Segment& segment = place->second;
  if (is_new) {
    segment.start = SegmentStart(next_number_++);
    codes_.push_back(PyRef::borrow(reinterpret_cast<PyObject*>(captured.code)));
  }
  for (const EntryId replaced : segment.start.add(interface, events_).replaced)
    segment.entries[static_cast<std::size_t>(replaced.recompile)]->replaced = true;
  graphs_.captured(captured);
  auto entry = std::make_unique<Entry>();
  entry->interface = interface;
  entry->nodes = captured.graph.nodes.size();
  entry->autocast = torch::autocast_state();
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
