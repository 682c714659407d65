#include "interchange/common/weights.h"

#include <fmt/format.h>

#include "ir/export_contract.h"

namespace penstock::interchange {

namespace {

bool is_on_stack(const SourceTable& sources, SourceId source) {
  while (source != kNoSource && sources[source].base != kNoSource) source = sources[source].base;
  return source != kNoSource && sources[source].kind == SourceKind::stack;
}

}  // namespace

bool is_weight(const Interface& interface, const Input& input) {
  if (input.blob.empty()) return false;
  if (input.kind != InputKind::user) return input.kind <= InputKind::constant;
  return !is_argument(interface, input) && !is_on_stack(interface.sources, input.source);
}

Result<formats::TensorBlob> elements_of(const Input& weight, const TensorOf& tensor_of) {
  auto blob = tensor_of(weight.blob);
  if (!blob) return blob;
  const formats::TensorBytes& tensor = blob->tensor;
  bool fits = tensor.dtype == weight.type.dtype && tensor.sizes.size() == weight.type.rank();
  for (std::size_t i = 0; fits && i < tensor.sizes.size(); ++i)
    fits = weight.type.sizes[i] == SymExpr(tensor.sizes[i]);
  if (fits) return blob;
  return failure(Code::PS0207, fmt::format("the blob of input {} is another tensor", weight.name));
}

}  // namespace penstock::interchange
