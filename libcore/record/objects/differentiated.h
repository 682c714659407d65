#pragma once

#include <string>
#include <vector>

#include "record/walk.h"

namespace penstock::record {

// Reads and writes of memory that gradients go to, by an op that `who` names.

/// True where torch records a write of value `id`, with `values` among its arguments, if gradients
/// go through what is written; else the walk broke.
bool may_write_differentiated(Walk& walk, const std::string& who, ValueId id,
                              const std::vector<ValueId>& values);
/// False, and the segment is over, where an op whose gradients torch records reads what gradients
/// go to and the segment wrote where torch did not see it (record/unseen_writes.h): the next
/// segment begins there. `values`: what the op reads.
bool may_read_differentiated(Walk& walk, const std::string& who,
                             const std::vector<ValueId>& values);

}  // namespace penstock::record
