#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/graph.h"
#include "jit/executors/output_plan.h"

namespace penstock::jit {

/// Whether a node of level torch writes its first argument.
bool writes(const Node& node);
/// Whether a graph draws random numbers.
bool draws_numbers(const Graph& graph);

/// Whether torch records gradients of what a segment makes: of an output that is no view of an
/// input. What a segment writes of its inputs it writes with gradient mode off where gradients are
/// concerned (Recorder::may_write_differentiated). Needs: a captured graph.
bool gives_gradients(const Graph& graph);
/// The same for a part of a captured graph, which may write what another part made while gradient
/// mode is on.
bool records_gradients(const Graph& graph);

/// Prepares a graph whose outputs are the plan's made tensors for its derivatives, so that those
/// are tracked that torch tracks. `captured`: the outputs as they were before. Gives, by made
/// tensor, whether it requires grad; the others are detached. PS0504 where torch ties an output
/// otherwise than by the memory that it lies in.
Result<std::vector<bool>> track_outputs(Graph& graph, const OutputPlan& plan,
                                        const std::vector<Output>& captured);

/// Which outputs depend on what, by ops of which torch records gradients. Memory that is written
/// counts as one value. Linear in nodes and uses for up to 64 outputs.
class GradientPaths {
 public:
  /// Needs: level torch. `tracked`: by output, whether it requires grad.
  GradientPaths(const Graph& graph, const std::vector<bool>& tracked);

  /// The tracked outputs that depend on input `input`.
  std::vector<std::int32_t> outputs_of(std::size_t input) const;
  /// The number of the memory that a value lies in.
  std::size_t memory_of(ValueId id) const { return memory_[id]; }
  /// By memory: a number that it shares with what torch's graph of gradients ties it to. What is
  /// tied to an input alone is tied to nothing: a program may go backward from each by itself.
  const std::vector<std::size_t>& ties() const { return ties_; }
  /// How many parts of torch's graph of gradients, with nothing but inputs between them, the
  /// tracked outputs are in.
  std::size_t count_parts() const;
  /// True if another tracked output depends on this one.
  bool leads_on(std::size_t output) const;
  /// True if a tracked output depends on another one, or on what is handed out as a view of an
  /// input: torch's graph has a node for the one in front of the other's. `captured`: as in
  /// track_outputs.
  bool is_chained(const OutputPlan& plan, const std::vector<Output>& captured) const;

 private:
  bool depends(std::size_t output, std::size_t memory) const;
  void join(std::size_t into, std::size_t from);
  void find_ties(const Graph& graph);
  /// Whether a result shows the memory of one argument, and depends on no other one: of several
  /// tensors broadcast together each is a view of its own.
  bool is_view_of_one(const Node& node, ValueId result) const;

  std::size_t words_;
  std::vector<std::size_t> memory_;     ///< by value: the number of its memory
  std::vector<std::uint64_t> outputs_;  ///< by memory, words_ for each: outputs that depend on it
  std::vector<std::size_t> output_memory_;  ///< by output
  std::vector<std::size_t> ties_;           ///< by memory
  std::vector<bool> tracked_;
};

}  // namespace penstock::jit
