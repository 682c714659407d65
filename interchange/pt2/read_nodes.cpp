#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "interchange/pt2/json.h"
#include "interchange/pt2/read_state.h"
#include "ir/subgraphs.h"
#include "ops/infer.h"
#include "ops/op.h"

namespace penstock::pt2 {

using formats::Field;
using formats::Record;

namespace {

/// What becomes of a call whose target starts so. Longer rows stand before their beginnings.
enum class Use : std::uint8_t {
  op,         ///< a node
  size,       ///< computes a size, which stands as an expression wherever it is used
  told,       ///< asserts what types and ranges say already
  condition,  ///< asserts a comparison of sizes
  inlined,    ///< its subgraph's nodes stand in its place
  control,    ///< runs subgraphs
  same,       ///< gives its first argument
  copy,       ///< a tensor with the elements of another: the functional form of copy_
};
struct TargetRow {
  std::string_view prefix;
  Use use;
};
constexpr TargetRow kTargets[] = {
    {"torch.ops.aten.sym_constrain_range", Use::told},
    {"torch.ops.aten.sym_", Use::size},
    {"torch.ops.aten._assert_scalar.", Use::condition},
    {"torch.ops.aten._assert_tensor_metadata.", Use::told},
    {"torch.ops.aten.detach_.default", Use::same},
    {"torch.ops.aten.copy.default", Use::copy},
    {"torch.ops.aten.", Use::op},
    {"torch.ops.higher_order.wrap_with_set_grad_enabled", Use::inlined},
    {"torch.ops.higher_order.cond", Use::control},
    {"torch.ops.higher_order.while_loop", Use::control},
    {"torch.ops.higher_order.scan", Use::control},
    {"torch.ops.higher_order.map_impl", Use::control},
    {"_operator.", Use::size},
    {"math.", Use::size},
    {"torch.sym_", Use::size},
};
constexpr std::string_view kOps = "torch.ops.";
constexpr std::size_t kMostFrames = 64;

std::optional<Use> use_of(std::string_view target) {
  for (const TargetRow& row : kTargets) {
    if (target.starts_with(row.prefix)) return row.use;
  }
  return std::nullopt;
}

/// The frames of a stack_trace in node metadata, the innermost last: lines of
/// '  File "x.py", line 3, in forward', each with the source line behind it.
CallStack stack_of(std::string_view trace) {
  CallStack stack;
  std::size_t frames = 0;
  while (!trace.empty() && frames < kMostFrames) {
    const std::size_t end = std::min(trace.find('\n'), trace.size());
    std::string_view line = trace.substr(0, end);
    trace.remove_prefix(std::min(end + 1, trace.size()));
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (!line.starts_with("File \"")) continue;
    line.remove_prefix(6);
    const std::size_t quote = line.find("\", line ");
    if (quote == std::string_view::npos) continue;
    StackFrame frame;
    frame.location.file = std::string(line.substr(0, quote));
    line.remove_prefix(quote + 8);
    std::from_chars(line.data(), line.data() + line.size(), frame.location.line);
    const std::size_t in = line.find(", in ");
    if (in != std::string_view::npos) frame.function = std::string(line.substr(in + 5));
    frame.caller = stack;
    stack = std::make_shared<const StackFrame>(std::move(frame));
    ++frames;
  }
  return stack;
}

/// Makes nodes of the calls of a graph of the file and of its subgraphs.
class NodeReader {
 public:
  NodeReader(ReadState& state) : state_(state), shapes_(state.graph.interface) {}

  void read(Scope& scope, const Field& nodes) {
    nodes.each([&](const Field& node) {
      if (!node.problems().first) call(scope, node);
    });
  }

