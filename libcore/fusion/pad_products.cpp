// Padded products
//
// A GPU's library writes rows that begin at multiples of 16 bytes several times as fast as others:
// a language model's head has as many columns as its vocabulary has words, which is often odd. Such
// a product of a half type is written to a temporary whose rows are padded to such a multiple, and
// a kernel of ours takes it from there to its place. That reads and writes the result once more,
// which is little beside what it saves, and where the result is an output, no library's call is
// left that would have to find it at the same place in each run (runtime/plan_graph.h).
//
// Products of few rows or columns gain less than a kernel costs.
#include <fmt/format.h>

#include "fusion/loops.h"
#include "fusion/rewrite.h"
#include "ir/size_estimate.h"

namespace penstock::fusion {

namespace {

constexpr std::int64_t kVectorBytes = 16;
constexpr std::int64_t kLeastColumns = 256;
constexpr double kLeastRows = 32;

class ProductPadder {
 public:
  explicit ProductPadder(LoopProgram& program) : program_(program) {}

  void run() {
    std::vector<ProgramStep> steps;
    for (ProgramStep& step : program_.steps) {
      auto* call = std::get_if<LibraryCall>(&step);
      const BufferId result =
          call != nullptr && call->name == "matmul" ? call->outputs.front() : kNoBuffer;
      const std::int64_t columns = result == kNoBuffer ? 0 : padded_columns(result);
      if (columns > 0) call->outputs.front() = padded(result, columns);
      const BufferId made = columns > 0 ? call->outputs.front() : kNoBuffer;
      const std::vector<std::int32_t> calls =
          columns > 0 ? call->calls : std::vector<std::int32_t>();
      steps.push_back(std::move(step));
      if (made != kNoBuffer) steps.emplace_back(copy(made, result, steps.size(), calls));
    }
    program_.steps = std::move(steps);
  }

 private:
  const Buffer& at(BufferId id) const { return program_.buffers[static_cast<std::size_t>(id)]; }

  /// Columns of rows that begin at multiples; 0: they do, or it does not pay.
  std::int64_t padded_columns(BufferId result) const {
    const Buffer& buffer = at(result);
    const std::int64_t size = facts(buffer.dtype).size, vector = kVectorBytes / size;
    const std::size_t rank = buffer.sizes.size();
    const auto columns = buffer.sizes.back().constant(), row = buffer.strides[rank - 2].constant();
    if (buffer.dtype == DType::float32 || !columns || *columns < kLeastColumns) return 0;
    if (row && *row % vector == 0) return 0;
    double rows = 1;
    for (std::size_t i = 0; i + 1 < rank; ++i)
      rows *= estimate(buffer.sizes[i], program_.interface);
    return rows < kLeastRows ? 0 : (*columns + vector - 1) / vector * vector;
  }

  /// A view of a temporary with such rows, in the result's sizes.
  BufferId padded(BufferId result, std::int64_t columns) {
    Buffer temporary, view;
    temporary.name = view.name = at(result).name + "_padded";
    temporary.dtype = view.dtype = at(result).dtype;
    temporary.sizes = view.sizes = at(result).sizes;
    temporary.sizes.back() = columns;
    SymExpr stride = 1;
    temporary.strides.resize(temporary.sizes.size());
    for (std::size_t i = temporary.sizes.size(); i-- > 0;) {
      temporary.strides[i] = stride;
      stride *= temporary.sizes[i];
    }
    temporary.bytes = stride * SymExpr(facts(temporary.dtype).size);
    view.kind = Buffer::Kind::view;
    view.strides = temporary.strides;
    view.base = static_cast<BufferId>(program_.buffers.size());
    program_.buffers.push_back(std::move(temporary));
    program_.buffers.push_back(std::move(view));
    return view_of_last();
  }

  BufferId view_of_last() const { return static_cast<BufferId>(program_.buffers.size()) - 1; }

  /// The element of a window at the loops' variables, in its memory.
  SymExpr place(const Buffer& window) const {
    SymExpr index = window.offset;
    for (std::size_t i = 0; i < window.sizes.size(); ++i)
      index += SymExpr::symbol(fmt::format("i{}", i)) * window.strides[i];
    return index;
  }

  BufferId memory_of(BufferId id) const {
    return at(id).kind == Buffer::Kind::view ? at(id).base : id;
  }

  LoopKernel copy(BufferId from, BufferId to, std::size_t number,
                  const std::vector<std::int32_t>& calls) const {
    Instruction load, store;
    load.op = "load";
    load.result = 0;
    load.dtype = store.dtype = at(to).dtype;
    load.buffer = memory_of(from);
    load.index = place(at(from));
    store.op = "store";
    store.operands = {0};
    store.buffer = memory_of(to);
    store.index = place(at(to));
    Body body;
    body.emplace_back(std::move(load));
    body.emplace_back(std::move(store));
    for (std::size_t i = at(to).sizes.size(); i-- > 0;) {
      Loop loop;
      loop.variable = fmt::format("i{}", i);
      loop.extent = at(to).sizes[i];
      loop.body = std::move(body);
      body.clear();
      body.push_back(loop_statement(std::move(loop)));
    }
    LoopKernel kernel;
    kernel.name = fmt::format("k{}_unpad", number);
    kernel.body = std::move(body);
    kernel.calls = calls;
    kernel.reason = "rows of the product before it are padded";
    return kernel;
  }

  LoopProgram& program_;
};

}  // namespace

void pad_products(LoopProgram& program) {
  if (program.device != "cpu") ProductPadder(program).run();
}

}  // namespace penstock::fusion
