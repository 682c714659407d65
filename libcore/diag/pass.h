#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "diag/budget.h"
#include "diag/diagnostic.h"

namespace penstock {

/// What a stage's table says of a pass. The tool's help, man page, --list-passes, --print-after,
/// --dump-dir and --time derive from it; the rows run in the table's order.
struct PassFacts {
  std::string_view name;     ///< lower case with dashes: its function's and its file's
  std::string_view summary;  ///< one line, a sentence without a full stop
};

/// Told about every pass that a stage has run: what --time, --print-after, --print-changed and
/// --dump-dir hang on. This class itself listens to nothing.
class PassTrace {
 public:
  virtual ~PassTrace() = default;
  /// `pass` has run and took `time`. `text` prints the document as it stands now; it is expensive
  /// and valid only during the call.
  virtual void after(const PassFacts& pass, std::chrono::nanoseconds time,
                     const std::function<std::string()>& text) {
    (void)pass, (void)time, (void)text;
  }
  /// Whether what each pass leaves is verified, and not only what the stage does (--verify-each).
  virtual bool verifies() const { return false; }
};

/// Runs the passes of one stage, one call a pass: asks the budget (null: none) first, tells the
/// trace what the pass took, and verifies what it left where the trace asks for that.
class PassRunner {
 public:
  PassRunner(PassTrace& trace, Budget* budget) : trace_(trace), budget_(budget) {}

  /// `pass` is a Result<void>(); `text` prints the document that it left, `verify` checks it, a
  /// Result<void>(). PS0709 where the budget is spent; what the pass or `verify` gives else.
  template <class Pass, class Text, class Verify>
  Result<void> run(const PassFacts& facts, Pass&& pass, Text&& text, Verify&& verify) {
    if (Result<void> may = check(budget_, facts.name); !may) return may;
    const auto begin = std::chrono::steady_clock::now();
    if (Result<void> done = pass(); !done) return done;
    trace_.after(facts, std::chrono::steady_clock::now() - begin, text);
    return trace_.verifies() ? of_pass(facts, verify()) : Result<void>();
  }

 private:
  /// The same, an error with the pass's name in front.
  static Result<void> of_pass(const PassFacts& facts, Result<void> verified);

  PassTrace& trace_;
  Budget* budget_;
};

}  // namespace penstock
