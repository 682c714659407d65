#include <algorithm>
#include <unordered_map>
#include <utility>

#include "ir/float_format.h"
#include "ops/op.h"
#include "passes/core_passes.h"
#include "passes/decompose/composites.h"
#include "passes/decompose/decided_sizes.h"

namespace penstock::passes {

namespace {

struct Table {
  DecompositionRow rows[static_cast<std::size_t>(ops::OpId::count)] = {};
};

constexpr Table make_table() {
  Table table;
#define PS_DECOMPOSITION(id, function, detail) \
  table.rows[static_cast<std::size_t>(ops::OpId::id)] = {penstock::passes::function, detail, true};
#include "passes/decompose/decompositions.def"
#undef PS_DECOMPOSITION
  return table;
}

constexpr Table kTable = make_table();

/// Columns of ops.def that say whether a row must decompose.
struct Duty {
  ops::OpId id;
  ops::OpFamily family;
  int flags;
};
using namespace ops;  // the flags of ops.def are named without a qualifier
constexpr Duty kDuties[] = {
#define PS_OP(id, name, family, flags, rule, reference) {OpId::id, OpFamily::family, flags},
#include "ops/ops.def"
#undef PS_OP
};

constexpr bool is_complete() {
  for (const Duty& duty : kDuties) {
    bool has_row = kTable.rows[static_cast<std::size_t>(duty.id)].exists;
    bool excused = (duty.flags & kOpaque) != 0 || duty.family == OpFamily::in_place;
    if (has_row == excused) return false;
  }
  return true;
}
static_assert(is_complete(), "every op has a decomposition, unless it is opaque or in place");

constexpr Composite kComposites[] = {
#define PS_COMPOSITE(op, function, detail) {op, penstock::passes::function, detail},
#include "passes/decompose/composites.def"
#undef PS_COMPOSITE
};

constexpr bool is_listed_once() {
  for (const Composite& row : kComposites) {
    for (const Composite* other = kComposites; other != &row; ++other) {
      if (other->op == row.op) return false;
    }
  }
  return true;
}
static_assert(is_listed_once(), "a composite has one row");

class Lowering {
 public:
  /// `functional`: what a node writes by its name is a copy made for it.
  Lowering(Graph graph, KeepsWhole keeps, KeepsNode keeps_node, bool functional)
      : rewrite_(std::move(graph)), functional_(functional) {
    rewrite_.keep_whole(keeps);
    rewrite_.keep_nodes(std::move(keeps_node));
    if (keeps != nullptr) rewrite_.let_reductions_wait();
  }

  Result<Graph> run() {
    for (const Node& old : rewrite_.old_nodes()) {
      rewrite_.set_call(old.call);
      lower(rewrite_.current(old));
      if (rewrite_.failed()) break;
    }
    return rewrite_.finish();
  }

 private:
  /// Takes `node` apart and lets the parts stand for its results.
  void lower(Node node) {
    if (decides_size(node, rewrite_.graph())) {
      const auto results = take_composite(node);
      return finish(node, results.value_or(std::vector<ValueId>{}));
    }
    const OpFacts* op = find_op(node.op);
    if (!op) return lower_unknown(std::move(node));
    if (op->id == OpId::item_default || op->id == OpId::internal_local_scalar_dense_default)
      return lower_item(*op, std::move(node));
    if (op->family == OpFamily::in_place) return lower_in_place(*op, node);
    if (rewrite_.keeps_whole(node) || stays_whole_on_device(rewrite_, *op, node))
      return rewrite_.keep(std::move(node));
    check_indices(rewrite_, *op, node);
    std::vector<ValueId> results = take_apart(*op, node);
    finish(node, results);
  }

  /// A size that the element decides; another number stays torch's.
  void lower_item(const OpFacts& op, Node node) {
    if (node.results.empty() || !rewrite_.graph().values[node.results.front()].is_scalar)
      return rewrite_.keep(std::move(node));
    Decomposition d(op, node, rewrite_, {});
    d.set_decided(rewrite_.graph().values[node.results.front()].expression);
    const ValueId item = d.decide(d.convert(d.reshape(d.value("self"), {}), DType::int64));
    if (d.failed()) return rewrite_.fail(*d.error());
    take_name(node.results.front(), item);
    rewrite_.replace(node.results.front(), item);
  }

