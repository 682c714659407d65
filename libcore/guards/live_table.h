#pragma once

#include <cstdint>
#include <vector>

#include "python/object.h"

namespace penstock::guards {

/// Objects that guards compare with and recipes name (record::CapturedSegment::live), held so that
/// an entry keeps neither a model nor a tensor alive: strongly where nothing can hang on the object
/// (plain immutable values, code, static types, built-in functions), else weakly. The dict of a
/// module that is in sys.modules is held through the module.
class LiveTable {
 public:
  LiveTable() = default;
  explicit LiveTable(const std::vector<python::PyRef>& objects);

  std::size_t size() const { return holders_.size(); }
  /// The object, borrowed; null when it is gone or can be held neither way.
  PyObject* get(std::int64_t index) const;
  /// True if the object can be recognised later.
  bool holds(std::int64_t index) const;
  /// The holder itself, for code that reads it on every call: the object, or a weak reference to
  /// it (`weak`). Null for a module's dict: get() alone finds that.
  PyObject* holder(std::int64_t index, bool& weak) const;

 private:
  struct Holder {
    python::PyRef object;  // the object or a weak reference; null: cannot be held
    bool weak = false;
    bool of_module = false;  // `object` leads to a module: its dict is meant
  };
  std::vector<Holder> holders_;
};

}  // namespace penstock::guards
