#pragma once

#include <mutex>
#include <unordered_map>

#include "codegen/codegen.h"
#include "runtime/executor.h"
#include "store/store.h"

namespace penstock::pipeline {

/// Puts generated code into a store, and finds what was generated before: under a kernel's key
/// stands the hash of its blob.
class StoredCode : public codegen::CodeSink {
 public:
  explicit StoredCode(store::Store& store) : store_(store) {}
  std::optional<std::string> find(std::string_view key) override;
  Result<std::string> put(std::string_view key, std::string_view elf) override;

 private:
  store::Store& store_;
};

/// Code and constants of bundles, from a store. Thread-safe; what it has given stays mapped.
class StoredBlobs : public runtime::BlobSource {
 public:
  explicit StoredBlobs(const store::Store& store) : store_(store) {}
  Result<std::string_view> code(const std::string& blob) override;
  Result<void> check_code(const std::string& blob, std::string_view bytes) override;
  Result<std::string_view> constant(const std::string& blob) override;

 private:
  Result<std::string_view> bytes_of(const std::string& blob, bool check);

  const store::Store& store_;
  std::mutex mutex_;
  std::unordered_map<std::string, store::Mapping> mapped_;
};

}  // namespace penstock::pipeline
