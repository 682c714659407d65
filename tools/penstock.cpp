// The dispatcher: `penstock TOOL …` runs penstock-TOOL, as git runs its commands.
#include "tools/common/driver.h"
#include "tools/dispatch/dispatch.h"

using namespace penstock;
using namespace penstock::tools;

namespace {

Result<void> print(Stage& stage, std::string_view text) {
  Result<Output*> out = stage.output();
  if (!out) return tl::unexpected(out.error());
  return (*out)->write(text);
}

Result<void> explain(Stage& stage, const std::vector<std::string>& words) {
  if (words.size() != 2)
    return failure(Code::PS0101, "explain takes one code, as in PS0201, or `all`");
  Result<std::string> text = explanation(words[1], stage.settings().diagnostics == "json");
  if (!text) return tl::unexpected(text.error());
  return print(stage, *text);
}

}  // namespace

int main(int argc, char** argv) {
  Tool tool{"", "capture, look at and compile the graphs of PyTorch programs", "TOOL [ARGUMENT]…",
            "", ""};
  Stage stage(tool, argc, argv, {.documents = false, .program = true, .epilogue = tool_list()});
  return stage.run([](Stage& stage) -> Result<void> {
    const std::vector<std::string>& words = stage.settings().files;
    if (words.empty()) {
      Result<void> printed = print(stage, stage.options().help(terminal_width(1), tool_list()));
      stage.answer(status(Exit::usage));
      return printed;
    }
    if (words.front() == "shell") return start_shell();
    if (words.front() == "explain") return explain(stage, words);
    return dispatch(words);
  });
}
