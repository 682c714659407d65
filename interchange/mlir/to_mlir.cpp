#include "interchange/mlir/to_mlir.h"

#include <fmt/format.h>

#include <utility>

#include "embedding/result_names.h"
#include "interchange/common/naming.h"
#include "interchange/common/no_form.h"
#include "interchange/mlir/aten.h"
#include "interchange/mlir/prims.h"
#include "interchange/mlir/source_numbers.h"
#include "interchange/mlir/text.h"
#include "ir/call_location.h"
#include "passes/decompose.h"

namespace penstock::mlir {

namespace {

/// The scope of parameters, as IREE's tools call it where nobody says another.
constexpr std::string_view kScope = "model";

class Translator {
 public:
  Translator(const Graph& graph, const interchange::TensorOf& tensor_of, bool beside)
      : graph_(graph), tensor_of_(tensor_of), out_(graph) {
    made_.beside = beside;
  }

  Result<Translation> run() {
    if (auto done = write_inputs(); !done) return tl::unexpected(done.error());
    if (auto done = write_nodes(); !done) return tl::unexpected(done.error());
    if (auto done = write_outputs(); !done) return tl::unexpected(done.error());
    note_conditions();
    made_.functions = fmt::format("  func.func @main({}) -> ({}) {{\n{}  }}\n", arguments_,
                                  result_types_, out_.take_body());
    return std::move(made_);
  }

 private:
  /// Tensors first: numbers that Python computed of their sizes are computed here, no caller passes
  /// them.
  Result<void> write_inputs() {
    std::vector<bool> is_written(graph_.interface.inputs.size());
    for (const Mutation& mutation : graph_.interface.mutations)
      is_written[static_cast<std::size_t>(mutation.input)] = true;
    for (const bool numbers : {false, true}) {
      for (std::size_t i = 0; i < graph_.interface.inputs.size(); ++i) {
        const Input& input = graph_.interface.inputs[i];
        const bool number = input.kind == InputKind::size || input.kind == InputKind::scalar;
        if (number != numbers) continue;
        if (auto done = write_input(static_cast<ValueId>(i), input, is_written[i]); !done)
          return done;
      }
    }
    return {};
  }

  Result<void> write_input(ValueId id, const Input& input, bool is_written) {
    const std::string name = weights_.fresh(interchange::name_of_input(graph_.interface, input));
    out_.set_node(name, "");
    if (interchange::is_weight(graph_.interface, input) && !is_written)
      return write_weight(id, input, name);
    const bool number = input.kind == InputKind::size || input.kind == InputKind::scalar;
    if (number) {
      if (const auto computed = number_of_sizes(out_, input)) {
        out_.bind(id, *computed);
        return {};
      }
    }
    std::string type = tensor_type(input.type);
    if (number) type = is_floating(input.type.dtype) ? kFloat : kInt;
    const Typed argument = out_.fresh(name, type);
    arguments_ += (arguments_.empty() ? "" : ", ") + argument.name + ": " + argument.type;
    head_ += fmt::format("// argument {}: {}\n", number_of_arguments_++, one_line(name));
    out_.bind(id, argument);
    if (!number) out_.bind_sizes(argument, input.type.sizes);
    bind_symbols(id, input);
    return {};
  }

  void bind_symbols(ValueId id, const Input& input) {
    if (input.kind != InputKind::size) return;
    for (const Symbol& symbol : graph_.interface.symbols)
      if (symbol.source == input.source) out_.bind_symbol(symbol.name, id);
  }

  static std::string one_line(const std::string& text) {
    const std::string made = quoted(text);
    return made.substr(1, made.size() - 2);
  }

  Result<void> write_weight(ValueId id, const Input& input, const std::string& name) {
    auto blob = interchange::elements_of(input, tensor_of_);
    if (!blob) return tl::unexpected(blob.error());
    const std::vector<std::int64_t>& sizes = blob->tensor.sizes;
    const DType dtype = input.type.dtype;
    const std::string symbol = quoted(name);
    if (made_.beside) {
      const std::string type = builtin_type(dtype, sizes, false);
      made_.head +=
          fmt::format("  util.global private @{} = #flow.parameter.named<\"{}\"::{}> : {}\n",
                      symbol, kScope, symbol, type);
      const Typed loaded = out_.fresh(name, type),
                  tensor = out_.fresh(name, tensor_type(input.type));
      out_.line(fmt::format("{} = util.global.load @{} : {}", loaded.name, symbol, type));
      out_.line(fmt::format("{} = torch_c.from_builtin_tensor {} : {} -> {}", tensor.name,
                            loaded.name, type, tensor.type));
      out_.bind(id, tensor);
      made_.weights.push_back({name, std::move(*blob)});
      return {};
    }
    const std::string_view bytes = blob->tensor.bytes;
    if (bytes.empty()) {
      out_.bind(id, out_.literal("dense<>", dtype, sizes, name));
    } else if (is_boolean(dtype)) {
      out_.bind(id, out_.literal(fmt::format("dense<{}>", nested_bools(bytes, sizes)), dtype, sizes,
                                 name));
    } else {
      out_.bind(id, out_.literal(fmt::format("dense_resource<{}>", symbol), dtype, sizes, name));
      made_.weights.push_back({name, std::move(*blob)});
    }
    return {};
  }

