#pragma once

#include <functional>
#include <optional>

#include "jit/backends/backends.h"
#include "python/mode.h"
#include "tools/extension/document_sink.h"

namespace penstock::tools {

/// What `run --backend` was told, as the settings have it:
///   backend            its name, or auto; without it nothing is asked for
///   backend-commands   "NAME\tFILE", one a line
///   backend-seconds    that it may take for a graph
///   backend-tool       the program penstock
/// A file that is a Python program is run by $PENSTOCK_BACKEND_PYTHON, else by the Python that runs
/// this one. `sink` and what `report` stands for live as long as the process.
Result<std::optional<jit::BackendOptions>> backend_options(
    const python::Settings& settings, DocumentSink& sink,
    std::function<void(const Diagnostic&)> report);

}  // namespace penstock::tools
