#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "ir/interface.h"

namespace penstock::interchange {

/// Names of one graph; no two are the same.
class Names {
 public:
  /// `stem` where it is free, else with a number behind it.
  std::string fresh(std::string_view stem);

 private:
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, int> next_;
};

/// What an input is called: a tensor of a module by its way through modules ("layers.0.weight"), as
/// state_dict() has it; others by their name in the graph.
std::string name_of_input(const Interface& interface, const Input& input);

}  // namespace penstock::interchange
