// Answers for generated graphs: ops-differential GRAPHS INPUTS ANSWERS
//
// GRAPHS is a stream of graphs of level torch. INPUTS holds, for every graph and every input of it,
// the length (8 bytes, little-endian) and the bytes of its storage. ANSWERS receives three records
// for every graph: the shape rules against the recorded types, the graph interpreted, the
// decomposed graph interpreted. A record is a byte (1: done, 0: failed), then a message, or the
// outputs and after them all inputs; texts and tensors are a length and bytes, tensors dense in
// row-major order. The byte 2 alone stands for the first two of a graph with ops that have no row
// in ops.def, and so neither rule nor reference: composites.
#include <algorithm>

#include "ops/infer.h"
#include "ops/interpreter.h"
#include "ops/op.h"
#include "passes/decompose.h"
#include "tests/differential/host_files.h"
#include "tests/unit/verifying_trace.h"

using namespace penstock;

namespace {

using differential::AnswerFile;
using differential::InputFile;

/// The byte 1, the outputs and all inputs.
void done(AnswerFile& answers, const std::vector<ops::HostTensor>& outputs,
          const std::vector<ops::HostTensor>& inputs) {
  answers.put(1);
  for (const auto* tensors : {&outputs, &inputs}) {
    for (const ops::HostTensor& tensor : *tensors) answers.write(tensor);
  }
}

/// Tensors of their own, as every run may write its inputs.
std::vector<ops::HostTensor> copies(std::vector<ops::HostTensor> tensors) {
  for (ops::HostTensor& tensor : tensors) {
    tensor.memory = std::make_shared<std::vector<std::byte>>(*tensor.memory);
  }
  return tensors;
}

Result<void> check_rules(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    auto types = ops::infer(node, graph);
    if (!types) return tl::unexpected(types.error());
    if (types->size() != node.results.size()) {
      return failure(Code::PS0603,
                     node.op + ": the rule gives " + std::to_string(types->size()) + " results");
    }
    for (std::size_t i = 0; i < types->size(); ++i) {
      std::string inferred = to_string((*types)[i]),
                  recorded = to_string(graph.values[node.results[i]].type);
      if (inferred != recorded)
        return failure(Code::PS0603, node.op + ": rule " + inferred + ", torch " + recorded);
    }
  }
  return {};
}

bool has_composites(const Graph& graph) {
  return std::ranges::any_of(graph.nodes,
                             [](const Node& node) { return ops::find_op(node.op) == nullptr; });
}

void answer(const Graph& graph, InputFile& file, AnswerFile& answers) {
  std::vector<ops::HostTensor> inputs;
  for (const Input& input : graph.interface.inputs) inputs.push_back(file.read(input.type));
  const bool composites = has_composites(graph);
  if (composites)
    answers.put(2);
  else if (auto rules = check_rules(graph))
    done(answers, {}, {});
  else
    answers.failed(rules.error());
  auto run = [&](const Graph& program) {
    std::vector<ops::HostTensor> own = copies(inputs);
    auto outputs = ops::interpret(program, own);
    if (!outputs) return answers.failed(outputs.error());
    outputs->resize(graph.outputs.size());  // decompose adds what inputs receive
    done(answers, *outputs, own);
  };
  if (composites)
    answers.put(2);
  else
    run(graph);
  VerifyingTrace trace;
  auto core = passes::decompose(graph, {}, trace);
  if (core)
    run(*core);
  else
    answers.failed(core.error());
}

}  // namespace

int main(int argc, char** argv) {
  return differential::answer_graphs(argc, argv, answer);
}
