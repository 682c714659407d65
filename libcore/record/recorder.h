#pragma once

#include <Python.h>

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "heap/heap_gaps.h"
#include "ir/graph.h"
#include "policy/shown_code.h"
#include "record/checkpoints.h"
#include "record/grid_values.h"
#include "record/known_values.h"
#include "record/recorded_guards.h"
#include "record/shadow.h"
#include "record/subgraphs.h"
#include "record/symbolic_sizes.h"
#include "record/unseen_writes.h"
#include "torch/overload.h"
#include "torch/tensor_bridge.h"

namespace penstock::record {

/// What a segment has recorded so far: guards, inputs, calls and nodes. Knows nothing of frames.
class Recorder {
 public:
  /// `changed` may be null; `here` says which line of the program is running.
  Recorder(const torch::TensorBridge& bridge, bool keep_examples, const ChangedNumbers* changed,
           DynamicSizes policy, std::function<Location()> here);

  /// By what names people know what the segment's first frame hands on; told before any input.
  void name_arguments(policy::ShownArguments arguments) { arguments_ = std::move(arguments); }
  RecordedGuards& guards() { return guards_; }
  const RecordedGuards& guards() const { return guards_; }

  /// The graph's value for a tensor that existed before the segment; makes it an input, guarded by
  /// its type, at first use. Nothing for a tensor that has no strides.
  std::optional<ValueId> input(PyObject* tensor, SourceId source,
                               const std::function<Location()>& location);
  /// True if sizes of the tensor may be symbols: it must be an input before they are used. An input
  /// that another source led to first is one already.
  bool wants_symbols(PyObject* tensor, SourceId source) const;
  /// True if nothing in the segment wrote the memory that value `id` is in. What has none of its
  /// own that is known is a step between others, which nothing but them sees.
  bool is_untouched(ValueId id) const { return !written_storages_.contains(storages_[id]); }
  /// The input that `source` leads to, if it is one.
  std::optional<ValueId> input_at(SourceId source) const;
  SymbolicSizes& sizes() { return sizes_; }
  /// The graph's value for a number that is an input; makes it one at first use. Its type and what
  /// it is computed of must be guarded.
  ValueId number(PyObject* number, SourceId source);
  bool is_number(ValueId id) const;
  /// The symbol of a number that says how large something is, which becomes an input; nothing for
  /// one that stays a constant. Its type must be guarded.
  std::optional<SymExpr> size_number(PyObject* number, std::int64_t value, SourceId source);
  /// True for a tensor whose elements the segment decides.
  bool is_known(ValueId id) const { return known_values_.has(id) && !grid.has(id); }
  /// True if the segment wrote the memory that value `id` is in.
  bool is_written(ValueId id) const {
    return storages_[id] == nullptr || written_storages_.contains(storages_[id]);
  }
  /// Where the inputs in whose storage value `id` lies start in it: the sources of the tensors, and
  /// their offsets.
  std::vector<std::pair<SourceId, std::int64_t>> offsets_around(ValueId id) const;
  /// Must be called before an op writes value `id`: keeps the input's data as it is now.
  bool before_write(ValueId id);

  /// True if torch records gradients of what is computed from the value.
  bool is_differentiated(ValueId id) const {
    return graph_.values[id].type.requires_grad || differentiated_.contains(storages_[id]);
  }
  /// Must be called before an op writes value `id` with `values` among its arguments. False where
  /// the segment made the memory, gradients go through it, and torch will not know of the write:
  /// gradient mode is off, or the value shares the memory without being a view to torch. `runs`:
  /// what is recorded is compiled; then an input must not be part of what gradients go through.
  bool may_write_differentiated(ValueId id, const std::vector<ValueId>& values, bool grad_mode,
                                bool runs);

