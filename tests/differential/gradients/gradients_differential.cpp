// Gradients of generated graphs: gradients-differential GRAPHS INPUTS ANSWERS
//
// GRAPHS is a stream of graphs of level torch, whose types say what requires grad. INPUTS holds,
// for every graph, the inputs (tests/differential/host_files.h), and behind them a dense tangent
// for every output that requires grad. ANSWERS receives a record for every graph: a byte (1: done,
// 0: failed), then a message, or for every input a byte (1: it has a gradient), and that.
#include <algorithm>

#include "autodiff/differentiate.h"
#include "ops/contract.h"
#include "ops/interpreter.h"
#include "tests/differential/host_files.h"

using namespace penstock;

namespace {

Result<std::vector<ops::HostTensor>> run(const autodiff::JointGraph& joint,
                                         std::vector<ops::HostTensor> inputs,
                                         differential::InputFile& file) {
  for (const autodiff::JointGraph::Pair& tangent : joint.tangents)
    inputs.push_back(file.read(joint.graph.interface.inputs[tangent.input].type));
  if (auto valid = ops::verify_contract(joint.graph, Level::core); !valid)
    return tl::unexpected(valid.error());
  return ops::interpret(joint.graph, std::move(inputs));
}

std::size_t outputs_with_grad(const Graph& graph) {
  return static_cast<std::size_t>(std::ranges::count_if(
      graph.interface.outputs, [](const Output& output) { return output.type.requires_grad; }));
}

void answer(const Graph& graph, differential::InputFile& file, differential::AnswerFile& answers) {
  std::vector<ops::HostTensor> inputs;
  for (const Input& input : graph.interface.inputs) inputs.push_back(file.read(input.type));
  auto joint = autodiff::joint_graph(graph);
  if (joint && joint->tangents.size() != outputs_with_grad(graph))
    joint = failure(Code::PS0603, "other outputs require grad than recorded");
  if (!joint) {
    for (const Output& output : graph.interface.outputs) {
      if (output.type.requires_grad) file.read(output.type);
    }
    return answers.failed(joint.error());
  }
  const std::size_t count = inputs.size();
  auto outputs = run(*joint, std::move(inputs), file);
  if (!outputs) return answers.failed(outputs.error());
  answers.put(1);
  std::vector<const ops::HostTensor*> gradients(count, nullptr);
  for (const autodiff::JointGraph::Pair& gradient : joint->gradients)
    gradients[gradient.input] = &(*outputs)[gradient.output];
  for (const ops::HostTensor* gradient : gradients) {
    answers.put(gradient != nullptr);
    if (gradient != nullptr) answers.write(*gradient);
  }
}

}  // namespace

int main(int argc, char** argv) {
  return differential::answer_graphs(argc, argv, answer);
}
