#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ir/graph.h"

namespace penstock {

/// Whether `device` ("cuda:0") is a GPU that kernels are made for.
bool is_gpu(std::string_view device);
/// Its number; -1: `device` is no such GPU, or names none.
int gpu_index(std::string_view device);

/// Where a graph's kernels run: on the one device of which some of its tensors are, else on the
/// "cpu". Inputs of one element may lie in the host's memory though the others are on a GPU: they
/// go along as numbers. Nothing where kernels could not reach all tensors.
std::optional<std::string> device_of(const Graph& graph);

}  // namespace penstock
