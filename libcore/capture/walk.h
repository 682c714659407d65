#pragma once

#include <Python.h>

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "capture/callables.h"
#include "capture/compile_api.h"
#include "capture/frame_shadow.h"
#include "capture/recorder.h"
#include "capture/segment_client.h"
#include "capture/shadow.h"
#include "capture/torch_plan.h"
#include "python/compile_region.h"
#include "python/frame.h"
#include "python/step.h"

namespace penstock::capture {

/// Something done to an object that existed before the segment, or to the process.
struct Effect {
  Restore::Kind kind;
  Shadow target;
  python::PyRef target_object;
  std::string name;
  Shadow key;
  python::PyRef key_object;
  Shadow value;
  python::PyRef value_object;
  std::int32_t index = -1;
};

/// Why an instruction cannot be part of a segment.
struct BreakReason {
  Code code = Code::PS0601;
  std::string reason;
  bool silent = false;  ///< the segment ends as designed; it is no break to report
  /// No graph can go on here, whoever makes it: what fullgraph=True raises for.
  bool anywhere = false;
  std::string rule = {};  ///< on callables, where one decided; as reports name it
};

/// The state of torch's generator of random numbers on the CPU; null (no error set): there is none.
python::PyRef random_state();
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
/// The keys of a dict in the order in which it is gone over; a new list.
python::PyRef keys_in_order(PyObject* dict);

/// True for objects whose identity is all there is to know: they are compared by identity.
bool is_known_by_identity(PyObject* object);

/// A context variable that the segment has set and not reset.
struct OpenContext {
  python::PyRef variable, token;
  Shadow value;
  python::PyRef value_object;
  RaisePlace place;  ///< of the call that set it
};

/// One segment being recorded: the shadows of its frames and the rules by which instructions move
/// them. Rules stand in rules_*.cpp (by opcode) and objects/*.cpp (by what the operands are).
///
/// The contract of a rule: it is called before the instruction, with real operands on the frame's
/// stack and their shadows beside them. Answering false means that the instruction ends the segment;
/// then it has changed no shadow and `reason` says why. Answering true, it has moved the shadows to
/// what they will be behind the instruction, or left that to FrameShadow::finish.
class Walk {
 public:
  /// `changed` may be null; it must outlive the walk, as all others.
  Walk(const python::TensorBridge& bridge, SchemaTable& schemas, const CompileApi& compile_api,
       Callables& callables, const ChangedNumbers* changed, DynamicSizes dynamic, bool keep_examples);
  ~Walk();

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
  /// The first call that set a context variable and whose token nobody holds: what is behind the segment could not
  /// set it again.
  std::optional<RaisePlace> lost_context() const;
  /// ContextVar.set, reset and get.
  bool set_context(FrameShadow& frame, Operand variable, Operand value, int pops);
  bool reset_context(FrameShadow& frame, Operand variable, Operand token, int pops);
  bool get_context(FrameShadow& frame, Operand variable, int pops);
  /// The frame's handler begins.
  void enter_handler(FrameShadow& frame) { frame.handling.push_back(std::exchange(raising_, {})); }

  FrameShadow* innermost() const { return innermost_; }
  const BreakReason& reason() const { return reason_; }
  Recorder& recorder() { return recorder_; }
  /// Something happened that no rule foresaw: what was recorded must not be used.
  /// The instruction that made a tensor which no graph can hold; the segment is spoilt then.
  const std::optional<RaisePlace>& spoiled_at() const { return spoiled_at_; }
  void spoil(std::string why) { spoiled_ = std::move(why); }
  /// The same, and the next segment is to end before the instruction that is executing.
  void spoil_here(std::string why, Code code = Code::PS0303);
  Code spoil_code() const { return spoil_code_; }
  bool spoiled() const { return !spoiled_.empty(); }
  /// Where the frame stands, for what must not be entered the next time.
  static RaisePlace place_of(const FrameShadow& frame);
  const std::string& spoiled_by() const { return spoiled_; }
  /// The instruction before which a spoiled segment has to end the next time: gradient mode would differ
  /// behind it, or what it runs could not be made real. No code when it was something else.
  RaisePlace must_end_before() const { return spoiled() ? end_place_ : RaisePlace{}; }

