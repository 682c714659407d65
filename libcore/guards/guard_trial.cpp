#include "guards/guard_trial.h"

#include <fmt/format.h>

#include "python/literal_text.h"
#include "torch/compile_region.h"
#include "torch/state.h"

namespace penstock::guards {

using python::describe;

namespace {

/// What would have avoided a recompile.
struct KindHint {
  GuardKind kind;
  std::string_view hint;
};
constexpr KindHint kHints[] = {
    {GuardKind::tensor,
     "Give tensors of the same dtype, device and sizes: each entry is for its own."},
    {GuardKind::condition, "The branch on this size needs an entry for each of its sides."},
    {GuardKind::equals,
     "Keep the value out of the compiled function, or pass it as a tensor if it changes often."},
    {GuardKind::identity, "Pass the same object each time, or look it up outside the function."},
    {GuardKind::type_is, "Call the function with one type, or split it by type."},
    {GuardKind::grad_mode,
     "Call it under the same torch.no_grad() or torch.enable_grad() each time."},
    {GuardKind::is_compiling, "Call it inside of torch.compile each time, or outside each time."},
    {GuardKind::dict_version, "Do not change this dict between calls."},
    {GuardKind::type_version, "Do not change attributes of this class between calls."},
};

std::string_view hint_of(GuardKind kind) {
  for (const KindHint& row : kHints) {
    if (row.kind == kind) return row.hint;
  }
  return {};
}

std::string tensor_text(const torch::TensorView& view) {
  const auto dtype = dtype_from_torch(view.dtype);
  std::string text = dtype ? std::string(facts(*dtype).name) : fmt::format("dtype {}", view.dtype);
  text += fmt::format("[{}]", fmt::join(view.sizes, ", "));
  text += fmt::format(" strides [{}]", fmt::join(view.strides, ", "));
  if (view.device_type != 0)
    text += fmt::format(" device {}:{}", view.device_type, view.device_index);
  if (view.requires_grad) text += " requires_grad";
  return text;
}

std::string expected_of(const Guard& guard, const Interface& interface) {
  if (guard.tensor) {
    return to_string(*guard.tensor) + (guard.tensor->requires_grad ? " requires_grad" : "");
  }
  if (guard.condition) return to_string(*guard.condition);
  if (guard.other != kNoSource) return interface.sources.text(guard.other);
  const auto* text = guard.expected.as<std::string>();
  if (guard.kind == GuardKind::no_overlap && text != nullptr) return *text;
  return describe(guard.expected);
}

std::string replace(std::string text, std::string_view what, const std::string& by) {
  const std::size_t at = text.find(what);
  return at == std::string::npos ? text : text.replace(at, what.size(), by);
}

}  // namespace

GuardProgram::Trial::Trial(GuardProgram& program) : program_(program) {
  lost_.resize(program.slots_.size());
  guards_of_.resize(program.slots_.size());
  for (std::size_t i = 0; i < program.interface_.guards.size(); ++i) {
    const SourceId source = program.interface_.guards[i].source;
    if (source != kNoSource) guards_of_[source].push_back(static_cast<std::int32_t>(i));
  }
}

bool GuardProgram::Trial::ready(const GuardStep& step) {
  const auto is_lost = [&](std::uint32_t source) {
    return source != kNoSource && lost_[source] != 0;
  };
  if (step.op <= GuardOp::compute_number) {
    const bool two = step.op == GuardOp::load_tensor_item ||
                     (step.op == GuardOp::compute_number &&
                      facts(static_cast<NumberOp>(step.index)).takes_two());
    if (!is_lost(step.base) && !(two && is_lost(static_cast<std::uint32_t>(step.number))))
      return true;
    lost_[step.slot] = 1;
    return false;
  }
  if (step.op == GuardOp::check_same || step.op == GuardOp::check_distinct ||
      step.op == GuardOp::check_no_overlap) {
    if (is_lost(step.base)) return false;
  }
  if (step.op == GuardOp::check_apart)
    return std::ranges::none_of(program_.apart_, is_lost, &ApartInput::source);
  return !is_lost(step.slot);
}

void GuardProgram::Trial::fail(const GuardStep& step) {
  if (step.op > GuardOp::read_tensor) {
    if (step.op == GuardOp::check_apart)
      return report(program_.overlapping_input().value_or(step.guard), "overlapping memory");
    if (step.guard >= 0) {
      report(step.guard, actual_of(step));
      note_sizes(step);
      // The steps behind it read the sizes of a tensor of as many dimensions.
      const bool other_rank =
          step.op == GuardOp::check_tensor &&
          program_.tensors_[step.index].sizes.size() != program_.views_[step.base].sizes.size();
      if (other_rank) lost_[step.slot] = 1;
      return;
    }
    return report_lost(step.slot, actual_of(step));
  }
  lost_[step.slot] = 1;
  if (step.op == GuardOp::read_tensor) {
    return report_lost(step.slot, describe(program_.slots_[step.slot]));
  }
  if (step.op == GuardOp::compute_number) return report_lost(step.slot, "no number of 64 bits");
  const std::size_t first = failed_.size();
  report_lost(step.slot, "nothing there");
  for (std::size_t i = first; i < failed_.size(); ++i) failed_[i].is_load = true;
}

/// The source cannot be read: all guards on it fail, or, when it has none, the reading itself.
void GuardProgram::Trial::report_lost(SourceId source, std::string actual) {
  for (const std::int32_t guard : guards_of_[source]) report(guard, actual);
  if (!guards_of_[source].empty()) return;
  FailedGuard failed{
      GuardKind::not_none, program_.interface_.sources.text(source), {}, {}, {}, {}, {}};
  failed.text = failed.source + " is there";
  failed.expected = "a value";
  failed.actual = std::move(actual);
  failed_.push_back(std::move(failed));
}

void GuardProgram::Trial::report(std::int32_t index, std::string actual) {
  if (!reported_.emplace(index, failed_.size()).second) return;
  const Guard& guard = program_.interface_.guards[index];
  FailedGuard failed;
  failed.kind = guard.kind;
  if (guard.source != kNoSource) failed.source = program_.interface_.sources.text(guard.source);
  failed.expected = expected_of(guard, program_.interface_);
  failed.value = guard.expected;
  failed.text = replace(replace(std::string(facts(guard.kind).meaning), "{source}", failed.source),
                        "{expected}", failed.expected);
  failed.actual = std::move(actual);
  failed.location = guard.location;
  failed.hint = hint_of(guard.kind);
  failed_.push_back(std::move(failed));
}

/// Which sizes of a tensor were others, if that is all that is wrong with it.
void GuardProgram::Trial::note_sizes(const GuardStep& step) {
  std::vector<std::string>& sizes = failed_[reported_.at(step.guard)].sizes;
  const auto add = [&](std::size_t dim) {
    const SourceId source = program_.interface_.guards[step.guard].source;
    sizes.push_back(program_.interface_.sources.text(source) + fmt::format(".size({})", dim));
  };
  if (step.op == GuardOp::check_tensor) {
    const TensorCheck& check = program_.tensors_[step.index];
    const torch::TensorView& view = program_.views_[step.base];
    const bool alike = view.dtype == check.dtype && view.sizes.size() == check.sizes.size() &&
                       view.requires_grad == check.requires_grad;
    for (std::size_t dim = 0; alike && dim < check.sizes.size(); ++dim) {
      if (check.sizes[dim] >= 0 && check.sizes[dim] != view.sizes[dim]) add(dim);
    }
  } else if (step.op == GuardOp::bind_size || step.op == GuardOp::check_size) {
    const SizeCheck& check = program_.sizes_[step.index];
    if (check.part == SizeCheck::Part::size) add(static_cast<std::size_t>(check.dimension));
  }
}

std::string GuardProgram::Trial::symbols_text(const GuardStep& step) const {
  const auto& symbols = program_.interface_.symbols;
  std::string text;
  const auto name = [&](std::string_view symbol) {
    for (std::size_t i = 0; i < symbols.size(); ++i) {
      if (symbols[i].name != symbol) continue;
      const std::string item = fmt::format("{} = {}", symbol, program_.symbols_[i]);
      if (text.find(item) == std::string::npos) text += (text.empty() ? "" : ", ") + item;
    }
  };
  const Guard& guard = program_.interface_.guards[step.guard];
  if (guard.condition) {
    guard.condition->left.for_each_symbol(name);
    guard.condition->right.for_each_symbol(name);
  }
  return text;
}

std::string GuardProgram::Trial::actual_of(const GuardStep& step) const {
  switch (step.op) {
    case GuardOp::check_tensor:
      return tensor_text(program_.views_[step.base]);
    case GuardOp::bind_size:
    case GuardOp::check_size:
      return tensor_text(program_.views_[program_.sizes_[step.index].view]);
    case GuardOp::check_condition:
      return symbols_text(step);
    case GuardOp::check_grad_mode:
      return torch::grad_enabled() ? "True" : "False";
    case GuardOp::check_is_compiling:
      return torch::in_compiled_region() ? "True" : "False";
    case GuardOp::check_type:
    case GuardOp::check_type_version:
      return Py_TYPE(program_.slots_[step.slot])->tp_name;
    case GuardOp::check_dict_version:
      return "changed";
    default:
      break;
  }
  if (program_.is_number_[step.slot] != 0) {
    const PythonNumber& number = program_.numbers_[step.slot];
    const SourceStep& source = program_.interface_.sources[step.slot];
    const bool truth = source.kind == SourceKind::computed && is_comparison(source.operation());
    if (truth) return number.integer != 0 ? "True" : "False";
    return describe(number.is_float ? Argument(number.real) : Argument(number.integer));
  }
  PyObject* object = program_.slots_[step.slot];
  if (step.op == GuardOp::check_length) {
    const Py_ssize_t length = PyDict_Check(object) || PyList_Check(object) || PyTuple_Check(object)
                                  ? PyObject_Size(object)
                                  : -1;
    return length < 0 ? describe(object) : fmt::format("{}", length);
  }
  return describe(object);
}

std::vector<FailedGuard> GuardProgram::Trial::take() {
  return std::move(failed_);
}

}  // namespace penstock::guards
