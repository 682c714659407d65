// Subgraphs become steps of the program around them. Their programs were made alone, for operands
// and results that lie as the subgraph's interface says; what lies so in the program around them is
// used in place, and anything else is copied on the way in or out. All else that a subgraph's steps
// name (temporaries, constants, windows) is appended. Behind this pass memory is planned for all
// steps in their order, which is right for branches too: what lives while a branch runs was written
// before it, or in the part of it that runs.
#include "fusion/link_subgraphs.h"

#include <fmt/format.h>

#include <algorithm>

#include "fusion/loops.h"
#include "ir/branch.h"
#include "ir/subgraphs.h"

namespace penstock::fusion {

namespace {

const Buffer& memory_of(const std::vector<Buffer>& buffers, BufferId id) {
  const Buffer& buffer = buffers[static_cast<std::size_t>(id)];
  return buffer.kind == Buffer::Kind::view ? buffers[static_cast<std::size_t>(buffer.base)]
                                           : buffer;
}

/// The steps of one subgraph for one branch.
class Linker {
 public:
  Linker(LoopProgram& program, const LibraryCall& branch, const LoopProgram& subgraph)
      : program_(program),
        branch_(branch),
        subgraph_(subgraph),
        number_(subgraph.buffers.size(), kNoBuffer) {}

  std::vector<ProgramStep> run() {
    for (std::size_t i = 0; i < subgraph_.buffers.size(); ++i) {
      if (subgraph_.buffers[i].kind != Buffer::Kind::view) add(static_cast<BufferId>(i));
    }
    for (std::size_t i = 0; i < subgraph_.buffers.size(); ++i) {
      if (subgraph_.buffers[i].kind == Buffer::Kind::view) add_view(static_cast<BufferId>(i));
    }
    for (const ProgramStep& step : subgraph_.steps) steps_.push_back(moved(step));
    for (std::size_t i = 0; i < subgraph_.outputs.size(); ++i) {
      const BufferId made = number_[static_cast<std::size_t>(subgraph_.outputs[i])];
      if (made != branch_.outputs[i]) copy(made, branch_.outputs[i]);
    }
    return std::move(steps_);
  }

 private:
  /// Whether the program's buffer may be the subgraph's: both show the same elements in the same
  /// way, from the start of the memory.
  bool lies_alike(BufferId there, BufferId here) const {
    const Buffer &outer = program_.buffers[static_cast<std::size_t>(there)],
                 &inner = subgraph_.buffers[static_cast<std::size_t>(here)];
    return outer.dtype == inner.dtype && outer.sizes == inner.sizes &&
           outer.strides == inner.strides && outer.offset == SymExpr(0) &&
           memory_of(program_.buffers, there).dtype == inner.dtype && !outer.host;
  }

  BufferId append(Buffer buffer) {
    program_.buffers.push_back(std::move(buffer));
    return static_cast<BufferId>(program_.buffers.size() - 1);
  }

  /// Memory of the program for what the subgraph has as an input or output.
  BufferId temporary(const Buffer& like) {
    Buffer made = like;
    made.kind = Buffer::Kind::temporary;
    made.index = -1;
    SymExpr last = 1;
    for (std::size_t i = 0; i < made.sizes.size(); ++i)
      last += (made.sizes[i] - 1) * made.strides[i];
    if (like.kind == Buffer::Kind::input) made.bytes = last * SymExpr(facts(made.dtype).size);
    return append(std::move(made));
  }

  void add(BufferId id) {
    const Buffer& buffer = subgraph_.buffers[static_cast<std::size_t>(id)];
    const auto index = static_cast<std::size_t>(std::max(buffer.index, 0));
    BufferId& number = number_[static_cast<std::size_t>(id)];
    if (buffer.kind == Buffer::Kind::input) {
      const BufferId operand = branch_.inputs[index + 1];
      number = lies_alike(operand, id) ? operand : temporary(buffer);
      if (number != operand) copy(operand, number);
    } else if (buffer.kind == Buffer::Kind::output) {
      const BufferId result = branch_.outputs[index];
      const bool whole = subgraph_.outputs[index] == id && lies_alike(result, id);
      number = whole ? result : temporary(buffer);
    } else {
      number = append(buffer);
    }
  }

