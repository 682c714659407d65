#include "cut/place.h"

#include <fmt/format.h>

#include <iterator>

namespace penstock::cut {

namespace {

constexpr PassFacts kCut = {"cut", "Cut a joint graph into forward, backward and what is saved"};

constexpr std::string_view kKinds[] = {"computed", "output", "input", "copy"};
static_assert(std::size(kKinds) == static_cast<int>(Kept::Kind::copy) + 1);

}  // namespace

std::span<const PassFacts> place_passes() {
  static const std::vector<PassFacts> passes = [] {
    std::vector<PassFacts> all = {kCut};
    const auto rest = partition::partition_passes();
    all.insert(all.end(), rest.begin(), rest.end());
    return all;
  }();
  return passes;
}

std::string to_text(const CutReport& report) {
  std::string out;
  auto line = std::back_inserter(out);
  fmt::format_to(line, "saved for backward: {:.0f} bytes; computed again: {} nodes\n",
                 report.saved_bytes, report.recomputed);
  for (const Kept& kept : report.kept) {
    fmt::format_to(line, "  {} {}, {:.0f} bytes: {}\n", kKinds[static_cast<int>(kept.kind)],
                   kept.name, kept.bytes, kept.why);
  }
  for (const CutPoint& point : report.curve) {
    fmt::format_to(line, "  with {:.0f} bytes {:.4g} ms\n", point.bytes, point.milliseconds);
  }
  return out;
}

Result<ForwardBackward> run_cut(const Graph& joint, const CutOptions& options, Budget* budget,
                                PassTrace& trace) {
  ForwardBackward parts;
  const auto pass = [&]() -> Result<void> {
    auto made = cut_graph(joint, options);
    if (!made) return tl::unexpected(std::move(made.error()));
    parts = std::move(*made);
    return {};
  };
  const auto text = [&] {
    return to_text(parts.report) + to_text(parts.forward) + to_text(parts.backward);
  };
  // cut_graph verifies what it gives.
  const auto verify = [] { return Result<void>(); };
  auto done = PassRunner(trace, budget).run(kCut, pass, text, verify);
  if (!done) return tl::unexpected(std::move(done.error()));
  return parts;
}

Result<std::vector<PlacedGraph>> place_parts(Graph core, const PlaceOptions& options,
                                             PassTrace& trace) {
  std::vector<Graph> graphs;
  const bool joint = core.interface.training.role == GraphRole::inference &&
                     !core.interface.training.gradients.empty();
  if (joint) {
    auto parts = run_cut(core, options.cut, options.partition.budget, trace);
    if (!parts) return tl::unexpected(std::move(parts.error()));
    graphs.push_back(std::move(parts->forward));
    graphs.push_back(std::move(parts->backward));
  } else {
    graphs.push_back(std::move(core));
  }
  std::vector<PlacedGraph> placed;
  for (Graph& graph : graphs) {
    auto one = partition::partition(std::move(graph), options.partition, trace);
    if (!one) return tl::unexpected(std::move(one.error()));
    placed.push_back(std::move(*one));
  }
  return placed;
}

}  // namespace penstock::cut
