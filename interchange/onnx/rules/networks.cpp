// Products and layers.
#include "interchange/onnx/rules/rules.h"

namespace penstock::onnx {

namespace {

Attribute ints_attribute(std::string_view name, std::vector<std::int64_t> values,
                         std::size_t dims) {
  if (values.size() == 1) values.assign(dims, values.front());
  return attribute(name, std::move(values));
}

/// Padding before all dims, then behind them.
Attribute pads_attribute(std::vector<std::int64_t> padding, std::size_t dims) {
  if (padding.size() == 1 || padding.empty())
    padding.assign(dims, padding.empty() ? 0 : padding.front());
  const std::vector<std::int64_t> before = padding;
  padding.insert(padding.end(), before.begin(), before.end());
  return attribute("pads", std::move(padding));
}

/// What kernel, stride and padding of a pooling op are.
Attributes window(Rule& rule) {
  ops::Arguments& arguments = rule.arguments();
  const std::size_t dims = rule.type("self").rank() - 2;
  const auto kernel = arguments.constants("kernel_size");
  auto stride = arguments.constants("stride");
  if (stride.empty()) stride = kernel;
  return {ints_attribute("kernel_shape", kernel, dims), ints_attribute("strides", stride, dims),
          pads_attribute(arguments.constants("padding"), dims),
          attribute("ceil_mode", std::int64_t{arguments.boolean("ceil_mode", false)})};
}

Name scaled(Rule& rule, const Name& x, double factor) {
  return factor == 1 ? x : rule.emit("Mul", {x, rule.number(factor, rule.result().dtype)});
}

Name transposed(Rule& rule, const Name& matrix) {
  return rule.emit("Transpose", {matrix}, {attribute("perm", std::vector<std::int64_t>{1, 0})});
}

}  // namespace

void product(Rule& rule) {
  rule.give(rule.emit("MatMul", {rule.in("self"), rule.in("mat2")}));
}

void added_product(Rule& rule) {
  const bool batched = rule.node().op == "aten.baddbmm.default";
  const Name a = rule.in(batched ? "batch1" : "mat1"), b = rule.in(batched ? "batch2" : "mat2");
  const Name c = rule.in("self");
  const double beta = rule.arguments().real("beta", 1), alpha = rule.arguments().real("alpha", 1);
  if (!batched && is_floating(rule.result().dtype)) {
    return rule.give(
        rule.emit("Gemm", {a, b, c}, {attribute("alpha", alpha), attribute("beta", beta)}));
  }
  const Name made = scaled(rule, rule.emit("MatMul", {a, b}), alpha);
  if (beta == 0) return rule.give(made);
  rule.give(rule.emit("Add", {made, scaled(rule, c, beta)}));
}

void matmul(Rule& rule) {
  rule.give(rule.emit("MatMul", {rule.in("self"), rule.in("other")}));
}

void linear(Rule& rule) {
  const Name x = rule.in("input"), weight = rule.in("weight"), bias = rule.optional("bias");
  if (rule.failed()) return;
  const bool matrix = rule.type("weight").rank() == 2;
  if (matrix && !bias.empty() && rule.type("input").rank() == 2 && is_floating(rule.result().dtype))
    return rule.give(rule.emit("Gemm", {x, weight, bias}, {attribute("transB", std::int64_t{1})}));
  Name made = rule.emit("MatMul", {x, matrix ? transposed(rule, weight) : weight});
  if (!bias.empty()) made = rule.emit("Add", {made, bias});
  rule.give(made);
}

void convolution(Rule& rule) {
  ops::Arguments& arguments = rule.arguments();
  const Name x = rule.in("input"), weight = rule.in("weight"), bias = rule.optional("bias");
  if (rule.failed()) return;
  if (rule.type("input").rank() < 3) return rule.refuse("a convolution without dims to go over");
  const std::size_t dims = rule.type("input").rank() - 2;
  Attributes attributes = {ints_attribute("strides", arguments.constants("stride"), dims),
                           ints_attribute("dilations", arguments.constants("dilation"), dims),
                           pads_attribute(arguments.constants("padding"), dims),
                           attribute("group", arguments.constant("groups", 1))};
  std::vector<Name> inputs = {x, weight};
  if (!bias.empty()) inputs.push_back(bias);
  if (!arguments.boolean("transposed", false))
    return rule.give(rule.emit("Conv", inputs, attributes));
  attributes.push_back(
      ints_attribute("output_padding", arguments.constants("output_padding"), dims));
  rule.give(rule.emit("ConvTranspose", inputs, attributes));
}

void attention(Rule& rule) {
  ops::Arguments& arguments = rule.arguments();
  std::vector<Name> inputs = {rule.in("query"), rule.in("key"), rule.in("value")};
  if (rule.has("attn_mask")) inputs.push_back(rule.in("attn_mask"));
  Attributes attributes;
  if (arguments.boolean("is_causal", false))
    attributes.push_back(attribute("is_causal", std::int64_t{1}));
  if (rule.has("scale")) attributes.push_back(attribute("scale", arguments.real("scale", 1)));
  rule.give(rule.emit("Attention", inputs, attributes));
}

void activation(Rule& rule) {
  rule.give(rule.emit(rule.detail(), {rule.in("self")}));
}

void hard_sigmoid(Rule& rule) {
  rule.give(rule.emit("HardSigmoid", {rule.in("self")},
                      {attribute("alpha", 1.0 / 6), attribute("beta", 0.5)}));
}

void gelu(Rule& rule) {
  const std::string how = rule.arguments().text("approximate", "none");
  rule.give(
      rule.emit("Gelu", {rule.in("self")}, {attribute("approximate", std::string_view(how))}));
}

void sloped(Rule& rule) {
  const bool leaky = rule.detail() == "LeakyRelu";
  const double alpha =
      leaky ? rule.arguments().real("negative_slope", 0.01) : rule.arguments().real("alpha", 1);
  rule.give(rule.emit(rule.detail(), {rule.in("self")}, {attribute("alpha", alpha)}));
}

void softmax(Rule& rule) {
  Name x = rule.in("self");
  if (rule.failed()) return;
  const TensorType& self = rule.type("self");
  if (self.dtype != rule.result().dtype) x = rule.cast(x, rule.result().dtype);
  const std::int64_t dim = rule.arguments().dim("dim", -1, self.rank());
  rule.give(rule.emit(rule.detail(), {x}, {attribute("axis", dim)}));
}

void layer_norm(Rule& rule) {
  const bool squares = rule.detail() == "RMSNormalization";
  const auto dims = static_cast<std::int64_t>(rule.arguments().integers("normalized_shape").size());
  std::vector<Name> inputs = {rule.in("input"), rule.in("weight")};
  if (!squares && rule.has("bias")) inputs.push_back(rule.in("bias"));
  rule.give(rule.emit(
      rule.detail(), inputs,
      {attribute("axis", -dims), attribute("epsilon", rule.arguments().real("eps", 1e-5))}));
}

void group_norm(Rule& rule) {
  rule.give(rule.emit("GroupNormalization", {rule.in("input"), rule.in("weight"), rule.in("bias")},
                      {attribute("num_groups", rule.arguments().constant("num_groups", 1)),
                       attribute("epsilon", rule.arguments().real("eps", 1e-5))}));
}

void batch_norm(Rule& rule) {
  rule.give(rule.emit("BatchNormalization",
                      {rule.in("input"), rule.in("weight"), rule.in("bias"),
                       rule.in("running_mean"), rule.in("running_var")},
                      {attribute("epsilon", rule.arguments().real("eps", 1e-5))}));
}

void max_pool(Rule& rule) {
  Attributes attributes = window(rule);
  auto dilation = rule.arguments().constants("dilation");
  if (dilation.empty()) dilation = {1};
  attributes.push_back(ints_attribute("dilations", dilation, rule.type("self").rank() - 2));
  rule.give(rule.emit("MaxPool", {rule.in("self")}, attributes));
}

void average_pool(Rule& rule) {
  Attributes attributes = window(rule);
  const bool counts = rule.arguments().boolean("count_include_pad", true);
  attributes.push_back(attribute("count_include_pad", std::int64_t{counts}));
  rule.give(rule.emit("AveragePool", {rule.in("self")}, attributes));
}

void global_average(Rule& rule) {
  rule.give(rule.emit("GlobalAveragePool", {rule.in("self")}));
}

void pixel_shuffle(Rule& rule) {
  rule.give(rule.emit("DepthToSpace", {rule.in("self")},
                      {attribute("blocksize", rule.arguments().constant("upscale_factor", 1)),
                       attribute("mode", std::string_view("CRD"))}));
}

}  // namespace penstock::onnx