 private:
  void call(Scope& scope, const Field& field) {
    Record node(field);
    const Field target_field = node.required("target");
    const std::string target = target_field.text();
    const auto use = use_of(target);
    if (!use) return refuse(target_field, target);
    switch (*use) {
      case Use::told:
      case Use::size:
        return;
      case Use::condition:
        return condition(scope, node.required("inputs"));
      case Use::inlined:
        return inline_graph(scope, node);
      case Use::control:
        return control(scope, node, target.substr(target.rfind('.') + 1));
      case Use::same:
        return same(scope, node);
      case Use::copy:
        return copy(scope, node);
      case Use::op:
        return op(scope, node, target.substr(kOps.size()));
    }
  }

  static void refuse(const Field& field, const std::string& target) {
    const std::string name = target.substr(0, 200);
    if (name.starts_with("torch.ops.higher_order."))
      return field.fail(fmt::format("{} calls a subgraph, which graphs do not hold here", name),
                        Code::PS0211);
    if (name.starts_with(kOps))
      return field.fail(fmt::format("{} is no op of torch's own", name), Code::PS0211);
    field.fail(fmt::format("{} is nothing that a graph calls", name), Code::PS0211);
  }

  /// _assert_scalar(truth, message).
  void condition(Scope& scope, const Field& inputs) {
    if (inputs.length() == 0) return inputs.fail("an assert has a truth");
    const Field first = inputs.item(0);
    Record argument(first);
    const Field truth = argument.required("arg");
    const auto choice = read_choice(truth);
    if (!choice) return;
    Record record(choice->value);
    const auto name = record.optional("as_name");
    if (choice->name != "as_sym_bool" || !name) {
      const Argument always = read_argument(truth, scope);
      const auto* flag = always.as<bool>();
      if (flag != nullptr && *flag) return;
      return truth.fail("an assert of something else than a comparison of sizes", Code::PS0211);
    }
    const auto condition = scope.truth(name->text(), *name);
    if (!condition) return;
    Guard guard{GuardKind::condition, kNoSource, kNoSource, {}, {}, *condition, {}, -1};
    state_.graph.interface.guards.push_back(std::move(guard));
  }

  /// wrap_with_set_grad_enabled(enabled, graph, tensors…): what a block under torch.no_grad()
  /// becomes.
  void inline_graph(Scope& scope, Record& node) {
    const Field inputs = node.required("inputs");
    if (inputs.length() < 2) return inputs.fail("a block has a flag and a graph");
    if (++depth_ > kDeepest) return inputs.fail("blocks are nested too deeply", Code::PS0208);
    const Field second = inputs.item(1);
    Record argument(second);
    const Field kind = argument.required("arg");
    const auto choice = read_choice(kind);
    if (!choice) return;
    if (choice->name != "as_graph") return kind.fail("a block has a graph");
    Record holder(choice->value);
    const Field graph = holder.required("graph");
    Record body(graph);
    Scope inner(body, state_.hints);
    const Field formal = body.required("inputs");
    if (formal.length() + 2 != inputs.length())
      return formal.fail("a block has as many inputs as arguments");
    for (std::size_t i = 0; i < formal.length() && !formal.problems().first; ++i) {
      const Field given_field = inputs.item(i + 2), formal_field = formal.item(i);
      Record given(given_field);
      const Argument value = read_argument(given.required("arg"), scope);
      const auto name = read_choice(formal_field);
      const auto* id = value.as<Argument::Value>();
      if (name && name->name == "as_tensor" && id != nullptr)
        inner.define(read_name(name->value), id->id);
    }
    read(inner, body.required("nodes"));
    results(scope, inner, node.required("outputs"), body.required("outputs"));
    --depth_;
  }

