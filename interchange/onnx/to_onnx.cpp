#include "interchange/onnx/to_onnx.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "embedding/result_names.h"
#include "interchange/onnx/emitter.h"
#include "interchange/onnx/nodes.h"
#include "interchange/onnx/operators.h"
#include "interchange/onnx/source_numbers.h"
#include "ops/contract.h"
#include "ops/op.h"
#include "passes/decompose.h"

namespace penstock::onnx {

namespace {

class Translator {
 public:
  Translator(const Graph& graph, const interchange::TensorOf& tensor_of)
      : graph_(graph), tensor_of_(tensor_of) {}

  Result<Translation> run() {
    name_ports();
    Emitter out(graph_, std::move(names_), inputs_);
    compute_numbers(out);
    if (auto done = write_nodes(graph_, out); !done) return tl::unexpected(done.error());
    if (auto done = write_inputs(); !done) return tl::unexpected(done.error());
    if (auto done = write_outputs(out); !done) return tl::unexpected(done.error());
    Model& model = made_.model;
    model.name = graph_.interface.name;
    model.operators = out.take_operators();
    for (Initializer& constant : out.take_constants())
      model.initializers.push_back(std::move(constant));
    note_sizes();
    return std::move(made_);
  }

 private:
  void name_ports() {
    for (const Input& input : graph_.interface.inputs)
      inputs_.push_back(names_.fresh(interchange::name_of_input(graph_.interface, input)));
    for (const std::string& name : embedding::result_names(graph_.interface))
      outputs_.push_back(names_.fresh(name));
    is_written_.resize(inputs_.size());
    for (const Mutation& mutation : graph_.interface.mutations)
      is_written_[static_cast<std::size_t>(mutation.input)] = true;
  }

  /// Inputs that are numbers which Python computed of sizes are computed here: no caller passes
  /// them.
  void compute_numbers(Emitter& out) {
    is_computed_.resize(inputs_.size());
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const Input& input = graph_.interface.inputs[i];
      const auto id = static_cast<ValueId>(i);
      out.set_node(inputs_[i], "");
      const std::optional<Name> number = number_of_sizes(out, input);
      is_computed_[i] = number.has_value();
      if (number) {
        out.bind(id, *number);
      } else if (input.kind == InputKind::size) {
        for (const Symbol& symbol : graph_.interface.symbols)
          if (symbol.source == input.source) out.bind_symbol(symbol.name, id);
      }
    }
  }

  Result<void> write_inputs() {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const Input& input = graph_.interface.inputs[i];
      const bool weight = interchange::is_weight(graph_.interface, input);
      if (weight) {
        if (auto done = write_weight(input, inputs_[i]); !done) return done;
      }
      if ((!weight && !is_computed_[i]) || is_written_[i])
        made_.model.inputs.push_back({inputs_[i], input.type.dtype, port_sizes(input.type)});
    }
    return {};
  }

  Result<void> write_weight(const Input& input, const std::string& name) {
    auto blob = interchange::elements_of(input, tensor_of_);
    if (!blob) return tl::unexpected(blob.error());
    const formats::TensorBytes& tensor = blob->tensor;
    made_.model.initializers.push_back({name, tensor.dtype, tensor.sizes, {}, tensor.bytes});
    made_.tensors.push_back(std::move(*blob));
    return {};
  }

  Result<void> write_outputs(Emitter& out) {
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
      const ValueId id = graph_.outputs[i];
      const Name value = out.value(id);
      if (out.error()) return failure(Code::PS0602, fmt::format("output {}: {}", i, *out.error()));
      out.set_node(outputs_[i], "");
      const std::size_t mark = out.mark();
      const Name made = out.emit("Identity", {value});
      out.rename_to(mark, made, outputs_[i]);
      made_.model.outputs.push_back({outputs_[i], out.type(id).dtype, port_sizes(out.type(id))});
    }
    return {};
  }

  /// What the sizes that have names may be.
  void note_sizes() {
    for (const Symbol& symbol : graph_.interface.symbols) {
      made_.model.properties.emplace_back(
          "size " + symbol.name, symbol.maximum == INT64_MAX
                                     ? fmt::format("{}..", symbol.minimum)
                                     : fmt::format("{}..{}", symbol.minimum, symbol.maximum));
    }
    int number = 0;
    for (const Guard& guard : graph_.interface.guards) {
      if (guard.condition)
        made_.model.properties.emplace_back(fmt::format("condition {}", number++),
                                            to_string(*guard.condition));
    }
  }

  const Graph& graph_;
  const interchange::TensorOf& tensor_of_;
  Names names_;
  std::vector<Name> inputs_, outputs_;
  std::vector<bool> is_written_, is_computed_;
  Translation made_;
};

}  // namespace

Result<Translation> to_onnx(Graph graph, const interchange::TensorOf& tensor_of, PassTrace& trace) {
  if (graph.level == Level::torch) {
    passes::DecomposeOptions options;
    options.keeps_node = stays_whole;
    auto lowered = passes::decompose(std::move(graph), options, trace);
    if (!lowered) return tl::unexpected(lowered.error());
    graph = std::move(*lowered);
  }
  return Translator(graph, tensor_of).run();
}

}  // namespace penstock::onnx
