// Subgraphs become steps of the program around them. Their programs were made alone, for operands
// and results that lie as the subgraph's interface says; what lies so in the program around them is
// used in place, and anything else is copied on the way in or out. All else that a subgraph's steps
// name (temporaries, constants, windows) is appended. Behind this pass memory is planned for all
// steps in their order, which is right for branches too: what lives while a branch runs was written
// before it, or in the part of it that runs.
//
// A loop hands on by way of its results: they begin as copies of the operands, both subgraphs read
// them, and behind a turn what it gave is copied into them. (A body reads its operands until its
// last step, so that it cannot write there itself.) Of what a scan goes over each turn takes a row,
// in memory of its own, and puts rows of what it gives into the results.
#include "fusion/link_subgraphs.h"

#include <fmt/format.h>

#include <algorithm>

#include "fusion/layout.h"
#include "fusion/loops.h"
#include "ir/control_steps.h"
#include "ir/subgraphs.h"

namespace penstock::fusion {

namespace {

const Buffer& memory_of(const std::vector<Buffer>& buffers, BufferId id) {
  const Buffer& buffer = buffers[static_cast<std::size_t>(id)];
  return buffer.kind == Buffer::Kind::view ? buffers[static_cast<std::size_t>(buffer.base)]
                                           : buffer;
}

/// What a subgraph takes and gives in the program around it.
struct Places {
  std::vector<BufferId> inputs, outputs;
};

/// The step that puts one buffer's elements into another, for `call`.
LibraryCall copy_step(const LibraryCall& call, std::string name, std::vector<BufferId> from,
                      BufferId to) {
  LibraryCall copy;
  copy.name = std::move(name);
  copy.op = call.op;
  copy.inputs = std::move(from);
  copy.outputs = {to};
  copy.calls = call.calls;
  return copy;
}

/// The steps of one subgraph for one call.
class Linker {
 public:
  Linker(LoopProgram& program, const LibraryCall& call, const LoopProgram& subgraph,
         const Places& places)
      : program_(program),
        call_(call),
        subgraph_(subgraph),
        places_(places),
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
      if (made != places_.outputs[i]) copy(made, places_.outputs[i]);
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
    if (like.kind == Buffer::Kind::input)
      made.bytes = elements_reached(made.sizes, made.strides) * SymExpr(facts(made.dtype).size);
    return append(std::move(made));
  }

  void add(BufferId id) {
    const Buffer& buffer = subgraph_.buffers[static_cast<std::size_t>(id)];
    const auto index = static_cast<std::size_t>(std::max(buffer.index, 0));
    BufferId& number = number_[static_cast<std::size_t>(id)];
    if (buffer.kind == Buffer::Kind::input) {
      const BufferId operand = places_.inputs[index];
      number = lies_alike(operand, id) ? operand : temporary(buffer);
      if (number != operand) copy(operand, number);
    } else if (buffer.kind == Buffer::Kind::output) {
      const BufferId result = places_.outputs[index];
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
    steps_.emplace_back(copy_step(call_, "copy", {from}, to));
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
      kernel->calls = call_.calls;
    } else if (auto* call = std::get_if<LibraryCall>(&step)) {
      move(call->inputs);
      move(call->outputs);
      for (PostOp& op : call->post_ops) op.operand = moved(op.operand);
      call->calls = call_.calls;
    } else {
      auto& fallback = std::get<FallbackCall>(step);
      for (NamedArgument& argument : fallback.arguments) {
        map_values(argument.value, [&](ValueId id) {
          return static_cast<ValueId>(moved(static_cast<BufferId>(id)));
        });
      }
      move(fallback.outputs);
      fallback.calls = call_.calls;
    }
    return step;
  }

  LoopProgram& program_;
  const LibraryCall& call_;
  const LoopProgram& subgraph_;
  const Places& places_;
  std::vector<BufferId> number_;  ///< by buffer of the subgraph: the program's
  std::vector<ProgramStep> steps_;
};

/// All steps of the calls that have subgraphs.
class CallLinker {
 public:
  CallLinker(LoopProgram& program, std::vector<const LoopProgram*> subgraphs)
      : program_(program), subgraphs_(std::move(subgraphs)) {}

  std::vector<ProgramStep> run(LibraryCall call, const ScanParts& scan) {
    call_ = std::move(call);
    const ControlStep::Kind kind = control_step_of(call_)->kind;
    if (kind == ControlStep::Kind::branch) {
      const Places places{{call_.inputs.begin() + 1, call_.inputs.end()}, call_.outputs};
      for (std::size_t i = 0; i < subgraphs_.size(); ++i) parts_.push_back(link(i, places));
    } else if (kind == ControlStep::Kind::while_loop) {
      link_while();
    } else {
      link_for(scan);
    }
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const std::size_t at = call_.attributes.size() - parts_.size() + i;
      call_.attributes[at].value = static_cast<std::int64_t>(parts_[i].size());
    }
    steps_.emplace_back(std::move(call_));
    for (std::vector<ProgramStep>& part : parts_)
      std::ranges::move(part, std::back_inserter(steps_));
    return std::move(steps_);
  }

 private:
  std::vector<ProgramStep> link(std::size_t subgraph, const Places& places) {
    return Linker(program_, call_, *subgraphs_[subgraph], places).run();
  }

