#include "spec.h"

#include <string>

#include "python/bytecode.h"

namespace penstock::test {
namespace {

using python::PyRef;

/// Reads one spec; every step answers false with a Python error set when something is wrong.
class Reader {
 public:
  Reader(PyCodeObject* code, Spec& spec) : code_(code), spec_(spec) {}

  bool read(PyObject* dict) {
    Interface& interface = spec_.interface;
    interface.name = "test";
    interface.start_offset = static_cast<int>(number(get(dict, "start"), 0));
    interface.end.offset = static_cast<int>(number(get(dict, "end"), -1));
    interface.end.kind =
        interface.end.offset < 0 ? SegmentEnd::Kind::returned : SegmentEnd::Kind::broke;
    return each(get(dict, "symbols"), [&](PyObject* row) { return symbol(row); }) &&
           each(get(dict, "inputs"), [&](PyObject* row) { return input(row); }) &&
           each(get(dict, "guards"), [&](PyObject* row) { return guard(row); }) &&
           each(get(dict, "objects"),
                [&](PyObject* row) {
                  interface.objects.emplace_back();
                  return recipe(row, interface.objects.back());
                }) &&
           each(get(dict, "restore"), [&](PyObject* row) { return restore(row); }) && graph(dict);
  }

 private:
  static bool wrong(const std::string& why) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, why.c_str());
    return false;
  }
  static PyObject* get(PyObject* dict, const char* key) { return PyDict_GetItemString(dict, key); }
  static std::int64_t number(PyObject* object, std::int64_t otherwise) {
    return object == nullptr ? otherwise : PyLong_AsLongLong(object);
  }
  static std::string text(PyObject* object) {
    const char* words = object == nullptr ? nullptr : PyUnicode_AsUTF8(object);
    return words == nullptr ? "" : words;
  }

  template <class Visit>
  bool each(PyObject* sequence, const Visit& visit) {
    if (sequence == nullptr) return true;
    for (Py_ssize_t i = 0; i < PySequence_Size(sequence); ++i) {
      PyRef item = PyRef::steal(PySequence_GetItem(sequence, i));
      if (!item || !visit(item.get())) return wrong("malformed spec");
    }
    return true;
  }

  bool source(PyObject* object, SourceId& id) {
    if (object == nullptr || object == Py_None) {
      id = kNoSource;
      return true;
    }
    SourceTable parsed;
    auto last = parse_source(text(object), parsed);
    if (!last) return wrong(last.error().message);
    std::vector<SourceId> ids;
    for (SourceId step = 0; step < parsed.size(); ++step) {
      SourceStep copy = parsed[step];
      if (copy.base != kNoSource) copy.base = ids[copy.base];
      if (copy.other != kNoSource) copy.other = ids[copy.other];
      if (copy.kind == SourceKind::local || copy.kind == SourceKind::cell) {
        copy.index = slot(copy.name);
      }
      ids.push_back(spec_.interface.sources.intern(copy));
    }
    id = ids[*last];
    return true;
  }

  int slot(const std::string& name) {
    for (int i = 0; i < code_->co_nlocalsplus; ++i) {
      if (text(python::slot_name(code_, i)) == name) return i;
    }
    return -1;
  }

  bool argument(PyObject* object, Argument& value) {
    if (object == nullptr || object == Py_None) {
      value = Argument{};
    } else if (PyBool_Check(object)) {
      value = Argument{object == Py_True};
    } else if (PyLong_Check(object)) {
      value = Argument{static_cast<std::int64_t>(PyLong_AsLongLong(object))};
    } else if (PyFloat_Check(object)) {
      value = Argument{PyFloat_AS_DOUBLE(object)};
    } else if (PyUnicode_Check(object)) {
      value = Argument{text(object)};
    } else if (PyDict_Check(object)) {
      return dict(object, value);
    } else if (!PyList_Check(object) && !PyTuple_Check(object)) {
      return word(object, value);
    } else {
      Argument::Sequence sequence{
          PyList_Check(object) ? Argument::Sequence::Kind::list : Argument::Sequence::Kind::tuple,
          {}};
      const bool read = each(object, [&](PyObject* item) {
        sequence.items.emplace_back();
        return argument(item, sequence.items.back());
      });
      value = Argument{std::move(sequence)};
      return read;
    }
    return true;
  }

