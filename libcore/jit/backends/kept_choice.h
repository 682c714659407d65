#pragma once

#include <optional>
#include <string>
#include <vector>

#include "jit/backends/backends.h"

namespace penstock::jit {

/// What choosing among all back ends came to for one graph, in the store. It stands for the graph's
/// ops and types, the CPU, the number of threads, penstock's build, and the back ends that are
/// there with their versions.
class KeptChoice {
 public:
  /// Starts every back end to ask for its version. `key` stands for the rest.
  KeptChoice(Backends& backends, const std::string& key);

  bool is_known() const { return !events_.empty(); }
  const std::vector<BackendEvent>& events() const { return events_; }
  void keep(const std::vector<BackendEvent>& events);

 private:
  Backends& backends_;
  std::string key_;
  std::vector<BackendEvent> events_;
};

/// The events as lines, and back. Nothing where the text is no such lines.
std::string text_of_choice(const std::vector<BackendEvent>& events);
std::optional<std::vector<BackendEvent>> choice_of_text(std::string_view text);

}  // namespace penstock::jit