  /// Ends the segment at the innermost frame's place: restore records, recipes, outputs. The result
  /// is that of the root when it `returns`.
  CapturedSegment finish(SegmentEnd end, const Operand* result);

  // Used by the rules.

  bool broke(Code code, std::string reason, bool anywhere = false);
  /// A rule ends the segment at the call of `name`.
  bool broke(const CallRule& rule, std::string_view name);
  bool end_silently();
  Location here() const;

  /// True if the frame's instructions from unit `begin` to `end` load Python data that is older than the
  /// segment.
  bool reads_data(const FrameShadow& frame, int begin, int end) const;

  // -- facts
  /// Makes the operand a constant of the segment by guarding its value; false (with the reason) when
  /// its value cannot be known.
  bool consume(Operand operand);
  /// Guards the type; true for anything but unknown.
  bool consume_type(Operand operand);
  /// Guards that it is the same object.
  bool consume_identity(Operand operand);
  /// Guards what id() gives; false (with the reason) when the object differs from call to call.
  bool consume_address(Operand operand);
  /// A key of a set that is no input: what compares and hashes by identity is known by it.
  bool consume_hashed(Operand operand);
  /// The operand's truth, guarded; an empty result with the reason set when it is data.
  std::optional<bool> consume_truth(Operand operand);
  bool is_tensor(PyObject* object) const { return recorder_.bridge().is_tensor(object); }
  /// True for a tensor whose elements are the same whenever the segment runs.
  bool is_known_tensor(Operand operand) const {
    return operand.shadow.is(Shadow::Kind::node) && is_tensor(operand.object) && recorder_.is_known(operand.shadow.index);
  }
  void add_guard(GuardKind kind, SourceId source, Argument expected, PyObject* live = nullptr);
  /// A guard on the object or type itself, described by its name.
  void add_live_guard(GuardKind kind, SourceId source, PyObject* object);

  // -- contents (contents.cpp)
  ObjectId contents(Operand operand);
  ObjectShadow& object(ObjectId id) { return objects_[id]; }
  ObjectShadow* find(PyObject* object);
  /// Lets go of containers, bound methods and the like that were made in the segment and that the program has
  /// let go of: a call's `args` would keep every tensor that was ever passed, and objects kept by the thousand
  /// would have Python collect garbage where it would not without us.
  void release_dead();
  /// Time that freeing what release_dead lets go of took: plain Python frees it too.
  std::chrono::nanoseconds freeing() const { return freeing_; }
  /// From now on lets go of all objects made in the segment that the program has let go of.
  void release_all() { releases_all_ = true; }
  Shadow fresh(PyObject* object, std::vector<Shadow> items = {});
  /// All items of a list or tuple; guards the length of one that is not ours.
  const std::vector<Shadow>& items(Operand sequence);
  /// One of them, without looking at the others; unknown when there is none there.
  Shadow item(Operand sequence, Py_ssize_t index);
  /// The length of a list or tuple, guarded.
  Py_ssize_t guard_length(Operand sequence);
  /// The dict that holds an instance's attributes; kNoSource when it is not followed.
  ObjectId instance_dict(Operand instance);
  /// False and a break where the segment changed a dict or set that is older: what its size was at the
  /// start is not known then. `asked`: its size or its truth.
  bool size_is_known(Operand container, std::string_view asked);
  /// Guards the number of keys of a dict or set, if it is known.
  bool guard_size(Operand container);
  ObjectId dict_contents(Operand dict);
  /// The shadow of dict[key]; `value` is the real value, null: absent, which is guarded. Unknown, whether it is
  /// there or not, where no guard can tell.
  Shadow dict_value(ObjectId dict, PyObject* key, PyObject* value);
  void dict_store(ObjectId dict, PyObject* key, Shadow value);
  /// Guards which keys a dict has, in order.
  bool consume_keys(Operand dict);
  Shadow cell_content(PyObject* cell);
  void effect(Restore::Kind kind, Operand target, std::string name, Operand key, Operand value);