  /// A value that nothing makes yet.
  ValueId new_value(std::string_view stem, TensorType type);
  /// Takes the nodes from `node` on out of the graph, and the calls from `call` on.
  void cut(std::size_t node, std::size_t call);
  /// Appends a call; its result is set when its nodes are known. `callable`: the function that was
  /// called, if another one may have the name that the call's target has.
  std::int32_t add_call(Call call, python::PyRef callable = {});
  /// Appends a node of the last call with tensor results of the given types.
  ValueId add_node(const std::string& op, std::vector<NamedArgument> args, TensorType type);
  /// The same; the result lies in the memory of the value `base`.
  ValueId add_node_in(ValueId base, const std::string& op, std::vector<NamedArgument> args,
                      TensorType type);
  void add_node(const std::string& op, std::vector<NamedArgument> args,
                const std::vector<TensorType>& types, std::vector<ValueId>& results);
  /// Appends a node whose results nobody uses.
  void add_effect(const std::string& op, std::vector<NamedArgument> args);
  /// The type of a result, with its storage numbered by the arguments whose memory it shares.
  std::optional<TensorType> result_type(PyObject* tensor, const std::vector<ValueId>& arguments);
  /// Remembers which memory a result is in, for the results of later nodes.
  void note_storage(ValueId id, PyObject* tensor);
  /// The value's memory is seen as elements of two dtypes from now on.
  void note_other_elements(ValueId id) { seen_otherwise_.insert(storages_[id]); }
  bool has_other_elements(ValueId id) const { return seen_otherwise_.contains(storages_[id]); }
  /// The first value in the memory that value `id` is in, where the segment made that.
  std::optional<ValueId> made_in(ValueId id) const;
  /// Tells memory from other memory while what is recorded lives; null: it is not known.
  const void* memory_of(ValueId id) const { return storages_[id]; }
  /// The graph's output that is value `id`; `object` is the real tensor. `spent`: backward has been
  /// through what led to it, so that nobody asks the graph for gradients of it.
  std::int32_t output(ValueId id, PyObject* object, bool spent = false);

  const Value& value(ValueId id) const { return graph_.values[id]; }
  bool is_input(ValueId id) const {
    return id < input_by_value_.size() && input_by_value_[id] >= 0;
  }
  const Input& input_of(ValueId id) const {
    return graph_.interface.inputs[static_cast<std::size_t>(input_by_value_[id])];
  }
  Graph& graph() { return graph_; }
  const Graph& graph() const { return graph_; }
  const torch::TensorBridge& bridge() const { return bridge_; }

  /// Brings the values into the order that graphs have (inputs first), adds what guards memory that
  /// is written. Leaves: a graph that verifies.
  void finish();

  std::vector<python::PyRef> input_objects;   ///< one per input, as it was at the segment's start
  std::vector<python::PyRef> output_objects;  ///< one per output
  /// Inputs that are written nowhere, and of which none may be another input all the same.
  std::unordered_set<ValueId> apart_inputs;
  std::vector<python::PyRef> callables;  ///< one per call, or null
  GridValues grid;                       ///< what stands for a grid of numbers
  OpenSubgraphs subgraphs;               ///< what control flow runs, while it is recorded
  OpenCheckpoints checkpoints;           ///< whose functions are recorded
  UnseenWrites unseen_writes;            ///< of inputs that require gradients
  /// One per input: the tensor if it was written, or null.
  std::vector<python::PyRef> written_inputs() const;

 private:
  ValueId add_number(InputKind kind, PyObject* number, SourceId source);
  bool may_write_unseen(ValueId id);
  /// A view of all of the value `id`.
  ValueId view_of_whole(ValueId id);
  void infer_sizes(const Node& node, std::vector<TensorType>& types);
  void keep_written_apart();
  InputKind kind_of(PyObject* tensor, const TensorType& type, SourceId source) const;
  /// The number of the memory that value `id` is in, from now on shared with others.
  std::int32_t share_storage(ValueId id);

  const torch::TensorBridge& bridge_;
  bool keep_examples_;
  Graph graph_;
  RecordedGuards guards_;
  std::unordered_map<PyObject*, ValueId> inputs_;   ///< by the tensor object
  std::unordered_map<SourceId, ValueId> input_at_;  ///< by every source that led to it
  std::unordered_map<SourceId, ValueId> numbers_;   ///< inputs that are numbers
  std::unordered_map<const void*, ValueId> input_in_storage_;
  std::vector<std::int32_t> input_by_value_;  ///< input number, or -1
  std::vector<python::PyRef> originals_;      ///< the input tensors themselves
  std::vector<const void*> storages_;         ///< by value: identity while it lives
  std::unordered_map<ValueId, std::int32_t> outputs_;
  std::unordered_map<std::string, int> call_names_;
  std::vector<bool> written_;  ///< by input
  std::unordered_set<const void*> written_storages_, seen_otherwise_;
  /// Memory that the segment made, by the first value in it; and that of which gradients are
  /// recorded.
  std::unordered_map<const void*, ValueId> made_in_;
  std::unordered_set<const void*> differentiated_;
  std::int32_t next_storage_ = 0;
  heap::HeapGaps heap_gaps_;
  KnownValues known_values_;
  policy::ShownArguments arguments_;
  SymbolicSizes sizes_;
};

/// Whether two values lie in one memory that is known.
inline bool is_same_memory(const Recorder& recorder, ValueId a, ValueId b) {
  return recorder.memory_of(a) != nullptr && recorder.memory_of(a) == recorder.memory_of(b);
}

}  // namespace penstock::record
