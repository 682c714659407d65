// Recipes for functions that a segment leaves behind, and for the cells of their variables.

#include "python/literal.h"
#include "record/ending/segment_ending.h"

namespace penstock::record {

/// The cell itself, if there is one behind the segment that need not be made: the frame's own, or
/// one in the closure of a function that existed before.
std::optional<Recipe> SegmentEnding::old_cell(const ObjectShadow& cell) {
  const bool made_here = cell.origin.is(Shadow::Kind::fresh);
  Recipe recipe;
  if (cell.own_slot >= 0) {
    // A frame that returns leaves its cells to those who hold them.
    if (made_here && returns_) return std::nullopt;
    recipe.kind = Recipe::Kind::cell;
    recipe.index = cell.own_slot;
    return recipe;
  }
  const SourceId content = cell.origin.source();
  if (content == kNoSource || interface_.sources[content].kind != SourceKind::closure) {
    return std::nullopt;
  }
  const SourceStep step = interface_.sources[content];
  const SourceId closure =
      walk_.recorder.guards().source(SourceKind::attribute, step.base, "__closure__");
  recipe.kind = Recipe::Kind::source;
  recipe.source = walk_.recorder.guards().source(SourceKind::item, closure, {}, step.index);
  return recipe;
}

/// What the segment wrote into a cell that is there behind it.
void SegmentEnding::cell_content(const ObjectShadow& cell) {
  auto target = old_cell(cell);
  if (!cell.written || !target) return;
  PyObject* content = PyCell_GET(cell.object.get());
  Restore record;
  if (content == nullptr) {  // an unbind with a target: the variable that is in this cell
    record.kind = Restore::Kind::unbind;
    record.target = std::move(*target);
    interface_.restore.push_back(std::move(record));
    return;
  }
  record.kind = Restore::Kind::cell;
  record.value = recipe({cell.items[0], content});
  if (cell.own_slot >= 0) {
    record.index = cell.own_slot;
    record.name = python::text_of(python::slot_name(walk_.root().frame->code(), cell.own_slot));
  } else {
    record.target = std::move(*target);
  }
  interface_.restore.push_back(std::move(record));
}

Recipe SegmentEnding::cell_of(PyObject* cell) {
  ObjectShadow* known = walk_.objects.find(cell);
  Recipe recipe;
  recipe.kind = Recipe::Kind::cell;
  if (known == nullptr) return live(cell);
  if (PyCell_GET(cell) != nullptr) {
    recipe.items.push_back(this->recipe({known->items[0], PyCell_GET(cell)}));
  }
  return recipe;
}

Recipe SegmentEnding::optional_part(PyObject* object) {
  if (object == nullptr) return literal(Py_None, kNoSource);
  if (ObjectShadow* known = walk_.objects.find(object)) return recipe({known->origin, object});
  return literal(object, kNoSource);
}

/// None stands for the globals of the segment's own frame.
Recipe SegmentEnding::globals_of(PyFunctionObject* function) {
  if (function->func_globals == walk_.root().frame->globals()) return literal(Py_None, kNoSource);
  return live(function->func_globals);
}

Recipe SegmentEnding::function(PyObject* object) {
  auto* function = reinterpret_cast<PyFunctionObject*>(object);
  Recipe recipe;
  recipe.kind = Recipe::Kind::function;
  recipe.items.push_back(live(function->func_code));
  recipe.items.push_back(globals_of(function));
  recipe.items.push_back(literal(function->func_qualname, kNoSource));
  recipe.items.push_back(optional_part(function->func_defaults));
  recipe.items.push_back(optional_part(function->func_kwdefaults));
  // An empty dict of annotations was made because somebody asked for it, and is made then again.
  PyObject* annotations = function->func_annotations;
  const bool none =
      annotations != nullptr && PyDict_CheckExact(annotations) && PyDict_GET_SIZE(annotations) == 0;
  recipe.items.push_back(optional_part(none ? nullptr : annotations));
  if (function->func_closure != nullptr) {
    Recipe closure;
    closure.kind = Recipe::Kind::tuple;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(function->func_closure); ++i) {
      PyObject* cell = PyTuple_GET_ITEM(function->func_closure, i);
      ObjectShadow* known = walk_.objects.find(cell);
      closure.items.push_back(known == nullptr ? live(cell) : fresh(walk_.objects.id_of(cell)));
    }
    recipe.items.push_back(std::move(closure));
  }
  return recipe;
}

}  // namespace penstock::record
