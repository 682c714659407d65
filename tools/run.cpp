// Stage run: a PyTorch program with its tensor code compiled, or compiled graphs on their inputs.
#include "tools/common/compile_limits.h"
#include "tools/common/tools.h"
#include "tools/program/recognise.h"
#include "tools/run/run_documents.h"
#include "tools/run/run_program.h"

using namespace penstock;
using namespace penstock::tools;

namespace {

void declare(CommandLine& options, RunDocumentsOptions& documents) {
  options.group("Documents");
  options.flag("--check", documents.check,
               "Compare with the outputs that were recorded at capture.");
  options.real("--tolerance", documents.tolerance, "ERROR",
               "With --check: the largest relative error that is the same (0.001); bfloat16 adds a "
               "unit in its last place (0.0078).");
  options.flag("--bench", documents.bench, "Measure a call.");
  options.flag("--profile", documents.profile,
               "Measure every step of a call, beside what this machine can do at most; of a "
               "program, the calls of every entry.");
  options.flag(
      "--interpret", documents.interpret,
      "Run by reference semantics instead of machine code: levels torch, core, placed, loops.");
  options.flag("--trust", documents.trust,
               "Run machine code that was made elsewhere. It can do whatever you can.");
  options.text("--inputs", documents.inputs, "FILE",
               "Call with the tensors of a safetensors file, by the inputs' names.");
  options.text("--outputs", documents.outputs, "FILE", "Write the outputs to a safetensors file.");
}

/// An option of the other use of `run` would do nothing: what to do instead.
Result<void> check_use(bool is_program, const RunProgramOptions& program,
                       const RunDocumentsOptions& documents) {
  const auto wrong = [](std::string message, std::string hint) {
    auto failed = failure(Code::PS0101, std::move(message));
    failed.value().hint = std::move(hint);
    return failed;
  };
  if (!is_program && program.watch) {
    return wrong("--watch shows a program that runs, and these are documents",
                 "Make a page of documents with `penstock report --html=FILE`.");
  }
  if (!is_program && !program.backend.empty()) {
    return wrong("--backend is for programs, and these are documents",
                 "Write a graph for another compiler with `penstock convert --emit=onnx`.");
  }
  if (is_program && program.backend == "auto" && program.program.deterministic) {
    return wrong("--backend=auto chooses by measurement, and --deterministic forbids that",
                 "Name one back end, or leave one of the two out.");
  }
  if (!is_program) return {};
  const std::pair<bool, const char*> given[] = {{documents.check, "--check"},
                                                {documents.bench, "--bench"},
                                                {documents.interpret, "--interpret"},
                                                {documents.trust, "--trust"},
                                                {!documents.inputs.empty(), "--inputs"},
                                                {!documents.outputs.empty(), "--outputs"}};
  for (const auto& [is_given, name] : given) {
    if (!is_given) continue;
    return wrong(std::string(name) + " is for documents, and this is a program",
                 documents.check
                     ? "Check a program's graphs as they run with --self-check."
                     : "Make documents of the program's graphs with `penstock capture`, "
                       "or one file with `penstock export`.");
  }
  return {};
}

void declare(CommandLine& options, RunProgramOptions& program) {
  declare(options, program.program);
  options.choice("--compile", program.compile, {"auto", "now"},
                 "When functions are recorded and compiled: auto, which holds when nothing is "
                 "said, once their calls have "
                 "taken so long in plain Python that compiling pays; now, at their first call. "
                 "What torch.compile was "
                 "given, --deterministic, --fullgraph and --self-check mean now.");
  declare(options, program.limits);
  options.real(
      "--handicap", program.handicap, "MS",
      "While the gate measures, make every call of an entry MS milliseconds longer: shows what "
      "becomes of entries that are slower than plain Python.");
  options.optional_choice("--torture", program.torture, {"conduct", "walk"}, "walk",
                          "Conduct every frame, and without `conduct` walk it symbolically too; "
                          "print what became of the frames.");
  options.flag("--perf-map", program.perf_map,
               "Write the names of kernels to /tmp/perf-PID.map, where perf(1) looks for them.");
  options.optional_choice(
      "--progress", program.progress, {"auto", "always", "never"}, "always",
      "A line at the foot of standard error while recording or compiling takes longer "
      "than a second. auto: on a terminal, unless -q.");
  options.flag("--watch", program.watch,
               "Serve the report as a page on 127.0.0.1 while the program runs; its address is "
               "printed.");
  options.integer("--watch-port", program.watch_port, "PORT",
                  "With --watch: on PORT, not on one that is free.");
  options.integer("--attach", program.attach, "SOCKET",
                  "Serve a Python that runs already and has the other end of SOCKET, a descriptor: "
                  "what penstock.start() and notebooks do. The program's name is a name only.",
                  3);
  options.text("--backend", program.backend, "NAME",
               "Hand graphs to another compiler: iree, onnxruntime, openvino, torch-inductor, or a "
               "command of yours, penstock-backend(7); auto: to the one that is measured to be the "
               "fastest, penstock's own among them.");
  options.real("--backend-time-limit", program.backend_seconds, "SECONDS",
               "With --backend: what takes longer for a graph is ended, and penstock's own code "
               "runs it (300).");
  options.integer("--threads", program.threads, "N", "Use N threads.");
}

}  // namespace

int main(int argc, char** argv) {
  RunProgramOptions program;
  RunDocumentsOptions documents;
  Stage stage(find_tool("run"), argc, argv, {.program = true, .python = true});
  CommandLine& options = stage.options();
  options.program_if(names_program);
  declare(options, documents);
  declare(options, program);

  std::optional<LaunchOutcome> outcome;
  int status = stage.run([&](Stage&) -> Result<void> {
    if (!program.program.explain_rule.empty()) {
      return explain_rule(
          stage, program.program,
          options.has_program() ? stage.settings().files : std::vector<std::string>());
    }
    const bool is_program = options.has_program() || program.attach > 0;
    if (auto good = check_use(is_program, program, documents); !good) return good;
    if (!is_program) {
      documents.store = program.program.store;
      documents.threads = program.threads;
      documents.deterministic = program.program.deterministic;
      return run_documents(stage, documents);
    }
    program.profile = documents.profile;
    Result<LaunchOutcome> ran = run_program(stage, program, stage.settings().files);
    if (!ran) return tl::unexpected(ran.error());
    outcome = *ran;
    return {};
  });
  if (outcome && !stage.failed()) exit_like(*outcome);
  return status;
}
