#include <fmt/format.h>

#include <iterator>

#include "fusion/contract.h"
#include "fusion/loops.h"
#include "ir/argument_text.h"

namespace penstock {

namespace {

std::string joined(const std::vector<SymExpr>& values) {
  std::string text;
  for (const SymExpr& value : values) {
    if (!text.empty()) text += ", ";
    text += value.to_string();
  }
  return text;
}

constexpr std::string_view kKinds[] = {"input", "output",  "constant", "temporary",
                                       "view",  "scratch", "prepared"};

class Printer {
 public:
  explicit Printer(const LoopProgram& program) : program_(program), line_(out_) {}

  std::string take() { return std::move(out_); }

  void buffers() {
    for (std::size_t i = 0; i < program_.buffers.size(); ++i) {
      const Buffer& buffer = program_.buffers[i];
      fmt::format_to(line_, "  {} @{}: {}[{}] strides [{}]", kKinds[static_cast<int>(buffer.kind)],
                     name(static_cast<BufferId>(i)), facts(buffer.dtype).name, joined(buffer.sizes),
                     joined(buffer.strides));
      if (buffer.kind == Buffer::Kind::view) fmt::format_to(line_, " of @{}", name(buffer.base));
      if (buffer.offset != SymExpr(0)) fmt::format_to(line_, " from {}", buffer.offset.to_string());
      bool placed = buffer.kind == Buffer::Kind::temporary ||
                    buffer.kind == Buffer::Kind::scratch || buffer.kind == Buffer::Kind::prepared;
      if (placed) fmt::format_to(line_, " at byte {}", buffer.arena_offset.to_string());
      out_ += '\n';
    }
  }

  void kernel(const LoopKernel& kernel) {
    fmt::format_to(line_, "  kernel {}  # {}\n", kernel.name, kernel.reason);
    body(kernel.body, 2);
  }

  void library(const LibraryCall& call) {
    fmt::format_to(line_, "  library {} = {}({})", names(call.outputs), call.name,
                   names(call.inputs));
    for (const NamedArgument& attribute : call.attributes) {
      fmt::format_to(line_, " {}={}", attribute.name, to_string(attribute.value));
    }
    for (const PostOp& op : call.post_ops) {
      fmt::format_to(line_, " then {}", to_string(op.kind));
      if (op.operand != kNoBuffer) fmt::format_to(line_, " @{}", name(op.operand));
      if (op.alpha != 0 || op.beta != 0) fmt::format_to(line_, "({}, {})", op.alpha, op.beta);
    }
    fmt::format_to(line_, "  # {}\n", call.op);
  }

  void fallback(const FallbackCall& call) {
    fmt::format_to(line_, "  torch {} = {}(", names(call.outputs), call.op);
    for (std::size_t i = 0; i < call.arguments.size(); ++i) {
      auto buffer = [&](ValueId id) { return "@" + name(static_cast<BufferId>(id)); };
      fmt::format_to(line_, "{}{}={}", i > 0 ? ", " : "", call.arguments[i].name,
                     to_string(call.arguments[i].value, buffer));
    }
    fmt::format_to(line_, ")  # {}\n", call.reason);
  }

 private:
  /// Buffer names repeat where views do; the number makes them unique.
  std::string name(BufferId id) const {
    if (id < 0 || id >= static_cast<BufferId>(program_.buffers.size())) return "none";
    return fmt::format("{}.{}", program_.buffers[id].name, id);
  }

  std::string names(const std::vector<BufferId>& buffers) const {
    std::string text;
    for (BufferId id : buffers) {
      if (!text.empty()) text += ", ";
      text += id == kNoBuffer ? "none" : "@" + name(id);
    }
    return text;
  }

  void body(const fusion::Body& body, int depth) {
    for (const Statement& statement : body) {
      if (const Loop* inner = fusion::as_loop(statement)) {
        loop(*inner, depth);
      } else {
        instruction(*fusion::as_instruction(statement), depth);
      }
    }
  }

  void loop(const Loop& loop, int depth) {
    const Schedule& schedule = loop.schedule;
    fmt::format_to(line_, "{:{}}for {} in {}", "", depth * 2, loop.variable,
                   loop.extent.to_string());
    if (schedule.parallel) fmt::format_to(line_, " parallel grain {}", schedule.grain);
    if (schedule.vectorize) out_ += " vector";
    if (schedule.tile != 0) fmt::format_to(line_, " tile {}", schedule.tile);
    if (schedule.unroll != 1) fmt::format_to(line_, " unroll {}", schedule.unroll);
    if (schedule.bind != Bind::serial) fmt::format_to(line_, " bind {}", to_string(schedule.bind));
    for (const Accumulator& accumulator : loop.accumulators) {
      std::string results;
      for (ScalarId result : accumulator.results) {
        results += fmt::format("{}v{}", results.empty() ? "" : ", ", result);
      }
      fmt::format_to(line_, ", {} = {} v{}", results, accumulator.op, accumulator.value);
    }
    out_ += ":\n";
    body(loop.body, depth + 1);
  }

  void instruction(const Instruction& instruction, int depth) {
    std::string operands;
    for (ScalarId operand : instruction.operands) {
      operands += fmt::format("{}v{}", operands.empty() ? "" : ", ", operand);
    }
    std::string place =
        fmt::format("@{}[{}]", name(instruction.buffer), instruction.index.to_string());
    fmt::format_to(line_, "{:{}}", "", depth * 2);
    if (instruction.op == "store") {
      bool masked = instruction.operands.size() > 1;
      fmt::format_to(line_, "{} = v{}", place, instruction.operands.front());
      if (masked) fmt::format_to(line_, " if v{}", instruction.operands[1]);
      out_ += '\n';
      return;
    }
    fmt::format_to(line_, "v{} = ", instruction.result);
    if (instruction.op == "load") {
      out_ += place;
      if (!instruction.operands.empty()) {
        fmt::format_to(line_, " if {} else {}", operands, to_string(instruction.immediate));
      }
    } else if (instruction.op == "constant") {
      out_ += to_string(instruction.immediate);
    } else if (instruction.op == "index") {
      out_ += instruction.index.to_string();
    } else {
      fmt::format_to(line_, "{}({})", instruction.op, operands);
    }
    fmt::format_to(line_, " : {}\n", facts(instruction.dtype).name);
  }

  const LoopProgram& program_;
  std::string out_;
  std::back_insert_iterator<std::string> line_;
};

}  // namespace

std::string to_text(const LoopKernel& kernel, const LoopProgram& program) {
  Printer printer(program);
  printer.kernel(kernel);
  return printer.take();
}

std::string to_text(const LoopProgram& program) {
  std::string out = to_text(program.interface);
  Printer printer(program);
  printer.buffers();
  for (const ProgramStep& step : program.steps) {
    if (const auto* kernel = std::get_if<LoopKernel>(&step)) printer.kernel(*kernel);
    if (const auto* call = std::get_if<LibraryCall>(&step)) printer.library(*call);
    if (const auto* call = std::get_if<FallbackCall>(&step)) printer.fallback(*call);
  }
  out += printer.take();
  fmt::format_to(std::back_inserter(out), "  arena {} bytes\n", program.arena_bytes.to_string());
  out += "  return";
  for (BufferId id : program.outputs) {
    fmt::format_to(std::back_inserter(out), " @{}.{}", program.buffers[id].name, id);
  }
  return out + "\n";
}

}  // namespace penstock
