#pragma once

#include <memory>
#include <string>

#include "diag/diagnostic.h"

namespace penstock::live {

/// The page of a program that runs, served on 127.0.0.1 to who knows its address: a random word
/// stands in it, and requests that were led here under another host's name are refused. All is done
/// by one thread of this process; the program's own process knows nothing of it.
class Watch {
 public:
  /// `port` 0: a free one. PS0103 when it is taken.
  static Result<Watch> open(int port);
  Watch(Watch&&) noexcept;
  ~Watch();

  /// "http://127.0.0.1:PORT/WORD/".
  std::string address() const;
  /// The program runs: serves from now on what it writes to `documents`, and shares in `shared`,
  /// descriptors of which it keeps copies.
  void begin(int documents, int shared);
  /// It has ended. Where somebody looks, the last state is given out first.
  void end();

 private:
  struct State;
  explicit Watch(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace penstock::live