  /// The values that compute the results of `node`; empty when the op stays as it is: it is opaque,
  /// prims do not compute with its dtypes, its arguments are none that its rule or its
  /// decomposition takes, or torch gave something else than the decomposition does (another dtype,
  /// where the default dtype was another).
  std::vector<ValueId> take_apart(const OpFacts& op, const Node& node) {
    const DecompositionRow& row = decomposition_row(op.id);
    if (!row.function || has_complex(node) || rewrite_.failed()) return {};
    const auto inferred = ops::infer_results(node, rewrite_.graph(), rewrite_.shapes());
    // The rule of a view may refuse strides that the operand has only here: torch took the view of
    // its own.
    if (!inferred && row.function != view_as_reshape) return {};
    const Rewrite::Mark before = rewrite_.mark();
    Decomposition decomposition(op, node, rewrite_, row.detail);
    row.function(decomposition);
    const bool whole = !decomposition.failed() && !rewrite_.failed() && !decomposition.kept();
    if (whole && is_as_recorded(node, decomposition.results())) {
      std::vector<ValueId> results = decomposition.results();
      if (inferred) give_own_memory(rewrite_, before, *inferred, results);
      if (!rewrite_.failed()) return results;
    }
    rewrite_.back_to(before);
    return {};
  }

  /// Whether results have the dtypes and sizes that torch gave.
  bool is_as_recorded(const Node& node, const std::vector<ValueId>& results) const {
    if (results.size() < node.results.size()) return false;
    for (std::size_t i = 0; i < node.results.size(); ++i) {
      const TensorType &made = rewrite_.type(results[i]),
                       &recorded = rewrite_.type(node.results[i]);
      if (made.dtype != recorded.dtype || made.rank() != recorded.rank()) return false;
      for (std::size_t dim = 0; dim < made.rank(); ++dim) {
        const auto gap = (made.sizes[dim] - recorded.sizes[dim]).constant();
        if (gap && *gap != 0) return false;
      }
    }
    return true;
  }

  bool has_complex(const Node& node) const {
    bool found = false;
    auto look = [&](ValueId id) { found = found || is_complex(rewrite_.type(id).dtype); };
    for (const NamedArgument& argument : node.args) {
      for_each_value(argument.value, look);
      found = found || argument.value.as<Argument::Complex>() != nullptr;
    }
    for (ValueId id : node.results) look(id);
    return found;
  }

  void finish(Node& node, const std::vector<ValueId>& results) {
    if (rewrite_.failed()) return;
    if (results.empty()) return rewrite_.keep(std::move(node));
    for (std::size_t i = 0; i < node.results.size(); ++i) {
      take_name(node.results[i], results[i]);
      keep_storage(node.results[i], results[i]);
      rewrite_.replace(node.results[i], results[i]);
    }
  }

  /// Ops that stay may show the result's memory, as was seen when they ran.
  void keep_storage(ValueId old, ValueId made) {
    std::vector<Value>& values = rewrite_.graph().values;
    if (values[made].type.storage < 0) values[made].type.storage = values[old].type.storage;
  }

  /// A value made for a result goes by the result's name: reports and edits refer to it.
  void take_name(ValueId old, ValueId made) {
    std::vector<Value>& values = rewrite_.graph().values;
    if (made > old && made >= named_.size()) named_.resize(made + 1, false);
    if (made < old || named_[made]) return;
    std::swap(values[old].name, values[made].name);
    named_[made] = true;
  }

  /// self.op_(…) is copy_(self, op(self, …)); copy_, fill_ and zero_ have the content as an
  /// argument.
  void lower_in_place(const OpFacts& op, Node& node) {
    Arguments arguments(node, rewrite_.graph());
    ValueId self = arguments.value("self");
    if (arguments.failed()) return rewrite_.fail(*arguments.error());
    ValueId content = content_of(op, node, self);
    if (rewrite_.failed()) return;
    Decomposition writer(op, node, rewrite_, {});
    writer.write(self, content);
    if (writer.failed()) return rewrite_.fail(*writer.error());
    for (ValueId result : node.results) rewrite_.replace(result, self);
  }

