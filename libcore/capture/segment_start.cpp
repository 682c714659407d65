#include "capture/segment_start.h"

#include <utility>

namespace penstock::capture {

void SegmentStart::missed(std::vector<RecompileEvent::Entry> misfits) {
  misfits_ = std::move(misfits);
  for (const RecompileEvent::Entry& entry : misfits_) changed_.note(entry.failed);
}

bool SegmentStart::tell_limit(EventSink& sink) {
  if (std::exchange(limit_told_, true)) return false;
  sink.recompiled({id(), true, misfits_});
  return true;
}

SegmentStart::Added SegmentStart::add(Interface& recorded, EventSink& sink) {
  recorded.id = {number_, made_++, 0};
  Added added;
  added.contradiction = changed_.find_contradiction(recorded, misfits_);
  for (const RecompileEvent::Entry& known : misfits_) {
    if (changed_.replaces(recorded, known.failed)) added.replaced.push_back(known.id);
  }
  if (!misfits_.empty()) sink.recompiled({recorded.id, false, std::exchange(misfits_, {})});
  return added;
}

}  // namespace penstock::capture
