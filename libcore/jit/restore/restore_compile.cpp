#include <algorithm>

#include "jit/restore/restore.h"
#include "python/bytecode.h"
#include "python/literal.h"
#include "python/literal_text.h"

namespace penstock::jit {

using guards::LiveTable;
using python::describe;

namespace {

using python::PyRef;

bool is_container(Recipe::Kind kind) {
  return kind == Recipe::Kind::list || kind == Recipe::Kind::dict || kind == Recipe::Kind::set ||
         kind == Recipe::Kind::instance || kind == Recipe::Kind::cell;
}

bool is_harmless(Recipe::Kind kind) {
  switch (kind) {
    case Recipe::Kind::output:
    case Recipe::Kind::source:
    case Recipe::Kind::literal:
    case Recipe::Kind::symbol:
    case Recipe::Kind::list:
    case Recipe::Kind::tuple:
    case Recipe::Kind::slice:
    case Recipe::Kind::object:
      return true;
    default:
      return false;
  }
}

bool is_absent(const Recipe& recipe) {
  return recipe.kind == Recipe::Kind::literal && recipe.live < 0 && recipe.literal.is_none();
}

}  // namespace

/// Writes recipes as steps over slots, operands before what is made of them. A container is made
/// empty and filled behind: so a shared object may hold itself.
class RestoreProgram::Compiler {
 public:
  Compiler(const Interface& interface, const LiveTable& live, PyCodeObject* code,
           RestoreProgram& program)
      : interface_(interface), live_(live), code_(code), program_(program) {
    shared_.assign(interface.objects.size(), -1);
  }

  Result<void> compile() {
    for (const Restore& record : interface_.restore) {
      if (auto done = add_record(record, program_.apply_steps_); !done) return done;
    }
    for (const InlinedFrame& frame : interface_.frames) {
      if (auto done = add_frame(frame); !done) return done;
    }
    const bool returns = interface_.end.kind == SegmentEnd::Kind::returned;
    program_.only_returns_ = returns && program_.apply_steps_.size() == 1 &&
                             program_.apply_steps_[0].kind == Restore::Kind::result && harmless_;
    program_.prologue_ = interface_.start_offset == 0 && (!returns || own_cells_);
    program_.only_fills_ = harmless_ && program_.frames_.empty() &&
                           std::ranges::all_of(program_.apply_steps_, [](const ApplyStep& step) {
                             const bool of_frame =
                                 step.kind == Restore::Kind::result || is_slot(step.kind);
                             return of_frame && step.target < 0;
                           });
    if (returns) return {};
    program_.end_offset_ = interface_.end.offset;
    program_.end_depth_ = python::bytecode_of(code_).depth(interface_.end.offset);
    if (program_.end_depth_ < 0) {
      return failure(Code::PS0601, "the segment's end is no place where an instruction starts");
    }
    find_condition();
    return {};
  }

 private:
  Result<void> add_frame(const InlinedFrame& frame) {
    auto function = emit(frame.function);
    if (!function) return tl::unexpected(function.error());
    FrameSteps steps{*function, frame.offset, {}};
    for (const Restore& record : frame.restore) {
      if (auto done = add_record(record, steps.steps); !done) return done;
    }
    program_.frames_.push_back(std::move(steps));
    return {};
  }

  Result<void> add_record(const Restore& record, std::vector<ApplyStep>& steps) {
    ApplyStep step{.kind = record.kind, .index = record.index};
    if (!record.name.empty()) step.name = intern(record.name);
    const auto add = [&](const Recipe& recipe, std::int32_t& slot) -> Result<void> {
      auto made = emit(recipe);
      if (!made) return tl::unexpected(made.error());
      slot = static_cast<std::int32_t>(*made);
      return {};
    };
    using Kind = Restore::Kind;
    const bool empties_cell = record.kind == Kind::unbind && !is_absent(record.target);
    const bool of_frame = record.kind == Kind::local || record.kind == Kind::stack ||
                          record.kind == Kind::result ||
                          (record.kind == Kind::unbind && !empties_cell);
    const bool own_cell = record.kind == Kind::cell && record.index >= 0;
    if (own_cell) own_cells_ = true;
    const bool root_global =
        (record.kind == Kind::set_global || record.kind == Kind::delete_global) &&
        is_absent(record.target);
    if (!of_frame && !own_cell && !root_global) {
      if (auto done = add(record.target, step.target); !done) return done;
    }
    const bool keyed = record.kind == Kind::set_item || record.kind == Kind::delete_item ||
                       record.kind == Kind::insert ||
                       (record.kind == Kind::pop && !is_absent(record.key));
    if (keyed) {
      if (auto done = add(record.key, step.key); !done) return done;
    }
    if (takes_value(record.kind)) {
      if (auto done = add(record.value, step.value); !done) return done;
    }
    steps.push_back(step);
    return {};
  }