  /// torch's dtypes, devices and layouts, as their own text names them.
  bool word(PyObject* object, Argument& value) {
    const std::string type = Py_TYPE(object)->tp_name;
    const PyRef shown = PyRef::steal(PyObject_Str(object));
    if (!shown) return false;
    const std::string name = text(shown.get());
    if (type == "torch.device") {
      value = Argument{Argument::Named{Argument::Named::Kind::device, name}};
      return true;
    }
    const std::string_view bare = std::string_view(name).substr(name.find('.') + 1);
    if (const auto dtype = dtype_from_name(bare); type == "torch.dtype" && dtype) {
      value = Argument{*dtype};
      return true;
    }
    value = Argument{Argument::Named{Argument::Named::Kind::layout, std::string(bare)}};
    if (type == "torch.layout") return true;
    PyErr_Format(PyExc_TypeError, "no literal of a spec: %R", object);
    return false;
  }

  bool dict(PyObject* object, Argument& value) {
    Argument::Dict dict;
    Py_ssize_t position = 0;
    PyObject *key = nullptr, *item = nullptr;
    while (PyDict_Next(object, &position, &key, &item)) {
      auto& row = dict.items.emplace_back();
      if (!argument(key, row.first) || !argument(item, row.second)) return false;
    }
    value = Argument{std::move(dict)};
    return true;
  }

  bool expression(PyObject* object, SymExpr& value) {
    if (PyLong_Check(object)) {
      value = SymExpr(static_cast<std::int64_t>(PyLong_AsLongLong(object)));
      return true;
    }
    auto parsed = parse_sym_expr(text(object));
    if (!parsed) return wrong(parsed.error().message);
    value = *parsed;
    return true;
  }

  bool graph(PyObject* dict) {
    Graph& graph = spec_.graph;
    for (std::int64_t i = 0; i < number(get(dict, "values"), 0); ++i) {
      add_value(graph, "v", TensorType{});
    }
    return each(get(dict, "nodes"), [&](PyObject* row) { return node(row); }) &&
           each(get(dict, "outputs"),
                [&](PyObject* item) {
                  graph.outputs.push_back(static_cast<ValueId>(number(item, 0)));
                  graph.interface.outputs.emplace_back();
                  return true;
                }) &&
           each(get(dict, "conditions"), [&](PyObject* item) {
             graph.interface.outputs[number(item, 0)].type.dtype = DType::bool_;
             return true;
           });
  }

  bool node(PyObject* row) {
    Node node;
    node.op = text(PyTuple_GetItem(row, 0));
    Py_ssize_t position = 0;
    PyObject *key = nullptr, *item = nullptr;
    while (PyDict_Next(PyTuple_GetItem(row, 1), &position, &key, &item)) {
      NamedArgument& argument = node.args.emplace_back();
      argument.name = text(key);
      const std::string value = PyUnicode_Check(item) ? text(item) : "";
      if (!value.empty() && value[0] == '%') {
        argument.value = Argument::Value{static_cast<ValueId>(std::stoi(value.substr(1)))};
      } else if (!this->argument(item, argument.value)) {
        return false;
      }
    }
    spec_.graph.nodes.push_back(std::move(node));
    return each(PyTuple_GetItem(row, 2), [&](PyObject* result) {
      spec_.graph.nodes.back().results.push_back(static_cast<ValueId>(number(result, 0)));
      return true;
    });
  }

  bool symbol(PyObject* row) {
    Symbol symbol;
    symbol.name = text(PyTuple_GetItem(row, 0));
    if (PyTuple_Size(row) > 2) symbol.minimum = number(PyTuple_GetItem(row, 2), 0);
    if (!source(PyTuple_GetItem(row, 1), symbol.source)) return false;
    spec_.interface.symbols.push_back(symbol);
    return true;
  }

  bool input(PyObject* row) {
    Input input;
    input.name = "x" + std::to_string(spec_.interface.inputs.size());
    if (!source(row, input.source)) return false;
    spec_.interface.inputs.push_back(input);
    return true;
  }

  std::int64_t live(PyObject* object) {
    if (object == nullptr) return -1;
    spec_.live.push_back(PyRef::borrow(object));
    return static_cast<std::int64_t>(spec_.live.size()) - 1;
  }

  bool guard(PyObject* row) {
    Guard guard{};
    const auto kind = guard_kind_from_name(text(get(row, "kind")));
    if (!kind) return wrong("no such kind of guard");
    guard.kind = *kind;
    if (!source(get(row, "source"), guard.source) || !source(get(row, "other"), guard.other) ||
        !argument(get(row, "expected"), guard.expected)) {
      return false;
    }
    guard.live = live(get(row, "live"));
    if (PyObject* condition = get(row, "condition")) {
      auto parsed = parse_condition(text(condition));
      if (!parsed) return wrong(parsed.error().message);
      guard.condition = *parsed;
    }
    if (PyObject* tensor = get(row, "tensor")) {
      guard.tensor.emplace();
      if (!tensor_type(tensor, *guard.tensor)) return false;
    }
    spec_.interface.guards.push_back(std::move(guard));
    return true;
  }

