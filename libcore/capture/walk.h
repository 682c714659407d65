#pragma once

#include <Python.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "capture/callables.h"
#include "capture/compile_api.h"
#include "capture/contents.h"
#include "capture/context.h"
#include "capture/effects.h"
#include "capture/facts.h"
#include "capture/frame_shadow.h"
#include "capture/verdict.h"
#include "capture/recorder.h"
#include "capture/segment_client.h"
#include "capture/shadow.h"
#include "capture/sizes.h"
#include "capture/suspended_generators.h"
#include "capture/torch_plan.h"
#include "python/frame.h"
#include "python/step.h"

namespace penstock::capture {

/// True for what torch keeps about a call of a torch.autograd.Function: a member of its context.
bool is_context_field(PyObject* descriptor);
/// True for a function of Python whose call runs its code, which makes no generator or coroutine.
bool is_plain_function(PyObject* object);
struct IndexChain;
struct Index;

/// True for a dict, or an instance of a subclass whose method `special` is that of dict or OrderedDict.
bool has_dict_slot(PyObject* object, const char* special);
/// True for a tuple, and an instance of a subclass that has the tuple's own length, items and order.
bool has_tuple_slots(PyObject* object);
/// One segment being recorded: the shadows of its frames and the rules by which instructions move
/// them. Rules stand in rules_*.cpp (by opcode) and objects/*.cpp (by what the operands are).
///
/// The contract of a rule: it is called before the instruction, with real operands on the frame's
/// stack and their shadows beside them. Answering false means that the instruction ends the segment;
/// then it has changed no shadow and Verdict::reason() says why. Answering true, it has moved the shadows to
/// what they will be behind the instruction, or left that to FrameShadow::finish.
class Walk {
 public:
  /// `changed` may be null; it must outlive the walk, as all others.
  Walk(const python::TensorBridge& bridge, SchemaTable& schemas, const CompileApi& compile_api,
       Callables& callables, const ChangedNumbers* changed, DynamicSizes dynamic, bool keep_examples);
  ~Walk();

  // What rules need of the program that is captured.
  SchemaTable& schemas;
  const CompileApi& compile_api;
  Callables& callables;

  // What is known and recorded, each with rules of its own.
  Recorder recorder;
  Verdict verdict;
  Facts facts;
  Objects objects;
  Effects effects;
  Sizes sizes;
  Context context;
  SuspendedGenerators generators;

  /// Starts at the frame's place: every local and operand is sourced.
  FrameShadow& start(python::Frame& frame);

  bool before(FrameShadow& frame, const python::Instruction& instruction);
  void after(FrameShadow& frame);
  /// True if `frame` is what the innermost frame's instruction was about to run.
  bool expects(python::Frame& frame) const;
  /// The expected frame runs natively.
  bool expects_native() const { return innermost_->expected.native; }
  FrameShadow& enter(python::Frame& frame);
  /// `raised`: with the error that is set.
  void leave(FrameShadow& frame, bool yielded, bool raised);
  void unwound(FrameShadow& frame, int depth);
  /// The frame's instruction raised (`again`: it raised what its handler was entered for).
  void raised(FrameShadow& frame, bool again);
  /// Where the exceptions were raised whose handlers are open in the frames of the segment. Behind a
  /// segment no exception can be made again: one with an open handler must end before those places.
  std::vector<RaisePlace> open_handlers() const;
  /// The outermost call under way that makes an object in C code (torch.autograd.Function.apply, or type.__call__
  /// called by C code): it goes on with the object that it made itself, so nothing can go on inside it with one that was
  /// made elsewhere.
  std::optional<RaisePlace> open_constructor() const;
  /// ContextVar.set, reset and get.
  bool set_context(FrameShadow& frame, Operand variable, Operand value, int pops);
  bool reset_context(FrameShadow& frame, Operand variable, Operand token, int pops);
  bool get_context(FrameShadow& frame, Operand variable, int pops);
  /// The frame's handler begins.
  void enter_handler(FrameShadow& frame) { frame.handling.push_back(std::exchange(raising_, {})); }

