// Push and relabel (Goldberg and Tarjan), the highest vertex first.
//
// A vertex's height is a lower bound of its distance to the sink over edges that still have room;
// what a vertex got and did not pass on, its excess, flows to vertices one lower. The source floods
// its edges; when no vertex that can reach the sink has an excess left, the full edges are a
// minimum cut, and what is left over need not be sent back. Heights are measured anew from the sink
// at the start and after as many relabels as there are vertices; where no vertex has a height, all
// above it are cut off from the sink for good.
//
// The networks here are nearly acyclic and as long as a program: every augmenting path would be
// searched over all of its length, while a flood passes each layer once.
#include "cut/flow_network.h"

#include <algorithm>

namespace penstock::cut {

FlowNetwork::Vertex FlowNetwork::add_vertex() {
  first_.push_back(-1);
  return count() - 1;
}

void FlowNetwork::add_edge(Vertex from, Vertex to, std::int64_t capacity) {
  edges_.push_back({to, first_[from], capacity});
  first_[from] = static_cast<std::int32_t>(edges_.size()) - 1;
  edges_.push_back({from, first_[to], 0});
  first_[to] = static_cast<std::int32_t>(edges_.size()) - 1;
}

/// Gives every vertex its distance to the sink; those that do not reach it the height of the
/// source.
void FlowNetwork::measure(Vertex source, Vertex sink) {
  const std::int32_t top = count();
  height_.assign(first_.size(), top);
  active_.assign(first_.size() + 1, {});
  at_.assign(first_.size() + 1, {});
  population_.assign(first_.size() + 1, 0);
  height_[sink] = 0;
  std::vector<Vertex> queue = {sink};
  for (std::size_t next = 0; next < queue.size(); ++next) {
    const Vertex vertex = queue[next];
    for (std::int32_t e = first_[vertex]; e >= 0; e = edges_[e].next, ++work_) {
      const Vertex before = edges_[e].to;
      if (edges_[e ^ 1].rest == 0 || height_[before] < top || before == source) continue;
      height_[before] = height_[vertex] + 1;
      queue.push_back(before);
    }
  }
  arc_ = first_;
  highest_ = 0;
  relabels_ = 0;
  for (const Vertex vertex : queue) {
    ++population_[height_[vertex]];
    at_[height_[vertex]].push_back(vertex);
    if (excess_[vertex] > 0 && vertex != sink) activate(vertex);
  }
}

void FlowNetwork::activate(Vertex vertex) {
  active_[height_[vertex]].push_back(vertex);
  highest_ = std::max(highest_, height_[vertex]);
}

void FlowNetwork::lift_above(std::int32_t gap) {
  for (std::int32_t height = gap + 1; height < count() && population_[height] > 0; ++height) {
    for (const Vertex vertex : at_[height]) {
      if (height_[vertex] == height) height_[vertex] = count();
      ++work_;
    }
    at_[height].clear();
    population_[height] = 0;
  }
}

void FlowNetwork::relabel(Vertex vertex) {
  const std::int32_t old = height_[vertex];
  std::int32_t lowest = count();
  for (std::int32_t e = first_[vertex]; e >= 0; e = edges_[e].next, ++work_) {
    if (edges_[e].rest > 0) lowest = std::min(lowest, height_[edges_[e].to] + 1);
  }
  height_[vertex] = std::min(lowest, count());
  arc_[vertex] = first_[vertex];
  ++relabels_;
  if (--population_[old] == 0) {
    lift_above(old);
    height_[vertex] = count();
  }
  if (height_[vertex] >= count()) return;
  ++population_[height_[vertex]];
  at_[height_[vertex]].push_back(vertex);
}

void FlowNetwork::discharge(Vertex vertex) {
  while (excess_[vertex] > 0 && height_[vertex] < count()) {
    std::int32_t& e = arc_[vertex];
    if (e < 0) {
      relabel(vertex);
      continue;
    }
    Edge& edge = edges_[e];
    ++work_;
    if (edge.rest > 0 && height_[vertex] == height_[edge.to] + 1) {
      const std::int64_t flow = std::min(edge.rest, excess_[vertex]);
      const bool rested = excess_[edge.to] == 0;
      edge.rest -= flow;
      edges_[e ^ 1].rest += flow;
      excess_[vertex] -= flow;
      excess_[edge.to] += flow;
      if (rested && edge.to != sink_ && edge.to != source_) activate(edge.to);
    }
    if (excess_[vertex] > 0) e = edges_[e].next;
  }
}

std::vector<bool> FlowNetwork::sink_side(Vertex source, Vertex sink) {
  source_ = source;
  sink_ = sink;
  excess_.assign(first_.size(), 0);
  for (std::int32_t e = first_[source]; e >= 0; e = edges_[e].next) {
    excess_[edges_[e].to] += edges_[e].rest;
    edges_[e ^ 1].rest += edges_[e].rest;
    edges_[e].rest = 0;
  }
  measure(source, sink);
  while (highest_ >= 0) {
    std::vector<Vertex>& ready = active_[highest_];
    if (ready.empty()) {
      --highest_;
      continue;
    }
    const Vertex vertex = ready.back();
    ready.pop_back();
    if (height_[vertex] != highest_) continue;  // it was lifted above a gap
    discharge(vertex);
    if (relabels_ > count()) measure(source, sink);
  }
  measure(source, sink);
  std::vector<bool> side(first_.size());
  for (std::size_t i = 0; i < side.size(); ++i) side[i] = height_[i] < count();
  return side;
}

}  // namespace penstock::cut