  void add_view(BufferId id) {
    Buffer view = subgraph_.buffers[static_cast<std::size_t>(id)];
    const BufferId base = number_[static_cast<std::size_t>(view.base)];
    const Buffer& memory = program_.buffers[static_cast<std::size_t>(base)];
    view.base = memory.kind == Buffer::Kind::view ? memory.base : base;
    number_[static_cast<std::size_t>(id)] = append(std::move(view));
  }

  void copy(BufferId from, BufferId to) {
    LibraryCall copy;
    copy.name = "copy";
    copy.op = branch_.op;
    copy.inputs = {from};
    copy.outputs = {to};
    copy.calls = branch_.calls;
    steps_.emplace_back(std::move(copy));
  }

  BufferId moved(BufferId id) const {
    return id == kNoBuffer ? id : number_[static_cast<std::size_t>(id)];
  }
  void move(std::vector<BufferId>& ids) const {
    for (BufferId& id : ids) id = moved(id);
  }

  /// Loads and stores name the memory itself.
  void move(Body& body) const {
    for (Statement& statement : body) {
      if (Loop* loop = as_loop(statement)) {
        move(loop->body);
        continue;
      }
      BufferId& buffer = as_instruction(statement)->buffer;
      buffer = moved(buffer);
      if (buffer == kNoBuffer) continue;
      const Buffer& shown = program_.buffers[static_cast<std::size_t>(buffer)];
      if (shown.kind == Buffer::Kind::view) buffer = shown.base;
    }
  }

  ProgramStep moved(ProgramStep step) const {
    if (auto* kernel = std::get_if<LoopKernel>(&step)) {
      move(kernel->body);
      kernel->name = fmt::format("{}_{}", kernel->name, subgraph_.interface.name);
      kernel->calls = branch_.calls;
    } else if (auto* call = std::get_if<LibraryCall>(&step)) {
      move(call->inputs);
      move(call->outputs);
      for (PostOp& op : call->post_ops) op.operand = moved(op.operand);
      call->calls = branch_.calls;
    } else {
      auto& fallback = std::get<FallbackCall>(step);
      for (NamedArgument& argument : fallback.arguments) {
        map_values(argument.value, [&](ValueId id) {
          return static_cast<ValueId>(moved(static_cast<BufferId>(id)));
        });
      }
      move(fallback.outputs);
      fallback.calls = branch_.calls;
    }
    return step;
  }

  LoopProgram& program_;
  const LibraryCall& branch_;
  const LoopProgram& subgraph_;
  std::vector<BufferId> number_;  ///< by buffer of the subgraph: the program's
  std::vector<ProgramStep> steps_;
};

const LoopProgram* find(const std::vector<LoopProgram>& subgraphs, std::string_view name) {
  const auto found = std::ranges::find_if(
      subgraphs, [&](const LoopProgram& one) { return one.interface.name == name; });
  return found == subgraphs.end() ? nullptr : &*found;
}

}  // namespace

BranchNames branch_names(const PlacedGraph& placed) {
  BranchNames names;
  for (const Node& node : placed.graph.nodes) {
    if (find_control_op(node.op) == nullptr) continue;
    std::vector<std::string>& own = names.emplace_back();
    for (std::string_view name : subgraphs_of(node)) own.emplace_back(name);
  }
  return names;
}

Result<void> link_subgraphs(LoopProgram& program, const BranchNames& names,
                            const std::vector<LoopProgram>& subgraphs) {
  std::vector<ProgramStep> steps;
  std::size_t next = 0;
  for (ProgramStep& step : std::exchange(program.steps, {})) {
    auto* branch = std::get_if<LibraryCall>(&step);
    if (branch == nullptr || !branch_of(*branch)) {
      steps.push_back(std::move(step));
      continue;
    }
    std::vector<std::vector<ProgramStep>> parts;
    for (const std::string& name : names[next++]) {
      const LoopProgram* subgraph = find(subgraphs, name);
      if (subgraph == nullptr) return failure(Code::PS0601, "there is no subgraph " + name);
      parts.push_back(Linker(program, *branch, *subgraph).run());
    }
    for (std::size_t i = 0; i < parts.size(); ++i)
      branch->attributes[i].value = static_cast<std::int64_t>(parts[i].size());
    steps.push_back(std::move(step));
    for (std::vector<ProgramStep>& part : parts) std::ranges::move(part, std::back_inserter(steps));
  }
  program.steps = std::move(steps);
  return {};
}

}  // namespace penstock::fusion
