#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "jit/guard_step.h"
#include "python/object.h"
#include "python/tensor_bridge.h"

// Skipping guards that cannot fail.
//
// Problem. A model's guards read hundreds of attributes, hooks and parameters that never change between
// two calls, and read them anew on every call.
//
// Idea. When the steps of a section have passed, what they relied on is written down as words of memory:
// an object's type, the version of a type or of a dict, a list's items, a tensor's record. While all
// words hold the same, the steps would load the same and pass again, and comparing words is many times
// cheaper than the steps. Python has no way to change what a step sees without changing such a word.
//
// What makes it sound:
//  - A word is read only where an earlier one proves that its memory is still what it was. The program
//    compares sections in order, and drops the witness of every section behind one that loaded another
//    object than before.
//  - An equal address does not make the same object: the old one may be gone and a new one stand in its
//    place. So what an object holds is compared too, down to something whose words cannot recur: versions
//    of dicts and types are given out once per process, an immutable value is kept alive by the witness,
//    and a tensor's record is compared as a whole. Only objects held by a dict or a type whose version is
//    among the section's own words are known to be the same objects (Grade::held).
//  - A step for which no words say enough is executed on every call (GuardSection::always).

namespace penstock::jit {

/// The words of one section, with what they held.
class Witness {
 public:
  void clear();

  /// The 8 bytes at `at` must stay as they are; must be read before what they lead to.
  void expect(const void* at);
  /// The tensor must stay what it was when `view`, which gets its version on every comparison, was
  /// read from it. False where that cannot be seen.
  bool expect_tensor(const python::TensorBridge& bridge, PyObject* tensor, python::TensorView& view);
  /// Keeps an object that holds nothing mutable.
  void keep(PyObject* object) { kept_.push_back(python::PyRef::borrow(object)); }

  /// True if everything is as it was. Updates the versions of tensors' views.
  bool holds() const;

 private:
  struct Word {
    const std::uint64_t* at;
    std::uint64_t value;
  };
  struct Record {
    const std::uint64_t* at;
    std::uint32_t count, saved;
  };
  struct Counter {
    const std::uint32_t* at;
    std::uint32_t* version;
  };
  std::vector<Word> words_;        // first …
  std::vector<Record> records_;    // … then tensors' records, against saved_ …
  std::vector<std::uint64_t> saved_;
  std::vector<Word> behind_;       // … then what those lead to
  std::vector<Counter> counters_;
  std::vector<python::PyRef> kept_;
  std::unordered_set<const void*> expected_;
};

/// A run of steps of one tree whose passing is remembered.
struct GuardSection {
  std::size_t begin = 0, end = 0;     ///< steps
  bool witnessed = false;             ///< `witness` speaks of the last passing
  int misses = 0;                     ///< times in a row that it did not hold
  Witness witness;
  std::vector<std::uint32_t> always;  ///< steps that the witness does not cover
  bool loads_always = false;          ///< one of those loads something
};

/// The steps of one root source: its load, then sections.
struct GuardTree {
  std::size_t load = 0;
  std::vector<GuardSection> sections;
  std::vector<std::uint32_t> inputs;  ///< of the graph, that it loads
  /// They may be others than when they were taken last, or were never taken.
  bool moved = true;
  /// The frame's local that it starts from; -1: something else.
  std::int32_t local = -1;
  /// All that it asks can be said of a pending tensor in that local.
  bool takes_pending = false;
};

}  // namespace penstock::jit
