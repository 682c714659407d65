#include "jit/executors/content_versions.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "ir/dtype.h"
#include "python/weak_reference.h"
#include "runtime/library_kernel.h"

namespace penstock::jit {
namespace {

using python::PyRef;

constexpr std::size_t kCopied = std::size_t{1} << 10;  ///< bytes that are compared with a copy
constexpr std::size_t kHashed = std::size_t{1}
                                << 16;  ///< bytes that are hashed rather than followed

bool is_of(const ContentVersions::Record& record, PyObject* tensor) {
  return record.tensor == tensor && PyWeakref_GET_OBJECT(record.weak.get()) == tensor;
}

/// Bytes from the first element to behind the last.
std::size_t extent(const torch::TensorView& view) {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < view.sizes.size(); ++i) {
    if (view.sizes[i] == 0) return 0;
    last += (view.sizes[i] - 1) * view.strides[i];
  }
  const auto dtype = dtype_from_torch(view.dtype);
  return static_cast<std::size_t>(last + 1) * (dtype ? facts(*dtype).size : 16);
}

}  // namespace

std::shared_ptr<ContentVersions::Record> ContentVersions::find(PyObject* tensor) {
  std::shared_ptr<Record>& record = records_[tensor];
  if (record && is_of(*record, tensor)) return record;
  record = std::make_shared<Record>();
  record->tensor = tensor;
  record->weak = python::weak_reference(tensor);
  if (!record->weak) {
    records_.erase(tensor);
    return nullptr;
  }
  const std::shared_ptr<Record> found = record;
  if (records_.size() >= prune_at_) {
    std::erase_if(records_, [](const auto& row) {
      return PyWeakref_GET_OBJECT(row.second->weak.get()) == Py_None;
    });
    prune_at_ = std::max<std::size_t>(1024, 2 * records_.size());
  }
  return found;
}

std::uint64_t ContentVersions::of_elements(Record& record, const void* data, std::size_t bytes) {
  const bool same = record.version != 0 && record.copy.size() == bytes &&
                    std::memcmp(record.copy.data(), data, bytes) == 0;
  if (same) return record.version;
  const auto* elements = static_cast<const std::byte*>(data);
  record.copy.assign(elements, elements + bytes);
  return record.version = ++last_;
}

std::uint64_t ContentVersions::of_small(PyObject* tensor, const void* data, std::size_t bytes,
                                        Known& known) {
  if (!known.record || !is_of(*known.record, tensor)) known.record = find(tensor);
  if (!known.record) return runtime::kUnversioned;
  const std::uint64_t version = of_elements(*known.record, data, bytes);
  known.data = data;
  known.copy = known.record->copy;
  return version;
}

std::uint64_t ContentVersions::of(const torch::TensorBridge& bridge, PyObject* tensor,
                                  const torch::TensorView& view, Known& known) {
  known.copy.clear();
  std::shared_ptr<Record>& record = known.record;
  const std::size_t bytes = extent(view);
  const bool looks = view.device_type == 0 && view.data != nullptr;  // not at what is on a GPU
  if (looks && bytes <= kCopied) return of_small(tensor, view.data, bytes, known);
  if (looks && bytes <= kHashed) {
    const std::uint64_t hash = XXH3_64bits(view.data, bytes);
    return hash == runtime::kUnversioned ? 0 : hash;
  }
  if (!view.has_version) return runtime::kUnversioned;
  if (!record || !is_of(*record, tensor)) record = find(tensor);
  if (!record) return runtime::kUnversioned;
  const std::uint64_t escaped = escapes_.count(view.storage);
  const std::uint32_t counted = bridge.version(tensor);
  const bool same = record->version != 0 && record->data == view.data &&
                    record->counted == counted && record->escaped == escaped;
  // What was gone cannot come back but by another escape.
  if (same && !record->open) return record->version;
  record->data = view.data;
  record->counted = counted;
  record->escaped = escaped;
  const bool was_open = record->open;
  record->open = escaped != 0 && escapes_.is_open(view.storage);
  if (record->open) return runtime::kUnversioned;
  if (!same || was_open) record->version = ++last_;
  return record->version;
}

}  // namespace penstock::jit
