#include "jit/outputs.h"

#include <algorithm>

namespace penstock::jit {
namespace {

using python::PyRef;

/// Bytes from the first element to behind the last one.
std::int64_t byte_extent(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides,
                         std::int64_t element) {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) return 0;
    last += (sizes[i] - 1) * strides[i];
  }
  return (last + 1) * element;
}

PyRef make_tuple(const std::vector<SizeProgram>& programs, const std::int64_t* symbols) {
  PyRef tuple = PyRef::steal(PyTuple_New(static_cast<Py_ssize_t>(programs.size())));
  for (std::size_t i = 0; tuple && i < programs.size(); ++i) {
    PyObject* number = PyLong_FromLongLong(programs[i].evaluate(symbols));
    if (number == nullptr) return {};
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), number);
  }
  return tuple;
}

PyRef as_strided(PyObject* tensor, PyRef sizes, PyRef strides, PyRef offset) {
  static PyObject* const name = PyUnicode_InternFromString("as_strided");
  if (!sizes || !strides || !offset) return {};
  PyObject* arguments[] = {tensor, sizes.get(), strides.get(), offset.get()};
  return PyRef::steal(PyObject_VectorcallMethod(name, arguments, 4, nullptr));
}

}  // namespace

Result<OutputMaker> OutputMaker::compile(const Interface& interface) {
  OutputMaker maker;
  const auto place = [&](std::string_view name) {
    for (std::size_t i = 0; i < interface.symbols.size(); ++i) {
      if (interface.symbols[i].name == name) return static_cast<int>(i);
    }
    return -1;
  };
  for (const Output& output : interface.outputs) {
    Facts row;
    row.alias = output.alias;
    row.dtype = facts(output.type.dtype).torch_scalar_type;
    row.element = facts(output.type.dtype).size;
    row.fixed = true;
    if (output.type.device != "cpu") {
      return failure(Code::PS0505, "an output is on " + output.type.device +
                                       "; only the CPU is supported in process");
    }
    const auto add = [&](const std::vector<SymExpr>& from, std::vector<SizeProgram>& to,
                         std::vector<std::int64_t>& numbers) {
      for (const SymExpr& expression : from) {
        to.emplace_back(expression, place);
        numbers.push_back(to.back().constant());
        row.fixed = row.fixed && to.back().is_constant();
        if (!to.back().valid()) return false;
      }
      return true;
    };
    // Where a view starts, counted from its base: the base may stand elsewhere in its storage now.
    SymExpr start = output.type.storage_offset;
    if (output.alias.kind == OutputAlias::Kind::input) {
      start -= interface.inputs[output.alias.index].type.storage_offset;
    } else if (output.alias.kind == OutputAlias::Kind::output) {
      start -= interface.outputs[output.alias.index].type.storage_offset;
    }
    row.offset = SizeProgram(start, place);
    if (!add(output.type.sizes, row.sizes, row.fixed_sizes) ||
        !add(output.type.strides, row.strides, row.fixed_strides) || !row.offset.valid()) {
      return failure(Code::PS0505, "an output's size is known only when the graph has run");
    }
    if (row.fixed) row.fixed_bytes = byte_extent(row.fixed_sizes, row.fixed_strides, row.element);
    maker.has_views_ = maker.has_views_ || row.alias.kind != OutputAlias::Kind::none;
    maker.outputs_.push_back(std::move(row));
  }
  return maker;
}

bool OutputMaker::allocate(const python::TensorBridge& bridge, OutputPool& pool,
                           const std::int64_t* symbols, std::span<PyRef> outputs,
                           std::span<void*> memory) const {
  std::vector<std::int64_t> sizes, strides;
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const Facts& row = outputs_[i];
    memory[i] = nullptr;
    if (row.alias.kind != OutputAlias::Kind::none) continue;
    python::TensorSpec spec;
    std::int64_t bytes = row.fixed_bytes;
    spec.sizes = row.fixed_sizes;
    spec.strides = row.fixed_strides;
    if (!row.fixed) {
      sizes.clear();
      strides.clear();
      for (const SizeProgram& size : row.sizes) sizes.push_back(size.evaluate(symbols));
      for (const SizeProgram& stride : row.strides) strides.push_back(stride.evaluate(symbols));
      spec.sizes = sizes;
      spec.strides = strides;
      bytes = byte_extent(sizes, strides, row.element);
    }
    const OutputPool::Block block = pool.take(static_cast<std::size_t>(bytes));
    if (block.data == nullptr) {
      PyErr_NoMemory();
      return false;
    }
    spec.dtype = row.dtype;
    spec.data = block.data;
    spec.release = &OutputPool::release;
    spec.context = block.context;
    outputs[i] = bridge.make(spec);
    if (!outputs[i]) {
      OutputPool::release(block.context);
      return false;
    }
    memory[i] = block.data;
  }
  return true;
}

bool OutputMaker::make_views(std::span<const InputValue> inputs, const std::int64_t* symbols,
                             std::span<PyRef> outputs) const {
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const Facts& row = outputs_[i];
    if (row.alias.kind == OutputAlias::Kind::none || outputs[i]) continue;
    PyObject* base = row.alias.kind == OutputAlias::Kind::input
                         ? inputs[row.alias.index].object
                         : outputs[row.alias.index].get();
    if (base == nullptr) {
      PyErr_SetString(PyExc_RuntimeError, "penstock: a view's base was not made");
      return false;
    }
    std::int64_t start = row.offset.evaluate(symbols);
    if (row.alias.kind == OutputAlias::Kind::input) {
      start += inputs[row.alias.index].view->storage_offset;
    }
    outputs[i] = as_strided(base, make_tuple(row.sizes, symbols), make_tuple(row.strides, symbols),
                            PyRef::steal(PyLong_FromLongLong(start)));
    if (!outputs[i]) return false;
  }
  return true;
}

}  // namespace penstock::jit
