#include "interchange/pt2/write.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "formats/pack.h"
#include "interchange/pt2/write_state.h"

namespace penstock::pt2 {

namespace {

/// What torch 2.11 writes, which later ones read.
constexpr int kSchemaMajor = 8, kSchemaMinor = 17, kOpset = 10;
constexpr const char* kTorch = "2.11.0";

/// Ranges of symbols, by torch's names.
Json ranges_of(const WriteState& state) {
  Json out = Json::object();
  for (const Symbol& symbol : state.graph.interface.symbols) {
    const SymExpr name = state.renamed(SymExpr::symbol(symbol.name));
    Json range = {{"min_val", symbol.minimum}, {"max_val", nullptr}};
    if (symbol.maximum != INT64_MAX) range["max_val"] = symbol.maximum;
    out[std::string(name.symbol_name())] = range;
  }
  return out;
}

Json conditions_of(WriteState& state) {
  Json out = Json::array();
  for (const std::string& equality : state.equal_sizes()) out.push_back(equality);
  for (const Guard& guard : state.graph.interface.guards) {
    if (!guard.condition) continue;
    const std::string text = state.python(*guard.condition);
    if (text.empty())
      state.fail(fmt::format("the condition {} is on no size of an argument",
                             to_string(*guard.condition)));
    out.push_back(text);
  }
  return out;
}

Json program_of(WriteState& state) {
  Json graph = {{"inputs", state.inputs},
                {"outputs", state.outputs},
                {"nodes", state.nodes},
                {"tensor_values", state.tensor_values},
                {"sym_int_values", state.sym_int_values},
                {"sym_bool_values", Json::object()},
                {"sym_float_values", Json::object()},
                {"custom_obj_values", Json::object()},
                {"is_single_tensor_return", false}};
  Json signature = {{"inputs", Json::array()},
                    {"outputs", Json::array()},
                    {"in_spec", state.in_spec},
                    {"out_spec", state.out_spec},
                    {"forward_arg_names", state.arguments.names}};
  Json module = {
      {"graph", graph},
      {"signature", {{"input_specs", state.input_specs}, {"output_specs", state.output_specs}}},
      {"module_call_graph", Json::array({{{"fqn", ""}, {"signature", signature}}})},
      {"metadata", {{"name", state.graph.interface.name}}},
      {"treespec_namedtuple_fields", Json::object()}};
  return {{"graph_module", module},
          {"opset_version", {{"aten", kOpset}}},
          {"range_constraints", ranges_of(state)},
          {"schema_version", {{"major", kSchemaMajor}, {"minor", kSchemaMinor}}},
          {"verifiers", Json::array({"TRAINING"})},
          {"torch_version", kTorch},
          {"guards_code", conditions_of(state)}};
}

/// The one folder of the archive, which torch calls as the file.
std::string root_of(const std::string& path) {
  std::string name = std::filesystem::path(path).stem().string();
  std::ranges::replace_if(
      name, [](unsigned char c) { return c < ' ' || c == '/' || c == '\\'; }, '_');
  return (name.empty() ? "archive" : name) + "/";
}

}  // namespace

Result<void> write_pt2(const std::string& path, const Graph& graph, const store::Store& store) {
  WriteState state(graph);
  write_inputs(state);
  if (!state.problem) write_nodes(state);
  if (!state.problem) write_outputs(state);
  Json program = state.problem ? Json() : program_of(state);
  if (state.problem) return tl::unexpected(std::move(*state.problem));
  const std::string root = root_of(path);
  auto members = write_weights(state, root, store);
  if (!members) return tl::unexpected(std::move(members.error()));
  members->insert(members->begin(), {{root + "archive_format", "pt2"},
                                     {root + "archive_version", "0"},
                                     {root + "byteorder", "little"},
                                     {root + ".data/version", "6\n"},
                                     {root + "models/model.json", program.dump()},
                                     {root + "data/sample_inputs/model.pt", ""}});
  return formats::write_pack(path, {}, store, *members);
}

}  // namespace penstock::pt2