  /// cond(predicate, graph, graph, [tensors…]), while_loop(graph, graph, [carried…], [others…]),
  /// scan(graph, [carried…], [of rows…], [others…]), map_impl(graph, [of rows…], [others…]): a node
  /// that runs subgraphs.
  void control(Scope& scope, Record& record, const std::string& name) {
    const Field inputs = record.required("inputs"), outputs = record.required("outputs");
    const std::size_t count = name == "map_impl" ? 3 : 4;
    if (inputs.length() != count)
      return inputs.fail(fmt::format("{} has {} arguments", name, count));
    if (++depth_ > kDeepest) return inputs.fail("subgraphs are nested too deeply", Code::PS0208);
    Node node;
    if (name == "cond") {
      const std::optional<ValueId> predicate = predicate_of(scope, record, inputs.item(0));
      if (!predicate) return;
      node = {"prim.cond", {{"predicate", Argument::Value{*predicate}}}, {}, -1};
      add_subgraphs(scope, node, inputs, {3}, {{1, "then"}, {2, "otherwise"}});
    } else if (name == "while_loop") {
      node.op = "prim.while_loop";
      add_subgraphs(scope, node, inputs, {2, 3}, {{0, "condition"}, {1, "body"}});
    } else if (name == "scan") {
      node.op = "prim.scan";
      add_subgraphs(scope, node, inputs, {1, 2, 3}, {{0, "body"}});
    } else {
      node.op = "prim.scan";
      add_subgraphs(scope, node, inputs, {1, 2}, {{0, "body"}});
    }
    if (inputs.problems().first) return;
    std::vector<std::string> names;
    collect_names(outputs, names);
    for (std::size_t i = 0; i < names.size(); ++i) {
      const TensorType* type = names[i].empty() ? nullptr : scope.type(names[i], outputs);
      if (type == nullptr)
        return outputs.fail(name + " has a result that is no tensor", Code::PS0211);
      node.results.push_back(add_value(state_.graph, names[i], *type));
      scope.define(names[i], node.results.back());
    }
    add(record, std::move(node), kNoValue);
    --depth_;
  }

  /// Gives the node the operands in the arguments at `lists`, and the graphs at the places of
  /// `graphs`. Those of a scan are cut by the lists: the last but one is of rows.
  void add_subgraphs(Scope& scope, Node& node, const Field& inputs,
                     const std::vector<std::size_t>& lists,
                     const std::vector<std::pair<std::size_t, std::string>>& graphs) {
    std::vector<ValueId> operands;
    ScanParts parts;
    const bool scan = node.op == "prim.scan";
    for (std::size_t i = 0; i < lists.size(); ++i) {
      const std::size_t before = operands.size();
      const Argument given = read_argument(argument_of(inputs.item(lists[i])), scope);
      const auto* sequence = given.as<Argument::Sequence>();
      for_each_value(given, [&](ValueId id) { operands.push_back(id); });
      if (sequence == nullptr || sequence->items.size() != operands.size() - before)
        return inputs.fail("a subgraph takes something else than tensors", Code::PS0211);
      if (scan && i + 2 == lists.size()) {
        parts.carried = before;
        parts.scanned = operands.size() - before;
      }
    }
    if (scan && !measure(operands, parts)) return inputs.fail("a scan goes over nothing");
    Argument::Sequence list{Argument::Sequence::Kind::list, {}};
    for (ValueId id : operands) list.items.emplace_back(Argument::Value{id});
    node.args.push_back({"operands", Argument(std::move(list))});
    if (scan) {
      const auto length = parts.length.constant();
      node.args.push_back({"carried", static_cast<std::int64_t>(parts.carried)});
      node.args.push_back({"scanned", static_cast<std::int64_t>(parts.scanned)});
      node.args.push_back({"length", length ? Argument(*length) : Argument(parts.length)});
    }
    for (const auto& [at, argument] : graphs) {
      const std::string made = subgraph(inputs.item(at), operands, parts);
      node.args.push_back({argument, made});
      if (inputs.problems().first) return;
    }
  }

  /// The number of rows of what a scan goes over; false: there are none.
  bool measure(const std::vector<ValueId>& operands, ScanParts& parts) const {
    if (parts.scanned == 0) return false;
    const TensorType& first = state_.graph.values[operands[parts.carried]].type;
    if (first.sizes.empty()) return false;
    parts.length = first.sizes.front();
    return true;
  }

  static Field argument_of(const Field& input) {
    Record record(input);
    return record.required("arg");
  }

