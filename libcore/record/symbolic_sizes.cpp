#include "record/symbolic_sizes.h"

#include <algorithm>
#include <numeric>

#include "ir/size_facts.h"
#include "ops/infer.h"
#include "ops/op.h"
#include "ops/rules/opaque.h"
#include "passes/decompose/composite_sizes.h"
#include "passes/decompose/decided_sizes.h"
#include "python/object.h"
#include "record/any_size.h"
#include "record/declared.h"
#include "record/input_name.h"
#include "torch/state.h"

namespace penstock::record {

namespace {

using python::PyRef;

/// What is declared of a dim of the input that `source` leads to; null: nothing.
const DeclaredSize* declaration(const SourceTable& sources, SourceId source, std::size_t dim,
                                const policy::ShownArguments& arguments) {
  if (declared_sizes().empty()) return nullptr;
  const std::string name = input_name(sources, source, arguments);
  for (const DeclaredSize& size : declared_sizes()) {
    if (size.input == name && size.dim == static_cast<std::int64_t>(dim)) return &size;
  }
  return nullptr;
}

/// The declaration that gave a symbol its name; null for s0, s1 …
const DeclaredSize* declaration(std::string_view symbol) {
  const auto found = std::ranges::find(declared_sizes(), symbol, &DeclaredSize::symbol);
  return found == declared_sizes().end() ? nullptr : &*found;
}

/// The ints of a set that the tensor has as an attribute.
void read_marks(PyObject* attributes, const char* name, std::unordered_set<std::int64_t>& dims) {
  PyObject* set = PyDict_GetItemString(attributes, name);
  if (set == nullptr || !PyAnySet_Check(set)) return;
  const PyRef list = PyRef::steal(PySequence_List(set));
  for (Py_ssize_t i = 0; list && i < PyList_GET_SIZE(list.get()); ++i) {
    PyObject* dim = PyList_GET_ITEM(list.get(), i);
    if (PyLong_Check(dim)) dims.insert(PyLong_AsLongLong(dim));
  }
  PyErr_Clear();
}

bool has_symbols(const Argument& argument) {
  if (const auto* expression = argument.as<SymExpr>()) return !expression->is_constant();
  if (const auto* sequence = argument.as<Argument::Sequence>()) {
    return std::ranges::any_of(sequence->items,
                               [](const Argument& item) { return has_symbols(item); });
  }
  return false;
}

void for_each_expression(TensorType& type, const std::function<void(SymExpr&)>& visit) {
  for (SymExpr& size : type.sizes) visit(size);
  for (SymExpr& stride : type.strides) visit(stride);
  visit(type.storage_offset);
}

void for_each_expression(Argument& argument, const std::function<void(SymExpr&)>& visit) {
  if (auto* expression = std::get_if<SymExpr>(&argument.datum)) {
    visit(*expression);
    if (const auto plain = expression->constant()) argument = Argument(*plain);
  } else if (auto* sequence = std::get_if<Argument::Sequence>(&argument.datum)) {
    for (Argument& item : sequence->items) for_each_expression(item, visit);
  }
}

/// Where the strides of a tensor follow from its sizes, what they are: a dimension lies around
/// another one, whose size and stride make its own.
void name_strides(TensorType& type, const std::vector<std::int64_t>& sizes,
                  const std::vector<std::int64_t>& strides) {
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.rbegin(), order.rend(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t dim) { return strides[dim]; });
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t dim = order[i];
    // The dimension that lies closest inside, in the tensor's own order where several would do.
    for (std::size_t k = i; k-- > 0;) {
      const std::size_t inner = order[k];
      if (strides[inner] * sizes[inner] != strides[dim]) continue;
      const SymExpr whole = type.strides[inner] * type.sizes[inner];
      if (whole.is_constant()) continue;
      type.strides[dim] = whole;
      if (inner == dim + 1) break;
    }
  }
}

}  // namespace

SizeMarks marks_of(PyObject* tensor) {
  SizeMarks marks;
  PyObject** attributes = _PyObject_GetDictPtr(tensor);  // makes none
  if (attributes == nullptr || *attributes == nullptr || PyDict_GET_SIZE(*attributes) == 0)
    return marks;
  read_marks(*attributes, "_dynamo_dynamic_indices", marks.dynamic);
  read_marks(*attributes, "_dynamo_weak_dynamic_indices", marks.dynamic);
  read_marks(*attributes, "_dynamo_unbacked_indices", marks.dynamic);
  read_marks(*attributes, "_dynamo_static_indices", marks.fixed);
  return marks;
}

