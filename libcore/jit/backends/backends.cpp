#include "jit/backends/backends.h"

namespace penstock::jit {

bool Backend::is_there(double seconds) {
  if (asked_) return why_missing_.empty();
  asked_ = true;
  const auto running = process();
  if (!running) {
    why_missing_ = "its command cannot be started";
    return false;
  }
  BackendAnswer answer = running->ask("{\"do\": \"describe\"}\n", seconds);
  if (answer.kind == BackendAnswer::Kind::yes) {
    version_ = std::move(answer.text);
    return true;
  }
  why_missing_ = answer.text.empty() ? "it gives no reason" : std::move(answer.text);
  return false;
}

std::shared_ptr<BackendProcess> Backend::process() {
  if (process_ && process_->is_alive()) return process_;
  if (starts_ == kMostStarts || owner_ != getpid()) return nullptr;
  ++starts_;
  auto started = BackendProcess::start(command_.words);
  process_ = started ? std::shared_ptr<BackendProcess>(std::move(*started)) : nullptr;
  return process_;
}

Backends::Backends(BackendOptions options, store::Store& store)
    : options_(std::move(options)), store_(store) {
  for (const BackendCommand& command : options_.commands) all_.emplace_back(command);
}

bool Backends::is_there(Backend& backend) {
  if (backend.is_there(options_.seconds)) return true;
  if (!options_.chooses && !told_ && options_.report) {
    options_.report({Code::PS0115,
                     "the back end " + backend.name() + " is not there: " + backend.why_missing() +
                         "; penstock's own code runs the graphs",
                     {},
                     {},
                     {},
                     Severity::warning});
  }
  told_ = true;
  return false;
}

void Backends::tell_all(const EntryId& id, BackendEvent::Outcome outcome,
                        const std::string& reason) const {
  for (const Backend& backend : all_) {
    BackendEvent event;
    event.id = id;
    event.backend = backend.name();
    event.version = backend.version();
    event.outcome = outcome;
    event.reason = reason;
    tell(event);
  }
}

}  // namespace penstock::jit
