// Indexing by tensors, sorting, and what gives sizes that the data decide. Indices out of range are
// errors in ONNX too, so that checks have no form of their own.
#include "interchange/onnx/rules/rules.h"

namespace penstock::onnx {

namespace {

std::int64_t axis_of(Rule& rule, std::string_view operand) {
  return rule.arguments().dim("dim", -1, rule.type(operand).rank());
}

/// TopK of `count` elements, values and indices.
void give_top(Rule& rule, const Name& count, bool largest) {
  const std::int64_t axis = axis_of(rule, "self");
  const DType dtype = rule.type("self").dtype;
  Name x = rule.in("self");
  if (rule.failed()) return;
  const bool held = is_boolean(dtype);
  if (held) x = rule.cast(x, DType::int32);
  const auto made =
      rule.out().emit_all("TopK", {x, count},
                          {attribute("axis", axis), attribute("largest", std::int64_t{largest}),
                           attribute("sorted", std::int64_t{1})},
                          2);
  rule.give(held ? rule.cast(made[0], dtype) : made[0], 0);
  rule.give(made[1], 1);
}

/// Whether any element is not 0.
Name truth(Rule& rule, const Name& x, DType dtype) {
  if (is_boolean(dtype)) return x;
  return rule.negated(rule.emit("Equal", {x, rule.number(0, dtype)}));
}

}  // namespace

void nothing(Rule& rule) {
  static_cast<void>(rule);
}

void gather(Rule& rule) {
  const Name x = rule.in("self"), index = rule.in("index");
  if (rule.failed()) return;
  if (rule.result().rank() == 0) return rule.give(rule.emit("Identity", {x}));
  rule.give(rule.emit("GatherElements", {x, index}, {attribute("axis", axis_of(rule, "self"))}));
}

void index_select(Rule& rule) {
  const Name x = rule.in("self");
  Name index = rule.in("index");
  if (rule.failed()) return;
  if (rule.type("index").rank() == 0) index = rule.reshape(index, {1});
  if (rule.type("self").rank() == 0) return rule.give(rule.emit("Identity", {x}));
  rule.give(rule.emit("Gather", {x, index}, {attribute("axis", axis_of(rule, "self"))}));
}

void scatter(Rule& rule) {
  const Name x = rule.in("self"), index = rule.in("index");
  const DType dtype = rule.result().dtype;
  Name src = rule.in_as("src", dtype);
  if (rule.failed()) return;
  const TensorType& places = rule.type("index");
  const ops::Operand given = rule.arguments().operand("src");
  if (!given.is_tensor()) {
    src = rule.emit("Expand", {src, rule.out().sizes(places.sizes)});
  } else if (given.tensor->sizes != places.sizes && places.rank() > 0) {
    // Elements of src beside the indices are not looked at.
    std::vector<std::int64_t> axes;
    for (std::size_t i = 0; i < places.rank(); ++i) axes.push_back(static_cast<std::int64_t>(i));
    const Name from = rule.ints(std::vector<std::int64_t>(axes.size(), 0));
    src = rule.emit("Slice", {src, from, rule.out().sizes(places.sizes), rule.ints(axes)});
  }
  if (rule.result().rank() == 0) {
    const bool adds = rule.detail() == "add";
    return rule.give(adds ? rule.emit("Add", {x, src}) : rule.emit("Identity", {src}));
  }
  rule.give(
      rule.emit("ScatterElements", {x, index, src},
                {attribute("axis", axis_of(rule, "self")), attribute("reduction", rule.detail())}));
}

void embedding(Rule& rule) {
  rule.give(rule.emit("Gather", {rule.in("weight"), rule.in("indices")}));
}

void top_k(Rule& rule) {
  if (rule.type("self").rank() == 0) return rule.refuse("the first of a number");
  const SymExpr count = rule.arguments().integer("k");
  const bool largest = rule.arguments().boolean("largest", true);
  if (!rule.failed()) give_top(rule, rule.out().size(count), largest);
}

void sort(Rule& rule) {
  const TensorType& self = rule.type("self");
  if (rule.failed()) return;
  if (self.rank() == 0) {
    rule.give(rule.emit("Identity", {rule.in("self")}), 0);
    return rule.give(rule.emit("Identity", {rule.out().integer(0, DType::int64)}), 1);
  }
  // TopK of all: of equal elements the first comes first, as in a stable sort.
  const SymExpr count = self.sizes[static_cast<std::size_t>(axis_of(rule, "self"))];
  give_top(rule, rule.out().size(count), rule.arguments().boolean("descending", false));
}

void nonzero(Rule& rule) {
  const Name x = truth(rule, rule.in("self"), rule.type("self").dtype);
  if (rule.failed()) return;
  rule.give(rule.emit("Transpose", {rule.emit("NonZero", {x})}));
}

void marked_places(Rule& rule) {
  const Name marks = rule.in("self");
  if (rule.failed()) return;
  rule.give(rule.emit("Squeeze", {rule.emit("NonZero", {marks}), rule.ints({0})}));
}

void masked_select(Rule& rule) {
  const Name x = rule.in("self"), mask = rule.in("mask");
  if (rule.failed()) return;
  const Name all = rule.emit("Expand", {x, rule.emit("Shape", {mask})});
  const Name wide = rule.emit("Expand", {mask, rule.emit("Shape", {all})});
  rule.give(rule.emit("Compress", {all, rule.emit("Reshape", {wide, rule.ints({-1})})}));
}

void item(Rule& rule) {
  const Name x = rule.cast(rule.in("self"), DType::int64);
  if (rule.node().results.empty() || !rule.out().graph().values[rule.node().results[0]].is_scalar)
    return rule.refuse("its result is no whole number");
  rule.give(rule.emit("Reshape", {x, rule.ints({})}));
}

}  // namespace penstock::onnx
