#include "store/trust.h"
#include "formats/seal.h"

namespace penstock::formats {

Result<int> trust_code(const KernelBundle& bundle, store::Store& store) {
  const std::string statement = sealed_text(bundle);
  store::Trust trust(store);
  for (const KernelBundle::Code& code : bundle.code) {
    auto bytes = store.get(code.blob.empty() ? code.hash : code.blob);
    if (!bytes) return tl::unexpected(std::move(bytes.error()));
    if (auto allowed = trust.allow(statement, bytes->bytes()); !allowed)
      return tl::unexpected(std::move(allowed.error()));
  }
  return static_cast<int>(bundle.code.size());
}

}  // namespace penstock::formats
