#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "ir/argument.h"
#include "ir/source.h"
#include "python/object.h"

namespace penstock::record {

/// Position in a walk's table of objects whose contents are followed.
using ObjectId = std::uint32_t;

/// What is known of the value in a slot (a local, an operand, an item of a container) beside the
/// value itself, which is always real.
struct Shadow {
  enum class Kind : std::uint8_t {
    unknown,   ///< nothing: may not be used by a segment
    null,      ///< an empty slot or CPython's null on the operand stack
    constant,  ///< the same object, or an equal literal, whenever the guards hold; `index`: its
               ///< source, where it has one
    sourced,   ///< reached from the segment's start by source `index`; a fact is guarded when used
    node,      ///< a tensor made by the graph: value `index`
    fresh,     ///< made in the segment: object `index` says what is in it
  };
  Kind kind = Kind::unknown;
  std::uint32_t index = kNoSource;

  static Shadow null() { return {Kind::null, 0}; }
  static Shadow constant(SourceId source = kNoSource) { return {Kind::constant, source}; }
  static Shadow sourced(SourceId source) { return {Kind::sourced, source}; }
  static Shadow node(ValueId value) { return {Kind::node, value}; }
  static Shadow fresh(ObjectId object) { return {Kind::fresh, object}; }

  bool is(Kind other) const { return kind == other; }
  /// The source by which facts about the value may be guarded, or kNoSource.
  SourceId source() const { return is(Kind::constant) || is(Kind::sourced) ? index : kNoSource; }
  friend bool operator==(Shadow, Shadow) = default;
};

struct FrameShadow;

/// An instruction that raised, or that must not be inside a segment for another reason.
struct RaisePlace {
  PyCodeObject* code = nullptr;
  int unit = -1;
  /// In code of torch's or Python's, which others run as well: by which calls it was reached
  /// (FrameShadow::path); 0: whatever called it.
  std::size_t path = 0;
  /// The place in what is recorded from unit `from` of `root` on, whatever calls lead to it there.
  /// What a segment cannot leave behind with its root may be gone where a root around that one
  /// ends.
  RaisePlace within(const PyCodeObject* root, int from) const {
    return {code, unit, (reinterpret_cast<std::size_t>(root) + static_cast<std::size_t>(from)) | 1};
  }
  auto operator<=>(const RaisePlace&) const = default;
};

/// What an iterator goes over; its real state is in the real iterator.
struct IteratorShadow {
  enum class Kind : std::uint8_t {
    items,  ///< of list or tuple `object`, from `next` on, `step` apart
    keys,
    values,
    pairs,      ///< of dict `object`, in the order of `key_list`
    numbers,    ///< constants: a range, the characters of a str
    enumerate,  ///< (number, what bases[0] gives)
    zip,        ///< tuples of what the bases give
    same,       ///< `object`, again and again
    generator,  ///< what generator `object` yields
    method,     ///< what __next__ of `object`, a function of Python, returns
    sequence,   ///< what __getitem__ of `object`, a function of Python, returns for `next` and on
    iterator,   ///< what iterator `object`, followed on its own, gives
  };
  Kind kind = Kind::items;
  Shadow shadow;  ///< of `object`
  python::PyRef object;
  python::PyRef key_list;
  std::int64_t next = 0, step = 1;
  std::vector<std::unique_ptr<IteratorShadow>> bases;
};

/// A call of C code that gives an equal object each time.
struct PureCall {
  python::PyRef function;
  std::vector<std::pair<Shadow, python::PyRef>> arguments;
};

/// What is known of an object's contents. Contents that have not been looked at nor written are not
/// listed: those of a sourced object then have sources of their own.
struct ObjectShadow {
  python::PyRef object;  ///< keeps the identity from being reused while the segment lasts
  Shadow origin;         ///< how the object itself is reached (fresh: itself)
  RaisePlace made_at;    ///< fresh: the instruction that made it
  /// An instance's dict: the instance (attributes are guarded and restored through it).
  bool is_instance_dict = false;
  Shadow owner;

  bool listed = false;  ///< `items` holds all items of a list or tuple, or a cell's content;
                        ///< else only those that a list got at its end in the segment
  bool is_length_guarded = false;
  std::vector<Shadow> items;  ///< list, tuple, slice, bound method (function, self), super, cell
  /// dict, set and instance dict: shadows of the values written or looked up, by key. The keys are
  /// real objects in `keys`, mapped to positions in `values`.
  python::PyRef keys;
  std::vector<Shadow> values;
  python::PyRef first_keys;  ///< an older dict that was written: the list of its keys before
  int own_slot = -1;         ///< a cell of the segment's own frame: its slot
  bool written = false;      ///< changed in the segment
  bool has_shifted = false;  ///< an unlisted deque with a bound: it may have dropped older items
  std::unique_ptr<PureCall> made_by;  ///< an object that has no contents but what this gives
  std::unique_ptr<IteratorShadow> iterator;
  std::unique_ptr<FrameShadow> generator;  ///< a suspended generator's frame
  bool is_in_block = false;                ///< that is suspended inside a `try` or `with`
  bool is_gone_over = false;               ///< by an enumerate or zip that the segment made
};

}  // namespace penstock::record