  /// A bool: a tensor, or what a comparison of sizes comes to.
  std::optional<ValueId> predicate_of(Scope& scope, Record& record, const Field& input) {
    const Field given = argument_of(input);
    const auto choice = read_choice(given);
    if (!choice) return std::nullopt;
    if (choice->name != "as_sym_bool") {
      const Argument value = read_argument(given, scope);
      const auto* id = value.as<Argument::Value>();
      if (id != nullptr) return id->id;
      given.fail("a predicate is a tensor, or a comparison of sizes", Code::PS0211);
      return std::nullopt;
    }
    Record truth(choice->value);
    const auto name = truth.optional("as_name");
    const auto condition = name ? scope.truth(name->text(), *name) : std::nullopt;
    if (!condition) return std::nullopt;
    TensorType number, flag;
    number.dtype = DType::int64;
    flag.dtype = DType::bool_;
    const SymExpr gap = condition->left - condition->right;
    const auto constant = gap.constant();
    const ValueId made = step(record, "aten.full.default",
                              {{"size", Argument::Sequence{Argument::Sequence::Kind::list, {}}},
                               {"fill_value", constant ? Argument(*constant) : Argument(gap)},
                               {"dtype", DType::int64}},
                              number);
    constexpr std::string_view kComparisons[] = {"aten.eq.Scalar", "aten.ne.Scalar",
                                                 "aten.lt.Scalar", "aten.le.Scalar"};
    const auto relation = static_cast<std::size_t>(condition->relation);
    return step(record, std::string(kComparisons[relation]),
                {{"self", Argument::Value{made}}, {"other", std::int64_t{0}}}, flag);
  }

  /// Reads a graph that is an argument; its name.
  std::string subgraph(const Field& input, const std::vector<ValueId>& operands,
                       const ScanParts& parts) {
    const Field kind = argument_of(input);
    const auto choice = read_choice(kind);
    if (!choice) return {};
    if (choice->name != "as_graph") return kind.fail("it is no graph"), std::string();
    Record holder(choice->value);
    const std::string name = holder.required("name").text();
    const Field field = holder.required("graph");
    Record body(field);
    ReadState inner;
    inner.graph.level = Level::torch;
    inner.graph.interface.name = name;
    inner.hints = state_.hints;
    inherit_sizes(state_.graph.interface, inner.graph.interface);
    Scope scope(body, inner.hints);
    const Field formal = body.required("inputs");
    if (formal.length() != operands.size())
      return formal.fail("a graph has as many inputs as operands"), std::string();
    for (std::size_t i = 0; i < operands.size() && !formal.problems().first; ++i) {
      const Field one = formal.item(i);
      const auto tensor = read_choice(one);
      if (!tensor || tensor->name != "as_tensor")
        return one.fail("an operand is no tensor", Code::PS0211), std::string();
      const std::string own = read_name(tensor->value);
      TensorType type = state_.graph.values[operands[i]].type;
      type.storage = -1;
      type.storage_offset = 0;
      type.requires_grad = false;
      if (const TensorType* named = scope.type(own, one); named != nullptr)
        type.strides = named->strides;
      if (i >= parts.carried && i < parts.carried + parts.scanned && !type.sizes.empty())
        type.sizes.erase(type.sizes.begin());
      if (type.strides.size() != type.sizes.size())
        return one.fail("an operand has other dims than what is given"), std::string();
      const ValueId id = add_value(inner.graph, own, type);
      inner.graph.interface.inputs.push_back(
          {InputKind::user, inner.graph.values[id].name, kNoSource, std::move(type), {}});
      scope.define(own, id);
    }
    NodeReader reader(inner);
    reader.depth_ = depth_;
    reader.read(scope, body.required("nodes"));
    body.required("outputs").each([&](const Field& output) {
      const Argument value = read_argument(output, scope);
      const auto* id = value.as<Argument::Value>();
      if (id == nullptr) return output.fail("a graph gives what is no tensor", Code::PS0211);
      TensorType type = inner.graph.values[id->id].type;
      type.storage = -1;
      type.storage_offset = 0;
      inner.graph.outputs.push_back(id->id);
      inner.graph.interface.outputs.push_back({std::move(type), {}, {}});
    });
    adopt_conditions(inner.graph.interface, state_.graph.interface);
    state_.graph.subgraphs.push_back(std::move(inner.graph));
    return name;
  }