bool has_symbols(const TensorType& type) {
  const auto symbolic = [](const SymExpr& expression) { return !expression.is_constant(); };
  return std::ranges::any_of(type.sizes, symbolic) || std::ranges::any_of(type.strides, symbolic) ||
         symbolic(type.storage_offset);
}

bool SymbolicSizes::is_wanted(std::int64_t size, SourceId source, std::size_t dim,
                              const SizeMarks& marks) const {
  if (size < 2) return false;
  if (const auto* declared = declaration(interface_.sources, source, dim, arguments_)) {
    // What the recording contradicts stays a number, and is told of where the graph is exported.
    const auto known = values_.find(declared->symbol);
    return declared->minimum <= size && size <= declared->maximum &&
           (known == values_.end() || known->second == size);
  }
  if (!takes_numbers()) return false;
  const auto at = static_cast<std::int64_t>(dim);
  if (marks.fixed.contains(at)) return false;
  if (policy_ == DynamicSizes::all || marks.dynamic.contains(at)) return true;
  return has_changed(source, dim);
}

bool SymbolicSizes::has_changed(SourceId source, std::size_t dim) const {
  return changed_ != nullptr &&
         changed_->contains(interface_.sources.text(source) + ".size(" + std::to_string(dim) + ")");
}

bool SymbolicSizes::has_changed(const TensorType& type, SourceId source) const {
  for (std::size_t dim = 0; dim < type.rank(); ++dim) {
    if (has_changed(source, dim)) return true;
  }
  return false;
}

bool SymbolicSizes::wants(PyObject* tensor, const TensorType& type, SourceId source) const {
  const bool none = policy_ == DynamicSizes::off || policy_ == DynamicSizes::declared;
  if (none && declared_sizes().empty()) return false;
  const SizeMarks marks = marks_of(tensor);
  for (std::size_t dim = 0; dim < type.rank(); ++dim) {
    if (is_wanted(*type.sizes[dim].constant(), source, dim, marks)) return true;
  }
  return false;
}

SymExpr SymbolicSizes::symbol_for(std::int64_t size, SourceId source, std::size_t dim) {
  const auto* declared = declaration(interface_.sources, source, dim, arguments_);
  const std::string fresh =
      declared ? declared->symbol : "s" + std::to_string(interface_.symbols.size());
  const std::string name = declared ? fresh : by_value_.try_emplace(size, fresh).first->second;
  if (!values_.contains(name)) {
    add_symbol(name, size,
               interface_.sources.intern(
                   {SourceKind::size, source, {}, static_cast<std::int64_t>(dim), {}}));
  }
  return SymExpr::symbol(name);
}

void SymbolicSizes::add_symbol(const std::string& name, std::int64_t value, SourceId source,
                               std::int64_t least) {
  const DeclaredSize* declared = declaration(name);
  Symbol symbol{name, source, declared ? declared->minimum : least,
                declared ? declared->maximum : INT64_MAX, value};
  shapes_.add(symbol);
  values_.emplace(name, value);
  sources_.emplace(name, source);
  interface_.symbols.push_back(std::move(symbol));
}

bool SymbolicSizes::takes_numbers() const {
  const bool none = policy_ == DynamicSizes::off || policy_ == DynamicSizes::declared;
  return !none && (changed_ == nullptr || !changed_->refuses_sizes());
}

bool SymbolicSizes::decides_sizes() const {
  if (policy_ == DynamicSizes::declared) return true;
  return takes_numbers() && (changed_ == nullptr || !changed_->refuses_decided_sizes());
}

std::optional<SymExpr> SymbolicSizes::name_number(std::int64_t number, SourceId source) {
  if (number < 2 || !takes_numbers()) return std::nullopt;
  const std::string name = "s" + std::to_string(interface_.symbols.size());
  add_symbol(name, number, source);
  return SymExpr::symbol(name);
}

