#include "tools/reduce/outline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "tools/common/child.h"
#include "tools/common/temporary_folder.h"
#include "tools/reduce/outline_source.h"

namespace penstock::tools {
namespace {

constexpr int kPatience = 60;  // seconds

std::vector<Outline::Replacement> replacements_of(const nlohmann::json& rows) {
  std::vector<Outline::Replacement> out;
  for (const auto& row : rows) out.push_back({row[0], row[1], row[2]});
  return out;
}

Outline outline_of(const nlohmann::json& printed) {
  Outline out;
  for (const auto& row : printed.at("statements"))
    out.statements.push_back({row[0], row[1], row[2], row[3], row[4]});
  for (const auto& rows : printed.at("edits")) out.edits.push_back(replacements_of(rows));
  return out;
}

/// The bytes of a statement with its lines, where they are its own.
Outline::Replacement whole_lines(const std::string& program, const Outline::Statement& statement) {
  const std::size_t before = statement.begin == 0 ? 0 : program.rfind('\n', statement.begin - 1);
  const std::size_t behind = program.find('\n', statement.end);
  return {before == program.npos || statement.begin == 0 ? 0 : before + 1,
          behind == program.npos ? program.size() : behind + 1,
          {}};
}

}  // namespace

Result<std::optional<Outline>> Outliner::outline(const std::string& program) const {
  const TemporaryFolder folder("penstock-reduce");
  const std::string file = folder.path() / "program.py";
  if (folder.path().empty() || !(std::ofstream(file, std::ios::binary) << program).flush()) {
    return failure(Code::PS0106, fmt::format("no temporary file can be made: {}", strerror(errno)));
  }
  const ChildOutcome child =
      run_child({python_, "-I", "-S", "-c", kOutline, file}, folder.path(), kPatience);
  if (!child.failure.empty()) return failure(Code::PS0106, child.failure);
  const auto printed = nlohmann::json::parse(child.printed, nullptr, false);
  if (child.status != 0 || printed.is_discarded()) return std::optional<Outline>();
  return outline_of(printed);
}

std::string edited(const std::string& program, std::vector<Outline::Replacement> replacements) {
  std::sort(replacements.begin(), replacements.end(),
            [](const auto& a, const auto& b) { return a.begin < b.begin; });
  std::string out;
  std::size_t at = 0;
  for (const Outline::Replacement& one : replacements) {
    out.append(program, at, one.begin - at);
    out += one.text;
    at = one.end;
  }
  return out.append(program, at);
}

std::string without_statements(const std::string& program, const Outline& outline,
                               const std::vector<bool>& keep) {
  const auto& all = outline.statements;
  std::vector<bool> left(all.size());
  std::map<int, int> left_in;  // by block
  for (std::size_t i = 0; i < all.size(); ++i) {
    left[i] = keep[i] && (all[i].parent < 0 || left[static_cast<std::size_t>(all[i].parent)]);
    left_in[all[i].block] += left[i] ? 1 : 0;
  }
  std::vector<Outline::Replacement> replacements;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool outer_left = all[i].parent < 0 || left[static_cast<std::size_t>(all[i].parent)];
    if (left[i] || !outer_left) continue;
    // The first one of a block that loses all stands for it, but that of the program itself.
    const bool needed = left_in[all[i].block] == 0 && all[i].parent >= 0;
    if (all[i].alone && !needed) {
      replacements.push_back(whole_lines(program, all[i]));
    } else {
      replacements.push_back({all[i].begin, all[i].end, "pass"});
      left_in[all[i].block] += 1;
    }
  }
  return edited(program, std::move(replacements));
}

}  // namespace penstock::tools