  /// The outputs of a subgraph are those of the call.
  void results(Scope& scope, const Scope& inner, const Field& outer, const Field& given) {
    std::vector<std::string> names;
    collect_names(outer, names);
    if (names.size() != given.length()) return outer.fail("a block has as many outputs as results");
    for (std::size_t i = 0; i < names.size() && !outer.problems().first; ++i) {
      const Argument value = read_argument(given.item(i), inner);
      if (const auto* id = value.as<Argument::Value>()) scope.define(names[i], id->id);
    }
  }

  /// The names of all tensors in a list of results; "" stands for one that there is not.
  void collect_names(const Field& outputs, std::vector<std::string>& names) {
    outputs.each([&](const Field& output) {
      const auto choice = read_choice(output);
      if (!choice) return;
      if (choice->name == "as_tensor") {
        names.push_back(read_name(choice->value));
      } else if (choice->name == "as_tensors") {
        choice->value.each([&](const Field& one) { names.push_back(read_name(one)); });
      } else if (choice->name == "as_none") {
        names.emplace_back();
      } else {
        output.fail(fmt::format("the result is a number that the data decide ({})",
                                choice->name.substr(0, 40)),
                    Code::PS0211);
      }
    });
  }

  void op(Scope& scope, Record& record, const std::string& name) {
    Node node;
    node.op = name;
    record.each("inputs", [&](const Field& input) {
      Record argument(input);
      const std::string key = argument.required("name").text();
      node.args.push_back({key, read_argument(argument.required("arg"), scope)});
    });
    const Field outputs = record.required("outputs");
    std::vector<std::string> names;
    collect_names(outputs, names);
    if (outputs.problems().first) return;
    const ValueId written = written_by(node);
    for (const std::string& result : names) {
      const TensorType* type = result.empty() ? nullptr : scope.type(result, outputs);
      if (type == nullptr)
        return outputs.fail(fmt::format("{} has a result that is no tensor", name), Code::PS0211);
      const ValueId id = add_value(state_.graph, result, *type);
      node.results.push_back(id);
      scope.define(result, written == kNoValue ? id : written);
    }
    if (written != kNoValue && !keeps_type(node, written)) {
      return outputs.fail(fmt::format("{} changes the sizes of %{}, which graphs do not follow",
                                      name, state_.graph.values[written].name),
                          Code::PS0211);
    }
    add(record, std::move(node), written);
  }

  void same(Scope& scope, Record& record) {
    const Field inputs = record.required("inputs"), outputs = record.required("outputs");
    std::vector<std::string> names;
    collect_names(outputs, names);
    if (inputs.length() != 1 || names.size() != 1)
      return inputs.fail("it has a tensor and a result");
    const Field first = inputs.item(0);
    Record argument(first);
    const Argument given = read_argument(argument.required("arg"), scope);
    if (const auto* id = given.as<Argument::Value>()) scope.define(names.front(), id->id);
  }

