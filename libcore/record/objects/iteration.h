#pragma once

// Rules of iteration and of generators (iteration.cpp, generator.cpp, types.cpp).

#include <functional>

#include "record/walk.h"

namespace penstock::record {

using Keywords = std::vector<std::pair<PyObject*, Operand>>;

struct MadeGenerator;

bool make_generator(FrameShadow& frame, Expected expected, int pops);
/// The instruction has made `generator` by the call; the shadow of it.
Shadow adopt_generator(Walk& walk, PyObject* generator, const Expected& call);
bool make_iterator(Walk& walk, FrameShadow& frame, PyObject* type,
                   const std::vector<Operand>& positional, const Keywords& keywords, int pops);
std::optional<MadeGenerator> iterates_by_generator(Walk& walk, Operand operand, std::size_t base);
void find_made_generator(Walk& walk, Operand iterator, const MadeGenerator& made);
bool reduces_generator(Walk& walk, FrameShadow& frame, Operand generator, int pops);
bool get_iterator(Walk& walk, FrameShadow& frame);
bool next_item(Walk& walk, FrameShadow& frame);
/// SEND: what `yield from` gets of the generator or iterator below the operand.
bool next_of_delegate(Walk& walk, FrameShadow& frame);
/// How the operand is gone over, if it is a container or an iterator that we follow.
std::unique_ptr<IteratorShadow> iteration_of(Walk& walk, Operand iterable);
/// True where going over an object runs methods of it that are written in Python.
bool iterates_in_python(Operand operand);
/// What runs Python code where it is advanced, the iterator itself or one that it goes over; null:
/// nothing does.
const IteratorShadow* code_in(Walk& walk, const IteratorShadow& over);
/// The instruction asks for one item: expects the code that this runs, if any. False (a break): it
/// is not followed.
bool expects_item(Walk& walk, FrameShadow& frame, const IteratorShadow& over);
/// The same of a real iterator. False, with a reason or without, where it is not followed.
bool steps(Walk& walk, FrameShadow& frame, Operand iterator);
/// The shadow of the item that it gave.
Shadow stepped(Walk& walk, Operand iterator, PyObject* item);
/// The instruction will advance to the end: expects the generator's resumes. False (a break) when
/// they cannot be followed.
bool goes_over_all(Walk& walk, FrameShadow& frame, const IteratorShadow& over);
/// The shadow of the next item, given the item itself; advances.
Shadow advance(Walk& walk, IteratorShadow& over, PyObject* item);
/// What an instruction that went over all took, one after the other: the shadow of each.
std::function<Shadow(PyObject*)> items_gone_over(Walk& walk, FrameShadow& frame,
                                                 IteratorShadow& over);
/// The same of the iterator that the frame which it ran gave; nothing is known of another's items.
std::function<Shadow(PyObject*)> items_of_result(Walk& walk, FrameShadow& frame);
/// The instruction makes a list, tuple … of what is left of `iterable`; `make` gets the shadows.
bool gathers(Walk& walk, FrameShadow& frame, Operand iterable, int pops);
bool gives_iterator(FrameShadow& frame, int pops, std::unique_ptr<IteratorShadow> over);
bool not_iterable(Walk& walk, Operand operand);

}  // namespace penstock::record
