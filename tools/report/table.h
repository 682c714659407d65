#pragma once

#include <string>
#include <vector>

namespace penstock::report {

/// A text table: left-aligned columns separated by two spaces, a rule under the heads. Columns that
/// hold only numbers are right-aligned.
class Table {
 public:
  explicit Table(std::vector<std::string> heads) : heads_(std::move(heads)) {}
  /// As many cells as heads; missing ones are empty.
  void add(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }
  /// Lines of at most `width` columns, as far as eight for each cell allow: the widest columns are
  /// cut with "…"; 0: nothing is cut. Each line starts with `indent`.
  std::string text(int width, const std::string& indent = "") const;

 private:
  std::vector<std::string> heads_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace penstock::report
