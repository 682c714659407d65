// Helper replay: does what reduce left still fail?
#include <fmt/format.h>

#include <string>

#include "diag/render.h"
#include "tools/common/tools.h"
#include "tools/common/transform.h"
#include "tools/reduce/oracle.h"
#include "tools/reduce/repro.h"

using namespace penstock;
using namespace penstock::tools;

namespace {

struct ReplayOptions {
  std::string store;
  bool trust = false;
  bool show = false;  ///< what the command prints
  int timeout = 0;    ///< seconds; 0: as long as reduce gave it
};

Result<void> check_trust(const std::string& file, const Repro& repro, const ReplayOptions& options,
                         store::Store& store) {
  if (options.trust) return {};
  auto trusted = is_trusted_repro(file, store);
  if (!trusted) return tl::unexpected(std::move(trusted.error()));
  if (*trusted) return {};
  auto refused = failure(Code::PS0809,
                         fmt::format("the file was made elsewhere, and runs: {}",
                                     printable(shell_words(repro.question.command))),
                         file);
  refused.value().hint = fmt::format(
      "Run only what you trust: then give --trust, or allow the file for good with `penstock trust "
      "{}`.",
      file);
  return refused;
}

Result<std::string> input_of(const Repro& repro) {
  if (!repro.program.empty()) return repro.program;
  std::string out;
  for (const formats::Document& document : repro.stream) {
    auto line = formats::encode(document, {});
    if (!line) return line;
    out += *line;
  }
  return out;
}

/// "status 1, PS0804"
std::string facts_of(const Answer& answer) {
  std::string out = fmt::format("status {}", answer.status);
  for (const std::string& error : answer.errors) out += ", " + error;
  return out;
}

std::string verdict(const Repro& repro, const Answer& answer) {
  const std::string& text = repro.question.text;
  if (same_failure(answer, repro.wanted)) return fmt::format("still fails: {}\n", facts_of(answer));
  if (answer.status == 0) return fmt::format("no longer fails: {}\n", facts_of(answer));
  return fmt::format("fails in another way: {}, was {}{}\n", facts_of(answer),
                     facts_of(repro.wanted),
                     answer.printed ? "" : fmt::format("; it does not print {:?}", text));
}

Result<void> replay(Stage& stage, const ReplayOptions& options) {
  const auto& files = stage.settings().files;
  if (files.size() != 1) return failure(Code::PS0101, "replay takes one file");
  const std::string& file = files.front();
  auto repro = read_repro(file, options.store);
  if (!repro) return tl::unexpected(std::move(repro.error()));
  auto store = store::Store::open(options.store);
  if (!store) return tl::unexpected(std::move(store.error()));
  if (auto trusted = check_trust(file, *repro, options, *store); !trusted) return trusted;
  auto input = input_of(*repro);
  if (!input) return tl::unexpected(std::move(input.error()));
  Question question = repro->question;
  if (options.timeout > 0) question.timeout = options.timeout;
  auto answer = Oracle(std::move(question)).ask(*input);
  if (!answer) return tl::unexpected(std::move(answer.error()));
  if (options.show) stage.print(answer->output);
  if (answer->interrupted) return failure(Code::PS0106, "stopped before the command ended");
  if (answer->status != 0 || same_failure(*answer, repro->wanted))
    stage.answer(status(Exit::negative));
  return stage.write(printable(verdict(*repro, *answer)));
}

}  // namespace

int main(int argc, char** argv) {
  ReplayOptions options;
  Stage stage(find_tool("replay"), argc, argv, {.documents = false});
  stage.options().flag("--trust", options.trust,
                       "Run the command although the file was made elsewhere.");
  stage.options().flag("--show", options.show, "Print what the command prints to standard error.");
  stage.options().integer("--timeout", options.timeout, "SECONDS",
                          "Kill the command when it runs longer than this, and not as reduce was "
                          "told.");
  stage.options().text("--store", options.store, "DIR",
                       "Put its tensors into the store in DIR, which knows what is trusted.");
  return stage.run([&](Stage& s) { return replay(s, options); });
}
