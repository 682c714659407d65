// Gradients of generated graphs: gradients-differential GRAPHS INPUTS ANSWERS
//
// GRAPHS is a stream of graphs of level torch, whose types say what requires grad. INPUTS holds,
// for every graph, the inputs (tests/differential/host_files.h), and behind them a dense tangent
// for every output that requires grad. ANSWERS receives a record for every graph: a byte (1: done,
// 0: failed), then a message, or for every input a byte (1: it has a gradient), and that. Cut into
// a forward and a backward graph, every joint graph gives the same bits; else it failed.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "autodiff/differentiate.h"
#include "cut/cut.h"
#include "ops/contract.h"
#include "ops/interpreter.h"
#include "tests/differential/host_files.h"
#include "tests/unit/verifying_trace.h"

using namespace penstock;

namespace {

bool is_same(const ops::HostTensor& a, const ops::HostTensor& b) {
  const std::vector<double> x = a.reals(), y = b.reals();
  return a.sizes == b.sizes && std::ranges::equal(x, y, [](double left, double right) {
           return left == right || (std::isnan(left) && std::isnan(right));
         });
}

/// The same tensors in memory of their own, as graphs write their inputs.
std::vector<ops::HostTensor> copied(std::vector<ops::HostTensor> tensors) {
  std::map<const void*, std::shared_ptr<std::vector<std::byte>>> copies;
  for (ops::HostTensor& tensor : tensors) {
    auto& copy = copies[tensor.memory.get()];
    if (copy == nullptr) copy = std::make_shared<std::vector<std::byte>>(*tensor.memory);
    tensor.memory = copy;
  }
  return tensors;
}

/// Cut in two, the joint graph gives the same.
Result<void> check_parts(const Graph& joint, const std::vector<ops::HostTensor>& inputs,
                         const std::vector<ops::HostTensor>& expected,
                         const cut::CutOptions& options) {
  auto parts = cut::cut_graph(joint, options);
  if (!parts) return tl::unexpected(parts.error());
  const TrainingPart& part = parts->backward.interface.training;
  const std::size_t own = inputs.size() - part.tangents.size();
  const std::vector<ops::HostTensor> own_inputs = copied(inputs);
  auto outputs = ops::interpret(parts->forward, {own_inputs.begin(), own_inputs.begin() + own});
  if (!outputs) return tl::unexpected(outputs.error());
  std::vector<ops::HostTensor> given(parts->backward.interface.inputs.size());
  for (std::size_t i = 0; i < part.tangents.size(); ++i)
    given[part.tangents[i].input] = inputs[own + i];
  for (const Saved& saved : part.saved) given[saved.input] = (*outputs)[saved.output];
  for (const Passed& passed : part.passed) given[passed.input] = own_inputs[passed.forward];
  auto gradients = ops::interpret(parts->backward, std::move(given));
  if (!gradients) return tl::unexpected(gradients.error());
  outputs->resize(expected.size() - gradients->size());
  outputs->insert(outputs->end(), gradients->begin(), gradients->end());
  if (std::ranges::equal(*outputs, expected, is_same)) return {};
  return failure(Code::PS0603, "the parts give something else than the joint graph");
}

Result<std::vector<ops::HostTensor>> run(const Graph& joint, std::vector<ops::HostTensor> inputs,
                                         differential::InputFile& file) {
  for (const Tangent& tangent : joint.interface.training.tangents)
    inputs.push_back(file.read(joint.interface.inputs[tangent.input].type));
  auto outputs = ops::interpret(joint, copied(inputs));
  for (const cut::CutOptions& options :
       {cut::CutOptions{}, {.recompute = false}, {.byte_price = 1e6}}) {
    if (!outputs) break;
    if (auto same = check_parts(joint, inputs, *outputs, options); !same)
      return tl::unexpected(same.error());
  }
  return outputs;
}

std::size_t outputs_with_grad(const Graph& graph) {
  return static_cast<std::size_t>(std::ranges::count_if(
      graph.interface.outputs, [](const Output& output) { return output.type.requires_grad; }));
}

void answer(const Graph& graph, differential::InputFile& file, differential::AnswerFile& answers) {
  std::vector<ops::HostTensor> inputs;
  for (const Input& input : graph.interface.inputs) inputs.push_back(file.read(input.type));
  VerifyingTrace trace;
  const passes::DecomposeOptions options{.differentiation = &autodiff::kDifferentiation};
  Graph changeable = graph;  // inputs that are no constants: cuts must not rely on what they hold
  for (Input& input : changeable.interface.inputs) input.kind = InputKind::user;
  auto joint = passes::decompose(std::move(changeable), options, trace);
  if (joint && joint->interface.training.tangents.size() != outputs_with_grad(graph))
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
  for (const Gradient& gradient : joint->interface.training.gradients)
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
