#include "jit/executors/gradient_replay.h"

#include <string>

#include "jit/executors/gradient_paths.h"
#include "jit/executors/recording_by_torch.h"
#include "jit/executors/torch_run.h"
#include "ops/draws.h"
#include "torch/state.h"

namespace penstock::jit {

using python::PyRef;

namespace {

bool raise_torch_failed(const std::string& why) {
  if (!PyErr_Occurred())
    PyErr_Format(PyExc_RuntimeError, "penstock: torch could not run a segment again: %s",
                 why.c_str());
  return false;
}

class Replaying {
 public:
  Replaying(GradientProgram& program, const GradientReplay& replay)
      : program_(program), replay_(replay) {}

  /// The gradients by torch's own ops.
  bool run(std::span<PyObject* const> tangents, std::vector<PyRef>& gradients,
           std::chrono::nanoseconds& engine_time) {
    if (!are_unchanged()) return false;
    const bool twice = torch::grad_enabled();
    const Graph& graph = program_.parts.recorded;
    std::vector<PyRef> values(graph.values.size());
    const GradMode on;
    {
      const torch::PlainOps as_recorded;
      if (!inputs_again(twice, values)) return raise_torch_failed("its inputs are gone");
      const NoSavingHooks plain;
      const RandomState now(program_.device_index);
      now.set(replay_.random);
      const auto done =
          jit::run_by_torch(graph, replay_.symbols.data(), program_.ops, *program_.bridge, values);
      if (!done) return raise_torch_failed(done.error().message);
    }
    const PyRef outputs = PyRef::steal(PyList_New(0)), given = PyRef::steal(PyList_New(0)),
                inputs = PyRef::steal(PyList_New(0));
    if (!outputs || !given || !inputs) return false;
    for (std::size_t i = 0; i < program_.attached.size(); ++i) {
      if (tangents[i] == nullptr) continue;
      const PyRef& output = values[graph.outputs[program_.attached[i]]];
      if (PyList_Append(outputs.get(), output.get()) < 0 ||
          PyList_Append(given.get(), tangents[i]) < 0)
        return false;
    }
    for (const std::uint32_t input : program_.inputs) {
      if (PyList_Append(inputs.get(), values[input].get()) < 0) return false;
    }
    const auto begin = program_.now();
    const bool done = differentiate(outputs.get(), inputs.get(), given.get(), twice, gradients);
    engine_time = program_.now() - begin;
    return done;
  }

 private:
  /// The inputs as torch runs the segment on them again. Those that have gradients are new tensors
  /// that show the same: gradients end there, and, where those of gradients are asked for, go on
  /// behind them.
  bool inputs_again(bool twice, std::vector<PyRef>& values) const {
    const Interface& interface = program_.parts.recorded.interface;
    for (std::size_t i = 0; i < replay_.inputs.size(); ++i) {
      const HeldInput& held = replay_.inputs[i];
      const Input& input = interface.inputs[i];
      if (input.kind == InputKind::scalar || input.kind == InputKind::size) {
        values[i] = held.object ? held.object
                    : is_floating(input.type.dtype)
                        ? PyRef::steal(PyFloat_FromDouble(held.real))
                        : PyRef::steal(PyLong_FromLongLong(held.integer));
      } else if (std::ranges::find(program_.inputs, static_cast<std::uint32_t>(i)) !=
                 program_.inputs.end()) {
        values[i] = PyRef::steal(
            twice ? PyObject_CallMethod(held.object.get(), "view_as", "O", held.object.get())
                  : PyObject_CallMethod(held.object.get(), "detach", nullptr));
        // Not by requires_grad_(), which torch forbids within its transforms.
        if (!twice && values[i] &&
            PyObject_SetAttrString(values[i].get(), "requires_grad", Py_True) < 0)
          return false;
      } else {
        values[i] = PyRef::steal(PyObject_CallMethod(held.object.get(), "detach", nullptr));
        if (values[i] && program_.writes(i))
          values[i] = PyRef::steal(PyObject_CallMethod(values[i].get(), "clone", nullptr));
      }
      if (!values[i]) return false;
    }
    return true;
  }

  bool are_unchanged() const {
    for (std::size_t i = 0; i < replay_.inputs.size(); ++i) {
      const InputKind kind = program_.parts.recorded.interface.inputs[i].kind;
      if (kind == InputKind::scalar || kind == InputKind::size || program_.writes(i) ||
          !program_.reads[i])
        continue;
      const std::uint32_t version = program_.bridge->version(replay_.inputs[i].object.get());
      if (version == replay_.inputs[i].version) continue;
      PyErr_Format(PyExc_RuntimeError,
                   "one of the variables needed for gradient computation has been modified by an "
                   "inplace operation: it is at version %u; expected version %u instead. Hint: "
                   "enable anomaly detection to find the operation that failed to compute its "
                   "gradient, with torch.autograd.set_detect_anomaly(True).",
                   version, replay_.inputs[i].version);
      return false;
    }
    return true;
  }

