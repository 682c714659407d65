#pragma once

#include <cstddef>
#include <cstdint>

#include "python/frame_counts.h"

namespace penstock::tools {

// How the launcher, the preload stub and the extension find each other. The stub removes all of
// these from the environment before the program can see them.

/// "SETTINGS SHARED OUTPUT REQUIRED": the descriptors of the settings, the shared block and the
/// documents (-1: none), and 1 if the program must not run without the extension.
inline constexpr const char* kLaunchVariable = "PENSTOCK_LAUNCH";
/// The folder that holds the extensions, `_penstock3NN.so`.
inline constexpr const char* kExtensionsVariable = "PENSTOCK_EXTENSIONS";
/// The user's own LD_PRELOAD, where there was one.
inline constexpr const char* kPreloadVariable = "PENSTOCK_LD_PRELOAD";

/// How far the launched Python came.
enum class Reached : std::uint32_t {
  nothing,  ///< no Python interpreter started
  python,   ///< the stub found itself in a Python
  program,  ///< the extension is installed, the program starts
  refused,  ///< the extension (or the lack of one) refused, for the reason in the shared block
};

/// The part of the shared memory that everybody knows; it survives the death of the child.
struct SharedBlock {
  Reached reached = Reached::nothing;
  std::uint32_t finished = 0;  ///< 1 once the interpreter shut down in order
  python::FrameCounts frames;
  /// Why it was refused, as "PS0112 sentence". Where the program goes on, a message was printed;
  /// where it must not start, the launcher tells.
  char refusal[512] = {};
};

/// Bytes behind the SharedBlock that belong to the mode: counters of its own, in its own layout,
/// all zero at first. They reach the launcher however the child ends.
inline constexpr std::size_t kModeMemory = 1600 * 1024;

/// The extension's entry, called by the stub with the GIL held just before the program starts. The
/// descriptors are its own. 0: go on; else it refused, and has told or recorded why.
using StartFunction = int (*)(int settings, int shared, int output);
inline constexpr const char* kStartSymbol = "penstock_start";

/// The stub's entry for a Python that runs already, called with the GIL held: loads the extension
/// from the folder `extensions` and starts it. 0: it runs; else the shared block has the reason.
using AttachFunction = int (*)(int settings, int shared, int output, const char* extensions);
/// Of the extension: frames that begin from now on are ours (1), or the evaluator's (0).
using SwitchFunction = void (*)(int on);

}  // namespace penstock::tools