void SymbolicSizes::name_sizes(PyObject* tensor, TensorType& type, SourceId source) {
  const SizeMarks marks = marks_of(tensor);
  std::vector<std::int64_t> sizes, strides;
  for (const SymExpr& size : type.sizes) sizes.push_back(*size.constant());
  for (const SymExpr& stride : type.strides) strides.push_back(*stride.constant());
  for (std::size_t dim = 0; dim < sizes.size(); ++dim) {
    if (is_wanted(sizes[dim], source, dim, marks))
      type.sizes[dim] = symbol_for(sizes[dim], source, dim);
  }
  name_strides(type, sizes, strides);
}

std::optional<std::int64_t> SymbolicSizes::value(const SymExpr& expression) const {
  return expression.evaluate([&](std::string_view name) -> std::optional<std::int64_t> {
    const auto found = values_.find(std::string(name));
    return found == values_.end() ? std::nullopt : std::optional(found->second);
  });
}

SourceId SymbolicSizes::source_of(std::string_view symbol) const {
  const auto found = sources_.find(std::string(symbol));
  return found == sources_.end() ? kNoSource : found->second;
}

void SymbolicSizes::locate(std::size_t first_guard) {
  for (std::size_t i = first_guard; i < interface_.guards.size(); ++i) {
    if (!interface_.guards[i].location) interface_.guards[i].location = here_();
  }
}

std::optional<bool> SymbolicSizes::decide(const Condition& condition) {
  const std::size_t before = interface_.guards.size();
  const auto truth = shapes_.decide(condition);
  locate(before);
  return truth;
}

void SymbolicSizes::specialise(const SymExpr& expression) {
  expression.for_each_symbol([&](std::string_view name) {
    if (!specialised_.contains(std::string(name))) specialised_.emplace(name, here_());
  });
}

void SymbolicSizes::specialise(const TensorType& type) {
  for (const SymExpr& size : type.sizes) specialise(size);
  for (const SymExpr& stride : type.strides) specialise(stride);
  specialise(type.storage_offset);
}

/// True if the rule gives what torch gave.
bool SymbolicSizes::replaces(const std::vector<TensorType>& inferred,
                             const std::vector<TensorType>& types) const {
  if (inferred.size() != types.size()) return false;
  for (std::size_t i = 0; i < types.size(); ++i) {
    const TensorType &rule = inferred[i], &real = types[i];
    if (rule.dtype != real.dtype || rule.rank() != real.rank()) return false;
    for (std::size_t dim = 0; dim < real.rank(); ++dim) {
      if (value(rule.sizes[dim]) != value(real.sizes[dim])) return false;
      // A stride that is never taken may be any number.
      const bool taken = real.sizes[dim] != SymExpr(1);
      if (taken && value(rule.strides[dim]) != value(real.strides[dim])) return false;
    }
  }
  return true;
}

/// The sizes of an op without a rule are those of what it is taken apart into, and so is where a
/// view begins.
bool SymbolicSizes::infer_parts(const Node& node, const Graph& graph,
                                std::vector<TensorType>& types) {
  std::unordered_set<std::int32_t> shown;
  for (const NamedArgument& argument : node.args) {
    for_each_value(argument.value,
                   [&](ValueId id) { shown.insert(graph.values[id].type.storage); });
  }
  const auto is_view = [&](const TensorType& type) {
    return type.storage >= 0 && shown.contains(type.storage);
  };
  auto sized = shapes_.is_exhausted() ? std::nullopt : passes::composite_sizes(node, graph);
  if (!sized || !replaces(sized->types, types)) return false;
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (is_view(types[i]) &&
        value(sized->types[i].storage_offset) != value(types[i].storage_offset))
      return false;
  }
  for (const Condition& condition : sized->conditions) shapes_.decide(condition);
  for (std::size_t i = 0; i < types.size(); ++i) {
    types[i].sizes = std::move(sized->types[i].sizes);
    if (is_view(types[i])) types[i].storage_offset = std::move(sized->types[i].storage_offset);
    for (std::size_t dim = 0; dim < types[i].rank(); ++dim) {
      if (!sized->types[i].strides[dim].is_constant())
        types[i].strides[dim] = sized->types[i].strides[dim];
    }
    keep_from_empty(types[i]);
  }
  return true;
}

