#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "diag/diagnostic.h"
#include "ir/buffer.h"

namespace penstock {

/// A library call that decides which steps behind it run, and how often: two parts of so many steps
/// stand behind it.
struct ControlStep {
  enum class Kind : std::uint8_t {
    branch,      ///< one of the parts, as the call's first input says
    while_loop,  ///< the first part, then, while the call's first output is true, the second and
                 ///< the first again
    for_loop,  ///< the second part (the only one) as often as `trips` says, with the number of the
               ///< turn in the call's first output
  };
  Kind kind = Kind::branch;
  std::int64_t first = 0, second = 0;
  bool repeats() const { return kind != Kind::branch; }
};

/// Nothing for another call.
std::optional<ControlStep> control_step_of(const LibraryCall& call);

/// How many turns a `for` with these attributes has, with a number in the place of its size.
std::int64_t trips_of(const std::vector<NamedArgument>& attributes);

/// What the steps of a program say, in order: nothing for those that decide nothing.
using ControlSteps = std::vector<std::optional<ControlStep>>;

template <class Step>
ControlSteps control_steps_of(const std::vector<Step>& steps) {
  ControlSteps found;
  found.reserve(steps.size());
  for (const Step& step : steps) {
    const auto* call = std::get_if<LibraryCall>(&step);
    found.push_back(call != nullptr ? control_step_of(*call) : std::nullopt);
  }
  return found;
}

/// Checks that there are as many steps as these say, and that those of one lie in one part of the
/// one around it. PS0205, at `place`.
Result<void> verify_control_steps(const ControlSteps& steps, const std::string& place);

/// Calls `run(step) -> Result<bool>` for steps of [first, last) in the order in which they decide.
/// `taken(step, turn) -> Result<bool>` says whether a branch is taken, and whether a loop goes into
/// that turn, counted from 0. Ends at the first that is an error, or false of a run.
template <class Run, class Taken>
Result<bool> run_control_steps(const ControlSteps& steps, std::size_t first, std::size_t last,
                               const Run& run, const Taken& taken) {
  for (std::size_t i = first; i < last; ++i) {
    Result<bool> done = run(i);
    if (!done || !*done) return done;
    if (!steps[i]) continue;
    const std::size_t middle = i + 1 + static_cast<std::size_t>(steps[i]->first),
                      end = middle + static_cast<std::size_t>(steps[i]->second);
    for (std::int64_t turn = 0;; ++turn) {
      const bool asks_first = steps[i]->kind == ControlStep::Kind::while_loop;
      if (asks_first) done = run_control_steps(steps, i + 1, middle, run, taken);
      if (!done || !*done) return done;
      const Result<bool> goes = taken(i, turn);
      if (!goes) return goes;
      if (steps[i]->repeats() && !*goes) break;
      const bool second = steps[i]->repeats() || !*goes;
      done = second ? run_control_steps(steps, middle, end, run, taken)
                    : run_control_steps(steps, i + 1, middle, run, taken);
      if (!done || !*done) return done;
      if (!steps[i]->repeats()) break;
    }
    i = end - 1;
  }
  return true;
}

}  // namespace penstock
