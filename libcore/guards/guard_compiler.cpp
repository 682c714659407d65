#include "guards/guard_compiler.h"

#include <algorithm>

#include "ir/decided_sizes.h"
#include "python/literal.h"

namespace penstock::guards {
namespace {

using python::PyRef;

bool is_integer_source(SourceKind kind) {
  return kind == SourceKind::size || kind == SourceKind::stride || kind == SourceKind::offset ||
         kind == SourceKind::length;
}

bool reads_tensor(SourceKind kind) {
  return kind == SourceKind::size || kind == SourceKind::stride || kind == SourceKind::offset;
}

bool is_relation(GuardKind kind) {
  return kind == GuardKind::same_object || kind == GuardKind::distinct_object ||
         kind == GuardKind::no_overlap;
}

/// Steps that look at what was read of a tensor, and at no object.
bool is_of_view(GuardOp op) {
  switch (op) {
    case GuardOp::load_size:
    case GuardOp::load_stride:
    case GuardOp::load_offset:
    case GuardOp::read_tensor:
    case GuardOp::check_not_none:
    case GuardOp::check_number:
    case GuardOp::check_tensor:
    case GuardOp::check_no_overlap:
    case GuardOp::check_distinct:
    case GuardOp::bind_size:
    case GuardOp::check_size:
    case GuardOp::check_condition:
      return true;
    default:
      return false;
  }
}

/// What reads a source; numbers are computed behind the trees.
struct Load {
  SourceKind kind;
  GuardOp op;
  bool named = false;  ///< looks a name up
};
constexpr Load kLoads[] = {
    {SourceKind::local, GuardOp::load_local},
    {SourceKind::cell, GuardOp::load_content},
    {SourceKind::stack, GuardOp::load_stack},
    {SourceKind::global, GuardOp::load_global, true},
    {SourceKind::builtin, GuardOp::load_builtin, true},
    {SourceKind::module, GuardOp::load_module, true},
    {SourceKind::attribute, GuardOp::load_attribute, true},
    {SourceKind::instance, GuardOp::load_instance, true},
    {SourceKind::dict_item, GuardOp::load_dict_item},
    {SourceKind::item, GuardOp::load_item},
    {SourceKind::type, GuardOp::load_type},
    {SourceKind::code, GuardOp::load_code},
    {SourceKind::defaults, GuardOp::load_defaults},
    {SourceKind::kwdefaults, GuardOp::load_kwdefaults},
    {SourceKind::closure, GuardOp::load_closure_item},
    {SourceKind::self, GuardOp::load_self},
    {SourceKind::function, GuardOp::load_function},
    {SourceKind::size, GuardOp::load_size},
    {SourceKind::stride, GuardOp::load_stride},
    {SourceKind::offset, GuardOp::load_offset},
    {SourceKind::length, GuardOp::load_length},
};
static_assert(std::size(kLoads) == static_cast<std::size_t>(SourceKind::number));

}  // namespace

GuardCompiler::GuardCompiler(const Interface& interface, const LiveTable& live, PyCodeObject* code,
                             GuardProgram& program)
    : interface_(interface), live_(live), code_(code), program_(program) {
  const std::size_t count = interface.sources.size();
  nodes_.resize(count);
  named_by_recipe_.resize(count);
  program_.slots_.resize(count);
  program_.numbers_.resize(count);
  program_.is_number_.resize(count);
  program_.view_of_.assign(count, -1);
  program_.held_by_.assign(count, -1);
  program_.symbols_.resize(interface.symbols.size());
  bound_.resize(interface.symbols.size());
  waiting_for_.resize(interface.symbols.size());
  guard_missing_.resize(interface.guards.size());
  for (std::size_t i = 0; i < interface.symbols.size(); ++i) {
    symbol_places_.emplace(interface.symbols[i].name, static_cast<std::int32_t>(i));
  }
}

Result<void> GuardCompiler::compile() {
  collect();
  for (std::size_t i = 0; i < interface_.guards.size(); ++i) {
    const Guard& guard = interface_.guards[i];
    if (guard.source != kNoSource) continue;
    if (guard.condition && waits_for_elements(interface_, *guard.condition)) continue;
    if (auto done = emit_guard(static_cast<std::int32_t>(i)); !done) return done;
  }
  for (const auto& together : roots()) {
    if (auto done = emit_tree(together); !done) return done;
  }
  program_.computed_ = program_.steps_.size();
  if (auto done = emit_computed(); !done) return done;
  emit_apart();
  note_inputs();
  for (std::size_t i = 0; i < interface_.symbols.size(); ++i) {
    if (!waiting_for_[i].empty() && bound_[i] == 0) {
      return failure(Code::PS0601, "no source gives the symbol " + interface_.symbols[i].name +
                                       " a value, but a guard needs it");
    }
  }
  return {};
}

/// Which inputs hang on which tree.
void GuardCompiler::note_inputs() {
  std::unordered_map<SourceId, GuardTree*> trees;
  for (GuardTree& tree : program_.trees_) {
    for (std::size_t i = tree.load; i < tree.load_end; ++i)
      trees.emplace(program_.steps_[i].slot, &tree);
  }
  for (std::size_t i = 0; i < interface_.inputs.size(); ++i) {
    const SourceId source = interface_.inputs[i].source;
    if (source == kNoSource) continue;
    const InputKind kind = interface_.inputs[i].kind;
    const bool number = kind == InputKind::size || kind == InputKind::scalar;
    auto& inputs = number ? program_.number_inputs_ : trees.at(root_of(source))->inputs;
    inputs.push_back(static_cast<std::uint32_t>(i));
  }
}

SourceId GuardCompiler::root_of(SourceId id) const {
  while (interface_.sources[id].base != kNoSource) id = interface_.sources[id].base;
  return id;
}

// -- which sources are needed ------------------------------------------------------------------

void GuardCompiler::need(SourceId id) {
  while (id != kNoSource && !nodes_[id].needed) {
    nodes_[id].needed = true;
    const SourceStep& step = interface_.sources[id];
    program_.is_number_[id] = is_integer_source(step.kind) ? 1 : 0;
    if (step.kind == SourceKind::number) hold_number(id);
    if (step.kind == SourceKind::computed) {
      program_.is_number_[id] = 1;
      if (step.other != kNoSource) need(step.other);
    } else if (step.base != kNoSource) {
      nodes_[step.base].children.push_back(id);
      if (step.other != kNoSource) {
        need(step.other);
        nodes_[step.other].keyed.push_back(id);
      }
      if (reads_tensor(step.kind)) nodes_[step.base].tensor = true;
    }
    id = step.base;
  }
}

/// A plain number is an operand that is there from the start.
void GuardCompiler::hold_number(SourceId id) {
  const Argument& value = interface_.sources[id].key;
  program_.is_number_[id] = 1;
  if (const auto* real = value.as<double>()) program_.numbers_[id] = PythonNumber::of(*real);
  if (const auto* whole = value.as<std::int64_t>())
    program_.numbers_[id] = PythonNumber::of(*whole);
}

void GuardCompiler::need_recipe(const Recipe& recipe) {
  if (recipe.kind == Recipe::Kind::source) {
    need(recipe.source);
    named_by_recipe_[root_of(recipe.source)] = true;
  }
  for (const Recipe& item : recipe.items) need_recipe(item);
}

/// A guard on two sources waits for both; one on all inputs for all of them.
void GuardCompiler::collect_relation(std::int32_t index) {
  const Guard& guard = interface_.guards[index];
  if (guard.other == kNoSource) {
    apart_guards_.emplace(guard.source, index);
    return;
  }
  need(guard.other);
  if (guard.kind == GuardKind::no_overlap) nodes_[guard.other].tensor = true;
  guard_missing_[index] = guard.source == guard.other ? 1 : 2;
  nodes_[guard.source].waiting.push_back(index);
  if (guard.other != guard.source) nodes_[guard.other].waiting.push_back(index);
}

void GuardCompiler::collect() {
  for (std::size_t i = 0; i < interface_.guards.size(); ++i) {
    const Guard& guard = interface_.guards[i];
    const auto index = static_cast<std::int32_t>(i);
    if (guard.source == kNoSource) continue;
    need(guard.source);
    if (guard.kind == GuardKind::tensor || guard.kind == GuardKind::no_overlap) {
      nodes_[guard.source].tensor = true;
    }
    if (!is_relation(guard.kind)) {
      nodes_[guard.source].checks.push_back(index);
      continue;
    }
    collect_relation(index);
  }
  for (const Input& input : interface_.inputs) {
    if (input.source == kNoSource) continue;
    need(input.source);
    const bool number = input.kind == InputKind::size || input.kind == InputKind::scalar;
    if (!number && input.kind != InputKind::generator) nodes_[input.source].tensor = true;
    nodes_[input.source].integer_input = number && !is_floating(input.type.dtype);
  }
  for (std::size_t i = 0; i < interface_.symbols.size(); ++i) {
    const SourceId source = interface_.symbols[i].source;
    if (source == kNoSource) continue;
    need(source);
    nodes_[source].symbols.push_back(static_cast<std::int32_t>(i));
  }
  for (const Recipe& object : interface_.objects) need_recipe(object);
  const auto need_records = [&](const std::vector<Restore>& records) {
    for (const Restore& record : records) {
      need_recipe(record.target);
      need_recipe(record.key);
      need_recipe(record.value);
    }
  };
  need_records(interface_.restore);
  for (const InlinedFrame& frame : interface_.frames) {
    need_recipe(frame.function);
    need_records(frame.restore);
  }
  const auto cheaper = [&](std::int32_t a, std::int32_t b) {
    return facts(interface_.guards[a].kind).cost < facts(interface_.guards[b].kind).cost;
  };
  for (SourceId id = static_cast<SourceId>(nodes_.size()); id-- > 0;) {
    Node& node = nodes_[id];
    std::stable_sort(node.checks.begin(), node.checks.end(), cheaper);
    node.weight += 1 + node.checks.size();
    const SourceStep& step = interface_.sources[id];
    if (node.needed && step.base != kNoSource && step.kind != SourceKind::computed) {
      nodes_[interface_.sources[id].base].weight += node.weight;
    }
  }
}

/// The root sources of each tree.
std::vector<std::vector<SourceId>> GuardCompiler::roots() const {
  std::vector<std::vector<SourceId>> trees;
  std::vector<SourceId> globals;
  for (SourceId id = 0; id < nodes_.size(); ++id) {
    const SourceKind kind = interface_.sources[id].kind;
    const bool is_root = interface_.sources[id].base == kNoSource && kind != SourceKind::number;
    if (!nodes_[id].needed || !is_root) continue;
    const bool global =
        kind == SourceKind::global || kind == SourceKind::builtin || kind == SourceKind::module;
    global ? globals.push_back(id) : trees.push_back({id});
  }
  if (!globals.empty()) trees.push_back(std::move(globals));
  join_by_keys(trees);
  const auto weight = [&](const std::vector<SourceId>& tree) {
    std::size_t sum = 0;
    for (const SourceId root : tree) sum += nodes_[root].weight;
    return sum;
  };
  std::ranges::stable_sort(trees, {}, weight);
  return trees;
}

/// A dict and the key of an item of it stand in one tree: what one proves, the other relies on.
void GuardCompiler::join_by_keys(std::vector<std::vector<SourceId>>& trees) const {
  std::unordered_map<SourceId, std::size_t> tree_of;
  for (std::size_t i = 0; i < trees.size(); ++i) {
    for (const SourceId root : trees[i]) tree_of.emplace(root, i);
  }
  for (SourceId id = 0; id < nodes_.size(); ++id) {
    if (nodes_[id].keyed.empty()) continue;
    for (const SourceId item : nodes_[id].keyed) {
      const std::size_t to = tree_of.at(root_of(id)), from = tree_of.at(root_of(item));
      if (from == to) continue;
      for (const SourceId root : trees[from]) tree_of[root] = to;
      trees[to].insert(trees[to].end(), trees[from].begin(), trees[from].end());
      trees[from].clear();
    }
  }
  std::erase_if(trees, [](const std::vector<SourceId>& tree) { return tree.empty(); });
}

// -- writing the steps, depth first --------------------------------------------------------------

Result<void> GuardCompiler::emit_tree(const std::vector<SourceId>& roots) {
  constexpr std::size_t kSection = 384;  // steps: what is done again where one thing changes
  program_.trees_.emplace_back().load = program_.steps_.size();
  for (const SourceId root : roots) {
    if (auto done = emit_load(root); !done) return done;
  }
  program_.trees_.back().load_end = program_.steps_.size();
  auto& sections = program_.trees_.back().sections;
  sections.emplace_back().begin = program_.steps_.size();
  // Explicit stack: module trees are as deep as their authors like.
  std::vector<SourceId> stack(roots.rbegin(), roots.rend());
  while (!stack.empty()) {
    const SourceId id = stack.back();
    stack.pop_back();
    if (auto done = emit_checks(id); !done) return done;
    if (auto done = emit_children(id, stack); !done) return done;
    if (program_.steps_.size() - sections.back().begin >= kSection) cut();
  }
  cut();
  sections.pop_back();
  if (roots.size() == 1) note_local(program_.trees_.back());
  return {};
}

/// What the steps of a tree need of a local that holds a tensor.
void GuardCompiler::note_local(GuardTree& tree) const {
  const GuardStep& load = program_.steps_[tree.load];
  // At the function's start a local may be a cell's content, and no segment stands before it.
  if (load.op != GuardOp::load_local || interface_.start_offset == 0) return;
  tree.local = load.index;
  tree.takes_pending = !named_by_recipe_[load.slot];
  for (std::size_t i = tree.load_end; i < program_.steps_.size(); ++i) {
    tree.takes_pending = tree.takes_pending && is_of_view(program_.steps_[i].op);
  }
}

/// Operands stand before what is computed of them.
Result<void> GuardCompiler::emit_computed() {
  for (SourceId id = 0; id < nodes_.size(); ++id) {
    const SourceStep& source = interface_.sources[id];
    if (!nodes_[id].needed || source.kind != SourceKind::computed) continue;
    add({.op = GuardOp::compute_number,
         .slot = id,
         .base = source.base,
         .index = static_cast<std::int32_t>(source.index),
         .number = source.other});
    if (auto done = emit_checks(id); !done) return done;
  }
  return {};
}

/// That inputs which are written share memory with no other.
void GuardCompiler::emit_apart() {
  if (apart_guards_.empty()) return;
  for (const Input& input : interface_.inputs) {
    if (input.source == kNoSource || !nodes_[input.source].tensor) continue;
    const auto found = apart_guards_.find(input.source);
    program_.apart_.push_back({.source = input.source,
                               .guard = found == apart_guards_.end() ? -1 : found->second,
                               .storage = input.type.storage});
  }
  const auto first = apart_guards_.begin();
  add({.op = GuardOp::check_apart, .slot = first->first, .guard = first->second});
}

Result<void> GuardCompiler::emit_checks(SourceId id) {
  const Node& node = nodes_[id];
  bool read = false;
  const auto read_tensor = [&] {
    if (!node.tensor || read) return;
    read = true;
    program_.view_of_[id] = static_cast<std::int32_t>(program_.views_.size());
    program_.views_.emplace_back();
    add({.op = GuardOp::read_tensor, .slot = id, .index = program_.view_of_[id]});
  };
  for (const std::int32_t index : node.checks) {
    if (interface_.guards[index].kind == GuardKind::tensor) read_tensor();
    if (auto done = emit_guard(index); !done) return done;
  }
  read_tensor();
  if (node.integer_input && program_.is_number_[id] == 0) {
    add({.op = GuardOp::check_is_plain, .slot = id});
  }
  for (const std::int32_t symbol : node.symbols) {
    if (symbol_has_tensor(symbol)) continue;
    if (auto done = bind(id, symbol, -1); !done) return done;
  }
  loaded(id);
  return {};
}

/// What hangs on two sources, a dict and a key, is loaded behind both.
Result<void> GuardCompiler::emit_children(SourceId id, std::vector<SourceId>& stack) {
  nodes_[id].visited = true;
  std::vector<SourceId> ready;
  for (const SourceId child : nodes_[id].children) {
    const SourceId key = interface_.sources[child].other;
    if (key == kNoSource || nodes_[key].visited) ready.push_back(child);
  }
  for (const SourceId item : nodes_[id].keyed) {
    if (nodes_[interface_.sources[item].base].visited) ready.push_back(item);
  }
  for (const SourceId child : ready) {
    if (auto done = emit_load(child); !done) return done;
  }
  stack.insert(stack.end(), ready.rbegin(), ready.rend());
  return {};
}

/// Ends the section under way; the next begins behind it.
void GuardCompiler::cut() {
  GuardSection& section = program_.trees_.back().sections.back();
  section.end = program_.steps_.size();
  if (section.end == section.begin) return;  // stays for the next steps
  const std::size_t next = section.end;
  program_.trees_.back().sections.emplace_back().begin = next;
}

Result<void> GuardCompiler::emit_load(SourceId id) {
  const SourceStep& source = interface_.sources[id];
  const Load* load = std::ranges::find(kLoads, source.kind, &Load::kind);
  if (load == std::end(kLoads)) return {};
  GuardStep step{.op = load->op,
                 .slot = id,
                 .base = source.base,
                 .index = static_cast<std::int32_t>(source.index)};
  if (load->named) {
    step.object = intern(source.name);
    step.number = PyObject_Hash(step.object);
  }
  if (source.kind == SourceKind::attribute) {
    step.index = static_cast<std::int32_t>(program_.attributes_.size());
    program_.attributes_.emplace_back();
  } else if (source.kind == SourceKind::cell && interface_.start_offset == 0) {
    // Before the prologue ran.
    const int first_free = code_->co_nlocalsplus - code_->co_nfreevars;
    step.op = source.index >= first_free ? GuardOp::load_free : GuardOp::load_local;
    if (step.op == GuardOp::load_free) step.index -= first_free;
  } else if (source.kind == SourceKind::dict_item && source.other != kNoSource) {
    step.op = GuardOp::load_tensor_item;
    step.number = source.other;
  } else if (source.kind == SourceKind::dict_item) {
    step.object = keep(source.index > 0 ? PyRef::borrow(live_.get(source.index - 1))
                                        : python::object_of(source.key));
    step.number = step.object == nullptr ? -1 : PyObject_Hash(step.object);
    if (step.number == -1) {
      PyErr_Clear();
      return failure(Code::PS0601,
                     "the dict key in " + interface_.sources.text(id) + " is no hashable literal");
    }
  }
  add(step);
  return {};
}

/// Counts down the relations that waited for this source, and writes those that are complete.
void GuardCompiler::loaded(SourceId id) {
  for (const std::int32_t index : nodes_[id].waiting) {
    if (--guard_missing_[index] > 0) continue;
    const Guard& guard = interface_.guards[index];
    GuardStep step{.slot = guard.source, .base = guard.other, .guard = index};
    step.op = guard.kind == GuardKind::same_object       ? GuardOp::check_same
              : guard.kind == GuardKind::distinct_object ? GuardOp::check_distinct
                                                         : GuardOp::check_no_overlap;
    add(step);
  }
}

PyObject* GuardCompiler::keep(PyRef object) {
  program_.kept_.push_back(std::move(object));
  return program_.kept_.back().get();
}

PyObject* GuardCompiler::intern(const std::string& text) {
  return keep(PyRef::steal(PyUnicode_InternFromString(text.c_str())));
}

GuardStep& GuardCompiler::add(GuardStep step) {
  program_.steps_.push_back(step);
  return program_.steps_.back();
}

tl::unexpected<Diagnostic> GuardCompiler::refuse(const Guard& guard, std::string why) const {
  const std::string source = guard.source == kNoSource ? std::string(facts(guard.kind).name)
                                                       : interface_.sources.text(guard.source);
  Diagnostic diagnostic{Code::PS0503,
                        "the guard on " + source + " cannot be checked: " + why,
                        guard.location,
                        {},
                        {},
                        Severity::warning};
  return tl::unexpected(std::move(diagnostic));
}

}  // namespace penstock::guards