  void link_while() {
    std::vector<BufferId> carried(call_.outputs.begin() + 1, call_.outputs.end());
    Places places = begin(carried);
    places.outputs = {call_.outputs.front()};
    parts_.push_back(link(0, places));
    places.outputs = made_in_turn(carried, {});
    parts_.push_back(link(1, places));
    hand_on(places.outputs, carried);
  }

  void link_for(const ScanParts& scan) {
    const BufferId turn = call_.outputs.front();
    const auto first = call_.outputs.begin() + 1;
    const auto rows = first + static_cast<std::ptrdiff_t>(scan.carried);
    const std::vector<BufferId> carried(first, rows), stacked(rows, call_.outputs.end());
    Places places = begin(carried);
    std::vector<ProgramStep> part;
    for (std::size_t i = scan.carried; i < scan.carried + scan.scanned; ++i) {
      const BufferId row = temporary(subgraphs_[0]->interface.inputs[i].type, places.inputs[i]);
      part.emplace_back(copy_step(call_, "take_row", {places.inputs[i], turn}, row));
      places.inputs[i] = row;
    }
    places.outputs = made_in_turn(carried, stacked);
    std::ranges::move(link(0, places), std::back_inserter(part));
    for (std::size_t i = 0; i < stacked.size(); ++i) {
      part.emplace_back(
          copy_step(call_, "put_row", {places.outputs[carried.size() + i], turn}, stacked[i]));
    }
    parts_.push_back(std::move(part));
    hand_on(places.outputs, carried);
  }

  /// Before the loop; what its turns take.
  Places begin(const std::vector<BufferId>& carried) {
    Places places{call_.inputs, {}};
    for (std::size_t i = 0; i < carried.size(); ++i) {
      steps_.emplace_back(copy_step(call_, "copy", {call_.inputs[i]}, carried[i]));
      places.inputs[i] = carried[i];
    }
    return places;
  }

  /// Memory for what a turn gives.
  std::vector<BufferId> made_in_turn(const std::vector<BufferId>& carried,
                                     const std::vector<BufferId>& stacked) {
    std::vector<BufferId> made;
    const std::vector<Output>& outputs = subgraphs_.back()->interface.outputs;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const BufferId like = i < carried.size() ? carried[i] : stacked[i - carried.size()];
      made.push_back(temporary(outputs[i].type, like));
    }
    return made;
  }

  void hand_on(const std::vector<BufferId>& made, const std::vector<BufferId>& carried) {
    for (std::size_t i = 0; i < carried.size(); ++i)
      parts_.back().emplace_back(copy_step(call_, "copy", {made[i]}, carried[i]));
  }

  BufferId temporary(const TensorType& type, BufferId like) {
    Buffer buffer;
    buffer.name = program_.buffers[static_cast<std::size_t>(like)].name;
    buffer.dtype = type.dtype;
    buffer.sizes = type.sizes;
    buffer.strides = type.strides;
    buffer.bytes = elements_reached(type.sizes, type.strides) * SymExpr(facts(type.dtype).size);
    program_.buffers.push_back(std::move(buffer));
    return static_cast<BufferId>(program_.buffers.size() - 1);
  }

  LoopProgram& program_;
  std::vector<const LoopProgram*> subgraphs_;
  LibraryCall call_;
  std::vector<ProgramStep> steps_;
  std::vector<std::vector<ProgramStep>> parts_;
};

const LoopProgram* find(const std::vector<LoopProgram>& subgraphs, std::string_view name) {
  const auto found = std::ranges::find_if(
      subgraphs, [&](const LoopProgram& one) { return one.interface.name == name; });
  return found == subgraphs.end() ? nullptr : &*found;
}

}  // namespace

std::vector<ControlNode> control_nodes(const PlacedGraph& placed) {
  std::vector<ControlNode> nodes;
  for (const Node& node : placed.graph.nodes) {
    if (find_control_op(node.op) == nullptr) continue;
    ControlNode& own = nodes.emplace_back();
    for (std::string_view name : subgraphs_of(node)) own.subgraphs.emplace_back(name);
    own.scan = scan_parts(node).value_or(ScanParts{});
  }
  return nodes;
}

Result<void> link_subgraphs(LoopProgram& program, const std::vector<ControlNode>& nodes,
                            const std::vector<LoopProgram>& subgraphs) {
  std::vector<ProgramStep> steps;
  std::size_t next = 0;
  for (ProgramStep& step : std::exchange(program.steps, {})) {
    auto* call = std::get_if<LibraryCall>(&step);
    if (call == nullptr || !control_step_of(*call)) {
      steps.push_back(std::move(step));
      continue;
    }
    const ControlNode& node = nodes[next++];
    std::vector<const LoopProgram*> run;
    for (const std::string& name : node.subgraphs) {
      run.push_back(find(subgraphs, name));
      if (run.back() == nullptr) return failure(Code::PS0601, "there is no subgraph " + name);
    }
    std::ranges::move(CallLinker(program, std::move(run)).run(std::move(*call), node.scan),
                      std::back_inserter(steps));
  }
  program.steps = std::move(steps);
  return {};
}

}  // namespace penstock::fusion
