#pragma once

#include <string>
#include <vector>

#include "formats/document.h"
#include "formats/program_files.h"
#include "ir/diff.h"

namespace penstock::formats {

/// A graph of any level as a list of comparable things.
DiffItems diff_items(const GraphDocument& document);

/// What differs between two graphs that belong together, or a graph that only one stream has.
/// Neither id: the breaks of the streams.
struct GraphDifference {
  std::string before;  ///< id in the first stream; empty: added
  std::string after;   ///< id in the second; empty: removed
  std::string name;    ///< qualified name of the root, as it is now if it is
  DiffItems before_items, after_items;
  Comparison comparison;  ///< empty of a graph that only one stream has
};

struct StreamDifference {
  ProgramFiles before_files, after_files;
  std::size_t same = 0;                 ///< graphs of the first stream that the second has too
  std::vector<GraphDifference> graphs;  ///< none: the streams hold the same graphs and breaks
};

/// Compares the graphs and breaks of two streams. Which graphs belong together is graph_pairs.h's.
StreamDifference compare(const std::vector<Document>& before, const std::vector<Document>& after);

/// Where the program made `item`: the line of its author, as "model.py:12"; empty: not known.
std::string place_of(const DiffItem& item, const ProgramFiles& files);

/// "added", "removed", "changed".
std::string_view to_string(Difference::Kind kind);

/// For people: "graph [0/0] toy_example" and below it lines that start with - + or ~ and end with
/// the line of Python behind them.
std::string to_text(const StreamDifference& difference);
/// For programs: {"graphs": [{"before", "after", "name", "differences": [{"change", "title",
/// "what", "before", "after", "before_at", "after_at"}]}]}, indented, with a newline behind it.
std::string to_json(const StreamDifference& difference);

}  // namespace penstock::formats
