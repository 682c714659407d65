// The levels behind `placed` as lists of comparable things. Buffers are to steps what values are to
// nodes: an operand is the step that wrote it last.

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "formats/diff.h"
#include "ir/argument_text.h"
#include "ir/call_location.h"
#include "partition/contract.h"

namespace penstock::formats {

namespace {

std::string join(const std::vector<std::string>& parts) {
  return fmt::format("{}", fmt::join(parts, ", "));
}

class Steps {
 public:
  Steps(const Interface& interface, const std::vector<Buffer>& buffers,
        const std::vector<Call>& calls)
      : buffers_(buffers), calls_(calls), writer_(buffers.size()) {
    add_items(interface, items_);
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      if (buffers[i].kind == Buffer::Kind::input) writer_[i] = {buffers[i].index, 0};
      if (buffers[i].kind == Buffer::Kind::constant) add_constant(i);
    }
  }

  void add(const LibraryCall& call) {
    DiffItem item = start("library " + call.name, call.name);
    for (BufferId id : call.inputs) read(item, id);
    for (const NamedArgument& attribute : call.attributes) {
      item.facts.push_back({"attribute " + attribute.name, to_string(attribute.value)});
    }
    for (const PostOp& post_op : call.post_ops) {
      if (post_op.operand != kNoBuffer) read(item, post_op.operand);
      item.facts.push_back(
          {fmt::format("post-op {}", item.facts.size()),
           fmt::format("{} {} {}", to_string(post_op.kind), to_string_exact(post_op.alpha),
                       to_string_exact(post_op.beta))});
    }
    finish(std::move(item), call.outputs);
  }

  void add(const FallbackCall& call) {
    DiffItem item = start("fallback " + call.op, call.op);
    for (const NamedArgument& argument : call.arguments) {
      std::string text = diff_text(argument.value, writer_, item);
      item.facts.push_back({"argument " + argument.name, std::move(text)});
    }
    finish(std::move(item), call.outputs);
  }

  void add(const KernelCall& call) {
    DiffItem item = start("kernel", call.name);
    for (BufferId id : call.buffers) read(item, id);
    item.facts = {{"extent", call.extent.to_string()},
                  {"parallel", call.parallel ? "True" : "False"},
                  {"grain", std::to_string(call.grain)},
                  {"flops", call.flops.to_string()}};
    // What a kernel writes stands in its code alone: every buffer may be.
    finish(std::move(item), call.buffers);
  }

  void add(const LoopKernel& kernel) {
    DiffItem item = start("kernel", kernel.name);
    std::map<BufferId, int> local;
    std::vector<BufferId> written;
    std::vector<std::string> body, schedules;
    statements(kernel.body, item, local, written, body, schedules);
    item.facts = {{"body", fmt::format("{}", fmt::join(body, "; "))}};
    if (!schedules.empty()) item.facts.push_back({"schedule", join(schedules)});
    finish(std::move(item), written);
  }

  DiffItems done(const std::vector<BufferId>& outputs) {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      DiffItem item;
      item.label = item.title = item.text = fmt::format("output {}", i);
      read(item, outputs[i]);
      items_.push_back(std::move(item));
    }
    return std::move(items_);
  }

  /// Says which calls of the program the step that was added last does.
  void name_calls(const std::vector<std::int32_t>& of_step) {
    if (!of_step.empty()) items_.back().stack = stack_of(calls_, of_step.front());
  }

  void add_fact_item(const std::string& label, std::vector<DiffItem::Fact> facts) {
    DiffItem item;
    item.label = item.title = item.text = label;
    item.facts = std::move(facts);
    items_.push_back(std::move(item));
  }

 private:
  static DiffItem start(std::string label, const std::string& name) {
    DiffItem item;
    item.title = item.text = fmt::format("step {} ({})", name, label);
    item.label = std::move(label);
    item.is_op = true;
    return item;
  }

  std::size_t root(BufferId id) const {
    const Buffer& buffer = buffers_[static_cast<std::size_t>(id)];
    return static_cast<std::size_t>(buffer.kind == Buffer::Kind::view ? buffer.base : id);
  }

  void read(DiffItem& item, BufferId id) {
    if (id == kNoBuffer) {
      item.operands.push_back({});
      return;
    }
    const Buffer& buffer = buffers_[static_cast<std::size_t>(id)];
    item.operands.push_back(writer_[root(id)]);
    item.facts.push_back({fmt::format("buffer {}", item.operands.size() - 1), window(buffer)});
  }

  static std::string window(const Buffer& buffer) {
    std::vector<std::string> sizes, strides;
    for (const SymExpr& size : buffer.sizes) sizes.push_back(size.to_string());
    for (const SymExpr& stride : buffer.strides) strides.push_back(stride.to_string());
    return fmt::format("{}[{}] strides [{}] offset {}", facts(buffer.dtype).name, join(sizes),
                       join(strides), buffer.offset.to_string());
  }

