#include "formats/document.h"

#include <fmt/format.h>

#include <iterator>

namespace penstock::formats {

namespace {

constexpr std::string_view kKinds[] = {"program", "graph",   "break",  "skip", "recompile",
                                       "restart", "backend", "result", "end"};
static_assert(std::size(kKinds) == std::variant_size_v<Document>);

/// The tool that makes each level, in the order of the levels.
constexpr std::string_view kMakers[] = {"capture", "decompose", "partition", "fuse", "codegen"};

template <class Graph>
auto& interface_in(Graph& graph) {
  if constexpr (requires { graph.graph; }) {
    return graph.graph.interface;
  } else {
    return graph.interface;
  }
}

}  // namespace

std::string_view kind(const Document& document) {
  return kKinds[document.index()];
}

Level level(const GraphDocument& document) {
  if (auto* graph = std::get_if<Graph>(&document.graph)) return graph->level;
  if (std::holds_alternative<PlacedGraph>(document.graph)) return Level::placed;
  return std::holds_alternative<LoopProgram>(document.graph) ? Level::loops : Level::kernels;
}

const Interface& interface_of(const GraphDocument& document) {
  return std::visit([](const auto& graph) -> const Interface& { return interface_in(graph); },
                    document.graph);
}

Interface& interface_of(GraphDocument& document) {
  return std::visit([](auto& graph) -> Interface& { return interface_in(graph); }, document.graph);
}

const std::vector<Call>& calls_of(const GraphDocument& document) {
  return std::visit(
      [](const auto& graph) -> const std::vector<Call>& {
        if constexpr (requires { graph.graph; }) {
          return graph.graph.calls;
        } else {
          return graph.calls;
        }
      },
      document.graph);
}

Result<void> expect_level(const GraphDocument& document, Level wanted) {
  Level found = level(document);
  if (found == wanted) return {};
  const Interface& interface = interface_of(document);
  auto diagnostic =
      Diagnostic{Code::PS0204,
                 fmt::format("graph {} is of level {}, but this stage reads {}",
                             to_string(interface.id), to_string(found), to_string(wanted)),
                 {},
                 {},
                 {},
                 Severity::error};
  if (found < wanted) {
    std::string stages;
    for (int at = static_cast<int>(found) + 1; at <= static_cast<int>(wanted); ++at) {
      stages += fmt::format("{}{}", stages.empty() ? "" : " | ", kMakers[at]);
    }
    diagnostic.hint =
        fmt::format("Put what is missing into the pipe before this stage: {}", stages);
  } else {
    diagnostic.hint = "The graph has passed this stage already: leave it out of the pipe.";
  }
  return tl::unexpected(std::move(diagnostic));
}

}  // namespace penstock::formats