  static bool is_slot(Restore::Kind kind) {
    return kind == Restore::Kind::local || kind == Restore::Kind::unbind ||
           kind == Restore::Kind::stack;
  }

  /// Finds out whether outputs may stay pending.
  void find_condition() {
    program_.output_of_.assign(program_.made_.size(), -1);
    if (!program_.only_fills_ || (program_.prologue_ && has_prologue())) return;
    for (const MakeStep& step : program_.make_steps_) {
      if (step.kind == Recipe::Kind::output) {
        program_.output_of_[step.result] = step.index;
      } else if (step.count != 0 || step.literal != nullptr || is_container(step.kind)) {
        return;
      }
    }
    std::int32_t condition = -1;
    std::vector<bool> in_local(interface_.outputs.size());
    for (const ApplyStep& step : program_.apply_steps_) {
      const std::int32_t output = step.value < 0 ? -1 : program_.output_of_[step.value];
      if (output < 0) continue;
      if (step.kind == Restore::Kind::stack) {
        if (step.index != program_.end_depth_ - 1) return;
        condition = output;
      } else if (in_local[output]) {
        return;
      } else {
        in_local[output] = true;
      }
    }
    program_.condition_ = condition;
  }

  /// The function's first instructions make cells.
  bool has_prologue() const {
    return std::ranges::any_of(python::bytecode_of(code_).instructions(),
                               [](const auto& instruction) {
                                 return instruction.opcode == python::Opcode::MAKE_CELL ||
                                        instruction.opcode == python::Opcode::COPY_FREE_VARS;
                               });
  }

  static bool takes_value(Restore::Kind kind) {
    switch (kind) {
      case Restore::Kind::unbind:
      case Restore::Kind::delete_attribute:
      case Restore::Kind::delete_item:
      case Restore::Kind::delete_global:
      case Restore::Kind::pop:
      case Restore::Kind::clear:
        return false;
      default:
        return true;
    }
  }

  /// `shared`: the object's place among those that several recipes name; -1: none.
  Result<std::uint32_t> emit(const Recipe& recipe, std::int32_t shared = -1) {
    if (!is_harmless(recipe.kind)) harmless_ = false;
    if (recipe.kind == Recipe::Kind::object) return emit_shared(recipe.index);
    if (recipe.kind == Recipe::Kind::cell && recipe.index >= 0) {
      own_cells_ = true;
      program_.make_steps_.push_back(
          {.kind = recipe.kind, .result = new_slot(), .index = recipe.index});
      return program_.make_steps_.back().result;
    }
    if (is_container(recipe.kind)) return emit_container(recipe, -1);
    std::vector<std::uint32_t> operands;
    for (const Recipe& item : recipe.items) {
      auto made = emit(item);
      if (!made) return made;
      operands.push_back(*made);
    }
    // A function that its own variables hold is made with them: there is one of it.
    if (shared >= 0 && shared_[shared] >= 0) return static_cast<std::uint32_t>(shared_[shared]);
    MakeStep step{.kind = recipe.kind, .result = new_slot(), .index = recipe.index};
    if (auto done = resolve(recipe, step); !done) return tl::unexpected(done.error());
    set_operands(step, operands);
    program_.make_steps_.push_back(step);
    return step.result;
  }

  Result<std::uint32_t> emit_shared(std::int32_t index) {
    if (index < 0 || index >= static_cast<std::int32_t>(shared_.size())) {
      return failure(Code::PS0601, "a recipe names an object that is not there");
    }
    if (shared_[index] >= 0) return static_cast<std::uint32_t>(shared_[index]);
    const Recipe& recipe = interface_.objects[index];
    if (!is_harmless(recipe.kind)) harmless_ = false;
    if (is_container(recipe.kind)) return emit_container(recipe, index);
    auto made = emit(recipe, index);
    if (made) shared_[index] = static_cast<std::int32_t>(*made);
    return made;
  }

