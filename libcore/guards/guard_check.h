#pragma once

#include <Python.h>

#include <map>
#include <string>
#include <vector>

#include "ir/event.h"
#include "ir/interface.h"
#include "python/frame.h"
#include "torch/tensor_bridge.h"

namespace penstock::guards {

/// Objects that guards and recipes name by position.
using LiveObjects = std::vector<python::PyRef>;

/// Evaluates guards one by one on a frame at a segment's start, as they are written: the slow,
/// obvious reference for compiled guards, and what explains why an entry does not fit.
class GuardCheck {
 public:
  GuardCheck(const Interface& interface, const LiveObjects& live, const python::Frame& frame,
             const torch::TensorBridge& bridge)
      : interface_(interface),
        live_(live),
        frame_(frame),
        bridge_(bridge),
        values_(interface.sources.size()),
        read_(interface.sources.size()) {
    bind_symbols();
  }

  /// True if every guard holds; stops at the first that does not.
  bool holds();
  /// Every guard that does not hold, in words.
  std::vector<FailedGuard> failures();

 private:
  bool holds(const Guard& guard);
  bool is_apart(const Guard& guard, PyObject* object);
  bool tensor_holds(const Guard& guard, PyObject* object, std::string* actual);
  PyObject* value(SourceId source);
  python::PyRef read(const SourceStep& step);
  python::PyRef read_root(const SourceStep& step);
  python::PyRef read_number(const SourceStep& step, PyObject* base);
  std::string actual(const Guard& guard);
  void bind_symbols();
  std::optional<std::int64_t> evaluate(const SymExpr& expression) const;
  TensorType with_values(TensorType type) const;
  bool condition_holds(const Condition& condition) const;
  std::vector<std::string> other_sizes(const Guard& guard);

  const Interface& interface_;
  const LiveObjects& live_;
  const python::Frame& frame_;
  const torch::TensorBridge& bridge_;
  std::vector<python::PyRef> values_;
  std::vector<bool> read_;
  std::map<std::string, std::int64_t, std::less<>>
      symbols_;  ///< the values that they have in this call
};

}  // namespace penstock::guards
