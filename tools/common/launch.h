#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "diag/diagnostic.h"
#include "tools/common/launch_protocol.h"

namespace penstock::tools {

/// A program to run in the user's Python with our extension inside.
struct LaunchOptions {
  std::string python;  ///< --python: a path or a name on PATH; empty: find one
  std::vector<std::string>
      program;  ///< python's own arguments: "script.py", "--its", "args"; "-m", …
  /// For the extension (python/mode.h): "mode" chooses the driver, the rest is the mode's.
  std::map<std::string, std::string> settings;
  /// Set in the program's environment.
  std::map<std::string, std::string> environment;
  /// The program's standard output becomes its standard error; documents keep the original one,
  /// whose descriptor the extension gets.
  bool move_stdout = false;
  /// A descriptor for documents instead (-1: none); the child gets a duplicate.
  int output = -1;
  /// Nothing is left to do behind the program: this process becomes it, with its number, its place
  /// in job control and all signals that are sent to it.
  bool last = false;
  /// Without the extension (no such Python version, no torch) the program does not run at all.
  bool required = true;
  /// Called once the program runs, with the descriptor of the memory that it shares.
  std::function<void(int shared)> started = {};
};

/// What the extension needs in a Python that runs already: the caller's to close.
struct Handover {
  std::string parts;  ///< the folder with the stub and the extensions
  int settings = -1, shared = -1;
};
/// Makes the settings and the shared memory of `options` for such a Python.
Result<Handover> hand_over(const LaunchOptions& options);

/// What became of the child process.
struct LaunchOutcome {
  SharedBlock shared;       ///< as the child left it
  std::string mode_memory;  ///< the mode's own part of the shared memory, as far as it was written
  std::string python;       ///< that was started
  int exit_status = 0;      ///< of the child, if `signal` is 0
  int signal = 0;           ///< that killed it
};

/// The folder with the stub, the extensions and the back ends: beside the tools in a build tree,
/// else as installed. PS0115.
Result<std::string> find_parts();

/// Finds the Python to run programs with: `named`, else $PENSTOCK_PYTHON, else
/// $VIRTUAL_ENV/bin/python, else python3 or python on PATH. An absolute path, or PS0111.
Result<std::string> find_python(const std::string& named);

/// Runs the program in a child process: passes signals on (signal_relay.h), waits, and reports.
/// Failures before the program started are diagnostics (PS0106, PS0111 and the like). Where the
/// extension is not required, a program that it refused has run plainly, and a line on standard
/// error has said why.
Result<LaunchOutcome> launch(const LaunchOptions& options);

/// What the program's process has left in the shared memory, or has there now.
void read_shared(int descriptor, LaunchOutcome& outcome);

/// Why the outcome has Reached::nothing: a sentence without its full stop.
std::string not_reached(const std::string& python);

/// The diagnostic that the program's process left in shared memory as "PS0112 sentence".
tl::unexpected<Diagnostic> recorded_failure(std::span<const char> memory);

/// Replaces this process by the program in plain Python. Returns only if that failed.
Diagnostic become_plain_program(const LaunchOptions& options);

/// Ends this process as the child ended: the same status, or the same signal.
[[noreturn]] void exit_like(const LaunchOutcome& outcome);

/// "frames: 1,234 seen, 1,200 conducted (97.2%), …": what a torture run prints.
std::string describe_frames(const python::FrameCounts& frames);

}  // namespace penstock::tools