  FrameShadow* innermost() const { return innermost_; }
  /// The segment's own frame.
  FrameShadow& root() const { return *start_; }
  /// Where the frame stands, for what must not be entered the next time.
  static RaisePlace place_of(const FrameShadow& frame);
  /// Where the program's own code is in what `frame` does: all of its calls share a place in torch's.
  RaisePlace program_place(const FrameShadow* frame) const;

  /// Ends the segment at the innermost frame's place: restore records, recipes, outputs. The result
  /// is that of the root when it `returns`.
  CapturedSegment finish(SegmentEnd end, const Operand* result);

  // Used by the rules.

  Location here() const;

  /// True if the frame's instructions from unit `begin` to `end` load Python data that is older than the
  /// segment.
  bool reads_data(const FrameShadow& frame, int begin, int end) const;

  bool is_tensor(PyObject* object) const { return recorder.bridge().is_tensor(object); }

  // -- contents (contents.cpp)

  // -- torch (objects/torch_*.cpp)
  /// The call of a function or method that becomes a call of the graph.
  bool call_op(FrameShadow& frame, const KnownFunction& function, PyObject* object, std::vector<Operand>& positional,
               std::vector<std::pair<PyObject*, Operand>>& keywords, int pops);
  /// True for an attribute or method of tensors that tells a fact of their type.
  bool is_type_fact(const std::string& name) { return callables.of_tensor(name).action == CallAction::fact; }
  /// torch.ops.aten.NAME and torch.ops.aten.NAME.OVERLOAD; nothing for other callables.
  std::optional<bool> call_operator(FrameShadow& frame, Operand callable,
                                    const std::vector<Operand>& positional,
                                    const std::vector<std::pair<PyObject*, Operand>>& keywords, int pops);
  bool torch_call(FrameShadow& frame, const TorchTarget& target, std::span<const Operand> positional,
                  std::span<const std::pair<PyObject*, Operand>> keywords, int pops);
  /// One call of a graph that a backend of the program's own gets, whatever torch does in it
  /// (objects/whole_call.cpp). Nothing where an argument cannot be in a graph.
  std::optional<bool> whole_call(FrameShadow& frame, const TorchTarget& target, std::span<const Operand> positional,
                                 std::span<const std::pair<PyObject*, Operand>> keywords, int pops);
  /// A call of Python code that such a graph has as one.
  std::optional<bool> call_whole_function(FrameShadow& frame, Operand function, const std::vector<Operand>& positional,
                                          const std::vector<std::pair<PyObject*, Operand>>& keywords, int pops);
  bool tensor_method(FrameShadow& frame, const std::string& name, std::vector<Operand>& positional,
                     std::vector<std::pair<PyObject*, Operand>>& keywords, int pops);
  /// The numbers that a tensor is made of (objects/torch_data.cpp); nothing when it is other data, or more than
  /// a graph should hold.
  std::optional<PythonData> python_data(Operand data);
  /// Appends the nodes that make the tensor; the last one gives it. `dtype` may be left to torch only where the
  /// data is uniform.
  bool plan_data(PythonData& data, std::optional<DType> dtype, std::vector<PlannedNode>& nodes);
  /// torch.tensor and torch.as_tensor.
  bool make_tensor(FrameShadow& frame, std::string_view function, const std::vector<Operand>& positional,
                   const std::vector<std::pair<PyObject*, Operand>>& keywords, int pops);
  bool tell_fact(FrameShadow& frame, std::string_view fact, const std::vector<Operand>& positional,
                 int pops);
  bool pass_number(Operand number, std::size_t position, bool method, Argument& argument, ResolvedCall& call);
  bool record(FrameShadow& frame, Call call, std::vector<PlannedNode> nodes,
              const std::vector<Operand>& operands, int pops, PyObject* callable = nullptr);
  void add_planned(FrameShadow& frame, Call call, python::PyRef callable, std::vector<PlannedNode> nodes, int pops);
  Shadow whole_result(std::int32_t call, PlannedNode node, PyObject* result);
  Shadow result_shadow(PlannedNode& node, PyObject* result, std::vector<Argument>& values);
  /// Appends a node that gives `tensor`, which torch's code made by itself, as the result of `call`.
  Shadow planned_result(std::int32_t call, PlannedNode node, PyObject* tensor);
  /// Of a tensor that is a value of the graph.
  std::optional<ValueId> value_of(Shadow tensor) const;
  std::optional<Argument> argument(Operand operand);
  std::optional<Argument> size_or_argument(Operand item);
  std::optional<Argument> shown(Operand key);
  CallStack stack() const;
  bool consume_tensor_type(Operand tensor);
  bool is_tensor_method(PyObject* name);
  bool tensor_attribute(FrameShadow& frame, Operand tensor, PyObject* name, const AttributeUse& use);
  /// Attributes that the program keeps in a tensor's dict; `value` without an object: it is deleted.
  bool own_tensor_attribute(FrameShadow& frame, Operand tensor, PyObject* name, const AttributeUse& use);
  bool store_tensor_attribute(FrameShadow& frame, Operand tensor, PyObject* name, Operand value, int pops, bool call);
  bool tensor_subscript(FrameShadow& frame);
  bool tensor_store_subscript(FrameShadow& frame);
  /// Guards a number or slice that is an index, but for symbolic sizes.
  bool consume_index(Operand index);
  bool index_chain(Operand tensor, Operand key, bool store, IndexChain& chain);
  std::optional<Argument> symbolic_index(Operand index);
  bool apply_indices(const std::vector<Index>& indices, bool tuple, bool store, std::int64_t used,
                     IndexChain& chain);
  bool binary_tensor(FrameShadow& frame, int operation);
  bool divide_number(FrameShadow& frame, const TorchTarget& target, Operand number, Operand tensor);
  bool compare_tensor(FrameShadow& frame, int operation);
  bool unary_tensor(FrameShadow& frame, const char* name, const char* op);
  bool unpack_tensor(FrameShadow& frame, int count);
  bool iterate_tensor(FrameShadow& frame);

