#include "tools/reduce/search.h"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "tools/common/terminal.h"

namespace penstock::tools {

Result<Answer> wanted_answer(Oracle& oracle, std::string_view whole, const std::string& matching) {
  auto answer = oracle.ask(whole);
  if (!answer || answer->interrupted) return answer;
  if (matching.empty() && answer->status == 0)
    return failure(Code::PS0807, "the command succeeds on the whole: there is nothing to look for");
  if (!answer->printed) {
    return failure(Code::PS0807,
                   fmt::format("on the whole the command does not print {:?}", matching));
  }
  return answer;
}

Search::Search(Stage& stage, Oracle& oracle, Answer wanted, std::size_t whole)
    : stage_(stage),
      oracle_(oracle),
      wanted_(std::move(wanted)),
      stopped_(wanted_.interrupted),
      on_terminal_(is_terminal(STDERR_FILENO) && !stage.settings().quiet),
      whole_(whole),
      smallest_(whole) {
  show();
}

bool Search::fails(std::string_view part) {
  if (stopped_) return false;
  auto answer = oracle_.ask(part);
  stage_.count("parts tried");
  ++tried_;
  stopped_ = answer && answer->interrupted;
  const bool same = answer && same_failure(*answer, wanted_);
  if (same) smallest_ = part.size();
  show();
  return same;
}

void Search::finish(std::string_view what) {
  progress_.ends();
  if (stopped_)
    stage_.say(fmt::format("penstock-reduce: stopped; this is the smallest {} up to here\n", what));
}

void Search::show() {
  if (on_terminal_)
    progress_.begins(fmt::format("{} tried, {} of {} bytes left", tried_, smallest_, whole_));
}

}  // namespace penstock::tools
