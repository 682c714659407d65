#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "formats/document.h"
#include "tools/common/capture_counts.h"
#include "tools/common/launch.h"
#include "tools/report/gather.h"

namespace penstock::live {

/// What `now` has counted more than `before`; what is no count is as it is now.
void subtract(tools::CaptureCounts& now, const tools::CaptureCounts& before);

/// The report of a program that still runs: of the documents that its process has written so far,
/// a line each, and of the memory that it shares. Each document is looked at once.
class LiveReport {
 public:
  /// Both descriptors are the caller's, and outlive it.
  LiveReport(int documents, int shared) : documents_(documents), shared_(shared) {}

  /// What files that are read from now on are called, by their names and by their paths in
  /// documents: the cells of a notebook.
  void call_files(const std::map<std::string, std::string>& names);
  /// From here on since_mark() counts.
  Result<void> mark();
  Result<report::Report> all();
  /// Of what was recorded before, only graphs that were called since are there, and the breaks
  /// behind them.
  Result<report::Report> since_mark();
  /// How much there is: another number where there is something new.
  std::int64_t generation();

 private:
  struct Mark {
    std::size_t graphs = 0, breaks = 0, skips = 0, recompiles = 0, restarts = 0;
    std::unique_ptr<tools::CaptureCounts> counts;
  };
  Result<void> take();
  tools::LaunchOutcome outcome() const;

  int documents_, shared_;
  std::int64_t position_ = 0;  ///< in the documents: behind the last line that was taken
  std::map<std::string, std::string> names_;
  report::Report report_;  ///< without its end
  Mark mark_;
};

/// The documents, as they were written, of a program that has ended, with document `end`.
Result<std::vector<formats::Document>> documents_of(int descriptor,
                                                    const tools::LaunchOutcome& outcome);

}  // namespace penstock::live
