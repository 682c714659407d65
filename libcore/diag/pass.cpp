#include "diag/pass.h"

#include <fmt/format.h>

namespace penstock {

Result<void> PassRunner::of_pass(const PassFacts& facts, Result<void> verified) {
  if (verified) return verified;
  Diagnostic diagnostic = std::move(verified.error());
  diagnostic.message = fmt::format("behind pass {}: {}", facts.name, diagnostic.message);
  return tl::unexpected(std::move(diagnostic));
}

}  // namespace penstock
