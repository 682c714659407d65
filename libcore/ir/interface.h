#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/guard.h"
#include "ir/source.h"
#include "ir/tensor_type.h"
#include "ir/training_part.h"

namespace penstock {

/// "[frame/recompile]", with a restarted analysis "[0/0_1]".
struct EntryId {
  std::int32_t frame = 0;
  std::int32_t recompile = 0;
  std::int32_t restart = 0;
  friend bool operator==(const EntryId&, const EntryId&) = default;
};
std::string to_string(const EntryId& id);  ///< "0/0", "1/20", "0/0_1"
Result<EntryId> parse_entry_id(std::string_view text);

/// A symbolic size.
struct Symbol {
  std::string name;             ///< "s0"
  SourceId source = kNoSource;  ///< where its value is read; kNoSource for an unbacked one
  std::int64_t minimum = 0;     ///< inclusive range
  std::int64_t maximum = INT64_MAX;
  std::optional<std::int64_t> hint;  ///< the value at capture; never baked in without a guard
};

enum class InputKind : std::uint8_t {
  user,
  parameter,
  buffer,
  constant,
  size,
  scalar,
  generator,
  tangent,  ///< the gradient of an output, which backward is called with
  saved,    ///< what the forward graph computed for the backward graph
};
std::string_view to_string(InputKind kind);
std::optional<InputKind> input_kind_from_name(std::string_view name);

/// What the graph is called with, in order. Input i is value i of the graph.
struct Input {
  InputKind kind = InputKind::user;
  std::string name;
  SourceId source = kNoSource;  ///< kNoSource for constants
  TensorType type;              ///< tensors; for size and scalar: rank 0, int64 or float64
  std::string blob;             ///< hash of example or constant data in the store; empty: none
};

/// How one output relates to memory that the caller already has.
struct OutputAlias {
  enum class Kind : std::uint8_t { none, input, output };
  Kind kind = Kind::none;  ///< `input`: a view of input `index`; `output`: of output `index`
  std::int32_t index = -1;
};

/// The recorded result or the type of one output.
struct Output {
  TensorType type;
  OutputAlias alias;
  std::string blob;          ///< expected data recorded at capture; empty: none
  std::string grad_fn = {};  ///< the class of torch's node (MulBackward0); in no document
};

/// Input `input` receives the value of output `output` when the graph has run (epilogue of copy_).
struct Mutation {
  std::int32_t input;
  std::int32_t output;
};

/// How to make a Python object real behind a segment. A tree; objects that are shared or cyclic are
/// made once in Interface::objects and named by `object`.
struct Recipe {
  enum class Kind : std::uint8_t {
    output,   ///< output `index` of the graph
    source,   ///< what `source` held at segment start
    literal,  ///< `literal`
    symbol,   ///< the integer `expression`
    list,
    tuple,
    dict,
    set,
    frozenset,
    slice,     ///< `items` (dict: key, value, key, value …)
    instance,  ///< of class items[0] (of a dict's: then a dict of what is in it); name, value, …
    function,  ///< code, globals (None: the frame's), name, defaults, kwdefaults, annotations,
               ///< closure
    cell,      ///< the frame's own in slot `index`; index -1: a new one, items[0] its content
    method,    ///< bound method: items: function, self
    call,      ///< items[0](*items[1:]): only of constructors without side effects
    object,    ///< Interface::objects[index]
  };
  Kind kind = Kind::literal;
  std::int32_t index = -1;
  SourceId source = kNoSource;
  Argument literal;
  SymExpr expression;
  std::vector<Recipe> items;
  std::int64_t live = -1;  ///< literal objects that no document can hold (a type, a code object)
};
std::string_view to_string(Recipe::Kind kind);
std::optional<Recipe::Kind> recipe_kind_from_name(std::string_view name);

/// One thing to do to the frame or the world when the graph has run, in program order.
struct Restore {
  enum class Kind : std::uint8_t {
    local,   ///< localsplus[index] = value (a cell slot: the cell object itself)
    unbind,  ///< localsplus[index] becomes unbound
    stack,   ///< operand stack slot `index` = value
    result,  ///< the frame returns value
    cell,    ///< contents of cell `target` = value
    set_attribute,
    delete_attribute,  ///< target.name
    set_item,
    delete_item,  ///< target[key]
    set_global,
    delete_global,  ///< name in the globals of function `target`, or the root's
    append,
    extend,
    insert,
    pop,
    clear,
    update,
    add,
    remove,    ///< method of list, dict, set, deque
    contents,  ///< list/dict/set `target` gets exactly the contents of `value`
  };
  Kind kind = Kind::local;
  std::int32_t index = -1;
  std::string name;
  Recipe target, key, value;
};
std::string_view to_string(Restore::Kind kind);
std::optional<Restore::Kind> restore_kind_from_name(std::string_view name);

/// Leaves of `returns` are output indices; anything else is a literal or a container.
using ReturnTree = Recipe;

/// Where a segment stops and why.
struct SegmentEnd {
  enum class Kind : std::uint8_t { returned, broke, loop, raised };
  Kind kind = Kind::returned;
  std::int32_t offset = -1;  ///< code unit at which the frame goes on (broke, loop)
  std::string code;          ///< diagnostic code of the break
};

/// A frame of a function that the segment inlined and in which it ends, below the root's or another
/// one's. To make it real the frame around it, standing at its own call, calls the function with
/// the arguments on its stack; the fresh frame then gets these contents and goes on at `offset`.
struct InlinedFrame {
  std::string name;  ///< qualified name of the function
  Recipe function;
  std::int32_t offset = -1;  ///< code unit at which it stands: of the break, or of its call
  std::optional<Location> location;
  std::vector<Restore> restore;  ///< local, unbind, cell and stack records of this frame
};

/// Everything about how a graph meets its program; all levels carry it unchanged, so that `run` in
/// process needs only the last one.
struct Interface {
  EntryId id;
  std::string name;                  ///< qualified name of the root: "toy_example"
  std::optional<Location> location;  ///< first line of the segment
  std::string after;                 ///< id of the segment before it in the same frame; "" for none
  std::int32_t start_offset = 0;  ///< code unit at which the segment starts; 0: the frame's start
  SourceTable sources;
  std::vector<Symbol> symbols;
  std::vector<Input> inputs;
  std::vector<Output> outputs;
  std::vector<Mutation> mutations;
  TrainingPart training;
  std::vector<Guard> guards;    ///< in checking order
  std::vector<Recipe> objects;  ///< shared objects, made on demand
  ReturnTree returns;
  std::vector<Restore> restore;
  SegmentEnd end;
  /// When a segment ends inside functions that it inlined: their frames, outermost first. The root
  /// stands at its own call then (end.offset), with callable and arguments on its stack.
  std::vector<InlinedFrame> frames;
  /// From the segment's start to its graph, less the ops that ran and the freeing of what they
  /// made; written under meta.
  std::int64_t capture_ns = 0;
};

/// Which memory an input is in: the same number for inputs that were in the same one, else one of
/// its own.
inline std::int64_t memory_of(const Interface& interface, std::size_t input) {
  const std::int32_t storage = interface.inputs[input].type.storage;
  return storage < 0 ? static_cast<std::int64_t>(input) : -1 - std::int64_t{storage};
}

}  // namespace penstock
