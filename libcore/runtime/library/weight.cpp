// Weights in the layouts that oneDNN reads.
//
// A packed weight is kept beyond the process under a key that says what it depends on: the stored
// tensor and the part of it that is read, both layouts, the factors, the library's version and the
// CPU's instructions. Packing moves elements and multiplies by the factors; the last two decide
// nothing more today, but a library is free to let them.
#include "runtime/library/weight.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>

namespace penstock::runtime {

using dnnl::memory;

namespace {

/// Whether the dims from `first` on fill one run of memory without gaps.
bool is_run(const BlockedLayout& layout, std::size_t first) {
  std::vector<std::size_t> dims(layout.dims.size() - first);
  std::iota(dims.begin(), dims.end(), first);
  std::ranges::sort(dims, {}, [&](std::size_t dim) { return layout.strides[dim]; });
  std::int64_t next = 1;
  for (std::size_t dim : dims) {
    if (layout.dims[dim] == 1) continue;
    if (layout.strides[dim] != next) return false;
    next *= layout.dims[dim];
  }
  return true;
}

/// Writes float32 elements, multiplied by what `scale` has for the first `scaled_dims` of their
/// dims, to the places that they were read from.
class Scaling {
 public:
  Scaling(const memory::desc& desc, int scaled_dims, const float* scale)
      : layout_(layout_of(desc)),
        scaled_dims_(static_cast<std::size_t>(scaled_dims)),
        scale_(scale),
        run_(is_run(layout_, scaled_dims_)) {}

  void write(const float* from, float* to) const { write(0, 0, from, to); }

 private:
  void write(std::size_t dim, std::int64_t channel, const float* from, float* to) const {
    if (dim >= scaled_dims_ && (run_ || dim == layout_.dims.size()))
      return write_run(dim, scale_[channel], from, to);
    const std::int64_t stride = layout_.strides[dim], length = layout_.dims[dim];
    for (std::int64_t i = 0; i < length; ++i) {
      const std::int64_t below = dim < scaled_dims_ ? channel * length + i : channel;
      write(dim + 1, below, from + i * stride, to + i * stride);
    }
  }
  void write_run(std::size_t dim, float factor, const float* from, float* to) const {
    const std::int64_t count =
        std::accumulate(layout_.dims.begin() + static_cast<std::ptrdiff_t>(dim), layout_.dims.end(),
                        std::int64_t{1}, std::multiplies<>());
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) to[i] = from[i] * factor;
  }

  BlockedLayout layout_;
  std::size_t scaled_dims_;
  const float* scale_;
  bool run_;
};

/// A layout as text, the same in every process; empty for those that are described by more than
/// blocks.
std::string text_of(const memory::desc& desc) {
  const BlockedLayout layout = layout_of(desc);
  if (!layout.is_all) return {};
  std::string text = std::to_string(layout.data_type) + '@' + std::to_string(layout.offset);
  auto add = [&](char mark, const std::vector<dnnl_dim_t>& numbers) {
    text += mark;
    for (dnnl_dim_t number : numbers) text += std::to_string(number) + ',';
  };
  add('d', layout.dims);
  add('p', layout.padded_dims);
  add('o', layout.padded_offsets);
  add('s', layout.strides);
  add('b', layout.inner_blocks);
  add('i', layout.inner_dims);
  return text;
}

std::string library_text() {
  const dnnl_version_t* version = dnnl_version();
  return "oneDNN " + std::to_string(version->major) + '.' + std::to_string(version->minor) + '.' +
         std::to_string(version->patch) + ' ' + version->hash + " isa " +
         std::to_string(static_cast<int>(dnnl::get_effective_cpu_isa()));
}

bool same_contents(const Weight::Contents& a, const Weight::Contents& b) {
  return a.data == b.data && a.version == b.version;
}

Result<void> look_at(const StoredWindow& stored) {
  return stored.tensor == nullptr ? Result<void>() : stored.tensor->check();
}

}  // namespace

Weight::Weight(OneDnn& library, memory::desc plain, memory::desc wanted, int scaled_dims)
    : plain_(std::move(plain)),
      wanted_(std::move(wanted)),
      same_(plain_ == wanted_),
      scaled_dims_(scaled_dims) {
  if (same_) return;
  reorder_ = dnnl::reorder({library.engine, plain_, library.engine, wanted_});
}

