#include "pipeline/stored_code.h"

#include <cstring>

namespace penstock::pipeline {

std::optional<std::string> StoredCode::find(std::string_view key) {
  auto entry = store_.kernel(key);
  if (!entry) return std::nullopt;
  std::string blob(entry->bytes());
  // The blob may have been pruned while its entry was kept, or be damaged: then the code is made
  // again.
  if (!store_.intact(blob)) return std::nullopt;
  return blob;
}

Result<std::string> StoredCode::put(std::string_view key, std::string_view elf) {
  auto blob = store_.put(elf);
  if (!blob) return blob;
  if (auto kept = store_.put_kernel(key, *blob); !kept) return tl::unexpected(kept.error());
  return blob;
}

Result<std::string_view> StoredBlobs::bytes_of(const std::string& blob, bool check) {
  std::lock_guard lock(mutex_);
  auto found = mapped_.find(blob);
  if (found == mapped_.end()) {
    auto mapping = store_.get(blob, check);
    if (!mapping) return tl::unexpected(mapping.error());
    found = mapped_.emplace(blob, std::move(*mapping)).first;
  }
  return found->second.bytes();
}

Result<std::string_view> StoredBlobs::code(const std::string& blob) {
  if (!store::is_hash(blob) || !store_.has(blob)) {
    return failure(Code::PS0206, "the store " + store_.directory() + " has no blob " + blob);
  }
  // A file may change after it was looked at: check_code looks at what is mapped.
  return bytes_of(blob, false);
}

Result<void> StoredBlobs::check_code(const std::string& blob, std::string_view bytes) {
  return store::Store::check(blob, bytes);
}

Result<std::string_view> StoredBlobs::constant(const std::string& blob) {
  // A blob of one tensor: the length of a header, the header, then the elements alone.
  auto whole = bytes_of(blob, true);
  if (!whole) return whole;
  std::string_view bytes = *whole;
  std::uint64_t header = 0;
  if (bytes.size() >= 8) std::memcpy(&header, bytes.data(), 8);
  if (bytes.size() < 8 || header > bytes.size() - 8) {
    return failure(Code::PS0207, "blob " + blob + " holds no tensor");
  }
  return bytes.substr(8 + header);
}

}  // namespace penstock::pipeline
