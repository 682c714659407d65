#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "formats/document.h"

namespace penstock::graphdiff {

/// One difference between two streams.
struct Difference {
  enum class Kind : std::uint8_t { added, removed, changed };
  Kind kind;
  std::string graph;   ///< "0/0"; empty: the stream itself
  std::string what;    ///< "node", "input", "guard", "output", "graph", "break", …
  std::string before;  ///< as it reads in the first stream; empty when added
  std::string after;   ///< as it reads in the second; empty when removed
};

/// Everything in which two streams differ, but for `meta`, tensors, and names of values. Graphs are
/// paired by their markers.
std::vector<Difference> diff(const std::vector<formats::Document>& a,
                             const std::vector<formats::Document>& b);

/// Lines like diff's: "- [0/0] node …", "+ [0/0] node …", a change as a pair of them.
std::string to_text(const std::vector<Difference>& differences, bool color);

/// One JSON object, indented: {"differences": [...]}; ends with a newline.
std::string to_json(const std::vector<Difference>& differences);

}  // namespace penstock::graphdiff