  // -- sizes (objects/size.cpp)
  /// The tuple of all sizes.
  bool tensor_shape(FrameShadow& frame, Operand tensor, int pops, bool method);
  bool tell_size(FrameShadow& frame, std::string_view fact, const std::vector<Operand>& positional,
                 int pops, std::optional<bool>& done);
  bool tensor_length(FrameShadow& frame, Operand tensor, int pops);

  // -- numbers (objects/number.cpp)
  /// Tensor.item(), int(): of an input that holds one integer, a number that is read before each run and whose
  /// value decides nothing. Nothing for other tensors.
  std::optional<bool> element_number(FrameShadow& frame, Operand tensor, int pops);
  /// The instruction computes a number of others (`right` may be null). Nothing when none of them is
  /// followed or the result cannot be: then it is made of constants.
  std::optional<bool> number_operation(FrameShadow& frame, NumberOp op, Operand left,
                                       const Operand* right, int pops);

  // -- calls (objects/call.cpp)
  bool call(FrameShadow& frame, Operand callable, std::vector<Operand> positional,
            std::vector<std::pair<PyObject*, Operand>> keywords, int pops);
  bool call_function(FrameShadow& frame, Operand function, std::vector<Operand> positional,
                     std::vector<std::pair<PyObject*, Operand>> keywords, int pops);
  bool call_type(FrameShadow& frame, Operand type, std::vector<Operand> positional,
                 std::vector<std::pair<PyObject*, Operand>> keywords, int pops);
  bool call_builtin(FrameShadow& frame, Operand function, std::vector<Operand> positional,
                    std::vector<std::pair<PyObject*, Operand>> keywords, int pops);
  bool bind_self(Operand function, std::vector<Operand>& positional);
  /// Runs a method that the type's slot finds; false without a reason when the type has none in
  /// Python.
  bool call_special(FrameShadow& frame, Operand self, const char* name,
                    std::vector<Operand> arguments, int pops, bool& known);

