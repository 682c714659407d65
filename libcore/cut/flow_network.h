#pragma once

#include <cstdint>
#include <vector>

namespace penstock::cut {

/// A directed graph with capacities, and its minimum cuts.
class FlowNetwork {
 public:
  using Vertex = std::int32_t;
  /// More than the capacities of all edges with a price may add up to: an edge never cut.
  static constexpr std::int64_t kUncuttable = std::int64_t{1} << 60;

  /// A vertex that did not exist; they are numbered from 0.
  Vertex add_vertex();
  void add_edge(Vertex from, Vertex to, std::int64_t capacity);

  /// By vertex: whether it is on the sink's side of a minimum cut. Of several minimum cuts the one
  /// with the fewest vertices there; all other vertices are the source's. The network is used up.
  std::vector<bool> sink_side(Vertex source, Vertex sink);

  /// How many edges were looked at: what the time is in proportion to.
  std::int64_t work() const { return work_; }

 private:
  struct Edge {
    Vertex to;
    std::int32_t next;  ///< of the same vertex; -1: none
    std::int64_t rest;  ///< what may still flow
  };
  void measure(Vertex source, Vertex sink);
  void activate(Vertex vertex);
  void discharge(Vertex vertex);
  void relabel(Vertex vertex);
  void lift_above(std::int32_t gap);
  std::int32_t count() const { return static_cast<std::int32_t>(first_.size()); }

  std::vector<Edge> edges_;  ///< edge i runs against edge i ^ 1
  std::vector<std::int32_t> first_;
  // While the flow is found.
  std::vector<std::int32_t> height_, arc_;
  std::vector<std::int64_t> excess_;
  std::vector<std::vector<Vertex>> active_, at_;  ///< by height; some have moved on since
  std::vector<std::int32_t> population_;          ///< by height
  std::int32_t highest_ = 0;
  std::int64_t relabels_ = 0, work_ = 0;
  Vertex source_ = 0, sink_ = 0;
};

}  // namespace penstock::cut
