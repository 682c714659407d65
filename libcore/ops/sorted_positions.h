#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace penstock::ops {

/// How elements are put in order, and which comes first of equal ones. `stable`: the one that stood
/// first. The others leave it open, but follow ATen (native/cpu/SortingKernel.cpp,
/// native/TopKImpl.h), whose permutation a program shows: the C++ library's sort, or for the
/// `first` few its partial_sort or nth_element.
enum class SortOrder : std::uint8_t { stable, unstable, first, first_unsorted };

/// The positions of the `count` elements that are the least, or the greatest (`descending`), in
/// their order. NaN counts as the greatest.
std::vector<std::int64_t> sorted_positions(std::span<const double> elements, std::int64_t count,
                                           bool descending, SortOrder order);

}  // namespace penstock::ops
