#pragma once

#include <map>
#include <vector>

#include "guards/guard_program.h"

namespace penstock::guards {

/// One run of a guard program that goes on behind failures and keeps them, for explain().
class GuardProgram::Trial {
 public:
  explicit Trial(GuardProgram& program);

  /// False if what the step looks at could not be read: reported already where it was lost.
  bool ready(const GuardStep& step);
  void fail(const GuardStep& step);
  std::vector<FailedGuard> take();

 private:
  void report(std::int32_t guard, std::string actual);
  void report_lost(SourceId source, std::string actual);
  std::string actual_of(const GuardStep& step) const;
  std::string symbols_text(const GuardStep& step) const;
  void note_sizes(const GuardStep& step);

  GuardProgram& program_;
  std::vector<std::uint8_t> lost_;                    // by SourceId
  std::vector<std::vector<std::int32_t>> guards_of_;  // by SourceId
  std::map<std::int32_t, std::size_t> reported_;      // by guard: where in failed_
  std::vector<FailedGuard> failed_;
};

}  // namespace penstock::guards
