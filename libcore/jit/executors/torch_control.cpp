#include "jit/executors/torch_control.h"

#include <algorithm>

#include "jit/executors/torch_run.h"
#include "torch/gradient_node.h"
#include "torch/state.h"

namespace penstock::jit {

using python::PyRef;

namespace {

/// Nothing: it has no truth value.
std::optional<bool> truth_of(const PyRef& flag) {
  const int truth = flag ? PyObject_IsTrue(flag.get()) : -1;
  PyErr_Clear();
  return truth < 0 ? std::nullopt : std::optional(truth == 1);
}

}  // namespace

Result<std::vector<PyRef>> TorchControl::run(const Node& node, std::span<const PyRef> values) {
  std::vector<const Graph*> subgraphs;
  for (std::string_view name : subgraphs_of(node)) {
    subgraphs.push_back(find_subgraph(graph_.subgraphs, name));
    if (subgraphs.back() == nullptr) return failure(Code::PS0505, node.op + " cannot be run");
  }
  Tensors operands;
  for_each_value(*find_argument(node, "operands"),
                 [&](ValueId id) { operands.push_back(values[id]); });
  switch (find_control_op(node.op)->kind) {
    case ControlKind::choice: {
      const auto taken = truth_of(values[operand_value(node, "predicate")]);
      if (!taken) return failure(Code::PS0505, node.op + " cannot be run");
      return run(*subgraphs[*taken ? 0 : 1], operands);
    }
    case ControlKind::loop:
      return run_loop(*subgraphs[0], *subgraphs[1], std::move(operands), node.results.size());
    case ControlKind::vjp:
      return run_custom(*subgraphs[0], operands, node.results.size());
    case ControlKind::scan:
      break;
  }
  return run_scan(*subgraphs[0], std::move(operands), *scan_parts(node));
}

Result<std::vector<PyRef>> TorchControl::run(const Graph& subgraph, const Tensors& operands) {
  Tensors inner(subgraph.values.size());
  std::ranges::copy(operands, inner.begin());
  if (auto done = run_by_torch(subgraph, symbols_, ops_, bridge_, inner); !done)
    return tl::unexpected(std::move(done.error()));
  Tensors results;
  for (const ValueId id : subgraph.outputs) results.push_back(inner[id]);
  return results;
}

Result<PyRef> TorchControl::call(const std::string& op, const std::vector<NamedArgument>& arguments,
                                 const Tensors& tensors) {
  auto results = ops_.call(
      op, arguments, [&](ValueId id) { return tensors[id]; },
      [](std::string_view) { return std::optional<std::int64_t>(); });
  if (!results) return tl::unexpected(std::move(results.error()));
  if (results->empty()) return failure(Code::PS0505, op + " gives nothing");
  return std::move(results->front());
}

Result<std::vector<PyRef>> TorchControl::run_loop(const Graph& condition, const Graph& body,
                                                  Tensors operands, std::size_t carried) {
  bool any = false;
  for (;; any = true) {
    auto going = run(condition, operands);
    if (!going) return going;
    const auto goes = truth_of(going->front());
    if (!goes) return failure(Code::PS0505, "the condition of a loop has no truth value");
    if (!*goes) break;
    auto given = run(body, operands);
    if (!given) return given;
    std::ranges::move(*given, operands.begin());
  }
  operands.resize(carried);
  for (PyRef& operand : operands) {
    if (any) break;
    auto copied = call("aten.clone.default", {{"self", Argument::Value{0}}}, {operand});
    if (!copied) return tl::unexpected(std::move(copied.error()));
    operand = std::move(*copied);
  }
  return operands;
}

Result<std::vector<PyRef>> TorchControl::run_scan(const Graph& body, Tensors operands,
                                                  const ScanParts& parts) {
  const auto length = parts.length.evaluate([&](std::string_view name) {
    const auto& known = graph_.interface.symbols;
    const auto found = std::ranges::find(known, name, &Symbol::name);
    return found == known.end() ? std::nullopt : std::optional(symbols_[found - known.begin()]);
  });
  std::vector<Tensors> rows(body.outputs.size() - parts.carried);
  for (std::int64_t turn = 0; turn < length.value_or(0); ++turn) {
    Tensors given = operands;
    for (std::size_t i = parts.carried; i < parts.carried + parts.scanned; ++i) {
      auto row = call("aten.select.int",
                      {{"self", Argument::Value{0}}, {"dim", std::int64_t{0}}, {"index", turn}},
                      {operands[i]});
      if (!row) return tl::unexpected(std::move(row.error()));
      given[i] = std::move(*row);
    }
    auto made = run(body, given);
    if (!made) return made;
    for (std::size_t i = 0; i < made->size(); ++i)
      (i < parts.carried ? operands[i] : rows[i - parts.carried].emplace_back()) =
          std::move((*made)[i]);
  }
  operands.resize(parts.carried);
  for (const Tensors& one : rows) {
    Argument::Sequence list{Argument::Sequence::Kind::list, {}};
    for (std::size_t i = 0; i < one.size(); ++i)
      list.items.emplace_back(Argument::Value{static_cast<ValueId>(i)});
    auto stacked = call("aten.stack.default",
                        {{"tensors", Argument(std::move(list))}, {"dim", std::int64_t{0}}}, one);
    if (!stacked) return tl::unexpected(std::move(stacked.error()));
    operands.push_back(std::move(*stacked));
  }
  return operands;
}

namespace {

/// Backward that the program wrote, by torch's own ops: they are differentiated again where the
/// engine asks for that.
class CustomBackward : public torch::GradientNode {
 public:
  CustomBackward(const Graph& outer, const Graph& subgraph, const std::int64_t* symbols,
                 const torch::TensorBridge& bridge)
      : subgraph_(subgraph),
        symbols_(symbols, symbols + outer.interface.symbols.size()),
        bridge_(bridge) {}

