#include "cut/flow_network.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <random>

using penstock::cut::FlowNetwork;

namespace {

struct Edge {
  int from, to;
  std::int64_t capacity;
};

std::vector<bool> cut_of(int vertices, const std::vector<Edge>& edges) {
  FlowNetwork network;
  for (int i = 0; i < vertices; ++i) network.add_vertex();
  for (const Edge& edge : edges) network.add_edge(edge.from, edge.to, edge.capacity);
  return network.sink_side(0, 1);
}

std::int64_t price(const std::vector<bool>& sink_side, const std::vector<Edge>& edges) {
  std::int64_t sum = 0;
  for (const Edge& edge : edges)
    sum += !sink_side[edge.from] && sink_side[edge.to] ? edge.capacity : 0;
  return sum;
}

TEST_CASE("the narrowest place is cut, and nearest to the sink of several") {
  // 0 -> 2 -> 3 -> 1
  CHECK(cut_of(4, {{0, 2, 5}, {2, 3, 2}, {3, 1, 9}}) == std::vector<bool>{0, 1, 0, 1});
  CHECK(cut_of(4, {{0, 2, 2}, {2, 3, 2}, {3, 1, 2}}) == std::vector<bool>{0, 1, 0, 0});
  CHECK(cut_of(4, {{0, 2, 1}, {2, 3, 2}, {3, 1, 2}}) == std::vector<bool>{0, 1, 1, 1});
}

TEST_CASE("a vertex that nothing joins to the sink is the source's") {
  CHECK(cut_of(4, {{0, 2, 5}, {0, 1, 3}, {3, 2, 1}}) == std::vector<bool>{0, 1, 0, 0});
}

TEST_CASE(
    "random networks are cut at the price of the cheapest of all cuts, on its smallest side") {
  std::mt19937 random(1);
  for (int round = 0; round < 400; ++round) {
    const int vertices = 3 + static_cast<int>(random() % 6);
    std::vector<Edge> edges;
    for (unsigned i = random() % 24; i > 0; --i) {
      const int from = static_cast<int>(random() % vertices),
                to = static_cast<int>(random() % vertices);
      if (from != to) edges.push_back({from, to, static_cast<std::int64_t>(random() % 10)});
    }
    const std::vector<bool> found = cut_of(vertices, edges);
    REQUIRE_FALSE(found[0]);
    REQUIRE(found[1]);
    std::int64_t least = INT64_MAX;
    std::ptrdiff_t fewest = 0;
    for (int set = 0; set < 1 << vertices; ++set) {
      if ((set & 3) != 2) continue;
      std::vector<bool> side(vertices);
      for (int i = 0; i < vertices; ++i) side[i] = (set >> i & 1) != 0;
      const std::int64_t cost = price(side, edges);
      const std::ptrdiff_t size = std::ranges::count(side, true);
      if (cost < least || (cost == least && size < fewest)) fewest = size;
      least = std::min(least, cost);
    }
    CHECK(price(found, edges) == least);
    CHECK(std::ranges::count(found, true) == fewest);
  }
}

/// Layers of a program: each vertex of a chain gets something from the source, and every so many
/// give something to the sink.
std::int64_t work_of_chain(int length, int every) {
  FlowNetwork network;
  for (int i = 0; i < length + 2; ++i) network.add_vertex();
  std::mt19937 random(2);
  for (int i = 2; i < length + 2; ++i) {
    network.add_edge(0, i, static_cast<std::int64_t>(random() % 100));
    if (i + 1 < length + 2) network.add_edge(i, i + 1, static_cast<std::int64_t>(random() % 200));
    if (i % every == 0 || i == length + 1)
      network.add_edge(i, 1, static_cast<std::int64_t>(random() % 5000));
  }
  network.sink_side(0, 1);
  return network.work();
}

TEST_CASE("time grows with the length of a program") {
  for (const int every : {1, 7, 100, 1 << 20}) {
    const std::int64_t shorter = work_of_chain(2000, every), longer = work_of_chain(16000, every);
    CHECK(longer < 12 * shorter);
  }
}

}  // namespace
