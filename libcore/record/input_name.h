#pragma once

#include <string>

#include "ir/source.h"
#include "policy/shown_code.h"

namespace penstock::record {

/// A name for the input that `source` leads to: "x", "self_fc_weight". What the segment's first
/// frame only hands on is called by `arguments`.
std::string input_name(const SourceTable& sources, SourceId source,
                       const policy::ShownArguments& arguments);

}  // namespace penstock::record
