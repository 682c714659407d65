#include "record/objects/differentiated.h"

#include <algorithm>

#include "torch/state.h"

namespace penstock::record {

bool may_write_differentiated(Walk& walk, const std::string& who, ValueId id,
                              const std::vector<ValueId>& values) {
  if (walk.context.for_backend() || walk.recorder.may_write_differentiated(
                                        id, values, torch::grad_enabled(), walk.context.runs()))
    return true;
  return walk.verdict.broke(
      Code::PS0305, who + " writes what gradients go through, and torch does not record it");
}

bool may_read_differentiated(Walk& walk, const std::string& who,
                             const std::vector<ValueId>& values) {
  UnseenWrites& unseen = walk.recorder.unseen_writes;
  const auto is_written = [&](ValueId id) {
    return walk.recorder.value(id).type.requires_grad &&
           unseen.is_written(walk.recorder.memory_of(id));
  };
  if (std::ranges::any_of(values, is_written))
    return walk.verdict.broke(Code::PS0305,
                              who + " reads what gradients go to, written through .data before");
  for (ValueId id : values) unseen.note_read(walk.recorder.memory_of(id));
  return true;
}

}  // namespace penstock::record
