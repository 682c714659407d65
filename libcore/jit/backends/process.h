#pragma once

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "diag/diagnostic.h"

namespace penstock::jit {

/// What a back end's process said to a request.
struct BackendAnswer {
  enum class Kind : std::uint8_t {
    yes,    ///< it did
    no,     ///< it cannot, or there was an error
    ended,  ///< its process has ended
    late,   ///< nothing in time: its process was ended
  };
  Kind kind = Kind::no;
  std::string text;  ///< what stood behind the word; else a sentence
};

/// A back end's command, in a process of its own, which gets requests, one a line, and answers each
/// with a line (penstock-backend(7)). The process is no child of ours, so that a program that waits
/// for any child does not find it; it ends when its requests do, that is with us at the latest.
class BackendProcess {
 public:
  /// Starts `command`. PS0106 where there is no process to be had.
  static Result<std::unique_ptr<BackendProcess>> start(const std::vector<std::string>& command);
  /// Ends it, whatever it does.
  ~BackendProcess();
  BackendProcess(const BackendProcess&) = delete;
  BackendProcess& operator=(const BackendProcess&) = delete;

  /// Sends a line and waits for the answer, at most so many seconds. Signals do not end the wait.
  BackendAnswer ask(const std::string& request, double seconds);
  /// It has not ended as far as we know, and we are the process that it belongs to.
  bool is_alive() const;

  /// Memory that both see, as descriptor 4 of the process: at least so many bytes, whose place may
  /// be another than before. Null: there is none.
  std::byte* memory(std::size_t bytes);
  std::size_t memory_bytes() const { return bytes_; }

 private:
  BackendProcess() = default;
  BackendAnswer ended();
  std::string last_words() const;
  void end();

  pid_t group_ = 0, owner_ = 0;
  int channel_ = -1, memory_file_ = -1, log_ = -1;
  std::byte* memory_ = nullptr;
  std::size_t bytes_ = 0;
  std::string read_;  ///< of the answer
};

}  // namespace penstock::jit
