#pragma once

#include <string_view>

#include "bundle/kernel_abi.h"
#include "diag/diagnostic.h"

namespace penstock::runtime {

/// From now on /tmp/perf-PID.map names the kernels of all code that is opened, for perf(1). PS0103
/// when the file cannot be written.
Result<void> start_perf_map();

/// Moves the code of the ELF file `elf`, which dlopen() gave `handle` for and which has not run, to
/// memory that is no file's: for such perf looks into the map. Does nothing before
/// start_perf_map().
void move_for_perf(void* handle, std::string_view elf);

/// Adds a function of such code to the map. Does nothing before start_perf_map(). One thread at a
/// time.
void name_for_perf(penstock_kernel function, std::string_view name);

}  // namespace penstock::runtime
