#pragma once

#include <Python.h>

#include <chrono>
#include <deque>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "record/frame_shadow.h"

namespace penstock::record {

class Walk;

/// True for a class or function that a dict finds by its identity, as nearly all are.
bool is_found_by_identity(PyObject* key);

/// What is in the objects that the segment made, looked into or wrote (contents.cpp).
class Objects {
 public:
  explicit Objects(Walk& walk) : walk_(walk) {}

  /// Follows an object that the segment made, with these items.
  Shadow fresh(PyObject* object, std::vector<Shadow> items = {});
  /// The object that the operand is, followed from now on.
  ObjectId contents(Operand operand);
  ObjectShadow& object(ObjectId id) {
    if (!watches_.empty()) note_touched(id);
    return objects_[id];
  }
  /// Looks from here on whether anything changes that the segment made before; unwatch() ends what
  /// was begun last, and is true if something did.
  void watch() { watches_.push_back({static_cast<ObjectId>(count()), {}}); }
  bool unwatch();
  /// Null for one that is not followed.
  ObjectShadow* find(PyObject* object);
  /// Its id; kNoSource for one that is not followed.
  ObjectId id_of(PyObject* object) const;
  /// All that are or were followed; their ids are below that.
  std::size_t count() const { return objects_.size(); }

  /// All items of a list or tuple; guards the length of one that is not ours.
  const std::vector<Shadow>& items(Operand sequence);
  /// One of them, without looking at the others; unknown when there is none there.
  Shadow item(Operand sequence, Py_ssize_t index);
  /// The length of a list or tuple, guarded.
  Py_ssize_t guard_length(Operand sequence);

  /// The dict that holds an instance's attributes; kNoSource when it is not followed.
  ObjectId instance_dict(Operand instance);
  /// The shadow of dict[key]; `value` is the real value, null: absent, which is guarded. Unknown,
  /// whether it is there or not, where no guard can tell.
  Shadow dict_value(ObjectId dict, PyObject* key, PyObject* value);
  /// The same where the key is a tensor that comes from outside: in the next call another one may
  /// stand there, which is looked up in its place. Unknown for a dict that lacks it.
  Shadow value_of_tensor(ObjectId dict, Operand tensor, PyObject* value);
  /// Called before the write, for a dict or set.
  void mark_written(ObjectShadow& known);
  void dict_store(ObjectId dict, PyObject* key, Shadow value);
  /// Guards which keys a dict has, in order.
  bool consume_keys(Operand dict);
  /// Guards what is in a set, in the order in which it is gone over.
  bool consume_set(Operand set);
  /// False and a break where the segment changed a dict or set that is older: what its size was at
  /// the start is not known then. `asked`: its size or its truth.
  bool size_is_known(Operand container, std::string_view asked);
  /// Guards the number of keys of a dict or set, if it is known.
  bool guard_size(Operand container);

  /// Lets go of containers, bound methods and the like that were made in the segment and that the
  /// program has let go of: a call's `args` would keep every tensor that was ever passed, and
  /// objects kept by the thousand would have Python collect garbage where it would not without us.
  void release_dead();
  /// From now on lets go of all objects made in the segment that the program has let go of.
  void release_all() { releases_all_ = true; }
  /// Lets go of a generator that the program has let go of; it may run code when the reference
  /// goes.
  python::PyRef release(ObjectId generator);
  /// Time that freeing what release_dead lets go of took: plain Python frees it too.
  std::chrono::nanoseconds freeing() const { return freeing_; }

 private:
  /// What is reached by two sources is one object.
  void guard_same(Shadow known, Shadow again);
  Shadow value_of_object(const ObjectShadow& dict, PyObject* key, PyObject* value);
  /// An item that a list or tuple had at the segment's start.
  Shadow old_item(const ObjectShadow& known, Py_ssize_t index);
  bool release_some();

  /// An object that is let go of once the program has.
  struct Passing {
    PyObject* object;  ///< which its shadow keeps alive
    ObjectId id;
  };

  /// What objects made before `first_new` held when they were touched first.
  struct Watch {
    ObjectId first_new;
    std::unordered_map<ObjectId, std::pair<std::vector<Shadow>, std::vector<Shadow>>> touched;
  };
  void note_touched(ObjectId id);

  Walk& walk_;
  std::vector<Watch> watches_;  ///< the innermost last
  std::deque<ObjectShadow> objects_;
  std::unordered_map<PyObject*, ObjectId> by_identity_;
  std::vector<Passing> passing_;
  std::chrono::nanoseconds freeing_{0};
  bool releases_all_ = false;
};

/// The keys of a dict in the order in which it is gone over; a new list.
python::PyRef keys_in_order(PyObject* dict);

}  // namespace penstock::record
