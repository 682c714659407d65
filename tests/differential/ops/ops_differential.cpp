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
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>

#include "formats/stream.h"
#include "ops/infer.h"
#include "ops/interpreter.h"
#include "ops/op.h"
#include "passes/decompose.h"

using namespace penstock;

namespace {

class InputFile {
 public:
  explicit InputFile(const char* path) : stream_(path, std::ios::binary) {}

  std::vector<ops::HostTensor> read(const Graph& graph) {
    std::vector<ops::HostTensor> inputs;
    for (const Input& input : graph.interface.inputs) {
      std::uint64_t length = 0;
      stream_.read(reinterpret_cast<char*>(&length), sizeof length);
      ops::HostTensor tensor;
      tensor.dtype = input.type.dtype;
      for (const SymExpr& size : input.type.sizes) tensor.sizes.push_back(*size.constant());
      for (const SymExpr& stride : input.type.strides) tensor.strides.push_back(*stride.constant());
      tensor.offset = *input.type.storage_offset.constant();
      tensor.memory = std::make_shared<std::vector<std::byte>>(length);
      stream_.read(reinterpret_cast<char*>(tensor.memory->data()),
                   static_cast<std::streamsize>(length));
      inputs.push_back(std::move(tensor));
    }
    return inputs;
  }

 private:
  std::ifstream stream_;
};

class AnswerFile {
 public:
  explicit AnswerFile(const char* path) : stream_(path, std::ios::binary) {}

  void failed(const Diagnostic& error) {
    stream_.put(0);
    write(error.message.data(), error.message.size());
  }
  void not_asked() { stream_.put(2); }
  void done(const std::vector<ops::HostTensor>& outputs,
            const std::vector<ops::HostTensor>& inputs) {
    stream_.put(1);
    for (const auto* tensors : {&outputs, &inputs}) {
      for (const ops::HostTensor& tensor : *tensors) {
        ops::HostTensor dense = ops::HostTensor::contiguous(tensor.dtype, tensor.sizes);
        if (is_floating(tensor.dtype))
          dense.assign(tensor.reals());
        else
          dense.assign(tensor.integers());
        write(dense.memory->data(), dense.memory->size());
      }
    }
  }

 private:
  void write(const void* bytes, std::uint64_t length) {
    stream_.write(reinterpret_cast<const char*>(&length), sizeof length);
    stream_.write(static_cast<const char*>(bytes), static_cast<std::streamsize>(length));
  }
  std::ofstream stream_;
};

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

void answer(const Graph& graph, const std::vector<ops::HostTensor>& inputs, AnswerFile& answers) {
  const bool composites = has_composites(graph);
  if (composites)
    answers.not_asked();
  else if (auto rules = check_rules(graph))
    answers.done({}, {});
  else
    answers.failed(rules.error());
  auto run = [&](const Graph& program) {
    std::vector<ops::HostTensor> own = copies(inputs);
    auto outputs = ops::interpret(program, own);
    if (!outputs) return answers.failed(outputs.error());
    outputs->resize(graph.outputs.size());  // decompose adds what inputs receive
    answers.done(*outputs, own);
  };
  if (composites)
    answers.not_asked();
  else
    run(graph);
  PassTrace silent;
  auto core = passes::decompose(graph, {}, silent);
  if (core)
    run(*core);
  else
    answers.failed(core.error());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  auto source = formats::open_source(argv[1]);
  if (!source) return 6;
  formats::DocumentReader reader(*source, argv[1]);
  InputFile inputs(argv[2]);
  AnswerFile answers(argv[3]);
  while (true) {
    auto document = reader.next();
    if (!document) {
      std::cerr << document.error().message << ' ' << document.error().place << '\n';
      return 3;
    }
    if (!*document) return 0;
    if (const auto* graph = std::get_if<formats::GraphDocument>(&**document)) {
      const Graph& torch = std::get<Graph>(graph->graph);
      answer(torch, inputs.read(torch), answers);
    }
  }
}