  void add_constant(std::size_t position) {
    writer_[position] = {static_cast<std::int32_t>(items_.size()), 0};
    add_fact_item("constant", {{"data", buffers_[position].blob}});
  }

  void finish(DiffItem item, const std::vector<BufferId>& outputs) {
    auto position = static_cast<std::int32_t>(items_.size());
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i] == kNoBuffer) continue;
      writer_[root(outputs[i])] = {position, static_cast<std::int32_t>(i)};
    }
    items_.push_back(std::move(item));
  }

  void statements(const std::vector<Statement>& list, DiffItem& item,
                  std::map<BufferId, int>& local, std::vector<BufferId>& written,
                  std::vector<std::string>& body, std::vector<std::string>& schedules) {
    for (const Statement& statement : list) {
      if (auto* one = std::get_if<Instruction>(&statement)) {
        body.push_back(line(*one, item, local, written));
        continue;
      }
      for (const Loop& loop : std::get<std::vector<Loop>>(statement)) {
        body.push_back(fmt::format("for {} in {}", loop.variable, loop.extent.to_string()));
        schedules.push_back(schedule(loop));
        statements(loop.body, item, local, written, body, schedules);
        for (const Accumulator& one : loop.accumulators) {
          body.push_back(fmt::format("{} = {} {} of {}", fmt::join(one.results, ", "), one.op,
                                     facts(one.dtype).name, one.value));
        }
        body.push_back("end");
      }
    }
  }

  /// Buffers are numbered in order of appearance, so that other numbers are no difference.
  std::string line(const Instruction& one, DiffItem& item, std::map<BufferId, int>& local,
                   std::vector<BufferId>& written) {
    std::string buffer;
    if (one.buffer != kNoBuffer) {
      auto [at, is_new] = local.emplace(one.buffer, static_cast<int>(local.size()));
      if (is_new && one.op != "store") item.operands.push_back(writer_[root(one.buffer)]);
      if (is_new && one.op == "store") written.push_back(one.buffer);
      buffer = fmt::format(" b{}[{}]", at->second, one.index.to_string());
    } else if (one.index != SymExpr(0)) {
      buffer = fmt::format(" [{}]", one.index.to_string());
    }
    std::string immediate =
        one.immediate.is_none() ? std::string() : " " + to_string(one.immediate);
    return fmt::format("{} = {} {}({}){}{}", one.result, one.op, facts(one.dtype).name,
                       fmt::join(one.operands, ", "), buffer, immediate);
  }

  static std::string schedule(const Loop& loop) {
    const Schedule& plan = loop.schedule;
    return fmt::format("{}: {}{}grain {} tile {} unroll {}", loop.variable,
                       plan.parallel ? "parallel " : "", plan.vectorize ? "vectorize " : "",
                       plan.grain, plan.tile, plan.unroll);
  }

  const std::vector<Buffer>& buffers_;
  const std::vector<Call>& calls_;
  std::vector<DiffItem::Operand> writer_;  ///< of each buffer, as of now
  DiffItems items_;
};

struct Lister {
  DiffItems operator()(const Graph& graph) const { return penstock::diff_items(graph); }

  DiffItems operator()(const PlacedGraph& placed) const {
    DiffItems items = penstock::diff_items(whole_graph(placed));
    // Nodes stand behind the interface, in order: outputs are the last.
    std::size_t first = items.size() - placed.graph.outputs.size() - placed.graph.nodes.size();
    for (const Region& region : placed.regions) {
      for (std::int32_t node = region.first; node < region.last; ++node) {
        items[first + static_cast<std::size_t>(node)].facts.push_back(
            {"placement", std::string(to_string(region.placement))});
      }
    }
    return items;
  }

  DiffItems operator()(const LoopProgram& program) const {
    Steps steps(program.interface, program.buffers, program.calls);
    for (const ProgramStep& step : program.steps) {
      std::visit([&](const auto& one) { steps.add(one), steps.name_calls(one.calls); }, step);
    }
    steps.add_fact_item("arena", {{"bytes", program.arena_bytes.to_string()}});
    return steps.done(program.outputs);
  }

  DiffItems operator()(const KernelBundle& bundle) const {
    Steps steps(bundle.interface, bundle.buffers, bundle.calls);
    for (const BundleStep& step : bundle.steps) {
      std::visit([&](const auto& one) { steps.add(one), steps.name_calls(one.calls); }, step);
    }
    for (const KernelBundle::Code& code : bundle.code) {
      steps.add_fact_item("code for " + code.target,
                          {{"hash", code.blob}, {"features", join(code.features)}});
    }
    steps.add_fact_item("arena", {{"bytes", bundle.arena_bytes.to_string()}});
    return steps.done(bundle.outputs);
  }
};

}  // namespace

DiffItems diff_items(const GraphDocument& document) {
  return std::visit(Lister{}, document.graph);
}

}  // namespace penstock::formats