  static bool differentiate(PyObject* outputs, PyObject* inputs, PyObject* tangents, bool twice,
                            std::vector<PyRef>& gradients) {
    const PyRef function = torch_function("torch.autograd", "grad");
    const PyRef arguments = PyRef::steal(PyTuple_Pack(3, outputs, inputs, tangents));
    const PyRef keywords = PyRef::steal(PyDict_New());
    if (!function || !arguments || !keywords ||
        PyDict_SetItemString(keywords.get(), "create_graph", twice ? Py_True : Py_False) < 0 ||
        PyDict_SetItemString(keywords.get(), "allow_unused", Py_True) < 0)
      return false;
    const PyRef found =
        PyRef::steal(PyObject_Call(function.get(), arguments.get(), keywords.get()));
    if (!found || !PyTuple_Check(found.get())) return raise_torch_failed("no gradients were given");
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      PyObject* one = PyTuple_GET_ITEM(found.get(), static_cast<Py_ssize_t>(i));
      gradients[i] = one == Py_None ? PyRef() : PyRef::borrow(one);
    }
    return true;
  }

  GradientProgram& program_;
  const GradientReplay& replay_;
};

}  // namespace

Graph needed_again(Graph recorded, const std::vector<std::uint32_t>& attached) {
  std::vector<bool> needed(recorded.values.size(), false), kept(recorded.nodes.size(), false);
  for (const std::uint32_t output : attached) needed[recorded.outputs[output]] = true;
  bool drawn = false;
  for (std::size_t i = recorded.nodes.size(); i-- > 0;) {
    const Node& node = recorded.nodes[i];
    kept[i] =
        writes(node) || std::ranges::any_of(node.results, [&](ValueId id) { return needed[id]; });
    if (!kept[i]) continue;
    drawn = drawn || ops::draws(node);
    for (const NamedArgument& argument : node.args)
      for_each_value(argument.value, [&](ValueId id) { needed[id] = true; });
  }
  if (drawn && std::ranges::any_of(recorded.nodes, [&](const Node& node) {
        return ops::draws(node) && !kept[static_cast<std::size_t>(&node - recorded.nodes.data())];
      }))
    return recorded;
  std::vector<Node> nodes;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (kept[i]) nodes.push_back(std::move(recorded.nodes[i]));
  }
  recorded.nodes = std::move(nodes);
  return recorded;
}

std::vector<bool> inputs_read(const Graph& graph) {
  std::vector<bool> read(graph.values.size(), false);
  for (const Node& node : graph.nodes) {
    for (const NamedArgument& argument : node.args)
      for_each_value(argument.value, [&](ValueId id) { read[id] = true; });
  }
  read.resize(graph.interface.inputs.size());
  return read;
}

namespace {

/// The op moves on what it is given as that argument, and does nothing else with it.
bool only_moves_on(const Node& node, std::string_view name) {
  const Argument* training = find_argument(node, "training");
  const bool* by_batch = training == nullptr ? nullptr : training->as<bool>();
  return by_batch != nullptr && *by_batch && (name == "running_mean" || name == "running_var");
}

/// The op writes the one tensor that it is given, with numbers.
bool writes_by_itself(const Node& node) {
  int values = 0;
  for (const NamedArgument& argument : node.args)
    for_each_value(argument.value, [&](ValueId) { ++values; });
  return values == 1 && writes(node);
}

}  // namespace

std::vector<bool> inputs_that_decide(const Graph& graph,
                                     const std::vector<std::uint32_t>& attached) {
  std::vector<bool> needed(graph.values.size(), false);
  for (const std::uint32_t output : attached) needed[graph.outputs[output]] = true;
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    const bool used = std::ranges::any_of(node.results, [&](ValueId id) { return needed[id]; });
    // What else is written may be read under another name.
    if (!used && (!writes(node) || writes_by_itself(node))) continue;
    for (const NamedArgument& argument : node.args) {
      if (only_moves_on(node, argument.name)) continue;
      for_each_value(argument.value, [&](ValueId id) { needed[id] = true; });
    }
  }
  needed.resize(graph.interface.inputs.size());
  return needed;
}

bool differentiate_by_torch(GradientProgram& program, const GradientReplay& replay,
                            std::span<PyObject* const> tangents, std::vector<PyRef>& gradients,
                            std::chrono::nanoseconds& engine_time) {
  return Replaying(program, replay).run(tangents, gradients, engine_time);
}

}  // namespace penstock::jit
