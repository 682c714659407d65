#include "ops/reference/evaluation.h"

namespace penstock::ops {

std::string_view Evaluation::base_name() const {
  std::string_view name = op_.name.substr(op_.name.find('.') + 1);
  return name.substr(0, name.find('.'));
}

HostTensor& Evaluation::host(std::string_view name) {
  ValueId id = value(name);
  return id == kNoValue ? none_ : tensors_[id];
}

Array Evaluation::array(std::string_view name) {
  HostTensor& tensor = host(name);
  return {tensor.sizes, tensor.reals()};
}

Array Evaluation::array_or(std::string_view name, double otherwise) {
  if (!has(name)) return {{}, {otherwise}};
  Operand given = operand(name);
  if (!given.is_tensor()) return {{}, {given.number.real}};
  return array(name);
}

void Evaluation::store(const Array& array, std::size_t i) {
  if (failed() || i >= results_.size()) return;
  results_[i].assign(broadcast(array, results_[i].sizes).values);
}

DType Evaluation::promoted(std::initializer_list<std::string_view> names) {
  ResultType promoted;
  for (std::string_view name : names) {
    if (!has(name)) continue;
    Operand given = operand(name);
    if (given.is_tensor())
      promoted.add_tensor(given.tensor->dtype, given.tensor->rank() > 0);
    else
      promoted.add_number(given.number.category);
  }
  return promoted.dtype();
}

}  // namespace penstock::ops
