#pragma once

#include <memory>

#include "capture/segment_client.h"
#include "jit/client.h"

namespace penstock::jit {

/// All that `penstock run PROGRAM` keeps while the program runs: how graphs become executors, where
/// reports go, the entries, and the walker that records what has none yet.
class Session {
 public:
  /// `compiler`, `verdicts` (may be null: there is no gate) and `sink` become the session's.
  Session(std::unique_ptr<GraphCompiler> compiler, std::unique_ptr<capture::EventSink> sink,
          std::unique_ptr<VerdictMemory> verdicts, ClientOptions options)
      : compiler_(std::move(compiler)),
        sink_(std::move(sink)),
        verdicts_(std::move(verdicts)),
        client_(*compiler_, *sink_, verdicts_.get(), std::move(options)) {}

  /// The driver to install; the session must outlive it.
  Result<std::unique_ptr<python::FrameDriver>> make_driver(const python::Settings& settings) {
    return capture::make_walker(settings, client_, *sink_);
  }
  JitClient& client() { return client_; }
  capture::EventSink& sink() { return *sink_; }

 private:
  std::unique_ptr<GraphCompiler> compiler_;
  std::unique_ptr<capture::EventSink> sink_;
  std::unique_ptr<VerdictMemory> verdicts_;
  JitClient client_;
};

}  // namespace penstock::jit
