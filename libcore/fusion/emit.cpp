#include "fusion/emit.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "fusion/buffers.h"
#include "fusion/group.h"
#include "fusion/kernel_builder.h"
#include "fusion/loops.h"
#include "fusion/plan.h"
#include "ir/size_estimate.h"

namespace penstock::fusion {

namespace {

/// Makes the kernels of one group.
class GroupEmitter {
 public:
  GroupEmitter(FusionPlan& plan, std::int32_t number)
      : plan_(plan),
        number_(number),
        group_(plan.groups[number]),
        builder_(plan, number, [this](KernelBuilder&, ValueId value, const Index& index) {
          return read_root(value, index);
        }) {}

  /// Loops over rows, and in them each root in turn.
  LoopKernel fused() {
    open_rows();
    for (std::int32_t root : group_.roots) {
      switch (plan_.roots[root].kind) {
        case RootKind::scan:
          emit_scan(plan_.roots[root]);
          break;
        case RootKind::copy:
          emit_copy(plan_.roots[root]);
          break;
        default:
          emit_elements(root);
          break;
      }
    }
    for (std::size_t i = 0; i < group_.rows.size(); ++i) builder_.close_loop();
    return finish();
  }

  /// The part `part` of a cat, written into its place, which begins at `start`.
  LoopKernel part_of_join(const Root& root, ValueId part, const SymExpr& start) {
    const Node& node = plan_.node_of(root);
    const auto dim = static_cast<std::size_t>(size_argument(node, "dim").constant().value_or(0));
    const Window& window = *plan_.values[node.results.front()].window;
    const Sizes& sizes = plan_.type(part).sizes;
    Index index = open_all(sizes, window.strides);
    ScalarId value = builder_.element(part, index);
    Index place = index;
    place[dim] += start;
    builder_.store(window, place, value, plan_.type(part).dtype);
    close(sizes);
    used_.insert(root.node);
    return finish();
  }

  /// The copy that a scatter writes into.
  LoopKernel scatter_base(const Root& root) {
    const Node& node = plan_.node_of(root);
    const Window& window = *plan_.values[node.results.front()].window;
    Index index = open_all(root.domain, window.strides);
    ScalarId value = builder_.element(operand_value(node, "self"), index);
    builder_.store(window, index, value, plan_.type(node.results.front()).dtype);
    close(root.domain);
    used_.insert(root.node);
    return finish();
  }

  /// The serial writes of a scatter along its dim; the other dims are independent.
  LoopKernel scatter_updates(const Root& root) {
    const Node& node = plan_.node_of(root);
    const Window& window = *plan_.values[node.results.front()].window;
    ValueId positions = operand_value(node, "index"), src = operand_value(node, "src");
    auto dim = static_cast<std::size_t>(size_argument(node, "dim").constant().value_or(0));
    const Sizes& sizes = plan_.type(positions).sizes;
    DType dtype = plan_.type(node.results.front()).dtype;
    Index index(sizes.size(), SymExpr(0));
    // Places that are the same for whole rows: the row is written at once.
    const bool rows = places_rows(positions, dim);
    if (rows) {
      index = open_all(sizes, window.strides);
    } else {
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        if (i != dim) index[i] = builder_.open_loop(sizes[i]);
      }
      if (!sizes.empty()) index[dim] = builder_.open_loop(sizes[dim]);
    }
    Index target = index;
    if (!sizes.empty()) {
      target[dim] = element_position(builder_, positions, index, root.domain[dim]);
    }
    ScalarId value =
        src == kNoValue ? builder_.operand(node, "src", dtype, {}) : builder_.element(src, index);
    if (node.op == "prim.scatter_add") {
      ScalarId before = builder_.load(window, target, dtype, builder_.open_loops());
      value = builder_.emit("add", dtype, {before, value});
    }
    builder_.store(window, target, value, dtype);
    if (rows)
      close(sizes);
    else
      for (std::size_t i = 0; i < sizes.size(); ++i) builder_.close_loop();
    used_.insert(root.node);
    return finish();
  }

