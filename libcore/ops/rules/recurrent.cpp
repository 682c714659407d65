// Cells of recurrent networks (ATen: RNN.cpp).
#include "ops/rules/rules.h"

namespace penstock::ops::rules {

namespace {

/// The type of the gates' sum, the products of input and hidden state with their weights: `count`
/// gates beside each other. With an error, a type of no meaning.
TensorType gates(Inference& in, ValueId hidden, std::int64_t count) {
  const TensorType& input = in.tensor("input");
  const TensorType& input_weight = in.tensor("w_ih");
  const TensorType& hidden_weight = in.tensor("w_hh");
  if (in.failed()) return input;
  const TensorType& state = in.type(hidden);
  for (const TensorType* matrix : {&input, &state, &input_weight, &hidden_weight}) {
    if (matrix->rank() != 2) in.fail("expects matrices");
    if (matrix->dtype != input.dtype) in.fail("expects one dtype");
  }
  if (in.failed()) return input;
  const SymExpr width = state.sizes[1] * SymExpr(count);
  const bool fits = in.equal(input.sizes[1], input_weight.sizes[1]) &&
                    in.equal(state.sizes[1], hidden_weight.sizes[1]) &&
                    in.equal(input.sizes[0], state.sizes[0]) &&
                    in.equal(input_weight.sizes[0], width) &&
                    in.equal(hidden_weight.sizes[0], width);
  if (!fits) in.fail("input, hidden state and weights do not fit");
  for (std::string_view name : {"b_ih", "b_hh"}) {
    const TensorType* bias = in.optional_tensor(name);
    if (bias == nullptr || in.failed()) continue;
    if (bias->dtype != input.dtype) in.fail("expects one dtype");
    if (bias->rank() != 1 || !in.equal(bias->sizes[0], width)) in.fail("a bias does not fit");
  }
  return contiguous_type(input.dtype, {input.sizes[0], width}, input);
}

/// One of gates that stand beside each other.
TensorType gate(Inference& in, const TensorType& gates, std::int64_t count) {
  return in.failed() ? gates : sliced(gates, 1, 0, floordiv(gates.sizes[1], SymExpr(count)), 1);
}

void add_elementwise(Inference& in, const TensorType& first, const TensorType& second) {
  const TensorType* both[] = {&first, &second};
  if (!in.failed()) in.add(elementwise_type(in, both, first.dtype));
}

}  // namespace

void simple_cell(Inference& in) {
  TensorType result = gates(in, in.value("hx"), 1);
  if (!in.failed()) in.add(std::move(result));
}

/// (hidden - new) * update + new
void gru_cell(Inference& in) {
  const ValueId hidden = in.value("hx");
  const TensorType all = gates(in, hidden, 3);
  if (in.failed()) return;
  const TensorType fresh = contiguous_type(all.dtype, in.type(hidden).sizes, all);
  add_elementwise(in, TensorType(in.type(hidden)), fresh);
}

/// The hidden state, which is the output gate times the cell state's tanh; the cell state.
void lstm_cell(Inference& in) {
  const std::vector<ValueId> states = in.values("hx");
  if (in.failed() || states.size() != 2) return in.fail("expects a hidden state and a cell state");
  const TensorType output = gate(in, gates(in, states[0], 4), 4);
  const TensorType cell = in.type(states[1]);
  if (in.failed()) return;
  if (cell.dtype != output.dtype) return in.fail("expects one dtype");
  const TensorType* both[] = {&output, &cell};
  const TensorType next = elementwise_type(in, both, output.dtype);
  add_elementwise(in, output, next);
  if (!in.failed()) in.add(next);
}

}  // namespace penstock::ops::rules
