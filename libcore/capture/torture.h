#pragma once

#include <memory>

#include "diag/diagnostic.h"
#include "python/conductor.h"
#include "python/mode.h"

namespace penstock::capture {

/// A driver that conducts every frame and walks it symbolically, as if each could become a graph,
/// and uses nothing of it: what the program does must not change. With torch or without. What was
/// walked is added to the hook's counts (python/hook.h).
Result<std::unique_ptr<python::FrameDriver>> make_torture(const python::Settings& settings);

}  // namespace penstock::capture