  /// callable(*generator): the resumes are followed, then the call.
  bool call_unpacking(FrameShadow& frame, Operand callable, Operand generator, int pops);
  Operand method_part(Operand method, int part);
  bool consume_function(Operand function);
  bool consume_all(const std::vector<Operand>& positional,
                   const std::vector<std::pair<PyObject*, Operand>>& keywords);
  // objects/generator.cpp
  bool make_generator(FrameShadow& frame, Expected expected, int pops);
  /// The instruction has made `generator` by the call; the shadow of it.
  Shadow adopt_generator(PyObject* generator, const Expected& call);
  bool call_partial(FrameShadow& frame, Operand partial, std::vector<Operand> positional,
                    std::vector<std::pair<PyObject*, Operand>> keywords, int pops);
  bool call_class(FrameShadow& frame, Operand type, std::vector<Operand> positional,
                  std::vector<std::pair<PyObject*, Operand>> keywords, int pops);
  bool call_super(FrameShadow& frame, const std::vector<Operand>& positional, int pops);
  bool make_dict(FrameShadow& frame, const std::vector<Operand>& positional,
                 const std::vector<std::pair<PyObject*, Operand>>& keywords, int pops);
  bool make_iterator(FrameShadow& frame, PyObject* type, const std::vector<Operand>& positional,
                     const std::vector<std::pair<PyObject*, Operand>>& keywords, int pops);
  struct MadeGenerator;
  std::optional<MadeGenerator> iterates_by_generator(Operand operand, std::size_t base);
  void find_made_generator(Operand iterator, const MadeGenerator& made);
  /// The pairs of which a dict is made; nothing when they are not followed.
  std::optional<std::vector<std::pair<python::PyRef, Shadow>>> pairs_of(Operand iterable);
  bool slice_module_list(FrameShadow& frame, Operand function, Operand list, Operand slice, int pops);
  bool call_signature(FrameShadow& frame, Operand function, const std::vector<Operand>& positional, int pops);
  bool reduces_generator(FrameShadow& frame, Operand generator, int pops);
  /// Functions written in Python whose effect ends a segment.
  std::optional<bool> call_compile_api(FrameShadow& frame, Served served,
                                       const std::vector<Operand>& positional, int pops);
  // objects/constant_call.cpp
  std::optional<Shadow> made_of_constants(PyObject* object);
  std::optional<bool> call_assumed(FrameShadow& frame, Operand function, const std::vector<Operand>& positional,
                                   int pops);
  bool call_once(FrameShadow& frame, Operand function, const std::vector<Operand>& positional,
                 const std::vector<std::pair<PyObject*, Operand>>& keywords, int pops);
  static std::optional<bool> model_signature(Walk& walk, FrameShadow& frame, Operand function,
                                             const std::vector<Operand>& positional,
                                             const std::vector<std::pair<PyObject*, Operand>>& keywords, int pops);
  static std::optional<bool> model_copy(Walk& walk, FrameShadow& frame, Operand function,
                                        const std::vector<Operand>& positional,
                                        const std::vector<std::pair<PyObject*, Operand>>& keywords, int pops);
  static std::optional<bool> model_module_list_item(Walk& walk, FrameShadow& frame, Operand function,
                                                    const std::vector<Operand>& positional,
                                                    const std::vector<std::pair<PyObject*, Operand>>& keywords,
                                                    int pops);
  std::optional<bool> call_known_python(
      FrameShadow& frame, Operand function, const std::vector<Operand>& positional,
      const std::vector<std::pair<PyObject*, Operand>>& keywords, int pops);
  static std::optional<bool> model_check(Walk& walk, FrameShadow& frame, Operand function,
                                         const std::vector<Operand>& positional,
                                         const std::vector<std::pair<PyObject*, Operand>>& keywords, int pops);
  /// A function of functools.lru_cache: what it gives without arguments is asked for again by the guard.
  bool call_cached(FrameShadow& frame, Operand function, int pops);
  /// copy.copy and copy.deepcopy (objects/copying.cpp)
  bool call_copy(FrameShadow& frame, Operand function, bool deep, Operand from, int pops);
  bool is_handled(const FrameShadow& frame) const;
  // objects/autograd_function.cpp
  /// The C code of torch.autograd.Function.apply, for the class `type`.
  bool apply_function(FrameShadow& frame, Operand type, const std::vector<Operand>& arguments, int pops);
  Shadow function_result(PyObject* result, Shadow given, const std::vector<Operand>& arguments);
  Shadow function_output(PyObject* tensor, Shadow given, const std::vector<Operand>& arguments);
  /// What torch's own code binds to the parameters of a forward.
  static std::optional<bool> model_bind_defaults(Walk& walk, FrameShadow& frame, Operand function,
                                                 const std::vector<Operand>& positional,
                                                 const std::vector<std::pair<PyObject*, Operand>>& keywords, int pops);
  // objects/map.cpp
  static std::optional<bool> model_map(Walk& walk, FrameShadow& frame, Operand function,
                                       const std::vector<Operand>& positional,
                                       const std::vector<std::pair<PyObject*, Operand>>& keywords, int pops);
  std::optional<bool> map_rows(FrameShadow& frame, const std::vector<Operand>& positional, int pops);
  Shadow row(PyObject* tensor, ValueId of, int index);
  Shadow stacked(PyObject* tensor, const std::vector<Shadow>& results);

