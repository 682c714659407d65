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
bool is_run(const dnnl_memory_desc_t& facts, int first) {
  const auto& strides = facts.format_desc.blocking.strides;
  std::vector<int> dims(static_cast<std::size_t>(facts.ndims - first));
  std::iota(dims.begin(), dims.end(), first);
  std::sort(dims.begin(), dims.end(), [&](int a, int b) { return strides[a] < strides[b]; });
  std::int64_t next = 1;
  for (int dim : dims) {
    if (facts.dims[dim] == 1) continue;
    if (strides[dim] != next) return false;
    next *= facts.dims[dim];
  }
  return true;
}

/// Writes float32 elements, multiplied by what `scale` has for the first `scaled_dims` of their
/// dims, to the places that they were read from.
class Scaling {
 public:
  Scaling(const memory::desc& desc, int scaled_dims, const float* scale)
      : facts_(desc.data),
        scaled_dims_(scaled_dims),
        scale_(scale),
        run_(is_run(desc.data, scaled_dims)) {}

  void write(const float* from, float* to) const { write(0, 0, from, to); }

 private:
  void write(int dim, std::int64_t channel, const float* from, float* to) const {
    if (dim >= scaled_dims_ && (run_ || dim == facts_.ndims))
      return write_run(dim, scale_[channel], from, to);
    const std::int64_t stride = facts_.format_desc.blocking.strides[dim];
    for (std::int64_t i = 0; i < facts_.dims[dim]; ++i) {
      const std::int64_t below = dim < scaled_dims_ ? channel * facts_.dims[dim] + i : channel;
      write(dim + 1, below, from + i * stride, to + i * stride);
    }
  }
  void write_run(int dim, float factor, const float* from, float* to) const {
    const std::int64_t count = std::accumulate(facts_.dims + dim, facts_.dims + facts_.ndims,
                                               std::int64_t{1}, std::multiplies<>());
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) to[i] = from[i] * factor;
  }

  const dnnl_memory_desc_t& facts_;
  int scaled_dims_;
  const float* scale_;
  bool run_;
};

/// A layout as text, the same in every process; empty for those that are described by more than
/// blocks.
std::string text_of(const memory::desc& desc) {
  const dnnl_memory_desc_t& facts = desc.data;
  if (facts.format_kind != dnnl_blocked || facts.extra.flags != dnnl_memory_extra_flag_none)
    return {};
  std::string text = std::to_string(facts.data_type) + '@' + std::to_string(facts.offset0);
  auto add = [&](char mark, const dnnl_dim_t* numbers, int count) {
    text += mark;
    for (int i = 0; i < count; ++i) text += std::to_string(numbers[i]) + ',';
  };
  const dnnl_blocking_desc_t& blocks = facts.format_desc.blocking;
  add('d', facts.dims, facts.ndims);
  add('p', facts.padded_dims, facts.ndims);
  add('o', facts.padded_offsets, facts.ndims);
  add('s', blocks.strides, facts.ndims);
  add('b', blocks.inner_blks, blocks.inner_nblks);
  add('i', blocks.inner_idxs, blocks.inner_nblks);
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
  for (int i = 0; i < scaled_dims_; ++i) {
    bytes *= static_cast<std::size_t>(plain_.dims()[static_cast<std::size_t>(i)]);
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

/// Layouts of one build are equal exactly when their bytes are.
std::string Weight::layouts() const {
  std::string bytes(reinterpret_cast<const char*>(&wanted_.data), sizeof wanted_.data);
  return bytes.append(reinterpret_cast<const char*>(&plain_.data), sizeof plain_.data);
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
