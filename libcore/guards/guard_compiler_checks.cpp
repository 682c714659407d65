// The second half of GuardCompiler: one guard to its checking steps, symbols and sizes.
#include <algorithm>
#include <bit>

#include "guards/guard_compiler.h"
#include "python/literal.h"
#include "python/type_lookup.h"

namespace penstock::guards {

using python::object_of;

namespace {

/// c10::DeviceType by the name that torch prints.
struct DeviceName {
  std::string_view name;
  std::int32_t type;
};
constexpr DeviceName kDevices[] = {{"cpu", 0}, {"cuda", 1}, {"xpu", 12}, {"mps", 13}, {"meta", 14}};

bool parse_device(std::string_view text, std::int32_t& type, std::int32_t& index) {
  const std::size_t colon = text.find(':');
  index = -1;
  if (colon != std::string_view::npos) {
    index = 0;
    for (const char digit : text.substr(colon + 1)) index = index * 10 + (digit - '0');
  }
  for (const DeviceName& device : kDevices) {
    if (device.name != text.substr(0, colon)) continue;
    type = device.type;
    return true;
  }
  return false;
}

std::vector<std::string> symbols_of(const SymExpr& expression) {
  std::vector<std::string> names;
  expression.for_each_symbol([&](std::string_view name) { names.emplace_back(name); });
  return names;
}

}  // namespace

Result<void> GuardCompiler::emit_guard(std::int32_t index) {
  const Guard& guard = interface_.guards[index];
  GuardStep step{.slot = guard.source, .guard = index};
  const bool of_number = guard.source != kNoSource && program_.is_number_[guard.source] != 0;
  // What is computed may be a float; that is asked for.
  const bool typed = of_number && guard.kind == GuardKind::type_is &&
                     interface_.sources[guard.source].kind == SourceKind::computed;
  if (typed) return emit_number_type(guard, step);
  if (of_number && says_of_integers(guard)) return {};
  if (of_number && guard.kind != GuardKind::equals && guard.kind != GuardKind::truth) {
    return refuse(guard, "it is an integer of a tensor or container");
  }
  switch (guard.kind) {
    case GuardKind::is_none:
      step.object = Py_None;
      return emit_as(GuardOp::check_identity, step);
    case GuardKind::not_none:
      return emit_as(GuardOp::check_not_none, step);
    case GuardKind::identity:
      return emit_object_check(guard, step, GuardOp::check_identity);
    case GuardKind::type_is:
      return emit_object_check(guard, step, GuardOp::check_type);
    case GuardKind::same_object:
    case GuardKind::distinct_object:
    case GuardKind::no_overlap:
      return {};  // written by loaded()
    case GuardKind::equals:
      return emit_equals(guard, step);
    case GuardKind::truth:
      return emit_flag(guard, step, of_number ? GuardOp::check_nonzero : GuardOp::check_truth);
    case GuardKind::length:
      return emit_integer(guard, step, GuardOp::check_length);
    case GuardKind::dict_keys:
      return emit_literal(guard, step, GuardOp::check_keys);
    case GuardKind::has_key:
      return emit_key(guard, step, GuardOp::check_has_key);
    case GuardKind::lacks_key:
      return emit_key(guard, step, GuardOp::check_lacks_key);
    case GuardKind::has_attribute:
      return emit_key(guard, step, GuardOp::check_has_attribute);
    case GuardKind::lacks_attribute:
      return emit_key(guard, step, GuardOp::check_lacks_attribute);
    case GuardKind::type_version:
    case GuardKind::dict_version:
      return emit_version(guard, step);
    case GuardKind::tensor:
      return emit_tensor(guard, step);
    case GuardKind::grad_mode:
      return emit_flag(guard, step, GuardOp::check_grad_mode);
    case GuardKind::is_compiling:
      return emit_flag(guard, step, GuardOp::check_is_compiling);
    case GuardKind::global_state:
      return emit_call(guard, step);
    case GuardKind::condition:
      return emit_condition(guard, step);
  }
  return refuse(guard, "unknown kind");
}

Result<void> GuardCompiler::emit_call(const Guard& guard, GuardStep step) {
  if (guard.source == kNoSource) return refuse(guard, "it names no function to ask");
  if (guard.live >= 0) step.object = live_.holder(guard.live, step.weak);
  if (guard.live >= 0 && step.object == nullptr) return refuse(guard, "its arguments are gone");
  return emit_literal(guard, step, GuardOp::check_call);
}

Result<void> GuardCompiler::emit_as(GuardOp op, GuardStep step) {
  step.op = op;
  add(step);
  return {};
}

/// Whether a computed number is an int or a float.
Result<void> GuardCompiler::emit_number_type(const Guard& guard, GuardStep step) {
  step.number = guard.expected == Argument(std::string("float")) ? 1 : 0;
  if (step.number == 0 && guard.expected != Argument(std::string("int"))) {
    return refuse(guard, "a number is of no such type");
  }
  return emit_as(GuardOp::check_is_float, step);
}

Result<void> GuardCompiler::emit_flag(const Guard& guard, GuardStep step, GuardOp op) {
  const bool* expected = guard.expected.as<bool>();
  if (expected == nullptr) return refuse(guard, "it expects no bool");
  step.number = *expected ? 1 : 0;
  return emit_as(op, step);
}

Result<void> GuardCompiler::emit_integer(const Guard& guard, GuardStep step, GuardOp op) {
  const auto* expected = guard.expected.as<std::int64_t>();
  if (expected == nullptr) return refuse(guard, "it expects no integer");
  step.number = *expected;
  return emit_as(op, step);
}

Result<void> GuardCompiler::emit_literal(const Guard& guard, GuardStep step, GuardOp op) {
  step.index = static_cast<std::int32_t>(program_.literals_.size());
  program_.literals_.push_back(&guard.expected);
  return emit_as(op, step);
}

/// Keys and names of attributes: literals, or a class that is a dict's key.
Result<void> GuardCompiler::emit_key(const Guard& guard, GuardStep step, GuardOp op) {
  PyObject* key = nullptr;
  if (guard.live >= 0) {
    key = live_.get(guard.live);
    step.object = live_.holder(guard.live, step.weak);
  } else {
    key = step.object = keep(object_of(guard.expected));
  }
  step.number = key == nullptr || step.object == nullptr ? -1 : PyObject_Hash(key);
  if (step.number == -1) {
    PyErr_Clear();
    return refuse(guard, guard.live >= 0 ? "its key is gone" : "its key is no hashable literal");
  }
  return emit_as(op, step);
}

Result<void> GuardCompiler::emit_version(const Guard& guard, GuardStep step) {
  if (guard.kind == GuardKind::dict_version) {
    // In process it is that of the recording; it means nothing elsewhere, so documents do not
    // have it.
    if (guard.live < 0) return emit_integer(guard, step, GuardOp::check_dict_version);
    step.number = guard.live;
    return emit_as(GuardOp::check_dict_version, step);
  }
  if (guard.expected.as<std::int64_t>() != nullptr) {
    step.index = -1;  // what it had is not known
    return emit_integer(guard, step, GuardOp::check_type_version);
  }
  PyObject* type = live_.get(guard.live);
  if (type == nullptr || !PyType_Check(type)) return refuse(guard, "the type is gone");
  step.object = type;  // where the source leads to the class itself, its own version is meant
  step.number = python::version_of(reinterpret_cast<PyTypeObject*>(type));
  if (step.number == 0) return refuse(guard, "the type has no version");
  step.index = static_cast<std::int32_t>(program_.classes_.size());
  program_.classes_.emplace_back(reinterpret_cast<PyTypeObject*>(type));
  return emit_as(GuardOp::check_type_version, step);
}

Result<void> GuardCompiler::emit_condition(const Guard& guard, GuardStep step) {
  if (!guard.condition) return refuse(guard, "it has no condition");
  ConditionCheck check;
  const auto place = [&](std::string_view name) { return symbol_place(name); };
  check.left = SizeProgram(guard.condition->left, place);
  check.right = SizeProgram(guard.condition->right, place);
  check.relation = guard.condition->relation;
  if (!check.left.valid() || !check.right.valid()) return refuse(guard, "unknown symbol");
  step.op = GuardOp::check_condition;
  step.index = static_cast<std::int32_t>(program_.conditions_.size());
  program_.conditions_.push_back(std::move(check));
  std::vector<std::string> names = symbols_of(guard.condition->left);
  const std::vector<std::string> right = symbols_of(guard.condition->right);
  names.insert(names.end(), right.begin(), right.end());
  return defer(step, names);
}

/// What holds of every size, stride, offset or length.
bool GuardCompiler::says_of_integers(const Guard& guard) const {
  if (guard.kind == GuardKind::not_none) return true;
  if (guard.kind != GuardKind::type_is) return false;
  if (guard.live >= 0) return live_.get(guard.live) == reinterpret_cast<PyObject*>(&PyLong_Type);
  const python::PyRef expected = object_of(guard.expected);
  PyErr_Clear();
  return expected.get() == reinterpret_cast<PyObject*>(&PyLong_Type);
}

Result<void> GuardCompiler::emit_object_check(const Guard& guard, GuardStep step, GuardOp op) {
  step.op = op;
  step.object = live_.holder(guard.live, step.weak);
  if (step.object == nullptr && guard.live < 0 && !guard.expected.is_none()) {
    step.object = keep(object_of(guard.expected));
    PyErr_Clear();
  }
  if (step.object == nullptr)
    return refuse(guard, "the object can only be kept by keeping it alive");
  keep(python::PyRef::borrow(step.object));
  add(step);
  return {};
}

Result<void> GuardCompiler::emit_equals(const Guard& guard, GuardStep step) {
  if (const auto* expression = guard.expected.as<SymExpr>();
      expression && !expression->constant()) {
    SizeCheck check;
    check.expected = SizeProgram(*expression, [&](std::string_view n) { return symbol_place(n); });
    if (!check.expected.valid()) return refuse(guard, "unknown symbol");
    step.op = GuardOp::check_expression;
    step.index = static_cast<std::int32_t>(program_.sizes_.size());
    program_.sizes_.push_back(std::move(check));
    return defer(step, symbols_of(*expression));
  }
  if (program_.is_number_[guard.source] != 0) {
    const auto* real = guard.expected.as<double>();
    const auto* whole = guard.expected.as<std::int64_t>();
    if (real == nullptr && whole == nullptr) return refuse(guard, "it expects no number");
    step.op = real != nullptr ? GuardOp::check_real : GuardOp::check_number;
    step.number = real != nullptr ? std::bit_cast<std::int64_t>(*real) : *whole;
    add(step);
    return {};
  }
  const auto* word = guard.expected.as<Argument::Named>();
  const bool singleton = guard.expected.is_none() || guard.expected.as<bool>() != nullptr;
  if (singleton || word != nullptr || guard.expected.as<DType>() != nullptr) {
    step.object = keep(python::PyRef::borrow(live_.holder(guard.live, step.weak)));
    if (step.object == nullptr) step.object = keep(object_of(guard.expected));
    if (step.object == nullptr) {
      PyErr_Clear();
      return refuse(guard, "the object that it expects is not known");
    }
    step.op = word != nullptr && word->kind == Argument::Named::Kind::device
                  ? GuardOp::check_richly
                  : GuardOp::check_identity;
    add(step);
    return {};
  }
  step.op = GuardOp::check_literal;
  step.index = static_cast<std::int32_t>(program_.literals_.size());
  program_.literals_.push_back(&guard.expected);
  add(step);
  return {};
}

Result<void> GuardCompiler::emit_tensor(const Guard& guard, GuardStep step) {
  if (!guard.tensor) return refuse(guard, "it describes no tensor");
  const TensorType& type = *guard.tensor;
  TensorCheck check;
  check.dtype = facts(type.dtype).torch_scalar_type;
  check.requires_grad = type.requires_grad;
  if (!parse_device(type.device, check.device_type, check.device_index)) {
    return refuse(guard, "unknown device " + type.device);
  }
  check.fixed = true;
  for (std::size_t i = 0; i < type.rank(); ++i) {
    check.sizes.push_back(type.sizes[i].constant().value_or(-1));
    check.strides.push_back(type.strides[i].constant().value_or(-1));
    check.fixed = check.fixed && type.sizes[i].is_constant() && type.strides[i].is_constant();
  }
  step.op = GuardOp::check_tensor;
  step.base = static_cast<std::uint32_t>(program_.view_of_[guard.source]);
  step.index = static_cast<std::int32_t>(program_.tensors_.size());
  program_.tensors_.push_back(std::move(check));
  add(step);
  const auto emit = [&](SizeCheck::Part part, std::size_t dimension, const SymExpr& expected) {
    SizeCheck size;
    size.view = program_.view_of_[guard.source];
    size.part = part;
    size.dimension = static_cast<std::int32_t>(dimension);
    return emit_dimension(guard.source, step.guard, std::move(size), expected);
  };
  // Whole symbols first: they bind, and what is made of them can be compared at once.
  for (const bool binding : {true, false}) {
    for (std::size_t i = 0; i < type.rank(); ++i) {
      if (type.sizes[i].is_constant() || type.sizes[i].symbol_name().empty() == binding) continue;
      if (auto done = emit(SizeCheck::Part::size, i, type.sizes[i]); !done) return done;
    }
  }
  for (std::size_t i = 0; i < type.rank(); ++i) {
    if (type.strides[i].is_constant()) continue;
    if (auto done = emit(SizeCheck::Part::stride, i, type.strides[i]); !done) return done;
  }
  return {};
}

Result<void> GuardCompiler::emit_dimension(SourceId id, std::int32_t guard, SizeCheck check,
                                           const SymExpr& expected) {
  GuardStep step{.slot = id, .guard = guard};
  const auto place = [&](std::string_view name) { return symbol_place(name); };
  const std::string_view whole = expected.symbol_name();
  const std::int32_t symbol = whole.empty() ? -1 : symbol_place(whole);
  step.index = static_cast<std::int32_t>(program_.sizes_.size());
  if (symbol >= 0 && bound_[symbol] == 0 && check.part == SizeCheck::Part::size) {
    step.op = GuardOp::bind_size;
    check.symbol = symbol;
    check.minimum = interface_.symbols[symbol].minimum;
    check.maximum = interface_.symbols[symbol].maximum;
    program_.sizes_.push_back(std::move(check));
    add(step);
    mark_bound(symbol);
    return {};
  }
  check.expected = SizeProgram(expected, place);
  if (!check.expected.valid()) return refuse(interface_.guards[guard], "unknown symbol");
  step.op = GuardOp::check_size;
  program_.sizes_.push_back(std::move(check));
  return defer(step, symbols_of(expected));
}

/// Writes `step` now if all symbols are bound, else when the last of them is.
Result<void> GuardCompiler::defer(GuardStep step, const std::vector<std::string>& names) {
  Deferred waiting{step, 0};
  std::vector<std::int32_t> unbound;
  for (const std::string& name : names) {
    const std::int32_t symbol = symbol_place(name);
    if (bound_[symbol] == 0) unbound.push_back(symbol);
  }
  std::sort(unbound.begin(), unbound.end());
  unbound.erase(std::unique(unbound.begin(), unbound.end()), unbound.end());
  if (unbound.empty()) {
    add(step);
    return {};
  }
  waiting.missing = static_cast<int>(unbound.size());
  for (const std::int32_t symbol : unbound) {
    waiting_for_[symbol].push_back(static_cast<std::int32_t>(deferred_.size()));
  }
  deferred_.push_back(waiting);
  return {};
}

/// The symbol's own source, when it is an integer: binds it, or compares if a tensor's size did.
Result<void> GuardCompiler::bind(SourceId id, std::int32_t symbol, std::int32_t guard) {
  SizeCheck check;
  check.symbol = symbol;
  check.minimum = interface_.symbols[symbol].minimum;
  check.maximum = interface_.symbols[symbol].maximum;
  GuardStep step{.op = GuardOp::bind_number, .slot = id, .guard = guard};
  step.index = static_cast<std::int32_t>(program_.sizes_.size());
  if (bound_[symbol] != 0) {
    step.op = GuardOp::check_expression;
    check.expected = SizeProgram(SymExpr::symbol(interface_.symbols[symbol].name),
                                 [&](std::string_view name) { return symbol_place(name); });
  }
  program_.sizes_.push_back(std::move(check));
  add(step);
  if (bound_[symbol] == 0) mark_bound(symbol);
  return {};
}

void GuardCompiler::mark_bound(std::int32_t symbol) {
  bound_[symbol] = 1;
  for (const std::int32_t position : waiting_for_[symbol]) {
    if (--deferred_[position].missing == 0) add(deferred_[position].step);
  }
}

/// True if the symbol's source is a size that a tensor guard on its base binds.
bool GuardCompiler::symbol_has_tensor(std::int32_t symbol) const {
  const Symbol& facts_of = interface_.symbols[symbol];
  const SourceStep& source = interface_.sources[facts_of.source];
  if (source.kind != SourceKind::size) return false;
  for (const std::int32_t index : nodes_[source.base].checks) {
    const Guard& guard = interface_.guards[index];
    if (guard.kind != GuardKind::tensor || !guard.tensor) continue;
    const auto dimension = static_cast<std::size_t>(source.index);
    return dimension < guard.tensor->rank() &&
           guard.tensor->sizes[dimension].symbol_name() == facts_of.name;
  }
  return false;
}

std::int32_t GuardCompiler::symbol_place(std::string_view name) const {
  const auto found = symbol_places_.find(std::string(name));
  return found == symbol_places_.end() ? -1 : found->second;
}

}  // namespace penstock::guards
