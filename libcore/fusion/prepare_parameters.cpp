// Prepare
//
// A kernel that reads parameters, buffers and constants alone gives the same in every run until one
// of them is replaced or written: what batch normalisation adds to a bias, a mask, a table of
// positions. Its results move out of the arena into memory that stays between runs, and the
// executor runs the kernel only when an address or a version among what it reads has changed.
//
// A graph that writes a parameter itself reads it anew each time, and so does one of a training
// step on a GPU, where an optimizer writes between two runs: what may have to be prepared again
// cannot be launched as one graph with the rest. Memory stays small: a result is
// kept only if it is no larger than what it is computed from, or small anyhow.
#include <algorithm>
#include <map>

#include "fusion/loops.h"
#include "fusion/rewrite.h"

namespace penstock::fusion {

namespace {

constexpr std::int64_t kSmall = std::int64_t{1}
                                << 18;  ///< bytes that are kept whatever they come from

class Preparation {
 public:
  explicit Preparation(LoopProgram& program) : program_(program) {
    for (const ProgramStep& step : program.steps) {
      for (BufferId id : uses_of(program, step).writes) ++writers_[id];
    }
    for (BufferId id : program.outputs) {
      const Buffer& buffer = program.buffers[id];
      ++writers_[buffer.kind == Buffer::Kind::view ? buffer.base : id];  // the caller may write it
    }
  }

  void run() {
    for (const ProgramStep& step : program_.steps) {
      if (!std::holds_alternative<LoopKernel>(step)) continue;
      StepUses uses = uses_of(program_, step);
      if (!can_prepare(uses)) continue;
      for (BufferId id : uses.writes) keep(program_.buffers[id]);
    }
  }

 private:
  bool is_settled(BufferId id) const {
    const Buffer& buffer = program_.buffers[id];
    switch (buffer.kind) {
      case Buffer::Kind::input: {
        InputKind kind = program_.interface.inputs[buffer.index].kind;
        bool parameter = kind == InputKind::parameter || kind == InputKind::buffer ||
                         kind == InputKind::constant;
        bool changes = is_of_step_ && kind != InputKind::constant;
        return parameter && !changes && !writers_.contains(id);
      }
      case Buffer::Kind::constant:
      case Buffer::Kind::prepared:
      case Buffer::Kind::scratch:
        return true;
      default:
        return false;
    }
  }

  bool can_prepare(const StepUses& uses) const {
    std::int64_t read = 0, written = 0;
    for (BufferId id : uses.reads) {
      if (!is_settled(id)) return false;
      auto elements = element_count(program_.buffers[id].sizes).constant();
      read += elements.value_or(0) * facts(program_.buffers[id].dtype).size;
    }
    for (BufferId id : uses.writes) {
      const Buffer& buffer = program_.buffers[id];
      if (buffer.kind == Buffer::Kind::scratch) continue;
      auto bytes = buffer.bytes.constant();
      if (buffer.kind != Buffer::Kind::temporary || writers_.at(id) != 1 || !bytes) return false;
      written += *bytes;
    }
    return written > 0 && written <= std::max(read, kSmall);
  }

  void keep(Buffer& buffer) {
    if (buffer.kind != Buffer::Kind::temporary) return;
    buffer.kind = Buffer::Kind::prepared;
    buffer.arena_offset = end_;
    end_ += (*buffer.bytes.constant() + 63) / 64 * 64;
  }

  LoopProgram& program_;
  bool is_of_step_ =
      program_.device != "cpu" && program_.interface.training.role != GraphRole::inference;
  std::map<BufferId, int> writers_;  ///< steps that write a buffer; an output counts as one more
  std::int64_t end_ = 0;
};

}  // namespace

void prepare_parameters(LoopProgram& program) {
  Preparation(program).run();
}

}  // namespace penstock::fusion
