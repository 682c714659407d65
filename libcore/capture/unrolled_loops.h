#pragma once

#include <Python.h>

#include <map>
#include <utility>

#include "python/bytecode.h"

namespace penstock::capture {

/// The `while` loops that a segment went round in so far. A graph holds every turn of them: where
/// the turns are short and few, that is what makes it good. A loop that generates, or iterates
/// until something converges, has turns of a hundred ops and as many of them as its input says; in
/// one graph they take longer to compile than to run, and no second call fits them. Such a loop's
/// turns are segments of their own, which share their entries.
class UnrolledLoops {
 public:
  /// Called where the instruction jumps back and the graph has so many nodes: true where the loop
  /// goes on in segments of its own.
  bool is_too_long(PyCodeObject* code, const python::Instruction& jump, std::size_t nodes);
  void clear() { loops_.clear(); }

 private:
  struct Loop {
    int turns = 0;
    std::size_t nodes = 0;  ///< of the graph, before the first whole turn
  };
  std::map<std::pair<PyCodeObject*, std::int32_t>, Loop> loops_;
};

/// True for the jump at the end of a `while` loop's body.
bool closes_while_loop(const python::Bytecode& code, const python::Instruction& instruction);

}  // namespace penstock::capture