  // -- torch (objects/torch_*.cpp)
  /// The call of a function or method that becomes a call of the graph.
  bool call_op(FrameShadow& frame, const KnownFunction& function, PyObject* object, std::vector<Operand>& positional,
               std::vector<std::pair<PyObject*, Operand>>& keywords, int pops);
  /// True for an attribute or method of tensors that tells a fact of their type.
  bool is_type_fact(const std::string& name) { return callables_.of_tensor(name).action == CallAction::fact; }
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
  void guard_grad_mode();
  /// The instruction is about to set gradient mode.
  bool sets_grad_mode(bool enabled);
  /// Guards what NAME() of the module answers. False with the reason if it cannot be asked.
  bool guard_setting(std::string_view name, std::string_view module = "torch._C");
  /// Guards the default dtype when the result's dtype comes from it: it is floating and no operand is.
  bool guard_default_dtype(const PlannedNode& node, const TensorType& result);
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
  const TensorType* known_type(Operand tensor) const;
  /// Makes the tensor an input if a size of it is to be a symbol.
  bool name_sizes(Operand tensor);
  bool has_symbolic_sizes(Operand tensor) const;
  /// An int as an expression of symbolic sizes, or a constant; nothing for other numbers. `as_size`: it says
  /// how large something is, so numbers that change become symbols too.
  std::optional<SymExpr> expression_of(Operand number, bool as_size);
  std::optional<SymExpr> expression_of(SourceId number, bool as_size);
  std::optional<SymExpr> find_expression(SourceId number, bool as_size);
  /// Where Python's number for an expression is read.
  SourceId source_of(const SymExpr& expression);
  SourceId source_of_term(const SymTerm& term);
  SourceId number_constant(std::int64_t value);
  Shadow size_shadow(const SymExpr& size);
  /// The truth of a comparison of sizes, guarded if it depends on them; nothing when they are none.
  std::optional<bool> compare_sizes(NumberOp op, Operand left, Operand right);
  /// The tuple of all sizes.
  bool tensor_shape(FrameShadow& frame, Operand tensor, int pops, bool method);
  /// What a function or method that tells a fact tells of symbolic sizes: `done` if that is followed,
  /// else it is a constant.
  /// Holds the segment to inputs that lie where they do in the storage of `tensor`: they may lie anywhere in it.
  void guard_offset(ValueId tensor);
  bool tell_size(FrameShadow& frame, std::string_view fact, const std::vector<Operand>& positional,
                 int pops, std::optional<bool>& done);
  bool tensor_length(FrameShadow& frame, Operand tensor, int pops);
  bool takes_size(const ResolvedCall& call, std::string_view parameter) const;
  Argument without_symbols(const Argument& argument);
  void check_sizes(ResolvedCall& call);
  void check_offset(const ResolvedCall& call);

  // -- numbers (objects/number.cpp)
  /// True for a number that changes from call to call, and for what is computed of one.
  bool is_followed(Operand number);
  bool is_computed(Operand operand) const;
  /// Tensor.item(), int(): of an input that holds one integer, a number that is read before each run and whose
  /// value decides nothing. Nothing for other tensors.
  std::optional<bool> element_number(FrameShadow& frame, Operand tensor, int pops);
  /// The instruction computes a number of others (`right` may be null). Nothing when none of them is
  /// followed or the result cannot be: then it is made of constants.
  std::optional<bool> number_operation(FrameShadow& frame, NumberOp op, Operand left,
                                       const Operand* right, int pops);
  /// The value of a number that `parameter` of `op` takes as an input, beside a tensor of dtype
  /// `self`; nothing when it must be a constant.
  std::optional<Argument> number_input(Operand number, const std::string& op,
                                       std::string_view parameter, std::optional<DType> self);
  /// The length of a container that was found to change; unknown when it is a constant or the segment
  /// has changed more of it than its end.
  Shadow followed_length(Operand container);
  SourceId number_source(Operand number);
  SourceId computed(NumberOp op, SourceId left, SourceId right);
  int operands_of(SourceId number) const;
  bool fits_dtype(Operand number, DType dtype);

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
  /// A generator of the segment has yielded.
  void suspend_generator(FrameShadow& frame);
  std::unique_ptr<FrameShadow> resume_generator(PyObject* generator);
  /// Lets go of suspended generators that the program has let go of. What one runs then that is inside a `try` or
  /// `with` no graph repeats.
  void release_abandoned();
  bool release_suspended();
  /// Where a generator was made that is suspended inside a block.
  std::optional<RaisePlace> open_block() const;
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
  void guard_type_version(Operand operand);
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
  PyObject* generator_in(const IteratorShadow& over) const;
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
  /// Where the program's own code is in what `frame` does: all of its calls share a place in torch's.
  RaisePlace program_place(const FrameShadow* frame) const;

