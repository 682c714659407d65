#include "jit/executors/op_gradients.h"

#include <algorithm>
#include <string>

#include "jit/executors/recording_by_torch.h"
#include "ops/gradients_of.h"
#include "ops/op.h"

namespace penstock::jit {

using python::PyRef;

namespace {

Result<std::vector<PyRef>> refused(const std::string& op, const std::string& why) {
  PyErr_Clear();
  auto refusal = failure(Code::PS0505, op + ": " + why);
  refusal.value().severity = Severity::note;
  return refusal;
}

/// One node's op, its operands as leaves, and what torch's engine is asked for.
class Asked {
 public:
  explicit Asked(const std::vector<NamedArgument>& arguments) {
    for (const NamedArgument& argument : arguments) {
      if (!ops::is_of_gradients(argument)) own_.push_back(argument);
      if (argument.name == ops::kGradientsOfOp) op_ = *argument.value.as<std::string>();
      if (argument.name == ops::kGradientsTangents)
        tangents_ = argument.value.as<Argument::Sequence>();
      if (argument.name != ops::kGradientsWanted) continue;
      for (const Argument& one : argument.value.as<Argument::Sequence>()->items)
        wanted_.push_back(*one.as<std::int64_t>());
    }
  }

  Result<std::vector<PyRef>> run(torch::TorchOps& ops, const torch::TorchOps::ValueOf& value_of,
                                 const torch::TorchOps::SymbolOf& symbol_of) {
    const GradMode on;
    const NoSavingHooks plain;
    std::int64_t position = 0;
    auto results = ops.call(
        op_, own_, [&](ValueId id) { return operand(value_of(id), position++); }, symbol_of);
    if (!results) return results;
    if (!collect(*results, value_of)) return refused(op_, "torch records nothing of it");
    return differentiate();
  }

 private:
  /// An operand at its place: a leaf, if its gradient is wanted. What an op in place writes is
  /// none.
  PyRef operand(PyRef tensor, std::int64_t position) {
    const bool written = position == 0 && ops::writes_by_name(op_);
    if (tensor && std::ranges::find(wanted_, position) != wanted_.end()) {
      const PyRef leaf = PyRef::steal(PyObject_CallMethod(tensor.get(), "requires_grad_", nullptr));
      if (!leaf || PyList_Append(inputs_.get(), tensor.get()) < 0) return {};
    }
    if (!tensor || !written) return tensor;
    return PyRef::steal(PyObject_CallMethod(tensor.get(), "clone", nullptr));
  }

  /// Puts results that something comes for beside that; false with or without an error: none does.
  bool collect(const std::vector<PyRef>& results, const torch::TorchOps::ValueOf& value_of) {
    for (std::size_t i = 0; i < results.size() && i < tangents_->items.size(); ++i) {
      const auto* tangent = tangents_->items[i].as<Argument::Value>();
      if (tangent == nullptr) continue;
      const PyRef records = PyRef::steal(PyObject_GetAttrString(results[i].get(), "requires_grad"));
      PyErr_Clear();  // it is no tensor
      if (records.get() != Py_True) continue;
      const PyRef given = value_of(tangent->id);
      if (!given || PyList_Append(outputs_.get(), results[i].get()) < 0 ||
          PyList_Append(given_.get(), given.get()) < 0)
        return false;
    }
    return PyList_GET_SIZE(outputs_.get()) > 0;
  }

  Result<std::vector<PyRef>> differentiate() {
    const PyRef function = torch_function("torch.autograd", "grad");
    const PyRef arguments =
        PyRef::steal(PyTuple_Pack(3, outputs_.get(), inputs_.get(), given_.get()));
    const PyRef keywords = PyRef::steal(Py_BuildValue("{s:O}", "allow_unused", Py_True));
    const PyRef found =
        function && arguments && keywords
            ? PyRef::steal(PyObject_Call(function.get(), arguments.get(), keywords.get()))
            : PyRef();
    if (!found || !PyTuple_Check(found.get())) return refused(op_, "torch gives no gradients");
    std::vector<PyRef> gradients;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(found.get()); ++i) {
      PyObject* one = PyTuple_GET_ITEM(found.get(), i);
      if (one == Py_None) return refused(op_, "an operand has no gradient");
      const PyRef plain = PyRef::steal(PyObject_CallMethod(one, "resolve_conj", nullptr));
      gradients.push_back(
          PyRef::steal(plain ? PyObject_CallMethod(plain.get(), "resolve_neg", nullptr) : nullptr));
      if (!gradients.back()) return refused(op_, "a gradient has no elements of its own");
    }
    return gradients;
  }

  std::string op_;
  std::vector<NamedArgument> own_;
  const Argument::Sequence* tangents_ = nullptr;
  std::vector<std::int64_t> wanted_;
  PyRef inputs_ = PyRef::steal(PyList_New(0)), outputs_ = PyRef::steal(PyList_New(0)),
        given_ = PyRef::steal(PyList_New(0));
};

}  // namespace

Result<std::vector<PyRef>> gradients_of_op(torch::TorchOps& ops,
                                           const std::vector<NamedArgument>& arguments,
                                           const torch::TorchOps::ValueOf& value_of,
                                           const torch::TorchOps::SymbolOf& symbol_of) {
  return Asked(arguments).run(ops, value_of, symbol_of);
}

}  // namespace penstock::jit
