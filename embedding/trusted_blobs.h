#pragma once

#include <string>

#include "pipeline/stored_code.h"
#include "store/trust.h"

namespace penstock::embedding {

/// Code and constants of one bundle, from a store. Gives no code to be run that nobody trusts for
/// this bundle: PS0809, unless everything is trusted. `store` outlives it.
class TrustedBlobs : public pipeline::StoredBlobs {
 public:
  TrustedBlobs(const store::Store& store, const KernelBundle& bundle, bool trust);
  Result<void> check_code(const std::string& blob, std::string_view bytes) override;

 private:
  store::Trust trust_;
  bool everything_, sealed_;
  std::string id_, statement_;
};

}  // namespace penstock::embedding
