#pragma once

#include <string>

#include "bundle/kernel_bundle.h"
#include "store/store.h"

namespace penstock::formats {

/// All that the machine code of a bundle relies on, and the code's hashes, as text: what the seal
/// of a document is a hash of. Two bundles with the same text call the same code in the same way.
std::string sealed_text(const KernelBundle& bundle);

/// What stands for the seal of a bundle that has none: a document of format 1.0 may have been
/// without.
inline constexpr const char* kNoSeal = "none";

/// Makes the store trust the bundle's code for what its seal covers (store/trust.h), and says how
/// many pieces of code that are. PS0206 and PS0207 for code that the store does not have, or not
/// whole.
Result<int> trust_code(const KernelBundle& bundle, store::Store& store);

}  // namespace penstock::formats
