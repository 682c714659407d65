#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "diag/diagnostic.h"
#include "ir/buffer.h"

namespace penstock {

/// The library call branch: how many steps behind it run where its condition is true, and how many
/// behind those where it is false.
struct Branch {
  std::int64_t then = 0, otherwise = 0;
};

/// Nothing for another call.
std::optional<Branch> branch_of(const LibraryCall& call);

/// What the steps of a program say, in order: nothing for those that are no branches.
using Branches = std::vector<std::optional<Branch>>;

template <class Step>
Branches branches_of(const std::vector<Step>& steps) {
  Branches branches;
  branches.reserve(steps.size());
  for (const Step& step : steps) {
    const auto* call = std::get_if<LibraryCall>(&step);
    branches.push_back(call != nullptr ? branch_of(*call) : std::nullopt);
  }
  return branches;
}

/// Checks that branches have as many steps as they say, and that those of one lie in one part of
/// the branch around it. PS0205, at `place`.
Result<void> verify_branches(const Branches& branches, const std::string& place);

/// Calls `run(step) -> Result<bool>` for steps of [first, last) as `taken(step)`, asked for each
/// branch behind its own run, decides. Ends at the first that is an error or false.
template <class Run, class Taken>
Result<bool> run_branches(const Branches& branches, std::size_t first, std::size_t last,
                          const Run& run, const Taken& taken) {
  for (std::size_t i = first; i < last; ++i) {
    Result<bool> done = run(i);
    if (!done || !*done) return done;
    if (!branches[i]) continue;
    const std::size_t middle = i + 1 + static_cast<std::size_t>(branches[i]->then),
                      end = middle + static_cast<std::size_t>(branches[i]->otherwise);
    done = taken(i) ? run_branches(branches, i + 1, middle, run, taken)
                    : run_branches(branches, middle, end, run, taken);
    if (!done || !*done) return done;
    i = end - 1;
  }
  return true;
}

}  // namespace penstock