  /// The elements of a slice that is written.
  LoopKernel slice_updates(const Root& root) {
    const Node& node = plan_.node_of(root);
    const Window& window = *plan_.values[node.results.front()].window;
    const ValueId src = operand_value(node, "src");
    const Sizes start = size_list(node, "start"), step = size_list(node, "step");
    Index index = open_all(plan_.type(src).sizes, window.strides), target = index;
    for (std::size_t i = 0; i < index.size(); ++i) target[i] = start[i] + index[i] * step[i];
    const ScalarId value = builder_.element(src, index);
    builder_.store(window, target, value, plan_.type(src).dtype);
    close(plan_.type(src).sizes);
    used_.insert(root.node);
    return finish();
  }

 private:
  /// Whether the elements of `positions` differ along no dim but `dim`.
  bool places_rows(ValueId positions, std::size_t dim) const {
    Index index = domain_variables(plan_.type(positions).rank());
    const Index own = index;
    RangeFacts facts = plan_.facts;
    for (std::size_t i = 0; i < own.size(); ++i)
      facts.set_index(own[i].symbol_name(), plan_.type(positions).sizes[i]);
    for (ValueId value = positions; plan_.values[value].role == Role::view;) {
      const Node& view = plan_.node_of(value);
      if (view.op == "prim.as_strided") return false;
      index = view_index(plan_.graph(), view, index, facts);
      value = operand_value(view, "self");
    }
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (i == dim || plan_.type(positions).sizes[i] == SymExpr(1)) continue;
      if (std::ranges::any_of(index,
                              [&](const SymExpr& e) { return mentions(e, own[i].symbol_name()); }))
        return false;
    }
    return true;
  }

