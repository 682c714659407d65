#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace penstock {

/// One comparable thing of a graph: an input, a node, an output, a guard. Names of values are for
/// people only; what a thing is follows from its label, its facts and what its operands are.
struct DiffItem {
  struct Operand {
    std::int32_t item = -1;   ///< position of the item that makes it; -1: nothing that is compared
    std::int32_t result = 0;  ///< which of its results
  };
  struct Fact {
    std::string name;  ///< "argument alpha", "type of result 0"
    std::string text;  ///< its value; values of the graph stand in it as #0, #1 … by operand
  };
  std::string label;  ///< what it can be matched with: "aten.add.Tensor", "input L['a']"
  std::string title;  ///< how reports call it: "%add aten.add.Tensor"
  std::string text;   ///< the whole of it in one line, for what is added or removed
  std::vector<Operand> operands;
  std::vector<Fact> facts;
  bool is_op = false;    ///< a node or a step: another op can come to stand in its place
  CallStack stack = {};  ///< where the program made it: for people only, and never compared
};

/// A graph as a list of things, operands before users.
using DiffItems = std::vector<DiffItem>;

struct Difference {
  enum class Kind : std::uint8_t { removed, added, changed };
  Kind kind;
  std::string title;              ///< of the item (changed: in the first graph)
  std::string what;               ///< changed: the fact, or "op"; else empty
  std::string before;             ///< removed: the item's text; changed: the fact's
  std::string after;              ///< added, changed
  std::int32_t before_item = -1;  ///< position in the first graph; -1: added
  std::int32_t after_item = -1;   ///< position in the second; -1: removed
};

struct Comparison {
  std::vector<std::int32_t> partner;    ///< of each item of the first graph; -1: removed
  std::vector<Difference> differences;  ///< in the order of the first graph
};

/// What turns `before` into `after`; no differences when the graphs do the same, whatever names
/// they use.
Comparison compare(const DiffItems& before, const DiffItems& after);

/// The same number for graphs that compare equal.
std::uint64_t structure_hash(const DiffItems& items);

/// Adds the parts of an interface that do not depend on values: inputs first (so input i is item i
/// of an empty `items`), then symbols, guards, mutations, what is restored, where the segment ends.
void add_items(const Interface& interface, DiffItems& items);

/// A graph of the levels torch, core and placed.
DiffItems diff_items(const Graph& graph);

/// Replaces each value in `argument` by "#k" and adds operands for them; `maker` says what makes
/// it.
std::string diff_text(const Argument& argument, const std::vector<DiffItem::Operand>& maker,
                      DiffItem& item);

}  // namespace penstock
