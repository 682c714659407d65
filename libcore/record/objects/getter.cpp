// What operator.itemgetter, attrgetter and methodcaller make. They are C code that calls methods of
// its argument: a call of one is a call of a Python function that does the same, made for it.

#include "record/objects/getter.h"

#include <algorithm>

#include "python/getter.h"
#include "python/literal.h"
#include "record/objects/builtin_call.h"
#include "record/objects/call.h"
#include "record/polyfills.h"
#include "record/results.h"

namespace penstock::record {

using python::PyRef;

bool call_getter(Walk& walk, FrameShadow& f, Operand getter, const std::vector<Operand>& positional,
                 const Keywords& keywords, int pops) {
  if (positional.size() != 1 || !keywords.empty() ||
      !python::is_getter_of_literals(getter.object)) {
    return walk.verdict.broke(
        Code::PS0306,
        std::string("this use of an ") + Py_TYPE(getter.object)->tp_name + " is not followed");
  }
  if (!walk.facts.consume_identity(getter)) return false;
  const auto done = call_python_form(walk, f, getter, positional, pops);
  return done ? *done
              : walk.verdict.broke(Code::PS0306, std::string(Py_TYPE(getter.object)->tp_name) +
                                                     " is called in a way that is not followed");
}

namespace {

/// The classes: of plain values alone.
bool make_getter(BuiltinCall& c) {
  const bool plain = std::ranges::all_of(
      c.positional, [](const Operand& one) { return python::is_immutable_literal(one.object); });
  if (!plain) return refuse(c);
  return consume_all(c.walk, c.positional, c.keywords) && gives_fresh(c.frame, c.pops, {});
}

constexpr FunctionModel kModels[] = {{"make_getter", make_getter, 1}};

}  // namespace

std::span<const FunctionModel> getter_models() {
  return kModels;
}

}  // namespace penstock::record
