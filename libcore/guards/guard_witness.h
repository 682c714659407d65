#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "guards/guard_step.h"
#include "guards/tensor_words.h"
#include "python/object.h"
#include "torch/tensor_bridge.h"

// Skipping guards that cannot fail.
//
// Problem. A model's guards read hundreds of attributes, hooks and parameters that never change
// between two calls, and read them anew on every call.
//
// Idea. When the steps of a section have passed, what they relied on is written down as words of
// memory: an object's type, the version of a type or of a dict, a list's items, a tensor's record.
// While all words hold the same, the steps would load the same and pass again, and comparing words
// is many times cheaper than the steps. Python has no way to change what a step sees without
// changing such a word.
//
// What makes it sound:
//  - A word is read only where an earlier one proves that its memory is still what it was. The
//  program
//    compares sections in order, and drops the witness of every section behind one that loaded
//    another object than before.
//  - An equal address does not make the same object: the old one may be gone and a new one stand in
//  its
//    place. So what an object holds is compared too, down to something whose words cannot recur:
//    versions of dicts and types are given out once per process, an immutable value is kept alive
//    by the witness, and a tensor's record is compared as a whole. Only objects held by a dict or a
//    type whose version is compared are known to be the same objects (Grade::held).
//  - What an earlier section of the tree proves need not be proven again, and a word that it
//  compares not be
//    compared again: the later section relies on it, and is recorded anew whenever the earlier one
//    was not found unchanged. Sections that change often are not relied on, or one counter in a
//    module's attributes would take all behind it along.
//  - A dict that changes again and again, such as a module's where it counts its calls, is not
//  asked for its
//    version: entries of its that were loaded are compared one by one.
//  - A step for which no words say enough is executed on every call (GuardSection::always).

namespace penstock::guards {

/// The words of one section, with what they held.
class Witness {
 public:
  void clear();

  /// The 8 bytes at `at` must stay as they are; must be read before what they lead to.
  void expect(const void* at);
  /// The tensor must stay what it was when `view` was read from it. False where that cannot be
  /// seen.
  bool expect_tensor(const torch::TensorBridge& bridge, PyObject* tensor,
                     const torch::TensorView& view) {
    return tensors_.add(bridge, tensor, view);
  }
  /// Keeps an object that holds nothing mutable.
  void keep(PyObject* object) { kept_.push_back(python::PyRef::borrow(object)); }

  /// True if `at` is among the words.
  bool expects(const void* at) const { return expected_.contains(at); }

  /// True if everything is as it was.
  bool holds() const;
  /// The first word that is not; null: none, or the change is in a tensor.
  const void* changed() const;

 private:
  struct Word {
    const std::uint64_t* at;
    std::uint64_t value;
  };
  std::vector<Word> words_;  // first …
  TensorWords tensors_;      // … then what they lead to
  std::vector<python::PyRef> kept_;
  std::unordered_set<const void*> expected_;
};

/// A run of steps of one tree whose passing is remembered.
struct GuardSection {
  std::size_t begin = 0, end = 0;  ///< steps
  bool witnessed = false;          ///< `witness` speaks of the last passing
  bool missed = false;             ///< in this check it did not hold
  unsigned misses = 0;             ///< times in a row that it did not hold
  unsigned misses_ever = 0;        ///< all of them
  Witness witness;
  std::vector<std::uint32_t>
      relies_on;  ///< sections of the tree before it, whose words hold for it too
  std::vector<std::uint32_t> always;  ///< steps that the witness does not cover
  bool loads_always = false;          ///< one of those loads something

  /// Later sections may rely on its witness: it seldom changes.
  bool is_steady() const { return witnessed && misses_ever <= 8; }
};

/// The steps of a root source, or of several: their loads, then sections.
struct GuardTree {
  std::size_t load = 0, load_end = 0;  ///< steps
  std::vector<GuardSection> sections;
  std::unordered_map<const void*, std::uint32_t>
      compared;  ///< the section that last wrote the word down
  std::unordered_map<const void*, std::uint32_t> changes;  ///< how often a word was found changed
  std::vector<std::uint32_t> inputs;                       ///< of the graph, that it loads
  /// They may be others than when they were taken last, or were never taken.
  bool moved = true;
  /// The frame's local that it starts from; -1: something else.
  std::int32_t local = -1;
  /// All that it asks can be said of a pending tensor in that local.
  bool takes_pending = false;

  bool is_restless(const void* word) const {
    const auto found = changes.find(word);
    return found != changes.end() && found->second > 1;
  }
};

}  // namespace penstock::guards
