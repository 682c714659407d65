#include "embedding/trusted_blobs.h"

#include "formats/seal.h"

namespace penstock::embedding {

TrustedBlobs::TrustedBlobs(const store::Store& store, const KernelBundle& bundle, bool trust)
    : StoredBlobs(store),
      trust_(store),
      everything_(trust),
      sealed_(bundle.sealed),
      id_(to_string(bundle.interface.id)),
      statement_(formats::sealed_text(bundle)) {}

Result<void> TrustedBlobs::check_code(const std::string& blob, std::string_view bytes) {
  if (auto whole = StoredBlobs::check_code(blob, bytes); !whole) return whole;
  if (everything_ || trust_.allows(statement_, bytes)) return {};
  return failure(Code::PS0809, "the machine code of graph " + id_ +
                                   (sealed_ ? " was made elsewhere"
                                            : " has no seal: it may be that of another graph"));
}

}  // namespace penstock::embedding