std::size_t Weight::scratch_bytes() const {
  return same_ && scaled_dims_ == 0 ? 0 : Relayout::bytes(wanted_);
}

std::size_t Weight::scale_bytes() const {
  std::size_t bytes = sizeof(float);
  const std::vector<dnnl_dim_t> dims = layout_of(plain_).dims;
  for (int i = 0; i < scaled_dims_; ++i) {
    bytes *= static_cast<std::size_t>(dims[static_cast<std::size_t>(i)]);
  }
  return bytes;
}

void Weight::pack(OneDnn& library, const void* weight, const float* scale,
                  void* destination) const {
  std::unique_ptr<float[]> scaled;
  void* source = const_cast<void*>(weight);  // oneDNN reads through pointers to mutable memory
  if (scale != nullptr) {
    if (!same_) scaled = std::make_unique_for_overwrite<float[]>(plain_.get_size() / sizeof(float));
    auto* target = same_ ? static_cast<float*>(destination) : scaled.get();
    Scaling(plain_, scaled_dims_, scale).write(static_cast<const float*>(weight), target);
    source = target;
  }
  if (same_) return;
  memory from(plain_, library.engine, source), to(wanted_, library.engine, destination);
  reorder_.execute(library.stream, from, to);
}

std::string Weight::layouts() const {
  return bytes_of(wanted_) + bytes_of(plain_);
}

/// The key in the store; empty when the packed weight is not to be kept there.
std::string Weight::lasting_key(const StoredWindow& stored, const float* scale) const {
  const std::string plain = text_of(plain_), wanted = text_of(wanted_);
  if (stored.tensor == nullptr || plain.empty() || wanted.empty()) return {};
  static const std::string library = library_text();
  std::string key = library + "\ntensor " + std::string(stored.tensor->name()) + " from " +
                    std::to_string(stored.start) + "\n" + plain + "\n" + wanted + "\n" +
                    std::to_string(scaled_dims_);
  if (scale != nullptr) key.append(reinterpret_cast<const char*>(scale), scale_bytes());
  return key;
}

/// From the store, or made and kept there.
Result<std::shared_ptr<const void>> Weight::packed_copy(OneDnn& library, const Contents& weight,
                                                        const float* scale) const {
  const std::size_t bytes = wanted_.get_size();
  const std::string key =
      library.store == nullptr ? std::string() : lasting_key(weight.stored, scale);
  if (!key.empty()) {
    if (auto found = library.store->find(key, bytes)) return found;
  }
  if (auto whole = look_at(weight.stored); !whole) return tl::unexpected(std::move(whole.error()));
  std::shared_ptr<void> copy(std::aligned_alloc(64, (bytes + 127) / 64 * 64), std::free);
  if (copy == nullptr)
    return failure(Code::PS0803,
                   "no memory for a packed weight of " + std::to_string(bytes) + " bytes");
  pack(library, weight.data, scale, copy.get());
  if (!key.empty()) library.store->keep(key, {static_cast<const char*>(copy.get()), bytes});
  return copy;
}

Result<void*> Weight::prepare(OneDnn& library, const Contents& weight, const Contents& scale,
                              void* scratch) {
  const auto* factors = static_cast<const float*>(scale.data);
  const bool known =
      weight.version != kUnversioned && (factors == nullptr || scale.version != kUnversioned);
  if (known && packed_ != nullptr && same_contents(packed_weight_, weight) &&
      same_contents(packed_scale_, scale)) {
    return const_cast<void*>(packed_.get());
  }
  const bool as_it_is = same_ && factors == nullptr;
  if (as_it_is || !known) {
    if (auto whole = look_at(weight.stored); !whole)
      return tl::unexpected(std::move(whole.error()));
    if (as_it_is) return const_cast<void*>(weight.data);
    pack(library, weight.data, factors, scratch);
    return scratch;
  }
  // Copies are shared by kernels that read the same contents in the same layout with the same
  // factors.
  std::string layout = layouts();
  if (factors != nullptr) layout.append(static_cast<const char*>(scale.data), scale_bytes());
  auto packed = library.packed.get({weight.data, weight.version, std::move(layout)},
                                   [&] { return packed_copy(library, weight, factors); });
  if (!packed) return tl::unexpected(std::move(packed.error()));
  packed_ = std::move(*packed);
  packed_weight_ = weight;
  packed_scale_ = scale;
  return const_cast<void*>(packed_.get());
}

}  // namespace penstock::runtime
