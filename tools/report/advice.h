#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/report/report.h"

namespace penstock::report {

/// One thing that would make the program faster, and what it costs as it is.
struct Advice {
  /// "defect", "replaced", "break", "recompile", "refused", "fallback", "compile" or "none".
  std::string kind;
  std::string code;   ///< of the diagnostic, or empty
  std::string title;  ///< a sentence without a full stop
  std::string detail;
  std::string hint;  ///< what to do
  std::optional<Location> location;
  std::vector<std::string> entries;  ///< ids that it is about
  std::int64_t cost_ns = 0;          ///< measured; 0: not known
  std::int64_t times = 0;            ///< how often it happened; 0: not known
  std::size_t event =
      0;  ///< break, recompile: its position in the report's list, the first's of several
};

/// What to do first: the dearest first, those whose cost is not known behind them. Never empty: a
/// program of which nothing is to be said gets one row of kind "none".
std::vector<Advice> advise(const Report& report);

/// "1.20 ms", "340 us", "2.35 s".
std::string duration(std::int64_t nanoseconds);

}  // namespace penstock::report
