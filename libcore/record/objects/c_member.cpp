// Attributes that C code keeps: members and getters of types of C. Of an object that is older than
// the segment they are reached by a source; of one that the segment made, as far as that is known.

#include <algorithm>
#include <string_view>

#include "python/literal.h"
#include "record/objects/attribute.h"
#include "record/objects/exception.h"

namespace penstock::record {

using python::PyRef;
using python::text_of;

namespace {

/// What forward gave to save_for_backward, in a new tuple.
bool load_saved_tensors(Walk& walk, FrameShadow& f, Operand context, const AttributeUse& use) {
  const ObjectShadow* known = walk.objects.find(context.object);
  f.finish = [saved = known == nullptr ? std::vector<Shadow>() : known->items, use](
                 Walk& walk, FrameShadow& f) {
    place_attribute(f, use, walk.objects.fresh(f.loaded(use.method), saved));
  };
  return true;
}

}  // namespace

bool load_c_member(Walk& walk, FrameShadow& f, Operand self, PyObject* descriptor, PyObject* name,
                   const AttributeUse& use) {
  const SourceId source = self.shadow.source();
  if (ObjectShadow* known = walk.objects.find(self.object); known != nullptr && known->keys) {
    PyObject* at = PyDict_GetItemWithError(known->keys.get(), name);
    if (at != nullptr) return push_attribute(walk, f, known->values[PyLong_AsSsize_t(at)], use);
  }
  if (source == kNoSource && PyExceptionInstance_Check(self.object)) {
    if (const auto member = exception_member(walk, self, name))
      return push_attribute(walk, f, *member, use);
    return walk.verdict.broke(Code::PS0303,
                              "'" + text_of(name) + "' of an exception is not followed");
  }
  if (source == kNoSource && self.shadow.is(Shadow::Kind::constant)) {
    return push_attribute(walk, f, Shadow::constant(), use);
  }
  if (self.shadow.is(Shadow::Kind::fresh) && walk.objects.object(self.shadow.index).made_by) {
    const PyRef value = PyRef::steal(PyObject_GetAttr(self.object, name));
    PyErr_Clear();
    for (const auto& [shadow, argument] :
         walk.objects.object(self.shadow.index).made_by->arguments) {
      if (value.get() == argument.get()) return push_attribute(walk, f, shadow, use);
    }
    if (value && python::is_immutable_literal(value.get()))
      return push_attribute(walk, f, Shadow::constant(), use);
  }
  const std::string text = text_of(name);
  // A tuple of what the arguments' types say.
  if (text == "needs_input_grad" && is_context_field(descriptor))
    return push_attribute(walk, f, Shadow::constant(), use);
  if (text == "saved_tensors" && is_context_field(descriptor) &&
      self.shadow.is(Shadow::Kind::fresh))
    return load_saved_tensors(walk, f, self, use);
  if (PySlice_Check(self.object) && self.shadow.is(Shadow::Kind::fresh)) {
    const std::size_t part = text == "start" ? 0 : text == "stop" ? 1 : 2;
    return push_attribute(walk, f, walk.objects.object(self.shadow.index).items[part], use);
  }
  if (source == kNoSource && PyFunction_Check(self.object)) {
    // What its code says: its defaults are values of the segment's.
    constexpr std::string_view kOfCode[] = {"__code__", "__doc__", "__module__", "__name__",
                                            "__qualname__"};
    if (std::ranges::find(kOfCode, text) != std::end(kOfCode))
      return push_attribute(walk, f, Shadow::constant(), use);
  }
  if (source == kNoSource) {
    return walk.verdict.broke(Code::PS0303,
                              "the attribute '" + text + "' of a new object is not followed");
  }
  return push_attribute(
      walk, f, Shadow::sourced(walk.recorder.guards().source(SourceKind::attribute, source, text)),
      use);
}

}  // namespace penstock::record
