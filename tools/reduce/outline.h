#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "diag/diagnostic.h"

namespace penstock::tools {

/// Where a Python program can be cut: what outline.py prints.
struct Outline {
  struct Statement {
    std::size_t begin = 0, end = 0;  ///< in bytes
    int parent = -1;                 ///< the statement around it
    int block = 0;                   ///< which list of statements it stands in
    bool alone = false;              ///< nothing else stands on its lines
  };
  struct Replacement {
    std::size_t begin = 0, end = 0;
    std::string text;
  };
  std::vector<Statement> statements;                 ///< those around others first
  std::vector<std::vector<Replacement>> edits = {};  /// what makes it simpler, each list at once
};

/// Asks a Python what a program is made of.
class Outliner {
 public:
  /// `python` is its path.
  explicit Outliner(std::string python) : python_(std::move(python)) {}

  /// Nothing: it is no program that this Python reads. PS0106 when Python cannot be asked.
  Result<std::optional<Outline>> outline(const std::string& program) const;

 private:
  std::string python_;
};

/// `program` with the replacements made, which do not overlap.
std::string edited(const std::string& program, std::vector<Outline::Replacement> replacements);

/// `program` without the statements that `keep` leaves out, and what stands in them; `pass` stands
/// where a block would be empty.
std::string without_statements(const std::string& program, const Outline& outline,
                               const std::vector<bool>& keep);

}  // namespace penstock::tools
