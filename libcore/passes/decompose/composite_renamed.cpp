// Ops that are others by another name, and copies of views.
#include "passes/decompose/composites.h"

namespace penstock::passes {

namespace {

/// The argument called `from` goes by `to`.
std::vector<NamedArgument> with_name(std::vector<NamedArgument> args, std::string_view from,
                                     std::string_view to) {
  for (NamedArgument& argument : args) {
    if (argument.name == from) argument.name = std::string(to);
  }
  return args;
}

}  // namespace

/// The detail names the other op, whose arguments go by the same names.
void renamed(Decomposition& d) {
  for (ValueId id : d.apply_all(d.detail(), d.node().args)) d.result(id);
}

/// The view that the detail names, in memory of its own.
void copied_view(Decomposition& d) {
  for (ValueId id : d.apply_all(d.detail(), d.node().args)) d.result(d.unary("clone", id));
}

void real_vector_product(Decomposition& d) {
  d.result(d.apply("aten.dot.default", with_name(d.node().args, "other", "tensor")));
}

void matrix_diagonal(Decomposition& d) {
  std::vector<NamedArgument> args = with_name(d.node().args, "A", "self");
  // The dims are the last two here, the first two of aten.diagonal.
  if (!d.has("dim1")) args.push_back(arg("dim1", std::int64_t{-2}));
  if (!d.has("dim2")) args.push_back(arg("dim2", std::int64_t{-1}));
  d.result(d.apply("aten.diagonal.default", std::move(args)));
}

/// The values of a sort of the first dim.
void sorted_rows(Decomposition& d) {
  const ValueId self = d.value("self");
  if (d.failed()) return;
  const std::vector<ValueId> both = d.apply_all(
      "aten.sort.default",
      {arg("self", value_argument(self)), arg("dim", std::int64_t{0}), arg("descending", false)});
  if (!both.empty()) d.result(both.front());
}

}  // namespace penstock::passes
