#pragma once

#include <cstdint>

namespace penstock::capture {

/// Calls of one code object below a root that is recorded, between its segments. The walker
/// conducts them to find segments inside, which takes many times what plain Python does for the
/// same instructions: what an optimizer does behind a step's entry would cost more than the entry
/// saves. So where several calls in a row had nothing in them, plain Python runs the following
/// ones, and one in some is looked at again. Recordings that begin with a root and come to no op
/// are counted so, too.
class DryCalls {
 public:
  /// So many calls in a row have nothing in them, and many more where some once had: code like
  /// nn.Module's call is one module's that runs ops and another's that runs none.
  static constexpr std::int32_t kFew = 3, kMany = 8;
  static constexpr std::int32_t kOneIn = 32;

  /// A call begins; `held`: a segment was once recorded in one. True: plain Python may run it.
  bool passes_by(bool held) {
    if (dry_ < (held ? kMany : kFew)) return false;
    if (++passed_ < kOneIn) return true;
    passed_ = 0;
    return false;
  }
  /// A call that passes_by() was false for ended; `dry`: no entry ran or was measured in it, and no
  /// recording began.
  void ended(bool dry) { dry_ = !dry ? 0 : dry_ < kMany ? dry_ + 1 : dry_; }

 private:
  std::int32_t dry_ = 0;     ///< in a row
  std::int32_t passed_ = 0;  ///< since one was looked at
};

}  // namespace penstock::capture
