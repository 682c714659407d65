#pragma once

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

}  // namespace penstock
