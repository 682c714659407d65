#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "diag/diagnostic.h"
#include "diag/pass.h"

namespace penstock::tools {

/// What a tool says about itself; help, man page, completions and --describe derive from it.
struct Tool {
  std::string name;       ///< "fuse": the program is penstock-fuse; empty for the dispatcher itself
  std::string summary;    ///< one line, lower case, no full stop
  std::string synopsis;   ///< what follows the options, "[FILE…]"
  std::string level_in;   ///< level or kind of the documents it reads; empty: any, or none
  std::string level_out;  ///< level or kind of the documents it writes; empty: as read, or none

  /// "penstock-fuse", the program and its manual.
  std::string program() const { return name.empty() ? "penstock" : "penstock-" + name; }
  /// "penstock fuse", as one types it.
  std::string command() const { return name.empty() ? "penstock" : "penstock " + name; }
};

/// The options of one tool. A thin face of CLI11, which stays out of the mains' sight (and compile
/// times). Names are written as CLI11 has them: "-o,--output", "--pretty". The targets must outlive
/// parse() and keep their value, the default, when the option is absent.
class CommandLine {
 public:
  explicit CommandLine(Tool tool);
  ~CommandLine();
  CommandLine(CommandLine&&) noexcept;

  /// Names the group under which help shows the options that are declared from here on.
  void group(std::string title);
  void flag(const std::string& names, bool& target, const std::string& help);
  void text(const std::string& names, std::string& target, const std::string& placeholder,
            const std::string& help);
  /// An option that may be given several times, each with one value.
  void texts(const std::string& names, std::vector<std::string>& target,
             const std::string& placeholder, const std::string& help);
  /// A whole number of at least `least`.
  void integer(const std::string& names, int& target, const std::string& placeholder,
               const std::string& help, int least = 1);
  /// A finite number that is not negative.
  void real(const std::string& names, double& target, const std::string& placeholder,
            const std::string& help);
  /// An option whose value is one of `words`.
  void choice(const std::string& names, std::string& target, const std::vector<std::string>& words,
              const std::string& help);
  /// The same, but the value may be left out, which means `implied`.
  void optional_choice(const std::string& names, std::string& target,
                       const std::vector<std::string>& words, const std::string& implied,
                       const std::string& help);
  /// What is not an option: files, or whatever the synopsis says.
  void positionals(std::vector<std::string>& target);
  /// Like positionals(), but from the first one on (or from -m MODULE, -c CODE, which are put in
  /// front of it) everything belongs to the user's program, options too.
  void program(std::vector<std::string>& target);
  /// Narrows program(): only a first word for which `is_program` holds starts a program; behind
  /// another one options go on.
  void program_if(bool (*is_program)(const std::string& word));
  /// Takes python's own options (python_options.def), which may stand among ours in front of a
  /// program, and puts them into `target` as they were written.
  void python_options(std::vector<std::string>& target);
  /// Whether parse() met a program, where program() allows one.
  bool has_program() const;
  /// Whether `--` stood in front of it.
  bool has_separator() const;
  /// The first word behind the program's name that is an option of ours in one of `groups`, which
  /// was not given in front of it; empty: there is none.
  std::string option_behind_program(std::span<const std::string_view> groups) const;
  /// Adds passes that --list-passes and --describe name, in the order in which they run.
  void passes(std::span<const PassFacts> rows);
  /// Reads the command line. An unknown option, a bad value and the like are PS0101, with the
  /// nearest spelling as hint.
  Result<void> parse(int argc, char** argv);

  const Tool& tool() const;
  const std::vector<PassFacts>& passes() const;
  /// The text of --help; `epilogue` stands behind the options.
  std::string help(int width, std::string_view epilogue) const;
  /// The object of --describe=json, indented; ends with a newline.
  std::string describe() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock::tools