  /// What is reached by two sources is one object.
  void guard_same(Shadow known, Shadow again);
  Shadow value_of_object(const ObjectShadow& dict, PyObject* key, PyObject* value);
  bool read_data(Operand data, std::size_t depth, PythonData& read);
  /// An item that a list or tuple had at the segment's start.
  Shadow old_item(const ObjectShadow& known, Py_ssize_t index);
  bool consume_items(Operand sequence);
  bool release_some();
  class Copying;

  friend struct Rules;
  friend class SegmentEnding;

  Recorder recorder_;
  SchemaTable& schemas_;
  const CompileApi& compile_api_;
  Callables& callables_;
  const ChangedNumbers* changed_;
  std::unordered_map<SourceId, int> operand_counts_;  ///< of computed numbers
  std::unordered_map<SourceId, SymExpr> expressions_;  ///< of numbers made of sizes
  std::unordered_set<SourceId> of_elements_;  ///< numbers that are elements of tensors, or computed of such
  std::unordered_map<SourceId, python::PyRef> followed_numbers_;  ///< that are no sizes of tensors
  std::vector<std::unique_ptr<FrameShadow>> frames_;
  FrameShadow* innermost_ = nullptr;
  FrameShadow* start_ = nullptr;
  std::deque<ObjectShadow> objects_;
  std::unordered_map<PyObject*, ObjectId> by_identity_;
  /// An object that is let go of once the program has.
  struct Passing {
    PyObject* object;  ///< which its shadow keeps alive
    ObjectId id;
  };
  std::vector<Passing> passing_;
  std::chrono::nanoseconds freeing_{0};
  bool releases_all_ = false;
  std::vector<ObjectId> suspended_;  ///< generators, in the order in which they yielded
  std::vector<Effect> effects_;
  std::size_t effects_before_ = 0;  ///< the instruction
  std::unordered_set<std::string> set_on_tensors_;  ///< attributes of tensors that were set or deleted
  std::vector<OpenContext> contexts_;
  BreakReason reason_;
  int consuming_ = 0;  ///< containers in containers
  std::string spoiled_;
  std::optional<RaisePlace> spoiled_at_;
  Code spoil_code_ = Code::PS0303;  ///< of the break there
  RaisePlace raising_;  ///< of the exception that is looking for its handler
  int start_unit_ = 0;
  Location start_location_;
  bool grad_guarded_ = false;
  bool grad_at_start_ = false;
  bool compiling_at_start_ = python::in_compiled_region();
  /// A function of the program's gets the graph and runs its calls: what penstock cannot compile may be in it.
  const bool for_backend_ = python::region_backend() != nullptr;
  python::PyRef random_state_;  ///< for_backend_: torch's, at the segment's start
  RaisePlace last_grad_change_;  ///< in the segment's own frame
  RaisePlace end_place_;         ///< see must_end_before()
  std::unordered_set<PyObject*> versioned_;  ///< types whose version is guarded
  // How the next torch_call shows itself, where it differs from its operands.
  int shown_positional_ = -1;             ///< only that many arguments
  bool shown_exchanged_ = false;          ///< the two operands exchanged
  const char* shown_attribute_ = nullptr; ///< with an attribute's name behind
};

}  // namespace penstock::capture
