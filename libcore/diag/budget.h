#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string_view>

#include "diag/diagnostic.h"

namespace penstock {

/// What the compilation of one entry may take at most. 0: as much as it likes.
struct CompileLimits {
  double seconds = 30;
  double memory_mebibytes = 1024;  ///< that the process has more than when it began
  double code_mebibytes = 16;      ///< of machine code
};

/// Watches one compilation, which asks it between passes and kernels and in the loops that can
/// grow. Once a limit is reached it stays so. Thread-safe.
class Budget {
 public:
  /// The compilation begins.
  explicit Budget(const CompileLimits& limits);

  /// PS0709 once a limit is reached; `where` names the pass or kernel that comes next.
  Result<void> check(std::string_view where);
  /// Counts `units` of work, each far below a millisecond. True once a limit is reached: looks
  /// every few thousand units.
  bool is_spent(std::int64_t units = 1);
  /// Counts machine code that was made.
  void add_code(std::size_t bytes) {
    code_.fetch_add(static_cast<std::int64_t>(bytes), std::memory_order_relaxed);
  }
  /// Whether code of `bytes` more would be too much.
  bool has_room_for_code(std::int64_t bytes) const;

 private:
  enum class Reached : std::uint8_t { nothing, time, memory, code };
  void look();
  Diagnostic reached(std::string_view where) const;

  CompileLimits limits_;
  std::chrono::steady_clock::time_point begin_;
  std::int64_t memory_at_begin_;
  std::atomic<std::int64_t> work_ = 0, next_look_, code_ = 0;
  std::atomic<Reached> reached_ = Reached::nothing;
};

/// check() of a budget that may be none.
Result<void> check(Budget* budget, std::string_view where);
/// is_spent() of a budget that may be none.
inline bool is_spent(Budget* budget, std::int64_t units = 1) {
  return budget != nullptr && budget->is_spent(units);
}

}  // namespace penstock
