#pragma once

namespace penstock::python {

/// True while the current thread is inside a region that torch.compile made, and in no function in it
/// for which compilation is disabled: what torch.compiler.is_compiling() answers there. Guards ask
/// this instead of the Python function, for they must not run Python code.
bool in_compiled_region();

/// Set by the driver that conducts what stands around regions.
void set_in_compiled_region(bool inside);

}  // namespace penstock::python
