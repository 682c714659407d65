#include <variant>

#include "fusion/interpreter.h"
#include "ops/interpreter.h"
#include "partition/contract.h"
#include "tools/run/engine.h"

namespace penstock::tools {
namespace {

using ops::HostTensor;

/// A graph, or a loop program, run by its reference semantics.
template <class Document, auto kInterpret>
class Interpreter : public Engine {
 public:
  Interpreter(Document document, std::vector<HostTensor> inputs)
      : document_(std::move(document)), inputs_(std::move(inputs)) {}

  Result<void> run() override {
    auto done = kInterpret(document_, inputs_);
    if (!done) {
      done.error().severity = Severity::error;  // there is nobody to run it otherwise
      return tl::unexpected(std::move(done.error()));
    }
    outputs_ = std::move(*done);
    return {};
  }
  Result<std::vector<HostTensor>> outputs() override { return outputs_; }

 private:
  Document document_;
  std::vector<HostTensor> inputs_, outputs_;
};

Result<std::vector<HostTensor>> interpret_graph(const Graph& graph,
                                                std::vector<HostTensor> inputs) {
  return ops::interpret(graph, std::move(inputs));
}

using GraphInterpreter = Interpreter<Graph, interpret_graph>;
using LoopInterpreter = Interpreter<LoopProgram, fusion::interpret>;

}  // namespace

Result<std::unique_ptr<Engine>> make_interpreter(const formats::GraphDocument& document,
                                                 std::vector<HostTensor> inputs) {
  if (const auto* graph = std::get_if<Graph>(&document.graph)) {
    return std::make_unique<GraphInterpreter>(*graph, std::move(inputs));
  }
  if (const auto* placed = std::get_if<PlacedGraph>(&document.graph)) {
    Graph graph = whole_graph(*placed);
    graph.level = Level::core;  // regions do not change what a graph means
    return std::make_unique<GraphInterpreter>(std::move(graph), std::move(inputs));
  }
  if (const auto* program = std::get_if<LoopProgram>(&document.graph)) {
    return std::make_unique<LoopInterpreter>(*program, std::move(inputs));
  }
  return failure(Code::PS0204, "machine code is run, not interpreted: leave out --interpret");
}

}  // namespace penstock::tools
