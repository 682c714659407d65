// Stage export: one graph of a call of a program, compiled, with its weights, in one file.
#include "tools/common/compile_limits.h"
#include "tools/common/tools.h"
#include "tools/export/export_program.h"

using namespace penstock;
using namespace penstock::tools;

int main(int argc, char** argv) {
  ExportOptions how;
  Stage stage(find_tool("export"), argc, argv,
              {.documents = false, .program = true, .python = true});
  CommandLine& options = stage.options();
  options.group("Program");
  options.text("--python", how.program.python, "PYTHON",
               "Run the program with PYTHON instead of the active environment's or PATH's.");
  options.text("--function", how.function, "GLOB",
               "Export the function whose qualified name matches GLOB (Net.forward). Needed where "
               "the program calls several functions with tensor code.");
  options.text("--dynamic-sizes", how.program.dynamic_sizes, "INPUT:DIM=NAME,…",
               "Let the sizes that are listed be any, or any in a range: x:0=batch[1..512]. Sizes "
               "of one name are equal in every call. All others are as in the first call.");
  options.text("--rules", how.program.rules, "FILE",
               "Read rules on what to inline, leave to Python, or put in the graph, "
               "penstock-rules(5).");
  options.text("--store", how.program.store, "DIR", "Keep tensors and machine code in DIR.");
  declare(options, how.limits);
  return stage.run([&](Stage&) -> Result<void> {
    const std::vector<std::string>& words = stage.settings().files;
    if (words.empty()) {
      return failure(Code::PS0101,
                     "export needs a program to run: penstock export -o FILE program.py");
    }
    return export_program(stage, std::move(how), words);
  });
}