  ValueId content_of(const OpFacts& op, const Node& node, ValueId self) {
    if (op.id == OpId::copy__default) return given(op, node, self, "src");
    if (op.id == OpId::fill__Scalar || op.id == OpId::fill__Tensor)
      return given(op, node, self, "value");
    if (op.id == OpId::zero__default) {
      Decomposition d(op, node, rewrite_, {});
      return splat(d, self, std::int64_t{0});
    }
    const OpFacts* functional = functional_op(op);
    if (!functional) {
      fail(node, "has no functional form");
      return self;
    }
    Node pure = node;
    pure.op = functional->name;
    pure.results.clear();
    const bool whole =
        rewrite_.keeps_whole(pure) || stays_whole_on_device(rewrite_, *functional, pure);
    if (!whole) check_indices(rewrite_, *functional, pure);
    std::vector<ValueId> results = whole ? std::vector<ValueId>() : take_apart(*functional, pure);
    if (!results.empty() || rewrite_.failed()) return results.empty() ? self : results.front();
    return rewrite_.emit_one(pure.op, pure.args);
  }

  /// The argument `name` as the content of `self`: a tensor, or a number that all elements become.
  ValueId given(const OpFacts& op, const Node& node, ValueId self, std::string_view name) {
    Decomposition d(op, node, rewrite_, {});
    const DType dtype = d.dtype_of(self);
    const Argument* argument = d.find(name);
    if (argument != nullptr && argument->as<Argument::Complex>() != nullptr && is_complex(dtype)) {
      return splat(d, self, *argument);
    }
    const Operand value = d.operand(name);
    ValueId content = self;
    if (d.failed()) return fail_with(d, self);
    if (value.is_tensor() || d.is_number_input(name))
      content = d.convert(value.value, dtype);
    else if (value.number.category == DTypeCategory::floating)
      content = splat(d, self, value.number.real);
    else
      content = splat(d, self, Decomposition::integer_argument(value.number.integer));
    return d.failed() ? fail_with(d, self) : content;
  }

  ValueId fail_with(const Decomposition& d, ValueId self) {
    rewrite_.fail(*d.error());
    return self;
  }

  /// A tensor of the sizes and dtype of `self` whose elements are all the number.
  ValueId splat(Decomposition& d, ValueId self, Argument number) {
    const DType dtype = d.dtype_of(self);
    if (const auto* real = number.as<double>();
        real != nullptr && !is_floating(dtype) && !is_complex(dtype)) {
      number =
          is_boolean(dtype) ? Argument(*real != 0) : Argument(static_cast<std::int64_t>(*real));
    }
    if (const auto* integer = number.as<std::int64_t>()) {
      const std::int64_t whole = *integer;
      if (is_boolean(dtype))
        number = whole != 0;
      else if (is_integral(dtype))
        number = wrap_to(whole, dtype);
      else
        number = static_cast<double>(whole);
    } else if (number.as<SymExpr>() != nullptr && (is_boolean(dtype) || is_complex(dtype))) {
      d.fail("a size is written into elements of " + std::string(penstock::facts(dtype).name));
    }
    return d.full(d.sizes(self), std::move(number), dtype);
  }

  /// An op that ops.def does not know stays as it is, unless it is a composite. If its name says
  /// that it writes its first argument, it writes a copy instead, and the copy's content is what
  /// the argument gets.
  void lower_unknown(Node node) {
    if (find_argument(node, "out") != nullptr)
      return fail(node, "ops that write an argument called 'out' are not supported");
    if (functional_ && ops::writes_by_name(node.op)) return rewrite_.keep(std::move(node));
    if (!ops::writes_by_name(node.op)) {
      const auto results = take_composite(node);
      if (results && node.results.empty()) return;  // it demands something, and gives nothing
      return finish(node, results.value_or(std::vector<ValueId>{}));
    }
    const auto* self = node.args.empty() ? nullptr : node.args.front().value.as<Argument::Value>();
    if (!self || node.results.size() > 1)
      return fail(node, "writes something that is not its first argument");
    const ValueId target = self->id, content = written_content(node, target);
    if (rewrite_.failed()) return;
    rewrite_.emit("prim.copy_",
                  {arg("self", value_argument(target)), arg("src", value_argument(content))});
    for (ValueId result : node.results) rewrite_.replace(result, target);
  }