/// What is empty at other sizes is an entry of its own.
void SymbolicSizes::keep_from_empty(const TensorType& type) {
  for (const SymExpr& size : type.sizes) {
    if (size.is_constant() || value(size) <= 0) continue;
    // Of what elements decide the ops tell whether none are another matter.
    bool decided = false;
    size.for_each_symbol([&](std::string_view name) { decided = decided || is_decided(name); });
    if (decided && shapes_.RangeShapes::decide({0, Condition::Relation::less_equal, size}) == true)
      continue;
    shapes_.decide({1, Condition::Relation::less_equal, size});
  }
}

bool SymbolicSizes::is_decided(std::string_view symbol) const {
  const auto source = sources_.find(std::string(symbol));
  return source != sources_.end() && source->second == kNoSource;
}

void SymbolicSizes::tell_few_apart(const Node& node, const Graph& graph,
                                   const std::vector<TensorType>& types) {
  const auto decided = [&](std::string_view symbol) { return is_decided(symbol); };
  const auto tell = [&](const SymExpr& size) {
    size.for_each_symbol([&](std::string_view name) {
      if (is_decided(name))
        shapes_.decide({2, Condition::Relation::less_equal, SymExpr::symbol(name)});
    });
  };
  const auto keep_any = [&](const TensorType& type) {
    for (const SymExpr& size : type.sizes)
      size.for_each_symbol([&](std::string_view name) {
        if (is_decided(name))
          shapes_.decide({1, Condition::Relation::less_equal, SymExpr::symbol(name)});
      });
  };
  const auto tell_all = [&](const TensorType& type) {
    std::ranges::for_each(type.sizes, tell);
    std::ranges::for_each(type.strides, tell);
    tell(type.storage_offset);
  };
  if (reads_by_places(node) && !node.args.empty() && !passes::decides_size(node, graph)) {
    for_each_value(node.args.front().value, [&](ValueId id) { keep_any(graph.values[id].type); });
  }
  if (!serves_any_size(node, graph, types, decided)) {
    for (const NamedArgument& argument : node.args) {
      for_each_size(argument.value, tell);
      for_each_value(argument.value, [&](ValueId id) { tell_all(graph.values[id].type); });
    }
  }
  for (const TensorType& type : types) {
    if (policy_ != DynamicSizes::declared && !lies_plainly(type, decided)) tell_all(type);
  }
}

SymExpr SymbolicSizes::name_element(std::int64_t size, std::int64_t least) {
  if (size < 2) return size;
  const std::string name = "u" + std::to_string(interface_.symbols.size());
  // What a backward asks of sizes is not known here.
  const bool few = policy_ == DynamicSizes::declared || !torch::grad_enabled();
  add_symbol(name, size, kNoSource, few ? least : std::max<std::int64_t>(least, 2));
  return SymExpr::symbol(name);
}

void SymbolicSizes::name_decided(const Node& node, const Graph& graph,
                                 std::vector<TensorType>& types) {
  const auto at = passes::decided_dim(node, graph);
  if (!at || at->result >= types.size() || at->dim >= types[at->result].rank()) return;
  const std::int64_t size = *types[at->result].sizes[at->dim].constant();
  const SymExpr decided = name_element(size, least_decided(node));
  const std::size_t before = interface_.guards.size();
  auto sized = passes::decided_results(node, graph, {decided, size});
  if (!sized || !replaces(sized->types, types)) return specialise(decided);
  for (const Condition& condition : sized->conditions) shapes_.decide(condition);
  for (std::size_t i = 0; i < types.size(); ++i) {
    types[i].sizes = std::move(sized->types[i].sizes);
    for (std::size_t dim = 0; dim < types[i].rank(); ++dim) {
      if (!sized->types[i].strides[dim].is_constant())
        types[i].strides[dim] = sized->types[i].strides[dim];
    }
  }
  tell_few_apart(node, graph, types);
  locate(before);
}

