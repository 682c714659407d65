// Which graph of one stream is which of the other.
//
// Numbers and names do not say it: a break more in a function shifts the numbers of all that follow
// it, and a function may be renamed. So graphs of equal structure come first, those that also have
// the same number and name before others. What is left was changed, or is new, or gone. Of these,
// the two that have most in common belong together, then the next two: the share of their items'
// labels that both have, with something on top for the same name and number. Two graphs that share
// less than half are two graphs, unless they are the same part of the same function.

#include "formats/graph_pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <unordered_map>

namespace penstock::formats {

namespace {

constexpr double kLeastLikeness = 0.5, kSameName = 0.2, kSameNumber = 0.1;
/// With more pairs than this only graphs of one name are compared, so that the cost stays bounded.
constexpr std::size_t kMostPairs = 4096;

/// Pairs graphs whose `key` is equal, in order.
template <class Key>
void pair_by(std::vector<ComparedGraph>& before, std::vector<ComparedGraph>& after,
             const Key& key) {
  std::unordered_map<std::string, std::vector<std::size_t>> open;
  for (std::size_t j = after.size(); j-- > 0;) {
    if (after[j].partner < 0) open[key(after[j])].push_back(j);
  }
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i].partner >= 0) continue;
    auto found = open.find(key(before[i]));
    if (found == open.end() || found->second.empty()) continue;
    before[i].partner = static_cast<std::int32_t>(found->second.back());
    after[found->second.back()].partner = static_cast<std::int32_t>(i);
    found->second.pop_back();
  }
}

using Labels = std::vector<std::int32_t>;  ///< of a graph's items, sorted

std::vector<std::size_t> without_partner(const std::vector<ComparedGraph>& graphs) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < graphs.size(); ++i) {
    if (graphs[i].partner < 0) found.push_back(i);
  }
  return found;
}

Labels labels_of(const ComparedGraph& graph,
                 std::unordered_map<std::string_view, std::int32_t>& numbers) {
  Labels labels;
  for (const DiffItem& item : graph.items) {
    labels.push_back(
        numbers.emplace(item.label, static_cast<std::int32_t>(numbers.size())).first->second);
  }
  std::sort(labels.begin(), labels.end());
  return labels;
}

/// What of the two's labels is in both, from 0 to 1.
double likeness(const Labels& a, const Labels& b) {
  if (a.empty() && b.empty()) return 1;
  Labels both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return 2 * static_cast<double>(both.size()) / static_cast<double>(a.size() + b.size());
}

struct Candidate {
  double likeness;
  std::size_t before, after;
};

std::vector<Candidate> candidates(const std::vector<ComparedGraph>& before,
                                  const std::vector<ComparedGraph>& after) {
  const std::vector<std::size_t> left = without_partner(before), right = without_partner(after);
  const bool all = left.size() * right.size() <= kMostPairs;
  std::unordered_map<std::string_view, std::int32_t> numbers;
  std::unordered_map<std::string, std::vector<std::size_t>> by_name;  // positions in `right`
  std::vector<Labels> right_labels;
  for (std::size_t j : right) {
    by_name[all ? std::string() : after[j].name()].push_back(right_labels.size());
    right_labels.push_back(labels_of(after[j], numbers));
  }
  std::vector<Candidate> found;
  for (std::size_t i : left) {
    const auto row = by_name.find(all ? std::string() : before[i].name());
    if (row == by_name.end()) continue;
    const Labels labels = labels_of(before[i], numbers);
    for (std::size_t at : row->second) {
      const ComparedGraph& other = after[right[at]];
      const bool name = before[i].name() == other.name(), number = before[i].id() == other.id();
      const double alike =
          likeness(labels, right_labels[at]) + (name ? kSameName : 0) + (number ? kSameNumber : 0);
      if (alike >= kLeastLikeness || (name && number)) found.push_back({alike, i, right[at]});
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Candidate& a, const Candidate& b) { return a.likeness > b.likeness; });
  return found;
}

}  // namespace

std::vector<ComparedGraph> graphs_of(const std::vector<Document>& documents) {
  std::vector<ComparedGraph> graphs;
  for (const Document& document : documents) {
    auto* graph = std::get_if<GraphDocument>(&document);
    if (graph == nullptr) continue;
    graphs.push_back({graph, diff_items(*graph), 0, -1});
    graphs.back().hash = structure_hash(graphs.back().items);
  }
  return graphs;
}

void pair_graphs(std::vector<ComparedGraph>& before, std::vector<ComparedGraph>& after) {
  pair_by(before, after, [](const ComparedGraph& graph) {
    return fmt::format("{:x} {} {}", graph.hash, graph.id(), graph.name());
  });
  pair_by(before, after,
          [](const ComparedGraph& graph) { return fmt::format("{:x}", graph.hash); });
  for (const Candidate& pair : candidates(before, after)) {
    if (before[pair.before].partner >= 0 || after[pair.after].partner >= 0) continue;
    before[pair.before].partner = static_cast<std::int32_t>(pair.after);
    after[pair.after].partner = static_cast<std::int32_t>(pair.before);
  }
}

}  // namespace penstock::formats