  /// What `target`, the first argument of an op that ops.def does not know, holds after the op has
  /// written it.
  ValueId written_content(const Node& node, ValueId target) {
    Node pure = node;
    pure.op.erase(pure.op.rfind('.') - 1, 1);
    if (pure.results.empty()) pure.results.push_back(target);
    const auto results = take_composite(pure);
    if (results) return results->front();
    const ValueId copy = rewrite_.emit_one("prim.clone", {arg("self", value_argument(target))});
    if (rewrite_.failed()) return target;
    const ValueId content = add_value(rewrite_.graph(), "written", rewrite_.type(copy));
    Node writes = node;
    writes.args.front().value = value_argument(copy);
    writes.results = {content};
    rewrite_.keep(std::move(writes));
    return content;
  }

  /// The values that compute the results of a composite; nothing for other ops, and where they
  /// would be other than torch's: strides too, as no rule says them and views behind count on them.
  std::optional<std::vector<ValueId>> take_composite(const Node& node) {
    const Composite* composite = find_composite(node.op);
    if (composite == nullptr) return std::nullopt;
    // Of what decides a size the parts have derivatives.
    if (rewrite_.keeps_whole(node) && !decides_size(node, rewrite_.graph())) return std::nullopt;
    if (has_complex(node) || rewrite_.failed()) return std::nullopt;
    for (ValueId result : node.results) {
      if (rewrite_.type(result).device != "cpu") return std::nullopt;
    }
    const OpFacts facts = facts_of(*composite);
    const Rewrite::Mark before = rewrite_.mark();
    Decomposition decomposition(facts, node, rewrite_, composite->detail);
    if (decides_size(node, rewrite_.graph())) {
      const auto size = decided_size(node, rewrite_.graph());
      if (!size) return std::nullopt;
      decomposition.set_decided(*size);
    }
    composite->function(decomposition);
    std::vector<ValueId> results = decomposition.results();
    bool whole = !decomposition.failed() && !rewrite_.failed() && !decomposition.kept() &&
                 is_as_recorded(node, results);
    for (std::size_t i = 0; whole && i < node.results.size(); ++i) {
      whole = lies_as_recorded(rewrite_.type(results[i]), rewrite_.type(node.results[i]));
    }
    if (whole) return results;
    rewrite_.back_to(before);
    return std::nullopt;
  }

  static bool lies_as_recorded(const TensorType& made, const TensorType& recorded) {
    if (element_count(made.sizes) == SymExpr(0)) return true;
    for (std::size_t dim = 0; dim < made.rank(); ++dim) {
      if (made.sizes[dim] != SymExpr(1) && made.strides[dim] != recorded.strides[dim]) return false;
    }
    return true;
  }

  void fail(const Node& node, std::string_view message) {
    Diagnostic error{Code::PS0602,   node.op + ": " + std::string(message), std::nullopt, {}, {},
                     Severity::error};
    rewrite_.fail(std::move(error));
  }

  Rewrite rewrite_;
  bool functional_;
  std::vector<bool> named_;  ///< values that go by the name of a result already
};

}  // namespace

const DecompositionRow& decomposition_row(ops::OpId id) {
  return kTable.rows[static_cast<std::size_t>(id)];
}

const Composite* find_composite(std::string_view op) {
  static const auto* const index = [] {
    auto* map = new std::unordered_map<std::string_view, const Composite*>;
    for (const Composite& row : kComposites) map->emplace(row.op, &row);
    return map;
  }();
  const auto found = index->find(op);
  return found == index->end() ? nullptr : found->second;
}

OpFacts facts_of(const Composite& composite) {
  return {
      OpId::count, composite.op, OpFamily::pointwise, kNone, PrimGroup::none, PrimResult::same, {},
      {}};
}

Result<Graph> lower_ops(Graph graph, KeepsWhole keeps, KeepsNode keeps_node) {
  return Lowering(std::move(graph), keeps, std::move(keeps_node), false).run();
}

Result<Graph> lower_kept_ops(Graph graph) {
  return Lowering(std::move(graph), nullptr, nullptr, true).run();
}

}  // namespace penstock::passes
