#pragma once

#include <map>
#include <string>
#include <utility>

#include "capture/root_meter.h"
#include "diag/pass.h"
#include "ir/event.h"
#include "jit/gate/entry_count.h"
#include "tools/common/trace.h"

namespace penstock::tools {

/// What PENSTOCK_TRACE shows of the program's own process, and of each that it forks: roots,
/// recording, compiling and its passes, entries' runs, breaks, and what the gate decides. Nothing
/// is recorded, and next to nothing asked, without PENSTOCK_TRACE.
///
/// Of roots and runs the first some thousand are shown, and then one in two, one in four …, with
/// how many it stands for (`of`), so that a long program has a trace that can be looked at.
class ProcessTrace {
 public:
  static ProcessTrace& get();
  bool active() const { return trace_.active(); }

  /// An entry has been recorded.
  void name(EntryId id, const std::string& function);
  void ran(const capture::Stretch& stretch, const jit::EntryCount* row);
  /// A root is over: a good time to write.
  void left_root(capture::Stretch::Time begin, capture::Stretch::Time end);
  void passed(std::string_view pass, std::chrono::nanoseconds time);
  void broke(const BreakEvent& event);
  /// The process ends.
  void finish();

 private:
  ProcessTrace();
  bool is_shown();
  void notice_fork();
  std::string title(std::string_view what, EntryId id) const;
  void span(std::string_view name, capture::Stretch::Time begin, capture::Stretch::Time end);

  using Key = std::pair<std::int32_t, std::int32_t>;
  Trace trace_;
  int process_;
  bool forked_ = false;  ///< it may end without a word (os._exit)
  std::uint64_t runs_ = 0, stride_ = 1;
  std::map<Key, std::string> names_;
  std::map<Key, GateReport::Verdict> verdicts_;
};

}  // namespace penstock::tools
