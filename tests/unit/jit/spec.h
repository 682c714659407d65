#pragma once

#include <Python.h>

#include <vector>

#include "ir/graph.h"
#include "python/object.h"

namespace penstock::test {

/// An interface and the objects that it names, written down in Python for a test:
///
///   {"start": 0, "end": -1, "symbols": [("s0", "L['x'].size(0)", 2)],
///    "inputs": ["L['x']"],
///    "guards": [{"kind": "equals", "source": "L['n']", "expected": 3, "live": object}],
///    "objects": [recipe], "restore": [("local", "x", recipe), ("result", recipe), …]}
///
/// A recipe is ("source", "L['x']"), ("literal", value), ("live", object), ("symbol", "s0*2"),
/// ("output", 0), ("object", 0) or a kind with recipes behind it: ("list", recipe, …).
///
/// A graph has "values" (their number), "nodes" [("aten.add.Tensor", {"self": "%0", "other": 1},
/// [2])] and "outputs" (value numbers); the first values are the inputs.
struct Spec {
  Graph graph;
  std::vector<python::PyRef> live;
  Interface& interface = graph.interface;
};

/// Reads the dict; false with a Python error set. Slots of locals are looked up in `code`.
bool read_spec(PyObject* dict, PyCodeObject* code, Spec& spec);

}  // namespace penstock::test
