#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "diag/budget.h"
#include "fusion/index.h"
#include "fusion/loop_program.h"
#include "partition/placed_graph.h"
#include "shape/prover.h"

namespace penstock::fusion {

/// How the elements of a value come about.
enum class Role : std::uint8_t {
  memory,  ///< there before any kernel reads it: an input, the result of a library or fallback call
  view,    ///< other elements of its operand; never costs anything itself
  inlined,  ///< computed wherever it is used
  root,     ///< computed by one kernel, which stores it if others read it
};

/// What kind of loops a root needs.
enum class RootKind : std::uint8_t {
  pointwise,  ///< one loop nest over its sizes
  reduction,  ///< loops over the dims that remain, a reduction inside; matrix products too
  scan,       ///< a serial loop along one dim inside loops over the others
  join,       ///< a cat: one loop nest for each part, written into its place
  scatter,    ///< a copy, then serial writes at computed places
  copy,       ///< the epilogue of an input mutation: writes into an input
  check,      ///< no loops: a library call looks at indices
};

struct ValuePlan {
  Role role = Role::memory;
  std::int32_t node = -1;    ///< that makes it; -1: an input
  std::int32_t region = -1;  ///< of that node
  std::int32_t root = -1;    ///< index into FusionPlan::roots
  bool needed = false;       ///< must lie in memory: an output, or read by another region
  std::int32_t output = -1;  ///< lies in the memory of this output of the graph
  bool stored = false;       ///< role root: lies in memory, because needed or read by another group
  std::optional<Window> window;  ///< where it lies, once that is known (views too)
};

/// What a root's loops read of another root.
struct Access {
  ValueId value;
  Index index;  ///< in the root's own variables: kDomainVariable and a number for its dims
};
inline constexpr const char* kDomainVariable = "d";

/// A node whose results a kernel computes once.
struct Root {
  std::int32_t node;
  RootKind kind;
  Sizes domain;  ///< sizes of the (first) result; for copy of the input
  std::int32_t group = -1;
  std::vector<std::int32_t> row_of;  ///< for each dim of the domain: the group's row dim, or -1
  std::vector<Access> accesses;      ///< of other roots of its region
  std::vector<BufferId> reads;       ///< memory that it reads besides
  std::int32_t instructions = 0;     ///< of its loops, up to other roots, each by its cost
  bool scratch = false;              ///< kept for a row of the group in memory of the thread
  /// A scatter that writes into memory which holds what it changes already: that content, an input
  /// or what another root left there. It reads at most the elements that it writes of it.
  ValueId over = kNoValue;
};

/// The roots that one kernel computes. Its outer loops run over `rows`; a root with more dims than
/// these, and a reduction, has loops of its own inside.
struct Group {
  std::int32_t region;
  Sizes rows;  ///< extents other than 1
  bool pinned =
      false;  ///< the rows are those of a reduction; else of pointwise roots, all their dims
  std::vector<std::int32_t> roots;  ///< in an order in which they may be computed
  std::string reason;               ///< what was fused and why
};

/// Where a value that a node reads comes from: through views, back to what is computed or in
/// memory.
struct Use {
  std::int32_t node;  ///< that reads
  ValueId operand;    ///< what it reads
  ValueId base;       ///< what that shows, behind all views
  Index index;        ///< of base, in kDomainVariable's for the operand's dims
};

/// A product's result that is written in the place of a reshaped permutation of it (layout.cpp).
struct PlacedResult {
  ValueId result;  ///< of the product
  ValueId apart;   ///< the result with its batch dims apart, or itself
  ValueId permuted;
  ValueId memory;  ///< the reshape of `permuted`: lies in memory of its own
};

/// A convolution's weight that is a parameter times a number for each out channel. The library
/// scales while it packs, so that no scaled copy lies in memory (scaled_weight.cpp).
struct ScaledWeight {
  ValueId weight, scale;
};

/// What fusion decides, before loops are made of it. Every stage of it gives a right program.
struct FusionPlan {
  PlacedGraph placed;
  std::string device = "cpu";  ///< of the kernels
  Budget* budget = nullptr;    ///< asked whether to go on; null: always
  std::vector<ValuePlan> values;
  std::vector<Root> roots;
  std::vector<Group> groups;
  std::vector<std::int32_t> uses;  ///< of each value, by nodes and as an output
  /// Operands and results that a product (the node) reads and writes with their batch dims apart,
  /// and the value that shows them so.
  std::map<std::pair<std::int32_t, ValueId>, ValueId> batched;
  std::vector<PlacedResult> placed_results;
  std::map<ValueId, ScaledWeight> scaled;  ///< by the product of both, which only its call reads
  RangeFacts facts;                        ///< of the size symbols
  std::vector<Buffer> buffers;             ///< so far
  std::vector<BufferId> outputs;           ///< of the graph, once buffers are assigned
  std::unordered_map<std::string, BufferId>
      windows;  ///< buffers that are views, by a text of what they show

  /// What `value` shows behind all views: itself, if it is none.
  ValueId base_of(ValueId value) const;

  const Interface& interface() const { return placed.graph.interface; }
  const Graph& graph() const { return placed.graph; }
  const Node& node_of(const Root& root) const { return placed.graph.nodes[root.node]; }
  const Node& node_of(ValueId value) const { return placed.graph.nodes[values[value].node]; }
  const TensorType& type(ValueId value) const { return placed.graph.values[value].type; }
};

}  // namespace penstock::fusion
