#pragma once

#include <cstdint>

namespace penstock::python {

/// Why a frame ran natively although a driver is installed.
enum class Native : std::uint8_t {
  driver,     ///< the driver's enter() said so
  traced,     ///< a tracer or profiler was active on the thread
  stack,      ///< too little C stack left
  limit,      ///< the recursion limit refused the call: its frame never ran
  generator,  ///< the call that makes a generator object: it runs no code of the body
  skipped,    ///< code marked by skip_code
  count
};

/// What the hook has seen since it was installed: activations, that is calls and resumes of
/// generators. Written with the GIL held; plain data, so that it may lie in memory shared with the
/// parent process.
struct FrameCounts {
  std::uint64_t seen = 0;
  std::uint64_t conducted = 0;  ///< to their end (return, yield or exception)
  std::uint64_t exited = 0;     ///< conducted first, then left to the evaluator
  std::uint64_t native[static_cast<int>(Native::count)] = {};
  // Of a driver that walks frames symbolically:
  std::uint64_t walked = 0;        ///< activations, from their first instruction to their last
  std::uint64_t instructions = 0;  ///< that they executed
  std::uint64_t followed =
      0;  ///< of these; each of the others ended a walk, and the next began behind it
};

}  // namespace penstock::python