void SymbolicSizes::infer(const Node& node, const Graph& graph, std::vector<TensorType>& types) {
  if (passes::decides_size(node, graph)) return name_decided(node, graph, types);
  if (!any()) return;
  std::vector<const TensorType*> given;
  bool symbolic = false;
  for (const NamedArgument& argument : node.args) {
    symbolic = symbolic || has_symbols(argument.value);
    for_each_value(argument.value, [&](ValueId id) {
      if (penstock::record::has_symbols(graph.values[id].type))
        given.push_back(&graph.values[id].type);
    });
  }
  if (!symbolic && given.empty()) return;
  const std::size_t before = interface_.guards.size();
  const bool ruled = ops::find_op(node.op) != nullptr;
  // Where the prover is lost the sizes stay what they are.
  auto inferred = shapes_.is_exhausted() ? failure(Code::PS0605, "sizes take too much to prove")
                  : ruled                ? ops::infer_results(node, graph, shapes_)
                                         : ops::infer_opaque(node, graph, shapes_);
  if (!inferred && !ruled && infer_parts(node, graph, types)) {
    tell_few_apart(node, graph, types);
    return locate(before);
  }
  std::vector<TensorType> rule;
  if (inferred) {
    for (ops::InferredResult& result : *inferred) rule.push_back(std::move(result.type));
  }
  if (inferred && replaces(rule, types)) {
    for (std::size_t i = 0; i < types.size(); ++i) {
      const bool view = (*inferred)[i].alias != kNoValue;
      types[i].sizes = std::move(rule[i].sizes);
      for (std::size_t dim = 0; dim < types[i].rank(); ++dim) {
        if (!rule[i].strides[dim].is_constant()) types[i].strides[dim] = rule[i].strides[dim];
      }
      if (view && value(rule[i].storage_offset) == value(types[i].storage_offset)) {
        types[i].storage_offset = rule[i].storage_offset;
      }
      keep_from_empty(types[i]);
    }
    tell_few_apart(node, graph, types);
    return locate(before);
  }
  locate(before);
  for (const TensorType* type : given) specialise(*type);
  std::vector<NamedArgument> args = node.args;
  for (NamedArgument& argument : args) {
    for_each_expression(argument.value, [&](SymExpr& expression) { specialise(expression); });
  }
}

namespace {

void for_each_expression(Recipe& recipe, const std::function<void(SymExpr&)>& visit) {
  if (recipe.kind == Recipe::Kind::symbol) {
    visit(recipe.expression);
    if (const auto plain = recipe.expression.constant()) {
      recipe.kind = Recipe::Kind::literal;
      recipe.literal = *plain;
    }
  }
  for (Recipe& item : recipe.items) for_each_expression(item, visit);
}

/// The recipes of an interface.
void for_each_recipe(Interface& interface, const std::function<void(Recipe&)>& visit) {
  const auto restore = [&](std::vector<Restore>& records) {
    for (Restore& record : records) {
      for (Recipe* recipe : {&record.target, &record.key, &record.value}) visit(*recipe);
    }
  };
  visit(interface.returns);
  for (Recipe& object : interface.objects) visit(object);
  restore(interface.restore);
  for (InlinedFrame& frame : interface.frames) {
    visit(frame.function);
    restore(frame.restore);
  }
}

/// Puts what `value_of` gives in the place of symbols. Guards on sizes that hold by themselves then
/// go.
void substitute(Graph& graph,
                const std::function<std::optional<SymExpr>(std::string_view)>& value_of) {
  const auto replace = [&](SymExpr& expression) { expression = expression.substitute(value_of); };
  for (Value& value : graph.values) {
    for_each_expression(value.type, replace);
    replace(value.expression);
  }
  for (Node& node : graph.nodes) {
    for (NamedArgument& argument : node.args) for_each_expression(argument.value, replace);
  }
  for (Call& call : graph.calls) {
    for (Argument& argument : call.args) for_each_expression(argument, replace);
    for (NamedArgument& argument : call.kwargs) for_each_expression(argument.value, replace);
  }
  Interface& interface = graph.interface;
  for (Input& input : interface.inputs) for_each_expression(input.type, replace);
  for (Output& output : interface.outputs) for_each_expression(output.type, replace);
  for_each_recipe(interface, [&](Recipe& recipe) { for_each_expression(recipe, replace); });
  for (Guard& guard : interface.guards) {
    if (guard.tensor) for_each_expression(*guard.tensor, replace);
    if (!guard.condition) continue;
    replace(guard.condition->left);
    replace(guard.condition->right);
  }
  std::erase_if(interface.guards, [](const Guard& guard) {
    return guard.condition && (guard.condition->left - guard.condition->right).is_constant();
  });
  for (Graph& subgraph : graph.subgraphs) substitute(subgraph, value_of);
}

/// A symbol that a condition says to be equal to an expression of others; of several the one that
/// was made last. `order` gives a symbol's place among them.
struct Equal {
  std::string symbol;
  SymExpr expression;
};
std::optional<Equal> solved(const Condition& condition,
                            const std::function<int(std::string_view)>& order) {
  if (condition.relation != Condition::Relation::equal) return std::nullopt;
  const SymExpr difference = condition.left - condition.right;
  std::unordered_map<std::string, int> occurrences;
  difference.for_each_symbol([&](std::string_view name) { ++occurrences[std::string(name)]; });
  std::optional<Equal> found;
  for (const SymTerm& term : difference.terms()) {
    if (std::abs(term.coefficient) != 1 || term.atoms.size() != 1) continue;
    const std::string& name = term.atoms.front()->text;
    const bool alone =
        term.atoms.front()->kind == SymAtom::Kind::symbol && occurrences.at(name) == 1;
    if (!alone || (found && order(found->symbol) > order(name))) continue;
    const SymExpr own = SymExpr(term.coefficient) * SymExpr::symbol(name);
    found = Equal{name, (own - difference) * SymExpr(term.coefficient)};
  }
  return found;
}

}  // namespace

