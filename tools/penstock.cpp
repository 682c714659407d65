// The dispatcher: `penstock TOOL …` runs penstock-TOOL, as git runs its commands.
#include <unistd.h>

#include "tools/common/driver.h"
#include "tools/dispatch/dispatch.h"

using namespace penstock;
using namespace penstock::tools;

namespace {

Result<void> explain(Stage& stage, const std::vector<std::string>& words) {
  if (words.size() != 2)
    return failure(Code::PS0101,
                   "explain takes one code, as in `penstock explain PS0201`, or `all`");
  Result<std::string> text = explanation(words[1], stage.settings().diagnostics == "json");
  if (!text) return tl::unexpected(text.error());
  return stage.write(*text);
}

/// `help` is --help, and `help TOOL` is TOOL --help.
Result<void> help(Stage& stage, const std::vector<std::string>& words) {
  if (words.size() > 2)
    return failure(Code::PS0101, "help takes one tool, as in `penstock help capture`");
  const bool own = words.size() == 1 || is_built_in(words.back());
  if (own) return stage.write(stage.options().help(terminal_width(STDOUT_FILENO), tool_list()));
  return dispatch({words.back(), "--help"});
}

}  // namespace

int main(int argc, char** argv) {
  Tool tool{"", "capture, look at and compile the graphs of PyTorch programs", "TOOL [ARGUMENT]…",
            "", ""};
  Stage stage(tool, argc, argv, {.output = false, .program = true, .epilogue = tool_list()});
  return stage.run([](Stage& stage) -> Result<void> {
    const std::vector<std::string>& words = stage.settings().files;
    if (words.empty()) {
      Result<void> printed = stage.write(stage.options().help(terminal_width(1), tool_list()));
      stage.answer(status(Exit::usage));
      return printed;
    }
    if (words.front() == "help") return help(stage, words);
    if (words.front() == "version") return stage.write(stage.version());
    if (words.front() == "shell") return start_shell();
    if (words.front() == "explain") return explain(stage, words);
    return dispatch(words);
  });
}
