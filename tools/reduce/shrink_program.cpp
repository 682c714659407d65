#include "tools/reduce/shrink_program.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "tools/reduce/minimise.h"

namespace penstock::tools {
namespace {

/// `program` without empty lines and lines that hold a comment only, but for the first, which may
/// say what runs it.
std::string without_comments(const std::string& program) {
  std::string out;
  for (std::size_t begin = 0; begin < program.size();) {
    const std::size_t end = std::min(program.find('\n', begin), program.size() - 1) + 1;
    const std::size_t first = program.find_first_not_of(" \t\r", begin);
    const bool bare = first >= end || program[first] == '\n' || program[first] == '#';
    if (!bare || program.compare(begin, 2, "#!") == 0) out.append(program, begin, end - begin);
    begin = end;
  }
  return out;
}

class ProgramShrinker {
 public:
  ProgramShrinker(const Outliner& outliner, std::string program,
                  const InterestingProgram& interesting)
      : outliner_(outliner), program_(std::move(program)), interesting_(interesting) {
    asked_.insert(program_);
  }

  Result<std::string> run() {
    if (auto short_one = try_readable(without_comments(program_)); !short_one)
      return tl::unexpected(short_one.error());
    while (true) {
      const std::string before = program_;
      if (auto less = leave_out_statements(); !less) return tl::unexpected(less.error());
      if (auto simpler = simplify(); !simpler) return tl::unexpected(simpler.error());
      if (program_ == before) return program_;
    }
  }

 private:
  Result<void> leave_out_statements() {
    auto outline = outliner_.outline(program_);
    if (!outline) return tl::unexpected(std::move(outline.error()));
    if (!*outline) return {};
    const std::string whole = program_;
    minimise((*outline)->statements.size(), [&](const std::vector<bool>& keep) {
      std::string fewer = without_statements(whole, **outline, keep);
      // Leaving out what went with what is around it changes nothing.
      return fewer == program_ || accept(std::move(fewer));
    });
    return {};
  }

  /// Makes edits, each once, from the outer ones to the inner ones. One that is made moves the
  /// others, so that they are found anew; those in front of it were tried.
  Result<void> simplify() {
    std::size_t next = 0;
    while (true) {
      auto outline = outliner_.outline(program_);
      if (!outline) return tl::unexpected(std::move(outline.error()));
      if (!*outline) return {};
      const auto& edits = (*outline)->edits;
      bool changed = false;
      while (next < edits.size() && !changed) {
        auto made = try_readable(edited(program_, edits[next]));
        if (!made) return tl::unexpected(std::move(made.error()));
        changed = *made;
        next += changed ? 0 : 1;
      }
      if (!changed) return {};
    }
  }

  /// The same of one that Python may not read.
  Result<bool> try_readable(std::string candidate) {
    if (asked_.contains(candidate)) return false;
    auto readable = outliner_.outline(candidate);
    if (!readable) return tl::unexpected(std::move(readable.error()));
    return *readable && accept(std::move(candidate));
  }

  /// Takes a program that is interesting and that nobody asked about before.
  bool accept(std::string candidate) {
    if (!asked_.insert(candidate).second || !interesting_(candidate)) return false;
    program_ = std::move(candidate);
    return true;
  }

  const Outliner& outliner_;
  std::string program_;
  const InterestingProgram& interesting_;
  std::unordered_set<std::string> asked_;
};

}  // namespace

Result<std::string> shrink_program(const Outliner& outliner, std::string program,
                                   const InterestingProgram& interesting) {
  return ProgramShrinker(outliner, std::move(program), interesting).run();
}

}  // namespace penstock::tools
