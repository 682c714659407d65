#pragma once

#include <string>
#include <vector>

#include "ir/buffer.h"
#include "ir/memory_verify.h"

namespace penstock {

/// Checks a library call against its row of library_calls.def and what the row's comment says:
/// inputs and outputs as many as there are, attributes all there and of their types, post-ops that
/// may stand behind it, and dtypes and sizes that fit each other, as far as `value` knows them.
/// `buffers` exist and have one stride a size. PS0205, at `place`.
Result<void> verify_library_call(const LibraryCall& call, const std::vector<Buffer>& buffers,
                                 const SizeValue& value, const std::string& place);

}  // namespace penstock
