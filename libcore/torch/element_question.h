#pragma once

#include <Python.h>

#include <vector>

#include "ir/graph.h"
#include "python/object.h"

namespace penstock::torch {

/// A question about the elements of one tensor that is answered by yes or no: a few nodes of level
/// torch, of constants and the value `input` alone, the last of which gives `answer`, one bool.
struct ElementQuestion {
  std::vector<Node> nodes;
  ValueId input = kNoValue;
  ValueId answer = kNoValue;
};

/// The question as a Python object, which keeps no tensor alive.
python::PyRef make_question(ElementQuestion question);
/// True for what make_question() gave.
bool is_question(PyObject* object);
/// True or False, asked of `tensor` by torch's own ops; null, without a Python error, where they
/// do not take it.
python::PyRef ask(PyObject* question, PyObject* tensor);

}  // namespace penstock::torch
