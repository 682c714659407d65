#include "record/effects.h"

#include "record/contents.h"

namespace penstock::record {

using python::PyRef;

void Effects::add(Restore::Kind kind, Operand target, std::string name, Operand key,
                  Operand value) {
  Effect effect{kind,
                target.shadow,
                PyRef::borrow(target.object),
                std::move(name),
                key.shadow,
                PyRef::borrow(key.object),
                value.shadow,
                PyRef::borrow(value.object),
                -1};
  effects_.push_back(std::move(effect));
  if (target.object == nullptr) return;  // the frame's own globals
  const bool sized = PyDict_Check(target.object) || PyAnySet_Check(target.object);
  if (sized) objects_.mark_written(objects_.object(objects_.contents(target)));
}

}  // namespace penstock::record
