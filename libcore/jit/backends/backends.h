#pragma once

#include <unistd.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir/backend_event.h"
#include "ir/graph.h"
#include "jit/backends/process.h"
#include "python/object.h"
#include "store/store.h"

namespace penstock::jit {

/// A back end by its name, and the words that start it.
struct BackendCommand {
  std::string name;
  std::vector<std::string> words;
};

/// A graph as a back end is given it: a document of level torch, in the store.
struct BackendDocument {
  std::string path;
  std::string hash;  ///< of all that it says, weights included
};

/// What `run --backend` asks for.
struct BackendOptions {
  std::vector<BackendCommand> commands;
  bool chooses = false;  ///< the fastest, ours among them, runs a graph; else the only one does
  double seconds = 300;  ///< that a back end may take for one graph
  std::string tool;      ///< the program penstock, for back ends that convert documents
  /// Writes the document. `weights`: by input a tensor whose elements are the graph's own, or null.
  std::function<Result<BackendDocument>(const Graph& graph, std::span<PyObject* const> weights)>
      document;
  std::function<void(const BackendEvent&)> tell;       ///< documents
  std::function<void(const Diagnostic&)> report = {};  ///< one message to the person
};

/// One back end: what it says of itself, and its process, which serves all graphs. A process that
/// ended, or was ended, is started again a few times: graphs compiled in it are compiled again.
class Backend {
 public:
  explicit Backend(BackendCommand command) : command_(std::move(command)) {}

  const std::string& name() const { return command_.name; }
  /// Asks what it is, once. False: it is not there, for the reason in why_missing().
  bool is_there(double seconds);
  const std::string& version() const { return version_; }
  const std::string& why_missing() const { return why_missing_; }

  /// The process, started where there is none; null: it ended too often, or this process was forked
  /// off the one whose it is.
  std::shared_ptr<BackendProcess> process();
  int next_graph() { return ++graphs_; }

 private:
  static constexpr int kMostStarts = 4;
  BackendCommand command_;
  std::shared_ptr<BackendProcess> process_;
  std::string version_, why_missing_;
  bool asked_ = false;
  int starts_ = 0, graphs_ = 0;
  pid_t owner_ = getpid();
};

/// All back ends of this process.
class Backends {
 public:
  /// The store outlives them.
  Backends(BackendOptions options, store::Store& store);

  const BackendOptions& options() const { return options_; }
  std::vector<Backend>& all() { return all_; }
  store::Store& store() { return store_; }
  /// Whether it is there; says once where it is not and was asked for by its name.
  bool is_there(Backend& backend);
  void tell(const BackendEvent& event) const {
    if (options_.tell) options_.tell(event);
  }
  /// Tells the same of each back end.
  void tell_all(const EntryId& id, BackendEvent::Outcome outcome, const std::string& reason) const;

 private:
  BackendOptions options_;
  store::Store& store_;
  std::vector<Backend> all_;
  bool told_ = false;
};

}  // namespace penstock::jit