  /// Dims of `sizes` other than 1, those with the longest strides first.
  std::vector<std::size_t> loop_order(const Sizes& sizes, const Sizes& strides) const {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i] != SymExpr(1)) order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return estimate(strides[a], plan_.interface()) > estimate(strides[b], plan_.interface());
    });
    return order;
  }

  Index open_all(const Sizes& sizes, const Sizes& strides) {
    Index index(sizes.size(), SymExpr(0));
    for (std::size_t dim : loop_order(sizes, strides)) index[dim] = builder_.open_loop(sizes[dim]);
    return index;
  }

  void close(const Sizes& sizes) {
    for (const SymExpr& size : sizes) {
      if (size != SymExpr(1)) builder_.close_loop();
    }
  }

  /// Strides by which rows are ordered: those of the last root that is stored.
  Sizes row_strides() const {
    Sizes strides(group_.rows.size(), SymExpr(0));
    for (std::int32_t number : group_.roots) {
      const Root& root = plan_.roots[number];
      const Node& node = plan_.node_of(root);
      ValueId value =
          root.kind == RootKind::copy ? operand_value(node, "self") : node.results.front();
      if (!plan_.values[value].window) continue;
      for (std::size_t i = 0; i < root.row_of.size(); ++i) {
        if (root.row_of[i] >= 0) strides[root.row_of[i]] = plan_.values[value].window->strides[i];
      }
    }
    return strides;
  }

  void open_rows() {
    rows_ = open_all(group_.rows, row_strides());
    row_loops_ = builder_.open_loops();
  }

  bool is_row_level(const Root& root) const {
    for (std::size_t i = 0; i < root.domain.size(); ++i) {
      if (root.row_of[i] < 0 && root.domain[i] != SymExpr(1)) return false;
    }
    return true;
  }

  /// Roots of other groups, and what an inner loop of this kernel has stored, are read from memory.
  std::optional<ScalarId> read_root(ValueId value, const Index& index) {
    const Root& root = plan_.roots[plan_.values[value].root];
    DType dtype = plan_.type(value).dtype;
    if (root.group != number_) return builder_.load(*plan_.values[value].window, index, dtype);
    if (is_row_level(root)) {
      // The row's own element, which is there whatever a reader's mask says: computed once for all
      // of them.
      Index own = index;
      for (std::size_t i = 0; i < own.size(); ++i) {
        if (root.domain[i] == SymExpr(1)) own[i] = 0;
      }
      return builder_.compute_unmasked(value, own);
    }
    auto kept = in_memory_.find(value);
    if (kept == in_memory_.end()) return std::nullopt;
    return builder_.load(kept->second, index, dtype, row_loops_);
  }

  /// Opens the loops of a root inside its row; returns the index of its element.
  Index open_inner(const Root& root, const Window& window) {
    Index index(root.domain.size(), SymExpr(0));
    Sizes inner = root.domain;
    for (std::size_t i = 0; i < inner.size(); ++i) {
      if (root.row_of[i] < 0) continue;
      index[i] = rows_[root.row_of[i]];
      inner[i] = 1;
    }
    for (std::size_t dim : loop_order(inner, window.strides)) {
      index[dim] = builder_.open_loop(inner[dim]);
    }
    return index;
  }

  void close_inner(const Root& root) {
    for (std::size_t i = 0; i < root.domain.size(); ++i) {
      if (root.row_of[i] < 0 && root.domain[i] != SymExpr(1)) builder_.close_loop();
    }
  }

  /// A row of scratch for the root: its inner dims, row-major; rows share the memory.
  Window scratch_window(const Root& root, ValueId value) {
    Sizes inner = root.domain;
    for (std::size_t i = 0; i < inner.size(); ++i) {
      if (root.row_of[i] >= 0) inner[i] = 1;
    }
    Buffer buffer;
    buffer.name = plan_.graph().values[value].name + "_row";
    buffer.kind = Buffer::Kind::scratch;
    buffer.dtype = plan_.type(value).dtype;
    buffer.sizes = inner;
    buffer.strides = contiguous_strides(inner);
    buffer.bytes = element_count(inner) * SymExpr(facts(buffer.dtype).size);
    buffer.arena_offset = scratch_;
    scratch_ += (buffer.bytes.constant().value_or(0) + 63) / 64 * 64;
    plan_.buffers.push_back(buffer);
    Window window{static_cast<BufferId>(plan_.buffers.size() - 1), root.domain, buffer.strides, 0};
    for (std::size_t i = 0; i < inner.size(); ++i) {
      if (root.row_of[i] >= 0) window.strides[i] = 0;
    }
    return window;
  }

  void emit_elements(std::int32_t number) {
    const Root& root = plan_.roots[number];
    for (ValueId value : plan_.node_of(root).results) {
      bool stored = plan_.values[value].stored;
      if (!stored && !root.scratch) continue;
      Window window = stored ? *plan_.values[value].window : scratch_window(root, value);
      Index index = open_inner(root, window);
      ScalarId scalar = builder_.compute(value, index);
      builder_.store(window, index, scalar, plan_.type(value).dtype);
      close_inner(root);
      if (!is_row_level(root)) in_memory_.emplace(value, window);
    }
  }

  /// result[i] = result[i - 1] combined with self[i], from the first element on.
  void emit_scan(const Root& root) {
    const Node& node = plan_.node_of(root);
    auto dim = static_cast<std::size_t>(size_argument(node, "dim").constant().value_or(0));
    ValueId result = node.results.front();
    DType dtype = plan_.type(result).dtype;
    const Window& window = *plan_.values[result].window;
    Index index = open_inner(root, window);
    ScalarId element = builder_.element(operand_value(node, "self"), index);
    bool sums = node.op == "prim.cumsum";
    Argument neutral = std::int64_t{sums ? 0 : 1};
    if (is_floating(dtype)) neutral = sums ? 0.0 : 1.0;
    Index before = index;
    const bool alone = before.empty() || root.domain[dim] == SymExpr(1);
    if (!alone) before[dim] -= 1;
    const auto earlier = [&] {
      return builder_.load(window, before, dtype, builder_.open_loops());
    };
    ScalarId total = alone ? builder_.constant(neutral, dtype)
                           : builder_.masked(builder_.within(before[dim], 0, root.domain[dim]),
                                             neutral, earlier);
    builder_.store(window, index, builder_.emit(sums ? "add" : "mul", dtype, {total, element}),
                   dtype);
    close_inner(root);
    used_.insert(root.node);
  }

  void emit_copy(const Root& root) {
    const Node& node = plan_.node_of(root);
    ValueId self = operand_value(node, "self");
    Index index(root.domain.size(), SymExpr(0));
    for (std::size_t i = 0; i < index.size(); ++i) {
      if (root.row_of[i] >= 0) index[i] = rows_[root.row_of[i]];
    }
    ScalarId value = builder_.element(operand_value(node, "src"), index);
    builder_.store(*plan_.values[self].window, index, value, plan_.type(self).dtype);
    used_.insert(root.node);
  }

  LoopKernel finish() {
    LoopKernel kernel;
    kernel.body = builder_.finish();
    bool loops =
        std::any_of(kernel.body.begin(), kernel.body.end(), [](const Statement& statement) {
          return std::holds_alternative<std::vector<Loop>>(statement);
        });
    if (group_.rows.empty() && loops) {  // without rows the loops stand in a row of their own
      Loop row;
      row.variable = "row";
      row.extent = 1;
      row.body = std::exchange(kernel.body, {});
      kernel.body.emplace_back(std::vector<Loop>{std::move(row)});
    }
    used_.insert(builder_.nodes().begin(), builder_.nodes().end());
    describe(kernel);
    return kernel;
  }

  /// Names the kernel after its calls or, without any, its last ops.
  void describe(LoopKernel& kernel) const {
    std::set<std::int32_t> calls;
    std::vector<std::string> names;
    auto add = [&](std::string name) {
      if (std::find(names.begin(), names.end(), name) == names.end())
        names.push_back(std::move(name));
    };
    for (std::int32_t node : used_) {
      std::int32_t call = plan_.graph().nodes[node].call;
      if (call >= 0) calls.insert(call);
    }
    for (std::int32_t call : calls) {
      std::string name = plan_.graph().calls[call].name;
      while (!name.empty() &&
             (std::isdigit(static_cast<unsigned char>(name.back())) || name.back() == '_')) {
        name.pop_back();
      }
      add(name);
    }
    for (std::int32_t node : used_) {
      const std::string& op = plan_.graph().nodes[node].op;
      if (calls.empty()) add(op.substr(op.find('.') + 1));
    }
    constexpr std::size_t kNames = 3;
    for (std::size_t i = names.size() > kNames ? names.size() - kNames : 0; i < names.size(); ++i) {
      kernel.name += '_';
      for (char c : names[i]) kernel.name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
    }
    kernel.calls.assign(calls.begin(), calls.end());
    kernel.reason = fmt::format("{} op{} in one kernel, {} of them stored", used_.size(),
                                used_.size() == 1 ? "" : "s", group_.roots.size());
  }

  FusionPlan& plan_;
  std::int32_t number_;
  const Group& group_;
  KernelBuilder builder_;
  Index rows_;
  int row_loops_ = 0;
  std::map<ValueId, Window> in_memory_;  ///< what this kernel's inner loops have stored
  std::int64_t scratch_ = 0;
  std::set<std::int32_t> used_;
};

}  // namespace

