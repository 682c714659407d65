#pragma once

#include "record/walk.h"

namespace penstock::record {

/// A call of what operator.itemgetter, attrgetter or methodcaller made.
bool call_getter(Walk& walk, FrameShadow& frame, Operand getter,
                 const std::vector<Operand>& positional,
                 const std::vector<std::pair<PyObject*, Operand>>& keywords, int pops);

}  // namespace penstock::record
