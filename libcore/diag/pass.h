#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "diag/diagnostic.h"

namespace penstock {

/// One row of a stage's pass table. The tool's flags, help, man page, --list-passes, --print-after,
/// --dump-dir and --time all derive from the row; the rows run in the table's order.
template <class Document>
struct Pass {
  std::string_view name;              ///< lower case with dashes, as --print-after takes it
  std::string_view summary;           ///< one line, a sentence without a full stop
  Result<Document> (*run)(Document);  ///< the free function; its comment says Needs / Leaves
};

/// What --list-passes prints of a pass, whatever document it works on.
struct PassFacts {
  std::string_view name;
  std::string_view summary;
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
};

}  // namespace penstock
