#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "guards/guard_program.h"

namespace penstock::guards {

/// Turns the guards of an interface into the steps of a GuardProgram.
///
/// The sources that are needed (by guards, inputs, symbols and recipes) form a forest: what a path
/// step reaches is a child of its base. Steps are written depth first, so that a base is loaded
/// before its children: at each source its own checks, cheapest first, then its children. Trees are
/// taken smallest first: arguments before the module whose hundred attributes seldom change. What
/// starts from globals and modules, which seldom move, is taken together, as if it were one tree.
///
/// A tree's steps are cut into sections, which are skipped while nothing that they rely on has
/// changed (guard_witness.h).
///
/// A check that relates two sources, or that needs symbols, is written as soon as its last operand
/// is there: each operand counts down the checks waiting for it, so the work stays linear.
///
/// What is computed of numbers, with its checks, stands behind the trees and is executed every
/// time.
class GuardCompiler {
 public:
  GuardCompiler(const Interface& interface, const LiveTable& live, PyCodeObject* code,
                GuardProgram& program);
  Result<void> compile();

 private:
  struct Node {
    bool needed = false;
    bool tensor = false;               // its view is needed
    bool integer_input = false;        // an input of the graph reads an int object
    std::vector<std::int32_t> checks;  // positions in Interface::guards
    std::vector<SourceId> children;
    std::vector<std::int32_t> waiting;  // relational guards with this side not loaded yet
    std::vector<std::int32_t> symbols;  // symbols whose value is read here
    std::vector<SourceId> keyed;        // items of dicts that have this one for their key
    bool visited = false;               // its steps are written
    std::size_t weight = 0;             // checks in the whole tree
  };
  /// A check that waits for symbols.
  struct Deferred {
    GuardStep step;
    int missing = 0;
  };

  void need(SourceId id);
  void need_recipe(const Recipe& recipe);
  void collect();
  Result<void> emit_tree(const std::vector<SourceId>& roots);
  Result<void> emit_checks(SourceId id);
  Result<void> emit_children(SourceId id, std::vector<SourceId>& stack);
  Result<void> emit_load(SourceId id);
  Result<void> emit_computed();
  void collect_relation(std::int32_t index);
  void emit_apart();
  void hold_number(SourceId id);
  Result<void> emit_guard(std::int32_t index);
  bool says_of_integers(const Guard& guard) const;
  Result<void> emit_as(GuardOp op, GuardStep step);
  Result<void> emit_number_type(const Guard& guard, GuardStep step);
  Result<void> emit_flag(const Guard& guard, GuardStep step, GuardOp op);
  Result<void> emit_integer(const Guard& guard, GuardStep step, GuardOp op);
  Result<void> emit_call(const Guard& guard, GuardStep step);
  Result<void> emit_literal(const Guard& guard, GuardStep step, GuardOp op);
  Result<void> emit_key(const Guard& guard, GuardStep step, GuardOp op);
  Result<void> emit_version(const Guard& guard, GuardStep step);
  Result<void> emit_condition(const Guard& guard, GuardStep step);
  Result<void> emit_equals(const Guard& guard, GuardStep step);
  Result<void> emit_tensor(const Guard& guard, GuardStep step);
  Result<void> emit_object_check(const Guard& guard, GuardStep step, GuardOp op);
  Result<void> emit_dimension(SourceId id, std::int32_t guard, SizeCheck check,
                              const SymExpr& expected);
  Result<void> defer(GuardStep step, const std::vector<std::string>& names);
  Result<void> bind(SourceId id, std::int32_t symbol, std::int32_t guard);
  void mark_bound(std::int32_t symbol);
  void loaded(SourceId id);
  void cut();
  void note_local(GuardTree& tree) const;
  void note_inputs();
  SourceId root_of(SourceId id) const;
  void join_by_keys(std::vector<std::vector<SourceId>>& trees) const;
  bool symbol_has_tensor(std::int32_t symbol) const;
  std::vector<std::vector<SourceId>> roots() const;

  PyObject* keep(python::PyRef object);
  PyObject* intern(const std::string& text);
  std::int32_t symbol_place(std::string_view name) const;
  tl::unexpected<Diagnostic> refuse(const Guard& guard, std::string why) const;
  GuardStep& add(GuardStep step);

  const Interface& interface_;
  const LiveTable& live_;
  PyCodeObject* code_;
  GuardProgram& program_;
  std::vector<Node> nodes_;
  std::vector<bool> named_by_recipe_;  // by root source: a recipe needs an object below it
  std::map<SourceId, std::int32_t> apart_guards_;  // written inputs, by their sources
  std::vector<std::int32_t> guard_missing_;        // relational guards: sides not loaded yet
  std::unordered_map<std::string, std::int32_t> symbol_places_;
  std::vector<std::uint8_t> bound_;
  std::vector<Deferred> deferred_;
  std::vector<std::vector<std::int32_t>> waiting_for_;  // by symbol: positions in deferred_
};

}  // namespace penstock::guards