namespace {

/// More is copied by a kernel, which runs in parallel.
constexpr double kMostCopied = 1 << 20;

/// What puts `value` at `window`, if it lies in memory: a step that needs no code of its own.
std::optional<LibraryCall> copy_into(FusionPlan& plan, const Node& node, ValueId value,
                                     const Window& window) {
  const TensorType& type = plan.type(value);
  const double bytes =
      estimate(element_count(type.sizes), plan.interface()) * facts(type.dtype).size;
  if (!plan.values[value].window || bytes > kMostCopied || plan.device != "cpu")
    return std::nullopt;
  LibraryCall copy;
  copy.name = "copy";
  copy.op = node.op;
  copy.inputs = {buffer_of(plan, value)};
  copy.outputs = {
      buffer_of(plan, window, type.dtype, plan.graph().values[node.results.front()].name)};
  if (node.call >= 0) copy.calls.push_back(node.call);
  return copy;
}

/// The part of a window from `start` in steps of `step`, of `sizes`.
Window part_of(const Window& window, const Sizes& start, const Sizes& step, const Sizes& sizes) {
  Window part{window.base, sizes, window.strides, window.offset};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    part.offset += start[i] * window.strides[i];
    part.strides[i] *= step[i];
  }
  return part;
}

bool is_empty(const LoopKernel& kernel) {
  return kernel.body.empty();
}

