#include "record/checkpoints.h"

#include "record/recorder.h"

namespace penstock::record {

namespace {

bool is_made_since(const Recorder& recorder, ValueId first, ValueId id) {
  const auto made = recorder.made_in(id);
  return made && *made >= first && !recorder.is_input(*made);
}

}  // namespace

void OpenCheckpoints::begin(const Recorder& recorder, std::size_t effects) {
  if (!any()) ++count_;
  open_.push_back({static_cast<ValueId>(recorder.graph().values.size()),
                   recorder.graph().nodes.size(), effects});
}

void OpenCheckpoints::note_write(const Recorder& recorder, ValueId id) {
  for (Open& one : open_) {
    if (!is_made_since(recorder, one.first_value, id)) one.writes_outside = true;
  }
}

}  // namespace penstock::record
