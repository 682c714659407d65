#pragma once

#include <string>
#include <string_view>

#include "ir/interface.h"

namespace penstock::torch {

/// While it lives, and a profiler of torch's watches this thread, what runs is a range of its own
/// there: "penstock [0/0] f", or "penstock [0/0] f backward" with that as `part`. Kernels are no
/// ops that torch could see. Without a profiler it costs one call. Needs the GIL.
class ProfilerRange {
 public:
  ProfilerRange(const EntryId& id, const std::string& name, std::string_view part = {});
  ~ProfilerRange();
  ProfilerRange(const ProfilerRange&) = delete;
  ProfilerRange& operator=(const ProfilerRange&) = delete;

 private:
  void* range_ = nullptr;
};

}  // namespace penstock::torch