void SymbolicSizes::make_constant(Graph& graph) {
  if (specialised_.empty()) return;
  substitute(graph, [&](std::string_view name) -> std::optional<SymExpr> {
    if (!specialised_.contains(std::string(name))) return std::nullopt;
    return SymExpr(values_.at(std::string(name)));
  });
  for (const Symbol& symbol : interface_.symbols) {
    const auto found = specialised_.find(symbol.name);
    // Of one that elements decide the run says whether it is that number.
    if (found == specialised_.end() || symbol.source == kNoSource) continue;
    interface_.guards.push_back(
        {GuardKind::equals, symbol.source, kNoSource, *symbol.hint, {}, {}, found->second, -1});
  }
  std::erase_if(interface_.symbols,
                [&](const Symbol& symbol) { return specialised_.contains(symbol.name); });
}

/// Sizes that must be equal are then one expression, which is what the compiler knows them by.
void SymbolicSizes::make_equal(Graph& graph) {
  const auto order = [&](std::string_view name) {
    const auto found = std::ranges::find(interface_.symbols, name, &Symbol::name);
    return found == interface_.symbols.end() ? -1
                                             : static_cast<int>(found - interface_.symbols.begin());
  };
  for (std::size_t i = 0; i < interface_.guards.size();) {
    const Guard guard = interface_.guards[i];
    const auto equal = guard.condition ? solved(*guard.condition, order) : std::nullopt;
    const int at = equal ? order(equal->symbol) : -1;
    // A number of the program is read where it is; a size that was declared stays apart, so that
    // who declared it learns which line asks.
    // Where elements decide a size that has to be another one, the run compares the two.
    const SourceId source = at >= 0 ? interface_.symbols[at].source : kNoSource;
    const bool is_size =
        at >= 0 && declaration(equal->symbol) == nullptr &&
        (source == kNoSource || interface_.sources[source].kind == SourceKind::size);
    if (!is_size) {
      ++i;
      continue;
    }
    const Condition in_range{interface_.symbols[at].minimum, Condition::Relation::less_equal,
                             equal->expression};
    interface_.symbols.erase(interface_.symbols.begin() + at);
    interface_.guards.erase(interface_.guards.begin() + static_cast<std::ptrdiff_t>(i));
    substitute(graph, [&](std::string_view name) {
      return name == equal->symbol ? std::optional(equal->expression) : std::nullopt;
    });
    const RangeFacts facts = size_facts(interface_);
    if (!prove_less_equal(in_range.left, in_range.right, facts).value_or(false)) {
      interface_.guards.push_back(
          {GuardKind::condition, kNoSource, kNoSource, {}, {}, in_range, guard.location, -1});
    }
    i = 0;
  }
}

void SymbolicSizes::finish(Graph& graph) {
  make_constant(graph);
  make_equal(graph);
}

}  // namespace penstock::record
