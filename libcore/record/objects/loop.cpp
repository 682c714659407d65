// torch.while_loop, and torch's scan and map (control_flow.cpp). Their functions are recorded on
// tensors of their own, which stand for what a turn takes: copies of what goes into the loop, and
// copies of the first rows. So a tensor that a function sees otherwise as well is another one to
// it. What they gave in the first turn must be what a next turn takes.

#include "record/objects/call.h"
#include "record/objects/control_flow.h"
#include "record/polyfills.h"

namespace penstock::record {

namespace {

/// Why not every turn gives what the next one takes; empty: it does.
std::string obstacle_to_next(const Recorder& recorder, const std::vector<ValueId>& taken,
                             const std::vector<ValueId>& given, std::size_t carried) {
  for (std::size_t i = 0; i < carried; ++i) {
    const TensorType &one = recorder.value(taken[i]).type, &other = recorder.value(given[i]).type;
    if (!lies_alike(one, other))
      return "its function takes " + to_string(one) + " and gives " + to_string(other);
  }
  return {};
}

std::string obstacle_to_while(const Recorder& recorder, const std::vector<ValueId>& operands,
                              const std::vector<ValueId>& inputs) {
  if (std::string obstacle = recorder.subgraphs.obstacle(recorder); !obstacle.empty())
    return obstacle;
  const std::vector<ValueId>&going = recorder.subgraphs.results(0),
        &given = recorder.subgraphs.results(1);
  const auto is_flag = [&](ValueId id) {
    const TensorType& type = recorder.value(id).type;
    return type.dtype == DType::bool_ && type.rank() == 0;
  };
  if (wants_gradients(recorder, operands)) return "gradients of it are wanted";
  if (going.size() != 1 || !is_flag(going[0])) return "its condition gives no bool of rank 0";
  if (given.size() != inputs.size()) return "its body gives more or less than it takes";
  if (std::string obstacle = obstacle_to_next(recorder, operands, given, given.size());
      !obstacle.empty())
    return obstacle;
  return obstacle_to_next(recorder, inputs, given, given.size());
}

std::string obstacle_to_scan(const Recorder& recorder, const std::vector<ValueId>& operands,
                             const std::vector<ValueId>& inputs,
                             const std::vector<ValueId>& scanned) {
  if (std::string obstacle = recorder.subgraphs.obstacle(recorder); !obstacle.empty())
    return obstacle;
  const std::vector<ValueId>& given = recorder.subgraphs.results(0);
  const std::size_t carried = inputs.size() - scanned.size();
  std::vector<ValueId> taken = operands;
  taken.insert(taken.end(), scanned.begin(), scanned.end());
  if (std::string obstacle = obstacle_to_gradients(recorder, taken); !obstacle.empty())
    return obstacle;
  for (ValueId id : operands) {
    // Torch hands gradients from turn to turn only where the first one takes a tensor that has one.
    const TensorType& type = recorder.value(id).type;
    if (wants_gradients(recorder, taken) && is_floating(type.dtype) && !type.requires_grad)
      return "it hands on a tensor of which no gradient is wanted at first";
  }
  if (given.size() < carried) return "its function gives less than it takes";
  for (ValueId id : scanned) {
    const TensorType &type = recorder.value(id).type, &first = recorder.value(scanned[0]).type;
    if (type.sizes.empty() || type.sizes[0] != first.sizes[0]) return "it goes over unequal sizes";
  }
  if (std::string obstacle = obstacle_to_next(recorder, operands, given, carried);
      !obstacle.empty())
    return obstacle;
  return obstacle_to_next(recorder, inputs, given, carried);
}

/// The values that `operand` holds, where no gradients are recorded of them.
std::optional<std::vector<ValueId>> plain_values(Walk& walk, Operand operand) {
  auto values = values_in(walk, operand);
  if (!values) return values;
  for (ValueId id : *values) {
    if (walk.recorder.value(id).is_scalar || walk.recorder.is_number(id)) return std::nullopt;
  }
  return values;
}

/// How what a turn takes lies: as the tensor, or its row, where a copy lies so, else densely.
TensorType input_type(Walk& walk, PyObject* made, const TensorType& of, bool row) {
  TensorType type = of;
  type.storage = -1;
  type.storage_offset = 0;
  if (row) type.sizes.erase(type.sizes.begin());
  torch::TensorView view;
  bool alike = !row && walk.recorder.bridge().read(made, view);
  for (std::size_t i = 0; alike && i < view.strides.size(); ++i)
    alike = walk.recorder.sizes().value(of.strides[i]) == view.strides[i];
  if (!alike) type.strides = contiguous_strides(type.sizes);
  PyErr_Clear();
  return type;
}

Call call_of(Walk& walk, const char* name, const std::vector<ValueId>& operands) {
  Call call{"call_function", name, std::string("torch.") + name, {}, {}, walk.stack(), {}};
  Argument::Sequence list{Argument::Sequence::Kind::tuple, {}};
  for (ValueId id : operands) list.items.emplace_back(Argument::Value{id});
  call.args.emplace_back(std::move(list));
  return call;
}

}  // namespace

std::optional<bool> model_while_loop(Walk& walk, FrameShadow& f, Operand function,
                                     const std::vector<Operand>& positional,
                                     const Keywords& keywords, int pops) {
  const bool plain = positional.size() == 3 && keywords.empty() && !walk.context.for_backend() &&
                     holds_tensors(walk, positional[2].object) &&
                     PySequence_Fast_GET_SIZE(positional[2].object) > 0;
  if (!plain) return std::nullopt;
  return call_stand_in(walk, f, function, "while_loop", positional, keywords, pops);
}

std::optional<bool> model_loop_inputs(Walk& walk, FrameShadow& f, Operand function,
                                      const std::vector<Operand>& positional, const Keywords&,
                                      int pops) {
  const auto carried = plain_values(walk, positional[0]), rows = plain_values(walk, positional[1]);
  if (!carried || !rows)
    return walk.verdict.broke(Code::PS0310, "a loop takes something else than tensors");
  return natively(f, function, [=](Walk& walk, FrameShadow& f) {
    f.pop(pops);
    std::vector<Shadow> shadows;
    for (std::size_t i = 0; i < carried->size() + rows->size(); ++i) {
      const bool row = i >= carried->size();
      const ValueId of = row ? (*rows)[i - carried->size()] : (*carried)[i];
      PyObject* made = PyList_GET_ITEM(f.object(), static_cast<Py_ssize_t>(i));
      const ValueId id = walk.recorder.new_value(
          row ? "row" : "carried", input_type(walk, made, walk.recorder.value(of).type, row));
      walk.recorder.note_storage(id, made);
      shadows.push_back(Shadow::node(id));
    }
    f.push(walk.objects.fresh(f.object(), std::move(shadows)));
  });
}

std::optional<bool> model_join_while_loop(Walk& walk, FrameShadow& f, Operand function,
                                          const std::vector<Operand>& positional, const Keywords&,
                                          int pops) {
  const auto operands = values_in(walk, positional[2]), inputs = values_in(walk, positional[3]);
  const std::string obstacle = operands && inputs
                                   ? obstacle_to_while(walk.recorder, *operands, *inputs)
                                   : "it takes more than tensors";
  if (!obstacle.empty())
    return walk.verdict.broke(Code::PS0310, "torch.while_loop is torch's: " + obstacle);
  walk.context.guard_grad_mode();
  return joins(f, function, pops,
               [operands = *operands, inputs = *inputs,
                call = call_of(walk, "while_loop", *operands)](Walk& walk) {
                 Recorder& recorder = walk.recorder;
                 OpenSubgraphs::Joined joined{{}, {}, operands, inputs, {}, call};
                 joined.types = types_of(recorder, recorder.subgraphs.results(1));
                 return recorder.subgraphs.join(recorder, std::move(joined));
               });
}

std::optional<bool> model_join_scan(Walk& walk, FrameShadow& f, Operand function,
                                    const std::vector<Operand>& positional, const Keywords&,
                                    int pops) {
  const auto carried = values_in(walk, positional[1]), scanned = values_in(walk, positional[2]),
             inputs = values_in(walk, positional[4]);
  const std::string obstacle = carried && scanned && inputs && !scanned->empty()
                                   ? obstacle_to_scan(walk.recorder, *carried, *inputs, *scanned)
                                   : "it takes more than tensors";
  if (!obstacle.empty())
    return walk.verdict.broke(Code::PS0310, "torch's scan is torch's: " + obstacle);
  walk.context.guard_grad_mode();
  std::vector<ValueId> operands = *carried;
  operands.insert(operands.end(), scanned->begin(), scanned->end());
  const auto count = carried->size(), rows = scanned->size();
  return joins(f, function, pops,
               [=, inputs = *inputs, call = call_of(walk, "scan", operands)](Walk& walk) {
                 Recorder& recorder = walk.recorder;
                 const SymExpr length = recorder.value(operands[count]).type.sizes[0];
                 const auto number = length.constant();
                 OpenSubgraphs::Joined joined{{}, {}, operands, inputs, {}, call};
                 joined.behind = {{"carried", static_cast<std::int64_t>(count)},
                                  {"scanned", static_cast<std::int64_t>(rows)},
                                  {"length", number ? Argument(*number) : Argument(length)}};
                 joined.types = types_of(recorder, recorder.subgraphs.results(0));
                 for (std::size_t i = count; i < joined.types.size(); ++i) {
                   TensorType& type = joined.types[i];
                   type.sizes.insert(type.sizes.begin(), length);
                   type.strides = contiguous_strides(type.sizes);
                 }
                 return recorder.subgraphs.join(recorder, std::move(joined));
               });
}

}  // namespace penstock::record
