#pragma once

#include <string>
#include <vector>

#include "formats/document.h"
#include "ir/diff.h"

namespace penstock::formats {

/// A graph of any level as a list of comparable things.
DiffItems diff_items(const GraphDocument& document);

/// What differs between two graphs that belong together, or a graph that only one stream has.
struct GraphDifference {
  std::string before;  ///< id in the first stream; empty: added
  std::string after;   ///< id in the second; empty: removed
  std::string name;    ///< qualified name of the root
  std::vector<Difference> differences;
};

/// Compares the graphs and breaks of two streams. Graphs belong together when they are the same by
/// structure, else when they have one name and id, else in the order in which they stand. Empty:
/// the streams hold the same graphs and breaks.
std::vector<GraphDifference> compare(const std::vector<Document>& before,
                                     const std::vector<Document>& after);

/// For people: "graph [0/0] toy_example" and below it lines that start with - + or ~.
std::string to_text(const std::vector<GraphDifference>& differences);
/// For programs: {"graphs": [{"before", "after", "name", "differences": [{"change", "title",
/// "what", "before", "after"}]}]}, indented, with a newline behind it.
std::string to_json(const std::vector<GraphDifference>& differences);

}  // namespace penstock::formats
