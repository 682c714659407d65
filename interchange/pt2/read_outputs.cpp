#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "interchange/pt2/json.h"
#include "interchange/pt2/read_state.h"

namespace penstock::pt2 {

using formats::Field;
using formats::Record;

namespace {

/// What an output is for, where it is not returned: it becomes the new value of an input.
struct MutationRow {
  std::string_view name, key;
  std::map<std::string, ValueId> ReadState::*inputs;
};
constexpr MutationRow kMutations[] = {
    {"buffer_mutation", "buffer_name", &ReadState::buffers},
    {"parameter_mutation", "parameter_name", &ReadState::parameters},
    {"user_input_mutation", "user_input_name", &ReadState::arguments},
};

class OutputReader {
 public:
  OutputReader(ReadState& state, const Scope& scope) : state_(state), scope_(scope) {}

  void read(const Field& outputs, const Field& specs) {
    if (outputs.length() != specs.length()) return specs.fail("there is one for each output");
    for (std::size_t i = 0; i < outputs.length() && !outputs.problems().first; ++i) {
      const Field output = outputs.item(i), spec = specs.item(i);
      const auto choice = read_choice(spec);
      if (!choice) return;
      if (choice->name == "user_output") {
        leaves_.push_back(leaf(output));
      } else {
        mutation(*choice, output);
      }
    }
  }

  /// The containers with their leaves.
  Recipe build(const Tree& tree) {
    if (tree.is_leaf()) return next_ < leaves_.size() ? leaves_[next_++] : Recipe();
    Recipe recipe;
    recipe.kind = tree.type == "builtins.list"   ? Recipe::Kind::list
                  : tree.type == "builtins.dict" ? Recipe::Kind::dict
                                                 : Recipe::Kind::tuple;
    const bool plain = tree.type == "builtins.list" || tree.type == "builtins.tuple";
    const auto keys = plain ? std::nullopt : keys_of(tree);
    if (!plain && keys) recipe.kind = Recipe::Kind::dict;
    for (std::size_t i = 0; i < tree.children.size(); ++i) {
      if (keys) recipe.items.push_back(literal((*keys)[i]));
      recipe.items.push_back(build(tree.children[i]));
    }
    if (plain || (tree.type == "builtins.dict" && keys)) return recipe;
    // Any other class: what makes one of it, what it says of the node, and what is in it.
    Recipe made;
    made.kind = Recipe::Kind::call;
    made.items = {literal(Argument::Named{Argument::Named::Kind::object, tree.type}),
                  literal(tree.context), std::move(recipe)};
    return made;
  }

  std::size_t leaves() const { return leaves_.size(); }

 private:
  static Recipe literal(Argument value) {
    Recipe recipe;
    recipe.literal = std::move(value);
    return recipe;
  }

  Recipe leaf(const Field& field) {
    const Argument value = read_argument(field, scope_);
    Recipe recipe;
    if (const auto* id = value.as<Argument::Value>()) {
      recipe.kind = Recipe::Kind::output;
      recipe.index = output(id->id);
    } else if (const auto* size = value.as<SymExpr>()) {
      recipe.kind = Recipe::Kind::symbol;
      recipe.expression = *size;
    } else {
      recipe.literal = value;
    }
    return recipe;
  }

  /// The output that a value is; the same value twice is one.
  std::int32_t output(ValueId id) {
    Graph& graph = state_.graph;
    const auto found = std::ranges::find(graph.outputs, id);
    if (found != graph.outputs.end())
      return static_cast<std::int32_t>(found - graph.outputs.begin());
    graph.outputs.push_back(id);
    graph.interface.outputs.push_back({graph.values[id].type, {}, {}});
    return static_cast<std::int32_t>(graph.outputs.size() - 1);
  }

  void mutation(const Choice& choice, const Field& output) {
    for (const MutationRow& row : kMutations) {
      if (row.name != choice.name) continue;
      Record spec(choice.value);
      const Field name = spec.required(row.key);
      const auto& inputs = state_.*row.inputs;
      const auto input = inputs.find(name.text());
      if (input == inputs.end())
        return name.fail(fmt::format("there is no input {}", name.text().substr(0, 80)));
      const Argument value = read_argument(output, scope_);
      const auto* id = value.as<Argument::Value>();
      if (id == nullptr) return output.fail("the new value of an input is a tensor");
      if (id->id == input->second) return;  // it is written in place
      return copy(input->second, id->id);
    }
    choice.value.fail(
        fmt::format("an output that is a {} has no counterpart here", choice.name.substr(0, 80)),
        Code::PS0211);
  }

  void copy(ValueId input, ValueId value) {
    Graph& graph = state_.graph;
    Node node{"aten.copy_.default",
              {{"self", Argument::Value{input}}, {"src", Argument::Value{value}}},
              {},
              -1};
    TensorType type = graph.values[input].type;
    type.requires_grad = false;
    node.results.push_back(add_value(graph, "copy_", std::move(type)));
    state_.share(node.results.front(), input);
    graph.nodes.push_back(std::move(node));
  }

  ReadState& state_;
  const Scope& scope_;
  std::vector<Recipe> leaves_;
  std::size_t next_ = 0;
};

/// Which outputs show memory that the caller has: of an input, or of an output before.
void find_aliases(Graph& graph) {
  Interface& interface = graph.interface;
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    Output& output = interface.outputs[i];
    output.type = graph.values[graph.outputs[i]].type;
    if (graph.outputs[i] < interface.inputs.size()) {
      output.alias = {OutputAlias::Kind::input, static_cast<std::int32_t>(graph.outputs[i])};
      continue;
    }
    const std::int32_t storage = output.type.storage;
    if (storage < 0) continue;
    const auto input = std::ranges::find(interface.inputs, storage,
                                         [](const Input& input) { return input.type.storage; });
    if (input != interface.inputs.end()) {
      output.alias = {OutputAlias::Kind::input,
                      static_cast<std::int32_t>(input - interface.inputs.begin())};
      continue;
    }
    for (std::size_t j = 0; j < i && output.alias.kind == OutputAlias::Kind::none; ++j) {
      if (interface.outputs[j].type.storage == storage)
        output.alias = {OutputAlias::Kind::output, static_cast<std::int32_t>(j)};
    }
  }
}

}  // namespace

Result<void> read_outputs(ReadState& state, const Scope& scope, const Field& graph,
                          const Field& signature, const Field& program) {
  Record body(graph), specs(signature);
  OutputReader reader(state, scope);
  reader.read(body.required("outputs"), specs.required("output_specs"));
  if (program.problems().first) return {};
  auto call = read_signature(program);
  if (!call) return tl::unexpected(std::move(call.error()));
  if (count_leaves(call->out) != reader.leaves()) {
    specs.field().fail(fmt::format("{} outputs are returned, and what is returned has room for {}",
                                   reader.leaves(), count_leaves(call->out)));
    return {};
  }
  state.graph.interface.returns = reader.build(call->out);
  find_aliases(state.graph);
  return {};
}

}  // namespace penstock::pt2
