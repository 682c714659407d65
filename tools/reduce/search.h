#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "tools/common/driver.h"
#include "tools/common/progress.h"
#include "tools/reduce/oracle.h"

namespace penstock::tools {

/// What the command makes of the whole, which is what its parts are held against. PS0807 when it
/// succeeds, or, where a text is looked for, does not print it.
Result<Answer> wanted_answer(Oracle& oracle, std::string_view whole, const std::string& matching);

/// Asks whether parts of something fail as the whole does, until somebody stops it, and says on a
/// terminal how far it is.
class Search {
 public:
  /// Both outlive this. `whole` is the length in bytes.
  Search(Stage& stage, Oracle& oracle, Answer wanted, std::size_t whole);

  /// False of everything once it was stopped.
  bool fails(std::string_view part);

  bool stopped() const { return stopped_; }
  const Answer& wanted() const { return wanted_; }
  /// Ends the search; says so if it was stopped early. `what`: "stream", "program".
  void finish(std::string_view what);

 private:
  void show();

  Stage& stage_;
  Oracle& oracle_;
  Answer wanted_;
  bool stopped_;
  bool on_terminal_;
  std::size_t whole_, smallest_, tried_ = 0;
  Progress progress_;
};

}  // namespace penstock::tools
