#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "diag/diagnostic.h"
#include "mutation.h"

namespace penstock::fuzz {

/// What became of one damaged input.
struct Outcome {
  bool accepted = false;               ///< the reader took it
  std::optional<Diagnostic> internal;  ///< a stage said that penstock is at fault (exit status 5)
  std::string stage;                   ///< that stage
  std::vector<std::string> said;       ///< by all stages

  /// Notes what a stage said of an input that was accepted.
  void note(std::string_view which, const Diagnostic& diagnostic);
};

/// One kind of input that comes from outside.
struct Reader {
  std::string_view name;
  std::string_view what;  ///< for --help
  /// Makes damaged input number `number`.
  std::string (*damage)(Mutator& mutator);
  /// Reads it and, if it is accepted, goes through everything that comes behind.
  Outcome (*run)(const std::string& bytes);
};

// levels.cpp
std::string damage_torch(Mutator& mutator);
std::string damage_core(Mutator& mutator);
std::string damage_placed(Mutator& mutator);
std::string damage_loops(Mutator& mutator);
std::string damage_kernels(Mutator& mutator);
std::string damage_stream(Mutator& mutator);
Outcome run_documents(const std::string& bytes);

// texts.cpp
std::string damage_pack(Mutator& mutator);
std::string damage_tensors(Mutator& mutator);
std::string damage_rules(Mutator& mutator);
std::string damage_size(Mutator& mutator);
std::string damage_source(Mutator& mutator);
std::string damage_request(Mutator& mutator);
Outcome run_pack(const std::string& bytes);
Outcome run_tensors(const std::string& bytes);
Outcome run_rules(const std::string& bytes);
Outcome run_size(const std::string& bytes);
Outcome run_source(const std::string& bytes);
Outcome run_request(const std::string& bytes);

// exported.cpp
std::string damage_pt2(Mutator& mutator);
Outcome run_pt2(const std::string& bytes);

}  // namespace penstock::fuzz
