// Derivatives of what runs subgraphs
//
// Backward of a condition is a condition on the same predicate. Its branches take what the branches
// took, and tangents of what they gave; they compute the branch once more and go back over it. As
// in torch, what only the other branch takes has a gradient of zeros.
//
// Backward of a scan is a scan from the last row to the first. It hands on the tangents of what the
// scan hands on, and sums of the gradients of what all turns take alike; it takes rows, tangents of
// rows, and what each turn was handed, which the scan gives as rows for it (keep_carried). Where a
// turn hands on numbers without gradients, nothing goes back over them.
//
// What the program wrote as backward (torch.autograd.Function) is part of the graph's own.

#include <algorithm>
#include <string>
#include <utility>

#include "autodiff/differentiate_subgraph.h"
#include "autodiff/vjp.h"
#include "ir/subgraphs.h"

namespace penstock::autodiff {

namespace {

Result<SubgraphGradients> gradients_of(const Graph& subgraph, const std::vector<bool>& wanted) {
  auto made = differentiate_subgraph(subgraph, wanted);
  if (made) made->graph.interface.name += "_backward";
  return made;
}

std::vector<ValueId> wanted_of(const std::vector<ValueId>& all, const std::vector<bool>& wanted) {
  std::vector<ValueId> some;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (wanted[i]) some.push_back(all[i]);
  }
  return some;
}

}  // namespace

void chosen(Vjp& vjp) {
  const std::vector<ValueId> operands = *operands_of(vjp.node());
  std::vector<bool> wanted;
  for (ValueId id : operands) wanted.push_back(vjp.needs(id));
  std::vector<ValueId> taken = operands;
  for (std::size_t i = 0; i < vjp.node().results.size(); ++i) {
    if (is_floating(vjp.dtype_of(vjp.output(i)))) taken.push_back(vjp.tangent(i));
  }
  std::vector<NamedArgument> args{{"predicate", vjp.node().args.front().value},
                                  {"operands", passes::list_of(taken)}};
  for (std::string_view branch : {"then", "otherwise"}) {
    auto made = gradients_of(vjp.subgraph(branch), wanted);
    if (!made) return vjp.fail(made.error().message);
    std::vector<ValueId> inputs, outputs = wanted_of(made->gradients, wanted);
    for (ValueId id = 0; id < operands.size(); ++id) inputs.push_back(id);
    std::ranges::copy_if(made->tangents, std::back_inserter(inputs),
                         [](ValueId id) { return id != kNoValue; });
    args.push_back(
        {std::string(branch), vjp.add_subgraph(subgraph_of(std::move(*made), inputs, outputs))});
  }
  const std::vector<ValueId> given = wanted_of(operands, wanted);
  std::vector<TensorType> types;
  for (ValueId id : given) types.push_back(dense(vjp.type(id)));
  const std::vector<ValueId> gradients = vjp.emit_control(std::move(args), std::move(types));
  for (std::size_t i = 0; i < gradients.size(); ++i) vjp.give(given[i], gradients[i]);
}

namespace {

/// A scan being differentiated.
class ScanGradients {
 public:
  explicit ScanGradients(Vjp& vjp)
      : vjp_(vjp), operands_(*operands_of(vjp.node())), parts_(*scan_parts(vjp.node())) {
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      const ValueId id = operands_[i];
      const bool floating = is_floating(vjp.dtype_of(id));
      wanted_.push_back(i < parts_.carried ? floating : vjp.needs(id));
    }
  }

  void run() {
    auto made = gradients_of(body(), wanted_);
    if (!made) return vjp_.fail(made.error().message);
    for (std::size_t i = 0; i < parts_.carried; ++i) {
      if (wanted_[i]) carry(made->tangents[i], vjp_.tangent(i), made->gradients[i]);
    }
    for (std::size_t i = first_shared(); i < operands_.size(); ++i) {
      if (wanted_[i]) add_up(*made, i);
    }
    const std::size_t carried = inputs_.size();
    const std::size_t given = vjp_.node().results.size() - parts_.carried;
    for (std::size_t i = 0; i < parts_.carried; ++i)
      take(static_cast<ValueId>(i), backwards(vjp_.output(given + i)));
    for (std::size_t i = parts_.carried; i < first_shared(); ++i) {
      take(static_cast<ValueId>(i), backwards(operands_[i]));
      if (wanted_[i]) give_row(made->gradients[i], i);
    }
    for (std::size_t i = parts_.carried; i < given; ++i) {
      if (made->tangents[i] != kNoValue) take(made->tangents[i], backwards(vjp_.tangent(i)));
    }
    const std::size_t scanned = inputs_.size() - carried;
    for (std::size_t i = first_shared(); i < operands_.size(); ++i)
      take(static_cast<ValueId>(i), operands_[i]);
    if (!vjp_.failed()) emit(std::move(*made), carried, scanned);
  }