/// One step for each part of a cat, written into its place.
std::vector<ProgramStep> emit_join(FusionPlan& plan, std::int32_t number, const Root& root) {
  const Node& node = plan.node_of(root);
  const Window window = *plan.values[node.results.front()].window;
  const auto dim = static_cast<std::size_t>(size_argument(node, "dim").constant().value_or(0));
  const Sizes step(root.domain.size(), SymExpr(1));
  Sizes start(root.domain.size(), SymExpr(0));
  std::vector<ProgramStep> steps;
  for (ValueId part : operand_values(node, "tensors")) {
    const Sizes& sizes = plan.type(part).sizes;
    const bool empty = std::ranges::find(sizes, SymExpr(0)) != sizes.end();
    if (auto copy = empty ? std::nullopt
                          : copy_into(plan, node, part, part_of(window, start, step, sizes))) {
      steps.emplace_back(std::move(*copy));
    } else if (LoopKernel kernel = GroupEmitter(plan, number).part_of_join(root, part, start[dim]);
               !is_empty(kernel)) {
      steps.emplace_back(std::move(kernel));
    }
    start[dim] += sizes[dim];
  }
  return steps;
}

/// What a scatter writes over, unless that is there already, and its writes.
std::vector<ProgramStep> emit_scatter(FusionPlan& plan, std::int32_t number, const Root& root) {
  const Node& node = plan.node_of(root);
  std::vector<ProgramStep> steps;
  auto add = [&](LoopKernel kernel) {
    if (!is_empty(kernel)) steps.emplace_back(std::move(kernel));
  };
  if (root.over == kNoValue) add(GroupEmitter(plan, number).scatter_base(root));
  if (node.op != "prim.scatter_slice") {
    add(GroupEmitter(plan, number).scatter_updates(root));
    return steps;
  }
  const ValueId source = operand_value(node, "src");
  const Window window = *plan.values[node.results.front()].window;
  const Window part =
      part_of(window, size_list(node, "start"), size_list(node, "step"), plan.type(source).sizes);
  if (auto copy = copy_into(plan, node, source, part))
    steps.emplace_back(std::move(*copy));
  else
    add(GroupEmitter(plan, number).slice_updates(root));
  return steps;
}

}  // namespace

std::vector<ProgramStep> emit_group(FusionPlan& plan, std::int32_t number) {
  const Root& first = plan.roots[plan.groups[number].roots.front()];
  const bool stored = first.kind == RootKind::check || first.kind == RootKind::copy ||
                      plan.values[plan.node_of(first).results.front()].stored;
  if (first.kind == RootKind::join)
    return stored ? emit_join(plan, number, first) : std::vector<ProgramStep>();
  if (first.kind == RootKind::scatter)
    return stored ? emit_scatter(plan, number, first) : std::vector<ProgramStep>();
  std::vector<ProgramStep> steps;
  if (first.kind == RootKind::scan && !stored) return steps;
  if (LoopKernel kernel = GroupEmitter(plan, number).fused(); !is_empty(kernel))
    steps.emplace_back(std::move(kernel));
  return steps;
}

Result<LoopProgram> emit_program(FusionPlan plan) {
  assign_stores(plan);
  LoopProgram program;
  std::vector<std::int32_t> order = GroupMerger(plan).order();
  auto next = order.begin();
  for (std::size_t r = 0; r < plan.placed.regions.size(); ++r) {
    const Region& region = plan.placed.regions[r];
    if (region.placement != Placement::compiled) {
      for (std::int32_t i = region.first; i < region.last; ++i) {
        auto step = emit_call(plan, region, i);
        if (!step) return tl::unexpected(step.error());
        program.steps.push_back(std::move(*step));
      }
      continue;
    }
    for (; next != order.end() && plan.groups[*next].region == static_cast<std::int32_t>(r);
         ++next) {
      const Root& first = plan.roots[plan.groups[*next].roots.front()];
      if (first.kind == RootKind::check) {
        program.steps.emplace_back(emit_check(plan, plan.node_of(first)));
        continue;
      }
      if (auto may = is_spent(plan.budget) ? check(plan.budget, "emit") : Result<void>(); !may) {
        return tl::unexpected(std::move(may.error()));
      }
      for (ProgramStep& step : emit_group(plan, *next)) {
        auto* kernel = std::get_if<LoopKernel>(&step);
        if (kernel != nullptr)
          kernel->name = fmt::format("k{}{}", program.steps.size(), kernel->name);
        program.steps.push_back(std::move(step));
      }
    }
  }
  program.device = plan.device;
  program.interface = std::move(plan.placed.graph.interface);
  program.calls = std::move(plan.placed.graph.calls);
  program.buffers = std::move(plan.buffers);
  program.outputs = std::move(plan.outputs);
  return program;
}

}  // namespace penstock::fusion
