// Methods that give a tensor itself back where it is as asked, or another one of its elements:
// x.to, x.float, x.type, x.cpu, x.contiguous; and those that make a tensor of a tensor's kind of
// Python data: x.new_tensor, x.new.

#include <algorithm>
#include <cstring>

#include "python/literal.h"
#include "record/objects/torch_call.h"
#include "record/objects/torch_tensor.h"
#include "record/results.h"
#include "record/walk.h"
#include "torch/methods.h"
#include "torch/ops.h"
#include "torch/tensor_facts.h"

namespace penstock::record {

using python::object_of;
using python::PyRef;

using Keywords = std::vector<std::pair<PyObject*, Operand>>;

namespace {

bool names_device(PyObject* object) {
  return PyUnicode_Check(object) || std::strcmp(Py_TYPE(object)->tp_name, "torch.device") == 0;
}

const Operand* keyword_of(const Keywords& keywords, std::string_view name) {
  for (const auto& [key, operand] : keywords) {
    if (python::text_of(key) == name) return &operand;
  }
  return nullptr;
}

/// x.to(device) and x.to(device=device), whatever else is asked for but a dtype.
bool names_device_without_dtype(const std::vector<Operand>& positional, const Keywords& keywords) {
  if (keyword_of(keywords, "dtype") != nullptr) return false;
  if (positional.size() == 2) return names_device(positional[1].object);
  const Operand* device = positional.size() == 1 ? keyword_of(keywords, "device") : nullptr;
  return device != nullptr && names_device(device->object);
}

bool is_no_memory(Walk& walk) {
  return walk.verdict.broke(
      Code::PS0308,
      "a tensor whose elements are not its memory (sparse, quantized, a conjugate view)");
}

/// The overload that takes a device takes a dtype too: the tensor's own.
bool to_device(Walk& walk, FrameShadow& f, TorchTarget target, std::vector<Operand> positional,
               Keywords keywords, int pops) {
  auto type = type_of_tensor(walk.recorder.bridge(), positional[0].object);
  const PyRef own = type ? object_of(Argument(type->dtype)) : PyRef();
  if (!own) return is_no_memory(walk);
  const PyRef dtype = PyRef::steal(PyUnicode_InternFromString("dtype"));
  if (positional.size() == 2) {
    positional.push_back({Shadow::constant(), own.get()});
    target.syntax.positional = 2;
  } else {
    keywords.emplace_back(dtype.get(), Operand{Shadow::constant(), own.get()});
  }
  return torch_call(walk, f, target, positional, keywords, pops);
}

/// Whether torch gives the tensor itself back, and dispatches nothing: x.contiguous() of what is,
/// and x.cpu() of what is there.
bool gives_itself(Walk& walk, const std::string& name, PyObject* tensor) {
  if (name != "contiguous" && name != "cpu") return false;
  const auto type = type_of_tensor(walk.recorder.bridge(), tensor);
  return type && (name == "cpu" ? type->device == "cpu" : is_contiguous(*type));
}

bool gives_tensor_itself(Walk& walk, FrameShadow& f, const Operand& tensor,
                         const std::string& method, int pops) {
  if (!consume_tensor_type(walk, tensor)) return false;
  const TensorType* known = walk.sizes.known_type(tensor);
  if (method == "contiguous" && known != nullptr && !is_contiguous(*known))
    walk.recorder.sizes().specialise(TensorType(*known));
  return gives(f, pops, tensor.shadow);
}

/// The dtype of torch.FloatTensor and its like, or of such a class's name, where it is one of dense
/// tensors on CPUs; null: of another.
PyRef dtype_of_tensor_class(PyObject* type) {
  PyRef found = PyRef::borrow(type);
  constexpr std::string_view kTorch = "torch.";
  if (PyUnicode_CheckExact(type)) {
    const std::string name = python::text_of(type);
    PyObject* torch = PyDict_GetItemString(PyImport_GetModuleDict(), "torch");
    if (torch == nullptr || !name.starts_with(kTorch)) return {};
    found =
        PyRef::borrow(PyDict_GetItemString(PyModule_GetDict(torch), name.c_str() + kTorch.size()));
  }
  if (!found || std::strcmp(Py_TYPE(found.get())->tp_name, "torch.tensortype") != 0) return {};
  PyRef dtype = PyRef::steal(PyObject_GetAttrString(found.get(), "dtype"));
  for (const char* other : {"is_cuda", "is_sparse"}) {
    const PyRef is_other = PyRef::steal(PyObject_GetAttrString(found.get(), other));
    if (is_other.get() != Py_False) dtype = {};
  }
  PyErr_Clear();
  return dtype;
}

/// x.type(dtype), x.type(torch.FloatTensor), x.type("torch.FloatTensor")
bool to_type(Walk& walk, FrameShadow& f, TorchTarget target, std::vector<Operand> positional,
             const Keywords& keywords, int pops) {
  target.op = "to";
  const PyRef dtype = dtype_of_tensor_class(positional[1].object);
  const auto type = type_of_tensor(walk.recorder.bridge(), positional[0].object);
  if (dtype && type && type->device == "cpu") {
    const bool known = PyUnicode_CheckExact(positional[1].object)
                           ? walk.facts.consume(positional[1])
                           : walk.facts.consume_identity(positional[1]);
    if (!known) return false;
    positional[1] = {Shadow::constant(), dtype.get()};
  }
  return torch_call(walk, f, target, positional, keywords, pops);
}

/// x.new_tensor(data): torch.tensor(data) of the tensor's dtype, if no other one is asked for.
bool new_tensor(Walk& walk, FrameShadow& f, const std::vector<Operand>& positional,
                Keywords keywords, int pops) {
  const auto type = type_of_tensor(walk.recorder.bridge(), positional[0].object);
  if (!type) return is_no_memory(walk);
  if (type->device != "cpu")
    return walk.verdict.broke(Code::PS0309, "new_tensor makes a tensor of Python data");
  if (!consume_tensor_type(walk, positional[0])) return false;
  const PyRef own = object_of(Argument(type->dtype));
  const PyRef dtype = PyRef::steal(PyUnicode_InternFromString("dtype"));
  const Operand* asked = keyword_of(keywords, "dtype");
  if (asked == nullptr) keywords.emplace_back(dtype.get(), Operand{Shadow::constant(), own.get()});
  return make_tensor(walk, f, "tensor", {positional[1]}, keywords, pops);
}

/// The dtype of what a class of tensors makes when it is called; nothing: of none that is followed.
std::optional<DType> dtype_made_by(Walk& walk, PyObject* type) {
  if (type == reinterpret_cast<PyObject*>(walk.recorder.bridge().tensor_type()))
    return default_dtype(walk);
  const PyRef dtype = PyType_Check(type) ? dtype_of_tensor_class(type) : PyRef();
  const auto literal = dtype ? python::literal_of(dtype.get()) : std::nullopt;
  const DType* known = literal ? literal->as<DType>() : nullptr;
  return known == nullptr ? std::nullopt : std::optional(*known);
}

}  // namespace

std::optional<bool> call_tensor_class(Walk& walk, FrameShadow& f, Operand type,
                                      const std::vector<Operand>& positional,
                                      const Keywords& keywords, int pops) {
  if (positional.empty() || !keywords.empty()) return std::nullopt;
  PyObject* first = positional[0].object;
  const bool of_data =
      positional.size() == 1 && (PyList_CheckExact(first) || PyTuple_CheckExact(first));
  const bool of_sizes =
      (positional.size() == 1 && python::is_torch_size(first)) ||
      std::ranges::all_of(positional, [](Operand one) { return PyLong_CheckExact(one.object); });
  if (!of_data && !of_sizes) return std::nullopt;
  const auto dtype =
      walk.facts.consume_identity(type) ? dtype_made_by(walk, type.object) : std::nullopt;
  if (!dtype) return std::nullopt;
  const PyRef name = PyRef::steal(PyUnicode_InternFromString("dtype"));
  const PyRef own = object_of(Argument(*dtype));
  const Keywords of_dtype = {{name.get(), {Shadow::constant(), own.get()}}};
  if (of_data) return make_tensor(walk, f, "tensor", positional, of_dtype, pops);
  const TorchTarget target{"call_function", "empty", "torch.empty", "empty", false};
  return torch_call(walk, f, target, positional, of_dtype, pops);
}

std::optional<bool> tensor_conversion(Walk& walk, FrameShadow& f, const std::string& name,
                                      const std::vector<Operand>& positional,
                                      const Keywords& keywords, int pops) {
  TorchTarget target{"call_method", name, name, std::string(torch::op_of_method(name)), true};
  const bool alone = positional.size() == 1 && keywords.empty();
  const std::string_view dtype = torch::dtype_of_conversion(name);
  if (!dtype.empty() && positional.size() == 1) {
    target.op = "to";
    const PyRef object = object_of(Argument(*dtype_from_name(dtype)));
    target.syntax.positional = 1;
    const std::vector<Operand> with_dtype = {positional[0], {Shadow::constant(), object.get()}};
    return torch_call(walk, f, target, with_dtype, keywords, pops);
  }
  if (alone && gives_itself(walk, name, positional[0].object))
    return gives_tensor_itself(walk, f, positional[0], name, pops);
  if (name == "cpu") return walk.verdict.broke(Code::PS0310, "a tensor is moved to another device");
  if (name == "to" && names_device_without_dtype(positional, keywords))
    return to_device(walk, f, target, positional, keywords, pops);
  if (name == "type" && alone)
    return consume_tensor_type(walk, positional[0]) && gives_constant(f, pops);
  if (name == "type" && positional.size() > 1)
    return to_type(walk, f, target, positional, keywords, pops);
  const bool of_data = positional.size() == 2 && (PyList_CheckExact(positional[1].object) ||
                                                  PyTuple_CheckExact(positional[1].object));
  if (of_data && (name == "new_tensor" || (name == "new" && keywords.empty())))
    return new_tensor(walk, f, positional, keywords, pops);
  if (name == "new" && positional.size() > 1) {  // of sizes
    target.op = "new_empty";
    return torch_call(walk, f, target, positional, keywords, pops);
  }
  return std::nullopt;
}

}  // namespace penstock::record