  /// (dtype, sizes, strides) or (dtype, sizes): contiguous.
  bool tensor_type(PyObject* row, TensorType& type) {
    const auto dtype = dtype_from_name(text(PyTuple_GetItem(row, 0)));
    if (!dtype) return wrong("no such dtype");
    type.dtype = *dtype;
    const auto add = [&](std::vector<SymExpr>& to) {
      return [&](PyObject* item) {
        to.emplace_back();
        return expression(item, to.back());
      };
    };
    if (!each(PyTuple_GetItem(row, 1), add(type.sizes))) return false;
    if (PyTuple_Size(row) > 2) return each(PyTuple_GetItem(row, 2), add(type.strides));
    type.strides = contiguous_strides(type.sizes);
    return true;
  }

  bool recipe(PyObject* row, Recipe& recipe) {
    const std::string kind = text(PyTuple_GetItem(row, 0));
    PyObject* first = PyTuple_Size(row) > 1 ? PyTuple_GetItem(row, 1) : nullptr;
    if (kind == "live") {
      recipe.kind = Recipe::Kind::literal;
      recipe.live = live(first);
      return true;
    }
    const auto found = recipe_kind_from_name(kind);
    if (!found) return wrong("no such kind of recipe: " + kind);
    recipe.kind = *found;
    switch (recipe.kind) {
      case Recipe::Kind::source:
        return source(first, recipe.source);
      case Recipe::Kind::literal:
        return argument(first, recipe.literal);
      case Recipe::Kind::symbol:
        return expression(first, recipe.expression);
      case Recipe::Kind::output:
      case Recipe::Kind::object:
        recipe.index = static_cast<int>(number(first, -1));
        return true;
      default:
        break;
    }
    for (Py_ssize_t i = 1; i < PyTuple_Size(row); ++i) {
      recipe.items.emplace_back();
      if (!this->recipe(PyTuple_GetItem(row, i), recipe.items.back())) return false;
    }
    return true;
  }

  /// ("local", name, value) ("unbind", name) ("stack", index, value) ("result", value)
  /// ("cell", name, value) ("set_attribute", target, name, value) ("set_global", name, value)
  /// ("set_item", target, key, value) ("append", target, value) …
  bool restore(PyObject* row) {
    Restore record;
    const std::string kind = text(PyTuple_GetItem(row, 0));
    const auto found = restore_kind_from_name(kind);
    if (!found) return wrong("no such kind of record: " + kind);
    record.kind = *found;
    const auto at = [&](Py_ssize_t i) { return PyTuple_GetItem(row, i); };
    using Kind = Restore::Kind;
    bool read = true;
    switch (record.kind) {
      case Kind::local:
      case Kind::cell:
      case Kind::unbind:
        record.index = slot(text(at(1)));
        if (record.kind != Kind::unbind) read = recipe(at(2), record.value);
        break;
      case Kind::stack:
        record.index = static_cast<int>(number(at(1), -1));
        read = recipe(at(2), record.value);
        break;
      case Kind::result:
        read = recipe(at(1), record.value);
        break;
      case Kind::set_global:
        record.name = text(at(1));
        read = recipe(at(2), record.value);
        break;
      case Kind::set_attribute:
        record.name = text(at(2));
        read = recipe(at(1), record.target) && recipe(at(3), record.value);
        break;
      case Kind::delete_attribute:
        record.name = text(at(2));
        read = recipe(at(1), record.target);
        break;
      case Kind::set_item:
      case Kind::insert:
        read = recipe(at(1), record.target) && recipe(at(2), record.key) &&
               recipe(at(3), record.value);
        break;
      case Kind::delete_item:
        read = recipe(at(1), record.target) && recipe(at(2), record.key);
        break;
      default:
        read = recipe(at(1), record.target);
        if (read && PyTuple_Size(row) > 2) read = recipe(at(2), record.value);
        break;
    }
    spec_.interface.restore.push_back(std::move(record));
    return read;
  }

  PyCodeObject* code_;
  Spec& spec_;
};

}  // namespace

bool read_spec(PyObject* dict, PyCodeObject* code, Spec& spec) {
  return Reader(code, spec).read(dict);
}

}  // namespace penstock::test
