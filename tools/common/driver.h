#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "diag/diagnostic.h"
#include "tools/common/command_line.h"
#include "tools/common/exit_codes.h"
#include "tools/common/output.h"
#include "tools/common/terminal.h"
#include "tools/common/trace.h"

namespace penstock::tools {

/// The values of the options that all tools share.
struct Settings {
  std::vector<std::string> files;   ///< the positionals; "-" is standard input
  std::vector<std::string> python;  ///< python's own options, for the Python that runs the program
  std::string output;               ///< -o; empty or "-": standard output
  std::string emit = "auto";
  bool pretty = false;
  std::string diagnostics = "human";
  std::string color = "auto";
  bool quiet = false;
  bool verbose = false;
  bool time = false;
  bool stats = false;
  std::vector<std::string> print_after;
  bool print_changed = false;
  bool verify_each = false;
  std::string dump_dir;
  std::string reproducer;
};

/// One tool's process: its options, its diagnostics, its output, its exit status. Mains declare
/// their options on options() and call run() (or transform(), tools/common/transform.h) once.
class Stage {
 public:
  /// Which of the shared options a tool has, and how it takes its words.
  struct Shared {
    bool output = true;     ///< -o, and with `documents` --emit and --pretty
    bool documents = true;  ///< whether it writes documents, not text for people
    bool passes = false;    ///< --list-passes, --print-after, …
    std::vector<std::string> emits = {"json", "cbor", "text"};  ///< values of --emit beside auto
    bool program = false;  ///< from the first word on, everything belongs to the user's program
    bool python =
        false;  ///< that program is a Python one, and python's own options may stand before it
    std::string epilogue = {};  ///< stands behind the options in --help
  };

  Stage(Tool tool, int argc, char** argv) : Stage(std::move(tool), argc, argv, Shared{}) {}
  Stage(Tool tool, int argc, char** argv, Shared shared);

  CommandLine& options() { return options_; }
  const Settings& settings() const { return settings_; }

  /// Parses, answers --help and its like, runs `body`, and returns the exit status. The body's
  /// error, an escaped exception and a failing last write are reported here.
  int run(const std::function<Result<void>(Stage&)>& body);

  /// Prints a diagnostic to standard error; an error also decides the exit status (the first wins).
  void report(const Diagnostic& diagnostic);
  /// Text for people on standard error, unless -q.
  void say(std::string_view text);
  /// Text that an option asked for, on standard error.
  void print(std::string_view text);
  /// Sets the exit status when no error has: a negative answer, or the status of a program.
  void answer(int status) { answer_ = status; }
  bool failed() const { return error_status_.has_value(); }

  /// The output named by -o, opened at the first call.
  Result<Output*> output();
  /// Writes text to the output.
  Result<void> write(std::string_view text);
  /// From what has been read of a file: how many bytes it has, once that is known, or why it is
  /// none that is wanted.
  using Length = std::function<Result<std::optional<std::uint64_t>>(std::string_view start)>;
  /// The bytes of `file` ("-": standard input); PS0102 when it cannot be read, or goes on behind
  /// its length.
  Result<std::string> read(const std::string& file, const Length& length);
  /// The positionals, or "-" when there are none.
  std::vector<std::string> inputs() const;

  /// What --version prints.
  std::string version() const;

  /// Adds to a counter that --stats prints.
  void count(std::string_view name, std::int64_t amount = 1);

  /// Times a phase for --time and PENSTOCK_TRACE from its construction to its end.
  class Phase {
   public:
    Phase(Stage& stage, std::string name);
    ~Phase();
    Phase(const Phase&) = delete;
    Phase& operator=(const Phase&) = delete;

   private:
    Stage& stage_;
    std::string name_;
    Trace::Clock::time_point begin_;
  };
  Phase phase(std::string name) { return Phase(*this, std::move(name)); }
  /// Adds a duration that was measured elsewhere and ended now.
  void add_time(std::string_view name, std::chrono::nanoseconds duration);

  /// Whether --print-after names the pass (or `all`).
  bool prints_after(std::string_view pass) const;
  /// Writes `text` as DUMP_DIR/NAME when --dump-dir is given.
  Result<void> dump(const std::string& name, std::string_view text);
  /// Hands over the input bytes that --reproducer writes when the stage fails.
  void reproduce_with(std::string_view bytes);

  bool color(int descriptor) const;

 private:
  std::optional<std::string> answer_to_question() const;
  Result<void> check_settings();
  void finish();
  void print_time();
  void print_stats();
  void write_reproducer();

  int argc_;
  char** argv_;
  Shared shared_;
  CommandLine options_;
  Settings settings_;
  bool help_ = false;
  bool version_ = false;
  bool list_passes_ = false;
  std::string describe_;
  Trace trace_;
  Trace::Clock::time_point begin_ = Trace::Clock::now();
  std::optional<Output> output_;
  std::optional<int> error_status_;
  int answer_ = 0;
  std::vector<std::pair<std::string, Trace::Clock::duration>> phases_;
  std::vector<std::pair<std::string, std::int64_t>> counters_;
  std::string reproducer_;
};

}  // namespace penstock::tools