 private:
  std::size_t first_shared() const { return parts_.carried + parts_.scanned; }

  /// The body as the program wrote it, without what keep_carried had it give.
  Graph body() const {
    Graph body = vjp_.subgraph("body");
    const std::size_t own = body.outputs.size() - parts_.carried;
    body.outputs.resize(own);
    body.interface.outputs.resize(own);
    return body;
  }

  ValueId backwards(ValueId rows) {
    return vjp_.emit("prim.flip",
                     {passes::arg("self", passes::value_argument(rows)),
                      passes::arg("dims", passes::list_of(std::vector<std::int64_t>{0}))});
  }

  void take(ValueId input, ValueId operand) {
    inputs_.push_back(input);
    taken_.push_back(operand);
  }

  void carry(ValueId input, ValueId operand, ValueId output) {
    take(input, operand);
    outputs_.push_back(output);
    types_.push_back(dense(vjp_.type(operand)));
  }

  /// What all turns take has the sum of the gradients of all turns.
  void add_up(SubgraphGradients& made, std::size_t operand) {
    const auto input = static_cast<ValueId>(operand);
    const ValueId before = add_input(made, input);
    const ValueId sum = add_value(made.graph, "sum", made.graph.values[before].type);
    made.graph.nodes.push_back(
        {"prim.add",
         {passes::arg("self", passes::value_argument(before)),
          passes::arg("other", passes::value_argument(made.gradients[input]))},
         {sum},
         -1});
    carry(before, vjp_.zeros_like(operands_[operand]), sum);
  }

  void give_row(ValueId output, std::size_t operand) {
    rows_.push_back(output);
    row_types_.push_back(dense(vjp_.type(operands_[operand])));
  }

  void emit(SubgraphGradients made, std::size_t carried, std::size_t scanned) {
    std::ranges::copy(rows_, std::back_inserter(outputs_));
    std::ranges::copy(row_types_, std::back_inserter(types_));
    const std::string body = vjp_.add_subgraph(subgraph_of(std::move(made), inputs_, outputs_));
    const Argument length = *find_argument(vjp_.node(), "length");
    const std::vector<ValueId> results =
        vjp_.emit_control({{"operands", passes::list_of(taken_)},
                           {"carried", static_cast<std::int64_t>(carried)},
                           {"scanned", static_cast<std::int64_t>(scanned)},
                           {"length", length},
                           {"body", body}},
                          types_);
    std::size_t next = 0;
    const auto give = [&](std::size_t operand, ValueId gradient) {
      vjp_.give(operands_[operand], gradient);
    };
    for (std::size_t i = 0; i < parts_.carried; ++i) {
      if (wanted_[i]) give(i, results[next++]);
    }
    for (std::size_t i = first_shared(); i < operands_.size(); ++i) {
      if (wanted_[i]) give(i, results[next++]);
    }
    for (std::size_t i = parts_.carried; i < first_shared(); ++i) {
      if (wanted_[i]) give(i, backwards(results[next++]));
    }
  }

  Vjp& vjp_;
  const std::vector<ValueId> operands_;
  const ScanParts parts_;
  std::vector<bool> wanted_;                      ///< by operand
  std::vector<ValueId> inputs_, outputs_, rows_;  ///< of the body of the scan back
  std::vector<ValueId> taken_;                    ///< operands for its inputs
  std::vector<TensorType> types_, row_types_;     ///< of results for its outputs
};

}  // namespace

void scanned_rows(Vjp& vjp) {
  ScanGradients(vjp).run();
}

void given_backward(Vjp& vjp) {
  const std::vector<ValueId> operands = *operands_of(vjp.node());
  const std::size_t results = vjp.node().results.size();
  const Graph backward = vjp.subgraph("backward");
  std::vector<ValueId> taken;
  for (std::size_t i = 0; i < results; ++i) taken.push_back(vjp.tangent(i));
  // What forward saved of its results are the tensors that the program got.
  for (std::size_t i = 0; i < operands.size(); ++i)
    taken.push_back(i < results ? vjp.output(i) : operands[i]);
  const std::vector<ValueId> gradients = vjp.emit_all(backward, taken);
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const ValueId of = operands[results + i];
    if (vjp.needs(of)) vjp.give(of, gradients[i]);
  }
}

}  // namespace penstock::autodiff
