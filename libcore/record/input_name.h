#pragma once

#include <string>

#include "ir/source.h"

namespace penstock::record {

/// A name for the input that `source` leads to: "x", "self_fc_weight".
std::string input_name(const SourceTable& sources, SourceId source);

}  // namespace penstock::record
