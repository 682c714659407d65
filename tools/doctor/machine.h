#pragma once

#include <string>
#include <vector>

#include "tools/doctor/finding.h"

namespace penstock::tools {

/// This penstock: its version, what it was built with, and for which Pythons.
Finding find_build();

/// The processor: its name, the cores that this process may use, and the widest vectors of those
/// that code is made for. Hindered without AVX2.
Finding find_processor();

/// The store that `option` (--store) or the environment names: what it holds, what it may hold, the
/// room that is left there. Hindered where nothing can be written.
Finding find_store(const std::string& option);

/// The variables of the environment that change what penstock does, each a finding. PENSTOCK_PYTHON
/// is told by the Python itself.
std::vector<Finding> find_variables();

}  // namespace penstock::tools
