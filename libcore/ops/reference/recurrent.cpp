// Cells of recurrent networks, by their formulas.
#include <cmath>

#include "ops/reference/reference.h"

namespace penstock::ops::reference {

namespace {

constexpr auto sigmoid = scalar::sigmoid_.real;

/// states @ weightᵀ + bias
Array affine(Evaluation& e, const Array& states, std::string_view weight, std::string_view bias) {
  const Array factor = permute(e.array(weight), {1, 0});
  Array result = batched_product(with_sizes(states, {1, states.sizes[0], states.sizes[1]}),
                                 with_sizes(factor, {1, factor.sizes[0], factor.sizes[1]}));
  result.sizes.erase(result.sizes.begin());
  return e.has(bias) ? zip(result, e.array(bias), scalar::add_.real) : result;
}

/// What the input and the hidden state give the gates, `width` columns each.
struct Gates {
  Array of_input, of_hidden;
  std::int64_t width;

  double input(std::int64_t row, std::int64_t gate, std::int64_t column) const {
    return at(of_input, row, gate, column);
  }
  double hidden(std::int64_t row, std::int64_t gate, std::int64_t column) const {
    return at(of_hidden, row, gate, column);
  }
  double sum(std::int64_t row, std::int64_t gate, std::int64_t column) const {
    return input(row, gate, column) + hidden(row, gate, column);
  }

 private:
  double at(const Array& x, std::int64_t row, std::int64_t gate, std::int64_t column) const {
    return x.values[row * x.sizes[1] + gate * width + column];
  }
};

Gates gates(Evaluation& e, const Array& hidden) {
  return {affine(e, e.array("input"), "w_ih", "b_ih"), affine(e, hidden, "w_hh", "b_hh"),
          hidden.sizes[1]};
}

/// Calls f(row, column, place) for all of `width` columns.
template <class F>
void each(const Array& like, const F& f) {
  for (std::int64_t i = 0; i < like.count(); ++i) f(i / like.sizes[1], i % like.sizes[1], i);
}

}  // namespace

void simple_cell(Evaluation& e) {
  Array state = e.array("hx");
  const Gates g = gates(e, state);
  const bool relu = e.op().id == OpId::rnn_relu_cell_default;
  each(state, [&](std::int64_t row, std::int64_t column, std::int64_t i) {
    const double sum = g.sum(row, 0, column);
    state.values[i] = relu ? scalar::relu_.real(sum) : std::tanh(sum);
  });
  e.store(state);
}

void gru_cell(Evaluation& e) {
  Array state = e.array("hx");
  const Gates g = gates(e, state);
  each(state, [&](std::int64_t row, std::int64_t column, std::int64_t i) {
    const double reset = sigmoid(g.sum(row, 0, column)), update = sigmoid(g.sum(row, 1, column));
    const double fresh = std::tanh(g.input(row, 2, column) + g.hidden(row, 2, column) * reset);
    state.values[i] = (state.values[i] - fresh) * update + fresh;
  });
  e.store(state);
}

void lstm_cell(Evaluation& e) {
  const std::vector<ValueId> states = e.values("hx");
  if (e.failed()) return;
  Array hidden = e.array(states[0]), cell = broadcast(e.array(states[1]), hidden.sizes);
  const Gates g = gates(e, hidden);
  each(cell, [&](std::int64_t row, std::int64_t column, std::int64_t i) {
    const double in = sigmoid(g.sum(row, 0, column)), forget = sigmoid(g.sum(row, 1, column));
    cell.values[i] = forget * cell.values[i] + in * std::tanh(g.sum(row, 2, column));
    hidden.values[i] = sigmoid(g.sum(row, 3, column)) * std::tanh(cell.values[i]);
  });
  e.store(hidden, 0);
  e.store(cell, 1);
}

}  // namespace penstock::ops::reference