  Result<std::uint32_t> emit_container(const Recipe& recipe, std::int32_t shared) {
    MakeStep step{.kind = recipe.kind, .result = new_slot()};
    std::size_t first = 0;
    if (recipe.kind == Recipe::Kind::instance) {
      if (recipe.items.empty()) return failure(Code::PS0601, "an instance needs its class");
      auto type = emit(recipe.items[0]);
      if (!type) return type;
      set_operands(step, {*type});
      first = 1;
    }
    program_.make_steps_.push_back(step);
    if (shared >= 0) shared_[shared] = static_cast<std::int32_t>(step.result);
    std::vector<std::uint32_t> operands;
    for (std::size_t i = first; i < recipe.items.size(); ++i) {
      auto made = emit(recipe.items[i]);
      if (!made) return made;
      operands.push_back(*made);
    }
    if (operands.empty()) return step.result;
    MakeStep fill{.kind = recipe.kind, .result = step.result, .fill = true};
    set_operands(fill, operands);
    program_.make_steps_.push_back(fill);
    return step.result;
  }

  Result<void> resolve(const Recipe& recipe, MakeStep& step) {
    switch (recipe.kind) {
      case Recipe::Kind::source:
        step.index = static_cast<std::int32_t>(recipe.source);
        return {};
      case Recipe::Kind::symbol: {
        guards::SizeProgram size(recipe.expression, [&](std::string_view name) {
          for (std::size_t i = 0; i < interface_.symbols.size(); ++i) {
            if (interface_.symbols[i].name == name) return static_cast<int>(i);
          }
          return -1;
        });
        if (!size.valid()) return failure(Code::PS0601, "a recipe names an unknown symbol");
        step.index = static_cast<std::int32_t>(program_.sizes_.size());
        program_.sizes_.push_back(std::move(size));
        return {};
      }
      case Recipe::Kind::literal:
        return resolve_literal(recipe, step);
      default:
        return {};
    }
  }

  Result<void> resolve_literal(const Recipe& recipe, MakeStep& step) {
    if (recipe.live >= 0) {
      step.index = static_cast<std::int32_t>(recipe.live);
      step.live = true;
      if (live_.holds(recipe.live)) return {};
      return failure(Code::PS0503, describe(recipe.literal) +
                                       ", which the segment leaves behind, could only be kept by "
                                       "keeping it alive");
    }
    if (!python::is_immutable(recipe.literal)) {
      step.literal = &recipe.literal;
      return {};
    }
    program_.kept_.push_back(python::object_of(recipe.literal));
    step.object = program_.kept_.back().get();
    if (step.object != nullptr) return {};
    PyErr_Clear();
    return failure(Code::PS0601, "a recipe's literal has no object: " + describe(recipe.literal));
  }

  std::uint32_t new_slot() {
    program_.made_.emplace_back();
    return static_cast<std::uint32_t>(program_.made_.size() - 1);
  }

  void set_operands(MakeStep& step, const std::vector<std::uint32_t>& operands) {
    step.first = static_cast<std::uint32_t>(program_.operands_.size());
    step.count = static_cast<std::uint32_t>(operands.size());
    program_.operands_.insert(program_.operands_.end(), operands.begin(), operands.end());
  }

  PyObject* intern(const std::string& text) {
    program_.kept_.push_back(PyRef::steal(PyUnicode_InternFromString(text.c_str())));
    return program_.kept_.back().get();
  }

  const Interface& interface_;
  const LiveTable& live_;
  PyCodeObject* code_;
  RestoreProgram& program_;
  std::vector<std::int32_t> shared_;  // by Interface::objects: its slot, or -1
  bool harmless_ = true;
  bool own_cells_ = false;  // a record or a recipe needs the cells of the segment's own frame
};

Result<std::unique_ptr<RestoreProgram>> RestoreProgram::compile(const Interface& interface,
                                                                const LiveTable& live,
                                                                PyCodeObject* code) {
  std::unique_ptr<RestoreProgram> program(new RestoreProgram(live));
  Compiler compiler(interface, live, code, *program);
  if (auto done = compiler.compile(); !done) return tl::unexpected(done.error());
  return program;
}

}  // namespace penstock::jit
