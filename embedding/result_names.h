#pragma once

#include <string>
#include <vector>

#include "ir/interface.h"

namespace penstock::embedding {

/// A name for each output of a graph: the way to it in what the function returns, keys of dicts,
/// fields of objects and positions joined by points ("logits", "0", "past.1"), "result" for a
/// tensor that is returned itself. The new value of a tensor that the call writes has that tensor's
/// name; an output with neither has its number. No name stands for two.
std::vector<std::string> result_names(const Interface& interface);

}  // namespace penstock::embedding
