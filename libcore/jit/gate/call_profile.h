#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <string>

#include "ir/interface.h"

namespace penstock::jit {

/// What the calls of one entry took, in nanoseconds.
struct EntryProfile {
  std::string entry;     ///< "[0/0]"
  std::string function;  ///< and where it stands
  std::int64_t calls = 0;
  std::int64_t total =
      0;  ///< from the look for an entry until what stands behind the segment is made
  std::int64_t kernels = 0;  ///< of that, in kernels and where their outputs become tensors
  std::int64_t least_total = 0, least_kernels = 0;  ///< of a call

  /// A call ended that took `time`; its kernels are in `kernels`.
  void ended(std::chrono::nanoseconds time);

 private:
  std::int64_t kernels_before_ = 0;
};

/// What the calls of all entries took: `penstock run --profile PROGRAM`. Entries stay where they
/// are.
class CallProfile {
 public:
  EntryProfile& add(const Interface& interface);
  /// In kernels so far, over all entries.
  std::int64_t kernels() const;
  /// What measuring adds to a call outside of its kernels, in nanoseconds: the clock is read at
  /// both ends of the call and of the kernels, and half of the latter two reads is the kernels'
  /// own.
  static std::int64_t measuring();
  /// A row for each entry that was called, in the order of first capture.
  std::string table() const;

 private:
  std::deque<EntryProfile> entries_;
};

}  // namespace penstock::jit
