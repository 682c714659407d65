#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_set>
#include <vector>

#include "formats/pack.h"
#include "interchange/pt2/sources.h"
#include "ir/graph.h"
#include "store/store.h"

namespace penstock::pt2 {

using Json = nlohmann::json;

/// What writing one program works on: its parts (write_inputs.cpp, write_nodes.cpp,
/// write_outputs.cpp, write_weights.cpp) fill it in one after the other.
class WriteState {
 public:
  explicit WriteState(const Graph& graph);

  const Graph& graph;
  ArgumentTree arguments;
  Json inputs = Json::array(), outputs = Json::array(), nodes = Json::array();
  Json tensor_values = Json::object(), sym_int_values = Json::object();
  Json input_specs = Json::array(), output_specs = Json::array();
  Json in_spec, out_spec;
  std::map<ValueId, std::string> weight_names;     ///< of inputs that the program brings along
  std::map<SourceId, std::string> argument_paths;  ///< of inputs that are passed: L['x'][0]

  /// A name that no value has.
  std::string fresh(const std::string& stem);
  /// The first problem stays.
  void fail(std::string message, std::string place = {});
  std::optional<Diagnostic> problem;

  /// {"as_int": …} or {"as_expr": …}.
  Json size(const SymExpr& expression) const;
  Json type(const TensorType& type) const;
  /// The expression with torch's names of symbols.
  SymExpr renamed(const SymExpr& expression) const;
  /// The name of a value that holds the number, which a node computes that may be added for it.
  std::string number(const SymExpr& expression);
  Json argument(const Argument& argument);
  /// A comparison as Python writes it, of the arguments' sizes.
  std::string python(const Condition& condition) const;
  /// Which sizes of arguments are the same symbol, or made of one, as Python comparisons.
  std::vector<std::string> equal_sizes() const;

 private:
  void find_hints();
  std::optional<std::int64_t> hint(const SymExpr& expression) const;
  std::string symbol(std::string_view name);
  std::string atom(const SymAtom& atom);
  std::string term(const SymTerm& term);
  std::string operation(const std::string& target, const Json& a, const Json& b,
                        const SymExpr& value);
  Json operand(const SymExpr& expression);
  Json list(const Argument::Sequence& sequence);
  std::string python(const SymExpr& expression) const;
  std::string python(const SymAtom& atom) const;

  std::map<std::string, std::string, std::less<>> symbols_;  ///< ours → torch's
  std::map<std::string, std::int64_t, std::less<>> hints_;
  std::map<std::string, std::string> numbers_;  ///< text → the value that holds it
  std::unordered_set<std::string> names_;
  std::map<std::string, int> next_;
};

void write_inputs(WriteState& state);
void write_nodes(WriteState& state);
void write_outputs(WriteState& state);
/// The files of data/weights and data/constants.
Result<std::vector<formats::PackMember>> write_weights(const WriteState& state,
                                                       const std::string& root,
                                                       const store::Store& store);

/// For each of the last nodes that copy into inputs, whether it becomes the input's mutation: all
/// or none of them.
std::size_t mutations_at_end(const Graph& graph);

}  // namespace penstock::pt2
