#pragma once

// Rules of sequences and mappings (container.cpp, types.cpp).

#include "record/walk.h"

namespace penstock::record {

/// True for a dict whose items dict() and update() take one by one, without asking the object.
bool is_merged_by_key(PyObject* object);
/// list[slice] = …, and del list[…]. Nothing for what is no list.
std::optional<bool> store_list_slice(Walk& walk, FrameShadow& frame, Operand list, Operand slice,
                                     Operand value, int pops);
std::optional<bool> delete_list_item(Walk& walk, FrameShadow& frame, Operand list, Operand key,
                                     int pops);
/// What a defaultdict makes items by.
Shadow default_maker(Walk& walk, Operand dict);
/// The instruction asks a defaultdict for an item that it lacks.
bool makes_missing_item(Walk& walk, FrameShadow& frame, Operand dict, Operand key, int pops);
/// False (a break) for a deque of which it is not known any more what it held at the segment's
/// start.
bool is_known_deque(Walk& walk, Operand operand);

using Keywords = std::vector<std::pair<PyObject*, Operand>>;

bool make_dict(Walk& walk, FrameShadow& frame, const std::vector<Operand>& positional,
               const Keywords& keywords, int pops);
/// The pairs of which a dict is made; nothing when they are not followed.
std::optional<std::vector<std::pair<python::PyRef, Shadow>>> pairs_of(Walk& walk, Operand iterable);
/// What the slots of dict do. `call`: a call, which gives None.
bool dict_get_item(Walk& walk, FrameShadow& frame, Operand dict, Operand key, int pops);
bool dict_set_item(Walk& walk, FrameShadow& frame, Operand dict, Operand key, Operand value,
                   int pops, bool call);
bool dict_delete_item(Walk& walk, FrameShadow& frame, Operand dict, Operand key, int pops,
                      bool call);
bool dict_contains(Walk& walk, FrameShadow& frame, Operand dict, Operand key, int pops);
/// What a dict has under a key, and what is known of it; nothing where the segment ends. The type
/// of the dict is guarded.
struct DictItem {
  ObjectId dict;
  PyObject* value;  ///< null: there is none
  Shadow shadow;
};
std::optional<DictItem> known_item(Walk& walk, Operand dict, Operand key);
/// True unless dict_value() found nothing out.
bool is_item_known(Walk& walk, Shadow item, Operand key);
/// The key may be a slice that the instruction makes itself, of two of its operands.
bool load_subscript(Walk& walk, FrameShadow& frame, Operand container, Operand key, int pops);
bool store_subscript(Walk& walk, FrameShadow& frame, Operand container, Operand key, Operand value,
                     int pops);
bool delete_subscript(Walk& walk, FrameShadow& frame);
bool contains(Walk& walk, FrameShadow& frame, bool invert);
bool gives_dict(FrameShadow& frame, int pops, std::vector<std::pair<python::PyRef, Shadow>> pairs);
void copy_items(Walk& walk, ObjectId target, Operand source);
std::vector<std::pair<python::PyRef, Shadow>> all_pairs(Walk& walk, Operand dict);

}  // namespace penstock::record
