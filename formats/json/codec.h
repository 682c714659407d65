#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "formats/document.h"
#include "formats/json/field.h"
#include "ir/argument_text.h"

/// One encode and one decode function per part of a document, by family in files of their own. The
/// encodings are described, field by field, in penstock-graph(5).

namespace penstock::formats {

/// Names of the values of the graph being written; where there are none (levels `loops` and
/// `kernels`), a value is written as its number.
struct ValueNames {
  const std::vector<Value>* values = nullptr;
  Json operator()(ValueId id) const;
};

/// Ids of the values of the graph being read.
class ValueIds {
 public:
  /// Levels without value names: a value is a number.
  ValueIds() = default;
  explicit ValueIds(std::vector<Value>& values) : values_(&values) {}

  /// Appends a value; a problem when the name is taken.
  ValueId add(Value value, const Field& field);
  /// The value that `field` names; a problem when there is none.
  ValueId find(const Field& field) const;
  /// From now on find() makes values for unknown names: calls name what passes have removed.
  void allow_unknown() { allow_unknown_ = true; }

 private:
  std::vector<Value>* values_ = nullptr;
  mutable std::unordered_map<std::string, ValueId> ids_;
  bool allow_unknown_ = false;
};

// argument.cpp
Json encode_argument(const Argument& argument, const ValueNames& names);
Json encode_arguments(const std::vector<Argument>& arguments, const ValueNames& names);
Json encode_arguments(const std::vector<NamedArgument>& arguments, const ValueNames& names);
Argument decode_argument(const Field& field, const ValueIds& ids);
std::vector<Argument> decode_arguments(const Field& field, const ValueIds& ids);
std::vector<NamedArgument> decode_named_arguments(const Field& field, const ValueIds& ids);

// type.cpp
Json encode_location(const Location& location);
Location decode_location(const Field& field);
Json encode_type(const TensorType& type);
TensorType decode_type(const Field& field);

// recipe.cpp
Json encode_recipe(const Recipe& recipe, const SourceTable& sources);
Recipe decode_recipe(const Field& field, SourceTable& sources);
Json encode_restore(const Restore& restore, const SourceTable& sources);
Restore decode_restore(const Field& field, SourceTable& sources);
SourceId decode_source(const Field& field, SourceTable& sources);

// guard.cpp, event.cpp
Json encode_guard(const Guard& guard, const SourceTable& sources);
Guard decode_guard(const Field& field, SourceTable& sources);
Json encode_event(const BreakEvent& event);
Json encode_event(const SkipEvent& event);
Json encode_event(const RecompileEvent& event);
Json encode_event(const RestartEvent& event);
Json encode_event(const BackendEvent& event, Json& meta);
BreakEvent decode_break(Record& record);
SkipEvent decode_skip(Record& record);
RecompileEvent decode_recompile(Record& record);
RestartEvent decode_restart(Record& record);
BackendEvent decode_backend(Record& record, Json& meta);
EntryId decode_entry_id(const Field& field);

// interface.cpp
/// Adds the fields of `interface` to `out`. What each input and output is inside the graph (a
/// value, a buffer), the levels add to its record.
void encode_interface(const Interface& interface, Json& out);
/// Its inputs and outputs alone, as encode_interface has them.
void encode_boundary(const Interface& interface, Json& out);
/// Reads them, but for inputs and outputs and the blobs, which stand in a record of their own.
void decode_interface(Record& record, Interface& interface);
/// Read inputs and outputs; visit(record) reads what the level keeps in the record of each.
using BoundaryField = std::function<void(Record&)>;
void decode_inputs(Record& record, Interface& interface, const BoundaryField& visit);
void decode_outputs(Record& record, Interface& interface, const BoundaryField& visit);

// blobs.cpp, calls.cpp
/// A reference to a blob: what has it, and the hash.
Json blob_reference(std::string_view use, std::size_t index, const std::string& hash);
/// Those of the inputs and outputs.
void encode_blobs(const Interface& interface, Json& out);
/// Reads the whole `blobs` record; `other(use, index, hash)` takes those that are no input's and no
/// output's and returns false for what it does not know.
using OtherBlob = std::function<bool(std::string_view use, std::size_t index, std::string hash)>;
void decode_blobs(Record& record, Interface& interface, const OtherBlob& other);
Json encode_calls(const std::vector<Call>& calls, const ValueNames& names);
std::vector<Call> decode_calls(const Field& field, const ValueIds& ids);

// graph.cpp, placed.cpp, loops.cpp, kernels.cpp: one per level
void encode_graph(const Graph& graph, Json& out, Json& blobs);
Graph decode_graph(Record& record, Level level);
/// What a graph has besides its interface and subgraphs, and a subgraph without its own.
void encode_body(const Graph& graph, Json& out);
Json encode_subgraph(const Graph& graph);
Graph decode_subgraph(Record& record, Level level);
void encode_graph(const PlacedGraph& graph, Json& out, Json& blobs);
PlacedGraph decode_placed(Record& record);
void encode_graph(const LoopProgram& program, Json& out, Json& blobs);
LoopProgram decode_loops(Record& record);
void encode_graph(const KernelBundle& bundle, Json& out, Json& blobs);
KernelBundle decode_kernels(Record& record);

// buffer.cpp: what loops and kernels share
Json encode_buffers(const std::vector<Buffer>& buffers);
std::vector<Buffer> decode_buffers(const Field& field);
void encode_blobs(const std::vector<Buffer>& buffers, Json& out);
bool decode_blob(std::string_view use, std::size_t index, std::string& hash,
                 std::vector<Buffer>& buffers);
Json encode_step(const LibraryCall& call);
Json encode_step(const FallbackCall& call);
LibraryCall decode_library_call(Record& record);
FallbackCall decode_fallback_call(Record& record);

// program.cpp: the other documents; times and paths go to `meta`
Json encode_program(const ProgramDocument& document, Json& meta);
Json encode_result(const ResultDocument& document, Json& meta);
Json encode_end(const EndDocument& document, Json& meta);
ProgramDocument decode_program(Record& record, Json& meta);
ResultDocument decode_result(Record& record, Json& meta);
EndDocument decode_end(Record& record, Json& meta);

// document.cpp
Json encode_document(const Document& document, bool tensors, bool strip_meta);
/// Problems stand in field.problems().
std::optional<Document> decode_document(const Field& field);

// text.cpp
std::string to_line(const Json& json);    ///< canonical, no newline
std::string to_pretty(const Json& json);  ///< records that fit into 100 columns stand on one line

}  // namespace penstock::formats
