#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "tools/serve/batcher.h"

namespace penstock::serve {

/// The models of a server, by the names that requests have for them.
using Models = std::map<std::string, std::unique_ptr<Batcher>>;

struct ServerOptions {
  std::string host = "127.0.0.1";
  int port = 8000;                      ///< 0: a free one
  std::size_t longest_body = 64 << 20;  ///< bytes of a request
  std::size_t most_connections = 1024;  ///< further ones wait until one ends
  std::chrono::seconds patience{60};    ///< with a client that neither sends nor reads
  std::chrono::seconds last_words{30};  ///< for what was accepted, once the end was asked for
  std::string version;                  ///< of penstock
};

/// The KServe v2 protocol over HTTP/1.1. A request for inference is accepted once it has been read
/// whole and its model has room for it (else 429); what is accepted is answered, behind SIGTERM
/// and SIGINT too.
class Server {
 public:
  /// Listens. PS0101 for a host that is no address, PS0103 for a port that is taken.
  static Result<Server> open(const ServerOptions& options, Models models);
  Server(Server&&) noexcept;
  ~Server();

  /// "http://127.0.0.1:8000"
  std::string address() const;
  /// Serves until SIGTERM or SIGINT and the answers that are due then. False: some were not given
  /// in the time for it, or a second signal came.
  bool run();

 private:
  struct State;
  explicit Server(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace penstock::serve