  Result<void> write_nodes() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      const auto location = location_of(graph_.calls, {node.call});
      out_.set_node(
          node.results.empty() ? node.op : graph_.values[node.results.front()].name,
          location ? fmt::format(" loc({}:{}:0)", quoted(location->file.text()), location->line)
                   : "");
      if (const Schema* schema = find_schema(node.op)) {
        write_aten(node, *schema, out_);
      } else if (const PrimRow* row = find_prim(node.op)) {
        Rule rule(node, out_, row->detail);
        row->function(rule);
        if (rule.arguments().failed()) return no_form(i, rule.arguments().error()->message);
      } else {
        return no_form(i, "the torch dialect of MLIR has no op for it");
      }
      if (out_.error()) return no_form(i, *out_.error());
    }
    return {};
  }

  Result<void> no_form(std::size_t position, std::string_view reason) const {
    return tl::unexpected(interchange::no_form(graph_, position, "MLIR", reason));
  }

  Result<void> write_outputs() {
    std::string names;
    const std::vector<std::string> called = embedding::result_names(graph_.interface);
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
      const Typed value = out_.value(graph_.outputs[i]);
      if (out_.error())
        return failure(Code::PS0602, fmt::format("output {}: {}", i, *out_.error()));
      names += (names.empty() ? "" : ", ") + value.name;
      result_types_ += (result_types_.empty() ? "" : ", ") + value.type;
      head_ += fmt::format("// result {}: {}\n", i, i < called.size() ? one_line(called[i]) : "");
    }
    out_.line(names.empty() ? "return" : fmt::format("return {} : {}", names, result_types_));
    return {};
  }

  /// What the sizes have to be beside their ranges.
  void note_conditions() {
    for (const Guard& guard : graph_.interface.guards) {
      if (guard.condition)
        head_ += fmt::format("// condition: {}\n", one_line(to_string(*guard.condition)));
    }
    made_.head = head_ + "module {\n" + made_.head;
  }

  const Graph& graph_;
  const interchange::TensorOf& tensor_of_;
  Emitter out_;
  interchange::Names weights_;
  std::string head_, arguments_, result_types_;
  int number_of_arguments_ = 0;
  Translation made_;
};

bool stays_whole(const Graph& graph, const Node& node) {
  if (find_schema(node.op) == nullptr) return false;
  for (ValueId result : node.results)
    if (is_complex(graph.values[result].type.dtype)) return false;
  return true;
}

}  // namespace

Result<Translation> to_mlir(Graph graph, const interchange::TensorOf& tensor_of, bool beside,
                            PassTrace& trace) {
  if (graph.level == Level::torch) {
    passes::DecomposeOptions options;
    options.keeps_node = stays_whole;
    auto lowered = passes::decompose(std::move(graph), options, trace);
    if (!lowered) return tl::unexpected(lowered.error());
    graph = std::move(*lowered);
  }
  return Translator(graph, tensor_of, beside).run();
}

Result<void> write(const Translation& translation, const Sink& sink) {
  for (const std::string_view part :
       {std::string_view(translation.head), std::string_view(translation.functions),
        std::string_view("}\n")}) {
    if (auto done = sink(part); !done) return done;
  }
  if (translation.beside || translation.weights.empty()) return {};
  if (auto done = sink("{-#\n  dialect_resources: {\n    builtin: {\n"); !done) return done;
  std::size_t left = translation.weights.size();
  for (const Translation::Weight& weight : translation.weights) {
    const std::string text =
        fmt::format("      {}: {}{}\n", quoted(weight.name), hexadecimal(weight.blob.tensor.bytes),
                    --left > 0 ? "," : "");
    if (auto done = sink(text); !done) return done;
  }
  return sink("    }\n  }\n#-}\n");
}

}  // namespace penstock::mlir
