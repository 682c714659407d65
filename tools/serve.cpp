// Serves exported models over HTTP.
#include "tools/common/build_facts.h"
#include "tools/common/tools.h"
#include "tools/serve/serve_models.h"

using namespace penstock;
using namespace penstock::tools;

int main(int argc, char** argv) {
  serve::ServeOptions options;
  int waiting = static_cast<int>(options.batcher.most_waiting), rows = 64, delay = 0, body = 64,
      patience = 60, last_words = 30;
  Stage stage(find_tool("serve"), argc, argv, {.output = false, .documents = false});
  CommandLine& line = stage.options();
  line.group("Where");
  line.text("--host", options.server.host, "ADDRESS",
            "Listen at this address of the machine (127.0.0.1: only itself).");
  line.integer("--port", options.server.port, "PORT",
               "Listen on PORT (8000); 0: on one that is free.", 0);
  line.text("--name", options.name, "NAME",
            "Call the model NAME (its file's, without the suffix).");
  line.group("Models");
  line.text("--store", options.store, "DIR", "Keep weights and code in DIR.");
  line.flag("--trust", options.trust,
            "Run machine code that was made elsewhere. It can do whatever you can.");
  line.flag("--deterministic", options.deterministic,
            "Give the same bits for any number of threads.");
  line.integer("--workers", options.batcher.workers, "N", "Call each model N times at once (1).");
  line.integer("--threads", options.batcher.threads, "N", "Use N threads in each call.");
  line.group("Requests");
  line.integer("--max-rows", rows, "N",
               "Call a model for requests of N rows together at most (64), where its first size is "
               "dynamic; 1: for each alone.");
  line.integer("--batch-delay", delay, "MICROSECONDS",
               "Let a request that waits alone wait so long for others (0).", 0);
  line.integer("--max-waiting", waiting, "N",
               "Answer 429 while N requests wait for a model (256).");
  line.integer("--max-body", body, "MIB",
               "Answer 413 to requests of more than MIB mebibytes (64).");
  line.integer("--patience", patience, "SECONDS",
               "End connections that neither send nor read for SECONDS (60).");
  line.integer("--last-words", last_words, "SECONDS",
               "Behind SIGTERM or SIGINT, answer what was accepted for SECONDS at most (30).");
  return stage.run([&](Stage&) {
    options.batcher.most_rows = rows;
    options.batcher.patience = std::chrono::microseconds(delay);
    options.batcher.most_waiting = static_cast<std::size_t>(waiting);
    options.server.longest_body = static_cast<std::size_t>(body) << 20;
    options.server.patience = std::chrono::seconds(patience);
    options.server.last_words = std::chrono::seconds(last_words);
    options.server.version = kVersion;
    return serve::serve_models(stage, options);
  });
}