  /// `positions`: by input of the node, its place among the subgraph's outputs.
  std::vector<std::size_t> positions;

  bool backward(std::span<PyObject* const> kept, std::span<PyObject* const> tangents, bool,
                std::vector<PyRef>& gradients) override {
    std::vector<PyRef> values(subgraph_.values.size());
    for (std::size_t i = 0; i < kept.size(); ++i)
      values[tangents.size() + i] = PyRef::borrow(kept[i]);
    for (std::size_t i = 0; i < tangents.size(); ++i) {
      values[i] = PyRef::borrow(tangents[i]);
      if (tangents[i] != nullptr) continue;
      auto zeros = ops_.call(
          "aten.zeros_like.default", {{"self", Argument::Value{static_cast<ValueId>(i)}}},
          [&](ValueId id) { return values[tangents.size() + id]; },
          [](std::string_view) { return std::optional<std::int64_t>(); });
      if (!zeros) return failed(zeros.error());
      values[i] = std::move(zeros->front());
    }
    if (auto done = run_by_torch(subgraph_, symbols_.data(), ops_, bridge_, values); !done)
      return failed(done.error());
    for (std::size_t position : positions) gradients.push_back(values[subgraph_.outputs[position]]);
    return true;
  }

 private:
  static bool failed(const Diagnostic& error) {
    PyErr_SetString(PyExc_RuntimeError, error.message.c_str());
    return false;
  }

  const Graph subgraph_;
  const std::vector<std::int64_t> symbols_;
  const torch::TensorBridge& bridge_;
  torch::TorchOps ops_;
};

}  // namespace

Result<std::vector<PyRef>> TorchControl::run_custom(const Graph& backward, const Tensors& operands,
                                                    std::size_t count) {
  Tensors results;
  for (std::size_t i = 0; i < count; ++i) {
    auto result = call("aten.detach.default", {{"self", Argument::Value{0}}}, {operands[i]});
    if (!result) return tl::unexpected(std::move(result.error()));
    results.push_back(std::move(*result));
  }
  auto node = std::make_unique<CustomBackward>(graph_, backward, symbols_, bridge_);
  std::vector<PyObject*> inputs, outputs, kept;
  for (std::size_t i = 0; i < backward.outputs.size(); ++i) {
    PyObject* input = operands[count + i].get();
    if (!bridge_.requires_grad(input)) continue;
    inputs.push_back(input);
    node->positions.push_back(i);
  }
  if (inputs.empty() || !torch::grad_enabled()) return results;
  for (const PyRef& result : results) outputs.push_back(result.get());
  for (std::size_t i = 0; i < operands.size(); ++i)
    kept.push_back((i < count ? results : operands)[i].get());
  const auto* nodes = torch::GradientNodeClass::find({});
  if (nodes == nullptr || !nodes->attach({inputs, outputs, kept}, std::move(node))) {
    PyErr_Clear();
    return failure(Code::PS0505, "no node of torch's graph of gradients could be made");
  }
  return results;
}

}  // namespace penstock::jit
