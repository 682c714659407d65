#pragma once

// What oneDNN 2 and oneDNN 3 say differently. Nothing else asks which one it is compiled against.

#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <vector>

namespace penstock::runtime {

#if DNNL_VERSION_MAJOR >= 3
using PoolingForward = dnnl::pooling_forward;
#else
using PoolingForward = dnnl::pooling_v2_forward;  // the one with dilation
#endif

/// The implementation of a primitive for `what`: 3 has no descriptors between the two.
template <class Chosen, class... What>
typename Chosen::primitive_desc chosen_for(const dnnl::engine& engine,
                                           const dnnl::primitive_attr& attributes,
                                           const What&... what) {
#if DNNL_VERSION_MAJOR >= 3
  return typename Chosen::primitive_desc(engine, what..., attributes);
#else
  return typename Chosen::primitive_desc(typename Chosen::desc(what...), attributes, engine);
#endif
}

/// The same of one that computes gradients, beside the primitive whose they are.
template <class Chosen, class Forward, class... What>
typename Chosen::primitive_desc chosen_beside(const Forward& forward, const dnnl::engine& engine,
                                              const dnnl::primitive_attr& attributes,
                                              const What&... what) {
#if DNNL_VERSION_MAJOR >= 3
  return typename Chosen::primitive_desc(engine, what..., forward, attributes);
#else
  return
      typename Chosen::primitive_desc(typename Chosen::desc(what...), attributes, engine, forward);
#endif
}

inline void append_eltwise(dnnl::post_ops& ops, dnnl::algorithm kind, float alpha, float beta) {
#if DNNL_VERSION_MAJOR >= 3
  ops.append_eltwise(kind, alpha, beta);
#else
  ops.append_eltwise(1.0f, kind, alpha, beta);
#endif
}

/// A layout of blocks: what `dnnl_memory_desc_t` says in 2, and functions in 3.
struct BlockedLayout {
  bool is_all = false;  ///< the layout is nothing else besides
  int data_type = 0;
  dnnl_dim_t offset = 0;
  std::vector<dnnl_dim_t> dims, padded_dims, padded_offsets, strides;  ///< by dim
  std::vector<dnnl_dim_t> inner_blocks, inner_dims;                    ///< by block
};
inline BlockedLayout layout_of(const dnnl::memory::desc& desc) {
  BlockedLayout layout;
#if DNNL_VERSION_MAJOR >= 3
  layout.is_all = desc.get_format_kind() == dnnl::memory::format_kind::blocked;
  layout.data_type = static_cast<int>(desc.get_data_type());
  layout.offset = desc.get_submemory_offset();
  layout.dims = desc.get_dims();
  layout.padded_dims = desc.get_padded_dims();
  layout.padded_offsets = desc.get_padded_offsets();
  if (!layout.is_all) return layout;
  layout.strides = desc.get_strides();
  layout.inner_blocks = desc.get_inner_blks();
  layout.inner_dims = desc.get_inner_idxs();
#else
  const dnnl_memory_desc_t& facts = desc.data;
  const dnnl_blocking_desc_t& blocks = facts.format_desc.blocking;
  const auto of_dims = [&](const dnnl_dim_t* numbers) {
    return std::vector<dnnl_dim_t>(numbers, numbers + facts.ndims);
  };
  layout.is_all =
      facts.format_kind == dnnl_blocked && facts.extra.flags == dnnl_memory_extra_flag_none;
  layout.data_type = static_cast<int>(facts.data_type);
  layout.offset = facts.offset0;
  layout.dims = of_dims(facts.dims);
  layout.padded_dims = of_dims(facts.padded_dims);
  layout.padded_offsets = of_dims(facts.padded_offsets);
  if (facts.format_kind != dnnl_blocked) return layout;
  layout.strides = of_dims(blocks.strides);
  layout.inner_blocks.assign(blocks.inner_blks, blocks.inner_blks + blocks.inner_nblks);
  layout.inner_dims.assign(blocks.inner_idxs, blocks.inner_idxs + blocks.inner_nblks);
#endif
  return layout;
}

/// All that a layout is, equal for layouts of one build that are. Of 3 since 3.4.
inline std::string bytes_of(const dnnl::memory::desc& desc) {
#if DNNL_VERSION_MAJOR >= 3
  auto described = desc;  // get_blob() is no const function
  const auto bytes = described.get_blob();
  return {bytes.begin(), bytes.end()};
#else
  return {reinterpret_cast<const char*>(&desc.data), sizeof desc.data};
#endif
}

/// The same memory in whatever layout a primitive likes best.
inline dnnl::memory::desc in_any_layout(const dnnl::memory::desc& desc) {
#if DNNL_VERSION_MAJOR >= 3
  return {desc.get_dims(), desc.get_data_type(), dnnl::memory::format_tag::any};
#else
  return {desc.dims(), desc.data_type(), dnnl::memory::format_tag::any};
#endif
}

}  // namespace penstock::runtime
