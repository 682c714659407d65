#pragma once

#include <string>
#include <vector>

#include "formats/document.h"
#include "ops/work.h"

namespace penstock::report {

/// What one call of the program costs: that of the nodes that it became.
struct CallWork {
  std::string name, target, place;  ///< "linear_1", "torch.nn.functional.linear", "model.py:7"
  ops::Work work;
};

/// What one call of a graph costs.
struct GraphWork {
  Interface interface;
  std::vector<CallWork> calls;  ///< those that cost something, in the program's order
  ops::Work total;
  SymExpr least_bytes;                   ///< ops::least_bytes
  std::vector<std::string> not_counted;  ///< ops that only torch knows from inside
};

/// Counts the work of a graph of level torch, core or placed, behind decompose. PS0204 for one of a
/// later level, which has no ops any more.
Result<GraphWork> count_work(const formats::GraphDocument& document);

/// Tables for people: each figure as an expression over the graph's symbols, and as a number at the
/// sizes of the capture. Lines of at most `width` columns; 0: nothing is cut.
std::string work_text(const std::vector<GraphWork>& graphs, int width);

/// The same as one JSON object; ends with a newline.
std::string work_json(const std::vector<GraphWork>& graphs);

}  // namespace penstock::report