  // -- attributes (objects/attribute.cpp, module.cpp)
  bool load_generic_attribute(FrameShadow& frame, Operand self, PyObject* name,
                              const AttributeUse& use);
  bool load_module_attribute(FrameShadow& frame, Operand module, PyObject* name,
                              const AttributeUse& use);
  bool load_type_attribute(FrameShadow& frame, Operand type, PyObject* name,
                              const AttributeUse& use);
  bool load_super_attribute(FrameShadow& frame, Operand super, PyObject* name,
                              const AttributeUse& use);
  bool load_descriptor(FrameShadow& frame, Operand self, PyObject* descriptor, PyObject* name,
                       const AttributeUse& use);
  bool load_module_child(FrameShadow& frame, Operand self, PyObject* fallback, PyObject* name,
                         const AttributeUse& use);
  bool runs_for_attribute(FrameShadow& frame, Operand self, PyObject* function, const char* special,
                          std::vector<Operand> arguments, PyObject* name, const AttributeUse& use);
  bool lacks_attribute(FrameShadow& frame, Operand self, PyObject* name, const AttributeUse& use);
  bool lacks_type_attribute(FrameShadow& frame, Operand type, PyObject* name, const AttributeUse& use);
  /// What a module's __getattr__ finds; null when absent (guarded), nothing when it has no tables.
  std::optional<Shadow> module_child(Operand self, PyObject* name, bool& present);
  bool push_attribute(FrameShadow& frame, Shadow value, const AttributeUse& use);
  bool push_method(FrameShadow& frame, Operand self, PyObject* descriptor, PyObject* name,
                   const AttributeUse& use);
  Shadow class_attribute(Operand instance, PyObject* name);
  bool consume_enum(Operand operand);
  bool load_attribute(FrameShadow& frame, PyObject* name, bool method);
  bool load_attribute(FrameShadow& frame, Operand self, PyObject* name, const AttributeUse& use);
  bool store_attribute(FrameShadow& frame, PyObject* name);
  bool delete_attribute(FrameShadow& frame, PyObject* name);
  /// Sets an attribute, or deletes it where `value` has no object. `call`: a call that gives None.
  bool store_attribute(FrameShadow& frame, Operand self, PyObject* name, Operand value, int pops,
                       bool call);
  /// … as object.__setattr__ and object.__delattr__ do.
  bool store_generic_attribute(FrameShadow& frame, Operand self, PyObject* name, Operand value,
                               int pops, bool call);
  bool runs_to_store(FrameShadow& frame, Operand self, PyObject* descriptor, Operand value, int pops,
                     bool call);