  /// copy(self, src) is src in the dtype and sizes of self, with memory of its own.
  void copy(Scope& scope, Record& record) {
    const Field inputs = record.required("inputs"), outputs = record.required("outputs");
    std::vector<std::string> names;
    collect_names(outputs, names);
    if (inputs.length() < 2 || names.size() != 1)
      return inputs.fail("copy has two tensors and a result");
    const Field second = inputs.item(1);
    Record argument(second);
    const Argument given = read_argument(argument.required("arg"), scope);
    const auto* source = given.as<Argument::Value>();
    const TensorType* type = scope.type(names.front(), outputs);
    if (source == nullptr || type == nullptr)
      return inputs.fail("copy has two tensors and a result");
    TensorType converted = state_.graph.values[source->id].type;
    converted.dtype = type->dtype;
    converted.storage = -1;
    converted.storage_offset = 0;
    converted.strides = contiguous_strides(converted.sizes);
    TensorType spread = *type;
    spread.strides = contiguous_strides(spread.sizes);
    Argument::Sequence sizes{Argument::Sequence::Kind::list, {}};
    for (const SymExpr& size : type->sizes) {
      const auto number = size.constant();
      sizes.items.push_back(number ? Argument(*number) : Argument(size));
    }
    const ValueId cast = step(record, "aten._to_copy.default",
                              {{"self", given}, {"dtype", type->dtype}}, std::move(converted));
    const ValueId wide =
        step(record, "aten.expand.default",
             {{"self", Argument::Value{cast}}, {"size", std::move(sizes)}}, spread);
    scope.define(names.front(),
                 step(record, "aten.clone.default", {{"self", Argument::Value{wide}}}, *type));
  }

  ValueId step(Record& record, std::string op, std::vector<NamedArgument> args, TensorType type) {
    Node node{std::move(op), std::move(args), {}, -1};
    node.results.push_back(add_value(state_.graph, "copy", std::move(type)));
    const ValueId result = node.results.front();
    add(record, std::move(node), kNoValue);
    return result;
  }

  /// The tensor that an op writes and gives back; kNoValue for an op that makes its result.
  ValueId written_by(const Node& node) const {
    const ops::OpFacts* op = ops::find_op(node.op);
    const bool writes = op != nullptr ? op->has(ops::kMutates) : ops::writes_by_name(node.op);
    if (!writes || node.args.empty()) return kNoValue;
    const auto* first = node.args.front().value.as<Argument::Value>();
    return first == nullptr ? kNoValue : first->id;
  }

  bool keeps_type(const Node& node, ValueId written) const {
    const TensorType& before = state_.graph.values[written].type;
    return std::ranges::all_of(node.results, [&](ValueId id) {
      const TensorType& after = state_.graph.values[id].type;
      return after.dtype == before.dtype && after.sizes == before.sizes;
    });
  }

  void add(Record& record, Node node, ValueId written) {
    Call call;
    call.opcode = "call_function";
    call.target = "torch.ops." + node.op;
    const auto name = record.optional("name");
    call.name = name && !name->json().is_null() ? name->text() : call.target;
    call.kwargs = node.args;
    if (const auto metadata = record.optional("metadata")) {
      Record facts(*metadata);
      call.stack = stack_of(facts.text_or("stack_trace", {}));
    }
    node.call = static_cast<std::int32_t>(state_.graph.calls.size());
    state_.graph.calls.push_back(std::move(call));
    if (written != kNoValue) {
      for (const ValueId id : node.results) state_.share(id, written);
    } else if (auto inferred = ops::infer_results(node, state_.graph, shapes_);
               inferred && inferred->size() == node.results.size()) {
      for (std::size_t i = 0; i < node.results.size(); ++i) {
        if ((*inferred)[i].alias != kNoValue) state_.share(node.results[i], (*inferred)[i].alias);
      }
    }
    state_.graph.nodes.push_back(std::move(node));
  }

  static constexpr int kDeepest = 32;
  ReadState& state_;
  ops::RangeShapes shapes_;
  int depth_ = 0;
};

}  // namespace

void ReadState::share(ValueId view, ValueId base) {
  std::int32_t& storage = graph.values[base].type.storage;
  if (storage < 0) {
    storage = next_storage++;
    if (base < graph.interface.inputs.size()) graph.interface.inputs[base].type.storage = storage;
  }
  graph.values[view].type.storage = storage;
}

void read_nodes(ReadState& state, Scope& scope, const Field& nodes) {
  NodeReader(state).read(scope, nodes);
}

}  // namespace penstock::pt2
