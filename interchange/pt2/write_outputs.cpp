#include <fmt/format.h>

#include <algorithm>

#include "interchange/pt2/write_state.h"

namespace penstock::pt2 {

namespace {

class OutputWriter {
 public:
  explicit OutputWriter(WriteState& state) : state_(state), interface_(state.graph.interface) {}

  void run() {
    mutations();
    const bool whole = interface_.end.kind == SegmentEnd::Kind::returned;
    const Tree out = whole ? visit(interface_.returns, 0) : all_outputs();
    state_.out_spec = to_text(out);
  }

 private:
  static constexpr int kDeepest = 64;

  /// Copies at the end, as outputs that are the new values of inputs. They stand before what is
  /// returned.
  void mutations() {
    const Graph& graph = state_.graph;
    for (std::size_t i = mutations_at_end(graph); i < graph.nodes.size(); ++i) {
      const ValueId self = operand_value(graph.nodes[i], "self");
      const Json value = {{"name", graph.values[operand_value(graph.nodes[i], "src")].name}};
      Json spec = {{"arg", value}};
      std::string kind = "user_input_mutation";
      if (interface_.inputs[self].kind == InputKind::buffer) {
        kind = "buffer_mutation";
        spec["buffer_name"] = state_.weight_names[self];
      } else if (interface_.inputs[self].kind == InputKind::parameter) {
        kind = "parameter_mutation";
        spec["parameter_name"] = state_.weight_names[self];
      } else {
        spec["user_input_name"] = graph.values[self].name;
      }
      state_.outputs.push_back({{"as_tensor", value}});
      state_.output_specs.push_back({{kind, spec}});
    }
  }

  void leaf(Json value) {
    state_.output_specs.push_back({{"user_output", {{"arg", value}}}});
    state_.outputs.push_back(std::move(value));
  }

  void tensor(ValueId id) { leaf({{"as_tensor", {{"name", state_.graph.values[id].name}}}}); }

  /// Of a graph that is no whole call: what it gives, in order.
  Tree all_outputs() {
    Tree out{"builtins.tuple", "null", {}};
    for (const ValueId id : state_.graph.outputs) {
      tensor(id);
      out.children.emplace_back();
    }
    return out;
  }

  Tree visit(const Recipe& recipe, int depth) {
    if (depth > kDeepest) {
      state_.fail("what is returned is nested too deeply, or holds itself");
      return {};
    }
    switch (recipe.kind) {
      case Recipe::Kind::object:
        return visit(interface_.objects[static_cast<std::size_t>(recipe.index)], depth + 1);
      case Recipe::Kind::output:
        tensor(state_.graph.outputs[static_cast<std::size_t>(recipe.index)]);
        return {};
      case Recipe::Kind::source:
        source(recipe.source);
        return {};
      case Recipe::Kind::symbol:
        leaf(state_.argument(recipe.expression));
        return {};
      case Recipe::Kind::literal:
        literal(recipe.literal);
        return {};
      case Recipe::Kind::list:
      case Recipe::Kind::tuple:
        return items(recipe, recipe.kind == Recipe::Kind::list ? "builtins.list" : "builtins.tuple",
                     depth);
      case Recipe::Kind::dict:
        return pairs(recipe, "builtins.dict", depth);
      case Recipe::Kind::call:
        return made(recipe, depth);
      default:
        break;
    }
    state_.fail(fmt::format("a {} is returned, which exported programs do not make",
                            to_string(recipe.kind)));
    return {};
  }

  /// What an argument or a tensor of the module held, returned as it is.
  void source(SourceId source) {
    for (std::size_t i = 0; i < interface_.inputs.size(); ++i) {
      if (interface_.inputs[i].source != source) continue;
      const Value& value = state_.graph.values[i];
      if (value.is_scalar) return leaf({{"as_sym_int", {{"as_name", value.name}}}});
      return tensor(static_cast<ValueId>(i));
    }
    state_.fail(fmt::format("{} is returned, which is no input of the graph",
                            interface_.sources.text(source)));
  }

  void literal(const Argument& value) {
    const bool plain = value.is_none() || value.as<bool>() != nullptr ||
                       value.as<std::int64_t>() != nullptr || value.as<double>() != nullptr;
    if (plain) return leaf(state_.argument(value));
    state_.fail("a constant that is no number is returned, which exported programs do not do");
  }

  Tree items(const Recipe& recipe, std::string type, int depth) {
    Tree out{std::move(type), "null", {}};
    for (const Recipe& item : recipe.items) out.children.push_back(visit(item, depth + 1));
    return out;
  }

  Tree pairs(const Recipe& recipe, std::string type, int depth) {
    Tree out{std::move(type), "null", {}};
    std::vector<Argument> keys;
    for (std::size_t i = 0; i + 1 < recipe.items.size(); i += 2) {
      const Argument& key = recipe.items[i].literal;
      if (recipe.items[i].kind != Recipe::Kind::literal ||
          (key.as<std::string>() == nullptr && key.as<std::int64_t>() == nullptr)) {
        state_.fail("a dict is returned whose keys are no texts and integers");
        return out;
      }
      keys.push_back(key);
      out.children.push_back(visit(recipe.items[i + 1], depth + 1));
    }
    out.context = context_of(keys);
    return out;
  }

  /// An object of a class: its name, its context and what is in it, as they were read.
  Tree made(const Recipe& recipe, int depth) {
    const bool fits = recipe.items.size() == 3;
    const auto* type = fits ? recipe.items[0].literal.as<Argument::Named>() : nullptr;
    const auto* context = fits ? recipe.items[1].literal.as<std::string>() : nullptr;
    if (type == nullptr || context == nullptr) {
      state_.fail("an object of a class is returned, which no file tells how to make");
      return {};
    }
    const Recipe& content = recipe.items[2];
    Tree out = content.kind == Recipe::Kind::dict ? pairs(content, type->name, depth)
                                                  : items(content, type->name, depth);
    out.context = *context;
    return out;
  }

  WriteState& state_;
  const Interface& interface_;
};

}  // namespace

void write_outputs(WriteState& state) {
  OutputWriter(state).run();
}

}  // namespace penstock::pt2
