// collections.deque. Its items are followed as those of a list are, and what it drops for want of
// room with them. One that is older than the segment gets what it holds then as a whole, but where
// it only takes more at its end: programs keep long histories, whose length must be no guard as
// long as nobody looks at them.

#include <algorithm>

#include "python/literal.h"
#include "python/type_lookup.h"
#include "record/objects/builtin_call.h"
#include "record/objects/container.h"
#include "record/objects/iteration.h"
#include "record/results.h"

namespace penstock::record {

using python::is_deque;
using python::PyRef;

namespace {

/// How many items it keeps at most.
std::optional<std::size_t> room_of(PyObject* deque) {
  const PyRef most = PyRef::steal(PyObject_GetAttrString(deque, "maxlen"));
  if (!most || most.get() == Py_None) return std::nullopt;
  return static_cast<std::size_t>(PyLong_AsSsize_t(most.get()));
}

/// Guards the room of one that is older than the segment.
bool consume_room(Walk& walk, Operand deque) {
  const SourceId source = deque.shadow.source();
  if (!walk.facts.consume_type(deque)) return false;
  if (source == kNoSource) return true;
  const PyRef most = PyRef::steal(PyObject_GetAttrString(deque.object, "maxlen"));
  const SourceId room = walk.recorder.guards().source(SourceKind::attribute, source, "maxlen");
  return most && walk.facts.consume({Shadow::sourced(room), most.get()});
}

/// The items of the call's deque, which it changes; null where the segment ends.
std::vector<Shadow>* changed_items(BuiltinCall& c) {
  const Operand deque = c.positional[0];
  if (!is_deque(deque.object) || !c.keywords.empty()) {
    refuse(c);
    return nullptr;
  }
  if (!consume_room(c.walk, deque) || !is_known_deque(c.walk, deque)) return nullptr;
  c.walk.objects.items(deque);
  ObjectShadow& known = c.walk.objects.object(c.walk.objects.contents(deque));
  if (!deque.shadow.is(Shadow::Kind::fresh) && !known.written) {
    c.walk.effects.add(Restore::Kind::contents, deque, {}, {}, deque);
    known.written = true;
  }
  return &known.items;
}

/// Drops what a deque has no room for: at its start where it grew at the end.
void keep_room(std::vector<Shadow>& items, PyObject* deque, bool at_end) {
  const auto room = room_of(deque);
  if (!room || items.size() <= *room) return;
  const auto extra = static_cast<std::ptrdiff_t>(items.size() - *room);
  if (at_end) {
    items.erase(items.begin(), items.begin() + extra);
  } else {
    items.erase(items.end() - extra, items.end());
  }
}

/// deque.append of one that is older. What it holds is looked at where it drops some of that,
/// unless that is much.
bool append_to_old(BuiltinCall& c) {
  constexpr Py_ssize_t kMostLookedAt = 256;
  const Operand deque = c.positional[0], item = c.positional[1];
  if (!c.walk.facts.consume_type(deque)) return false;
  ObjectShadow& known = c.walk.objects.object(c.walk.objects.contents(deque));
  const auto room = room_of(deque.object);
  const Py_ssize_t size = Py_SIZE(deque.object);
  const bool drops = room && static_cast<std::size_t>(size) >= *room;
  if (drops && !known.listed && size > kMostLookedAt) known.has_shifted = true;
  if (drops && !known.has_shifted) {
    if (!consume_room(c.walk, deque)) return false;
    c.walk.objects.items(deque);
  }
  c.walk.effects.add(Restore::Kind::append, deque, {}, {}, item);
  known.items.push_back(item.shadow);
  if (known.listed) keep_room(known.items, deque.object, true);
  return gives_constant(c.frame, c.pops);
}

/// append and appendleft.
bool deque_append(BuiltinCall& c) {
  const Operand deque = c.positional[0], item = c.positional[1];
  const bool at_end = c.name == "append";
  const ObjectShadow* known = c.walk.objects.find(deque.object);
  const bool is_old = deque.shadow.is(Shadow::Kind::sourced) && is_deque(deque.object);
  if (at_end && is_old && (known == nullptr || !known->written)) return append_to_old(c);
  std::vector<Shadow>* items = changed_items(c);
  if (items == nullptr) return false;
  items->insert(at_end ? items->end() : items->begin(), item.shadow);
  keep_room(*items, deque.object, at_end);
  return gives_constant(c.frame, c.pops);
}

/// pop and popleft; of an empty one they raise IndexError.
bool deque_take(BuiltinCall& c) {
  std::vector<Shadow>* items = changed_items(c);
  if (items == nullptr) return false;
  if (items->empty()) return gives_constant(c.frame, c.pops);
  const auto at = c.name == "pop" ? std::prev(items->end()) : items->begin();
  const Shadow item = *at;
  items->erase(at);
  return gives(c.frame, c.pops, item);
}

/// extend and extendleft, by what is in a list, tuple or other deque, or by what Python gives.
bool deque_extend(BuiltinCall& c) {
  const Operand more = c.positional[1];
  const bool listed = PyList_CheckExact(more.object) || PyTuple_CheckExact(more.object) ||
                      (is_deque(more.object) && more.object != c.positional[0].object);
  if (!listed) return polyfill(c);
  if (!is_known_deque(c.walk, more)) return false;
  const std::vector<Shadow> given = c.walk.objects.items(more);
  std::vector<Shadow>* items = changed_items(c);
  if (items == nullptr) return false;
  const bool at_end = c.name == "extend";
  if (at_end) {
    items->insert(items->end(), given.begin(), given.end());
  } else {
    items->insert(items->begin(), given.rbegin(), given.rend());
  }
  keep_room(*items, c.positional[0].object, at_end);
  return gives_constant(c.frame, c.pops);
}

/// clear, reverse and rotate.
bool deque_order(BuiltinCall& c) {
  const bool turns = c.name == "rotate" && c.positional.size() == 2;
  if (c.positional.size() != 1 && !turns) return refuse(c);
  if (turns && (!PyLong_Check(c.positional[1].object) || !c.walk.facts.consume(c.positional[1])))
    return refuse(c);
  std::vector<Shadow>* items = changed_items(c);
  if (items == nullptr) return false;
  if (c.name == "clear") items->clear();
  if (c.name == "reverse") std::reverse(items->begin(), items->end());
  if (c.name == "rotate" && !items->empty()) {
    const auto size = static_cast<Py_ssize_t>(items->size());
    Py_ssize_t by = turns ? PyNumber_AsSsize_t(c.positional[1].object, nullptr) % size : 1;
    if (by < 0) by += size;
    std::rotate(items->begin(), items->end() - by, items->end());
  }
  return gives_constant(c.frame, c.pops);
}

bool deque_copy(BuiltinCall& c) {
  const Operand deque = c.positional[0];
  if (!is_deque(deque.object)) return refuse(c);
  return consume_room(c.walk, deque) && is_known_deque(c.walk, deque) &&
         gives_fresh(c.frame, c.pops, c.walk.objects.items(deque));
}

/// What the class is called with: what is in it first, and its room.
struct DequeArguments {
  std::optional<Operand> items;
  std::optional<Operand> room;
};

std::optional<DequeArguments> arguments_of(BuiltinCall& c) {
  DequeArguments given;
  if (c.positional.size() > 2) return std::nullopt;
  if (!c.positional.empty()) given.items = c.positional[0];
  if (c.positional.size() > 1) given.room = c.positional[1];
  for (const auto& [name, operand] : c.keywords) {
    const std::string text = python::text_of(name);
    if (text != "maxlen" && text != "iterable") return std::nullopt;
    (text == "maxlen" ? given.room : given.items) = operand;
  }
  return given;
}

/// The class: of nothing, or of what is gone over.
bool make_deque(BuiltinCall& c) {
  const auto given = arguments_of(c);
  if (!given) return refuse(c);
  if (given->room && !c.walk.facts.consume(*given->room)) return false;
  if (!given->items) return gives_fresh(c.frame, c.pops, {});
  auto over = iteration_of(c.walk, *given->items);
  if (over == nullptr) return not_iterable(c.walk, *given->items);
  // What is dropped on the way cannot be seen any more.
  const bool bounded = given->room && given->room->object != Py_None;
  if (bounded && over->kind != IteratorShadow::Kind::items &&
      over->kind != IteratorShadow::Kind::generator)
    return refuse(c);
  if (!goes_over_all(c.walk, c.frame, *over)) return false;
  std::vector<Shadow> known;
  if (over->kind == IteratorShadow::Kind::items) known = c.walk.objects.items(*given->items);
  c.frame.finish = [pops = c.pops, known = std::move(known),
                    over = std::shared_ptr<IteratorShadow>(std::move(over))](Walk& walk,
                                                                             FrameShadow& f) {
    const bool listed = over->kind == IteratorShadow::Kind::items;
    const bool yielded = over->kind == IteratorShadow::Kind::generator;
    std::vector<Shadow> items = listed ? known : f.expected.results;
    f.pop(pops);
    const PyRef all = PyRef::steal(PySequence_List(f.object()));
    for (Py_ssize_t i = 0; !listed && !yielded && all && i < PyList_GET_SIZE(all.get()); ++i)
      items.push_back(advance(walk, *over, PyList_GET_ITEM(all.get(), i)));
    keep_room(items, f.object(), true);
    f.push(walk.objects.fresh(f.object(), std::move(items)));
  };
  return true;
}

constexpr FunctionModel kModels[] = {
    {"make_deque", make_deque},         {"deque_append", deque_append, 2, 2},
    {"deque_take", deque_take, 1, 1},   {"deque_extend", deque_extend, 2, 2},
    {"deque_order", deque_order, 1, 2}, {"deque_copy", deque_copy, 1, 1},
};

}  // namespace

bool is_known_deque(Walk& walk, Operand operand) {
  const ObjectShadow* known = walk.objects.find(operand.object);
  if (!is_deque(operand.object) || known == nullptr || known->listed || !known->has_shifted)
    return true;
  return walk.verdict.broke(Code::PS0303,
                            "a deque that dropped items for want of room is looked at");
}

std::span<const FunctionModel> deque_models() {
  return kModels;
}

}  // namespace penstock::record
