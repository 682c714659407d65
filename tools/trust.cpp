// Helper trust: machine code and commands that were made elsewhere may run from now on.
#include <fmt/format.h>

#include "diag/render.h"
#include "formats/seal.h"
#include "tools/common/tools.h"
#include "tools/common/transform.h"
#include "tools/reduce/repro.h"

using namespace penstock;
using namespace penstock::tools;

namespace {

/// Trusts the command of a repro, which is said.
Result<void> trust_command(Stage& stage, const std::string& file, const std::string& directory,
                           store::Store& store) {
  auto repro = read_repro(file, directory);
  if (!repro) return tl::unexpected(std::move(repro.error()));
  stage.say(fmt::format("penstock replay may run: {}\n",
                        printable(shell_words(repro->question.command))));
  return trust_repro(file, store);
}

/// Trusts the machine code of all graphs of the files.
Result<void> trust_files(Stage& stage, const std::string& directory) {
  auto store = store::Store::open(directory);
  if (!store) return tl::unexpected(std::move(store.error()));
  int pieces = 0;
  const auto trust = [&](formats::Document document,
                         const formats::DocumentReader&) -> Result<void> {
    const auto* graph = std::get_if<formats::GraphDocument>(&document);
    const auto* bundle = graph == nullptr ? nullptr : std::get_if<KernelBundle>(&graph->graph);
    if (bundle == nullptr) return {};
    auto trusted = formats::trust_code(*bundle, *store);
    if (!trusted) return tl::unexpected(std::move(trusted.error()));
    pieces += *trusted;
    return {};
  };
  for (const std::string& file : stage.inputs()) {
    if (is_repro(file)) {
      if (auto trusted = trust_command(stage, file, directory, *store); !trusted) return trusted;
      ++pieces;
      continue;
    }
    if (auto read = for_each_document(stage, file, trust, {}, directory); !read) return read;
  }
  if (pieces == 0) stage.say("no machine code in it: nothing asks for trust\n");
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  std::string directory;
  Stage stage(find_tool("trust"), argc, argv, {.output = false, .documents = false});
  stage.options().text("--store", directory, "DIR",
                       "Remember it in the store in DIR, which has the code, or gets it.");
  return stage.run([&](Stage&) { return trust_files(stage, directory); });
}