  // -- sequences, mappings (objects/container.cpp)
  /// What the slots of dict do. `call`: a call, which gives None.
  bool dict_get_item(FrameShadow& frame, Operand dict, Operand key, int pops);
  bool dict_set_item(FrameShadow& frame, Operand dict, Operand key, Operand value, int pops, bool call);
  bool dict_delete_item(FrameShadow& frame, Operand dict, Operand key, int pops, bool call);
  bool dict_contains(FrameShadow& frame, Operand dict, Operand key, int pops);
  /// True unless dict_value() found nothing out.
  bool is_item_known(Shadow item, Operand key);
  bool load_subscript(FrameShadow& frame);
  bool store_subscript(FrameShadow& frame);
  bool delete_subscript(FrameShadow& frame);
  bool contains(FrameShadow& frame, bool invert);
  bool gives_dict(FrameShadow& frame, int pops,
                  std::vector<std::pair<python::PyRef, Shadow>> pairs);
  void copy_items(ObjectId target, Operand source);
  std::vector<std::pair<python::PyRef, Shadow>> all_pairs(Operand dict);

  // -- iteration (objects/iteration.cpp)
  bool get_iterator(FrameShadow& frame);
  bool next_item(FrameShadow& frame);
  /// How the operand is gone over, if it is a container or an iterator that we follow.
  std::unique_ptr<IteratorShadow> iteration_of(Operand iterable);
  /// The generator that advancing runs, if any.
  PyObject* generator_in(const IteratorShadow& over);
  /// The instruction will advance to the end: expects the generator's resumes. False (a break) when
  /// they cannot be followed.
  bool goes_over_all(FrameShadow& frame, const IteratorShadow& over);
  /// The shadow of the next item, given the item itself; advances.
  Shadow advance(IteratorShadow& over, PyObject* item);
  /// The instruction makes a list, tuple … of what is left of `iterable`; `make` gets the shadows.
  bool gathers(FrameShadow& frame, Operand iterable, int pops);
  bool gives_iterator(FrameShadow& frame, int pops, std::unique_ptr<IteratorShadow> over);
  bool not_iterable(Operand operand);

  // -- results
  /// The instruction consumes `pops` operands and gives a value that the guards determine.
  bool gives_constant(FrameShadow& frame, int pops);
  bool gives(FrameShadow& frame, int pops, Shadow shadow);
  /// … gives a new object with these items.
  bool gives_fresh(FrameShadow& frame, int pops, std::vector<Shadow> items);
  /// … gives what the expected Python frame returns.
  bool gives_call_result(FrameShadow& frame, int pops);

  Shadow global_value(FrameShadow& frame, PyObject* name, PyObject* value);
  /// Fills the locals of a frame that begins.
  void bind_arguments(FrameShadow& frame, const BoundArguments& arguments, const Expected& expected);
  /// The shadow of the cell that the closure of the frame's function has for a free variable.
  Shadow free_variable(const FrameShadow& frame, PyObject* cell, PyObject* name, int slot, int index);
  void store_global(FrameShadow& frame, PyObject* name, Operand value);

 private:
  bool read_data(Operand data, std::size_t depth, PythonData& read);
  class Copying;

  std::vector<std::unique_ptr<FrameShadow>> frames_;
  FrameShadow* innermost_ = nullptr;
  FrameShadow* start_ = nullptr;
  RaisePlace raising_;  ///< of the exception that is looking for its handler
  int start_unit_ = 0;
  Location start_location_;
};

}  // namespace penstock::capture
