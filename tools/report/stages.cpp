#include "tools/report/stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "codegen/function_table.h"
#include "codegen/work_estimate.h"
#include "diag/pass.h"
#include "fusion/contract.h"
#include "fusion/fuse.h"
#include "ir/size_estimate.h"
#include "partition/partition.h"
#include "passes/decompose.h"
#include "pipeline/codegen_library.h"
#include "tools/report/line_difference.h"

namespace penstock::report {

namespace {

constexpr std::string_view kBufferKinds[] = {"input", "output",  "constant", "temporary",
                                             "view",  "scratch", "prepared"};

/// Texts longer than this are not compared: pictures of such graphs are looked at, not their lines.
constexpr std::size_t kLongestText = std::size_t{4} << 20;

/// Keeps what every pass did.
class PassRecorder final : public PassTrace {
 public:
  explicit PassRecorder(Stages& stages) : stages_(stages) {}

  void stage(std::string_view name) { stage_ = name; }
  void before(std::string text) { last_ = std::move(text); }

  void after(const PassFacts& pass, std::chrono::nanoseconds time,
             const std::function<std::string()>& text) override {
    PassEntry entry;
    entry.stage = stage_;
    entry.name = pass.name;
    entry.summary = pass.summary;
    entry.nanoseconds = time.count();
    std::string now = last_.size() > kLongestText ? std::string() : text();
    entry.lines = std::count(now.begin(), now.end(), '\n');
    if (!now.empty() && now != last_) {
      entry.changed = true;
      LineDifference difference = compare_lines(last_, now);
      entry.removed_lines = difference.removed_lines;
      entry.added_lines = difference.added_lines;
      entry.removed = std::move(difference.removed);
      entry.added = std::move(difference.added);
    }
    if (!now.empty()) last_ = std::move(now);
    stages_.passes.push_back(std::move(entry));
  }

 private:
  Stages& stages_;
  std::string_view stage_;
  std::string last_;
};

/// Makes the entries of the steps of a loop program or a bundle.
template <class Program>
class StepWriter {
 public:
  explicit StepWriter(const Program& program) : program_(program) {}

  StepEntry operator()(const KernelCall& kernel) const {
    StepEntry step =
        named(kernel.name, "compiled", kernel.calls, "machine code: " + kernel.function);
    step.buffers = kernel.buffers;
    step.flops = number(kernel.flops);
    step.bytes = number(kernel.bytes);
    return step;
  }

  StepEntry operator()(const LoopKernel& kernel) const {
    StepEntry step = named(kernel.name, "compiled", kernel.calls, kernel.reason);
    step.text = to_text(kernel, program_);
    step.buffers = codegen::signature_of(kernel, program_.buffers).buffers;
    const codegen::WorkEstimate work = codegen::estimate_work(kernel, program_.buffers);
    step.flops = number(work.flops);
    step.bytes = number(work.bytes);
    return step;
  }
  StepEntry operator()(const LibraryCall& call) const {
    StepEntry step = named(call.name, "library", call.calls, "by oneDNN: " + call.op);
    step.text = call.op;
    for (const PostOp& op : call.post_ops) {
      step.text += fmt::format("\n  then {}", to_string(op.kind));
      if (op.operand != kNoBuffer) step.buffers.push_back(op.operand);
    }
    add(step, call.inputs);
    add(step, call.outputs);
    for (BufferId id : step.buffers) step.bytes += bytes_of(program_.buffers[at(id)]);
    step.flops = product_flops(call);
    return step;
  }
  StepEntry operator()(const FallbackCall& call) const {
    StepEntry step = named(call.op, "fallback", call.calls, call.reason);
    step.text = call.op;
    for (const NamedArgument& argument : call.arguments) {
      for_each_value(argument.value,
                     [&](ValueId id) { step.buffers.push_back(static_cast<BufferId>(id)); });
    }
    add(step, call.outputs);
    return step;
  }

  double number(const SymExpr& size) const { return estimate(size, program_.interface); }
  /// Of its elements.
  double bytes_of(const Buffer& buffer) const {
    double bytes = static_cast<double>(facts(buffer.dtype).size);
    for (const SymExpr& size : buffer.sizes) bytes *= number(size);
    return bytes;
  }

 private:
  static std::size_t at(BufferId id) { return static_cast<std::size_t>(id); }
  static StepEntry named(std::string name, std::string_view place,
                         const std::vector<std::int32_t>& calls, std::string reason) {
    StepEntry step;
    step.name = std::move(name);
    step.place = place;
    step.calls = calls;
    step.reason = std::move(reason);
    return step;
  }
  static void add(StepEntry& step, const std::vector<BufferId>& buffers) {
    for (BufferId id : buffers) {
      if (id != kNoBuffer) step.buffers.push_back(id);
    }
  }
  /// Of a matrix product: two for each element of the result and of the summed dim.
  double product_flops(const LibraryCall& call) const {
    if (call.name != "matmul" || call.inputs.empty() || call.outputs.empty()) return 0;
    double flops = 2;
    for (const SymExpr& size : program_.buffers[at(call.outputs[0])].sizes) flops *= number(size);
    const auto& sizes = program_.buffers[at(call.inputs[0])].sizes;
    return sizes.empty() ? 0 : flops * number(sizes.back());
  }

  const Program& program_;
};

template <class Program>
void add_buffers(const Program& program, const StepWriter<Program>& writer, Stages& stages) {
  for (const Buffer& buffer : program.buffers) {
    BufferEntry entry;
    entry.name = buffer.name;
    entry.kind = kBufferKinds[static_cast<int>(buffer.kind)];
    std::string sizes;
    for (const SymExpr& size : buffer.sizes) {
      sizes += (sizes.empty() ? "" : ", ") + size.to_string();
    }
    entry.type = fmt::format("{}[{}]", facts(buffer.dtype).name, sizes);
    const bool is_own = buffer.kind != Buffer::Kind::input && buffer.kind != Buffer::Kind::view;
    entry.bytes =
        static_cast<std::int64_t>(is_own ? writer.number(buffer.bytes) : writer.bytes_of(buffer));
    if (buffer.kind == Buffer::Kind::temporary)
      entry.offset = static_cast<std::int64_t>(writer.number(buffer.arena_offset));
    stages.buffers.push_back(std::move(entry));
  }
  for (std::size_t step = 0; step < stages.steps.size(); ++step) {
    for (BufferId id : stages.steps[step].buffers) {
      const Buffer& used = program.buffers[static_cast<std::size_t>(id)];
      const BufferId memory = used.kind == Buffer::Kind::view ? used.base : id;
      BufferEntry& entry = stages.buffers[static_cast<std::size_t>(memory)];
      if (entry.first < 0) entry.first = static_cast<std::int32_t>(step);
      entry.last = static_cast<std::int32_t>(step);
    }
  }
}

template <class Program>
void add_program(const Program& program, Stages& stages) {
  const StepWriter<Program> writer(program);
  for (const auto& step : program.steps) stages.steps.push_back(std::visit(writer, step));
  add_buffers(program, writer, stages);
  stages.arena_bytes = static_cast<std::int64_t>(writer.number(program.arena_bytes));
}

/// The lines of each function in the assembly of a whole program, without directives.
std::unordered_map<std::string, std::string> by_function(const std::string& assembly) {
  std::unordered_map<std::string, std::string> functions;
  std::string* open = nullptr;
  for (std::size_t at = 0; at < assembly.size();) {
    const std::size_t end = std::min(assembly.find('\n', at), assembly.size());
    const std::string_view line = std::string_view(assembly).substr(at, end - at);
    at = end + 1;
    if (line.starts_with("\t.size\t")) open = nullptr;
    if (open == nullptr && line.ends_with(':') && line.front() == 'f')
      open = &functions[std::string(line.substr(0, line.size() - 1))];
    const bool directive = line.starts_with("\t.") || line.starts_with("\t#");
    if (open != nullptr && !directive) open->append(line).push_back('\n');
  }
  return functions;
}

}  // namespace

Stages stages_of(const LoopProgram& program) {
  Stages stages;
  add_program(program, stages);
  return stages;
}

Stages stages_of(const KernelBundle& bundle) {
  Stages stages;
  add_program(bundle, stages);
  return stages;
}

Result<PlacedGraph> lower(const Graph& graph, Stages& stages) {
  PassRecorder recorder(stages);
  recorder.before(to_text(graph));
  recorder.stage("decompose");
  auto core =
      graph.level == Level::torch ? passes::decompose(graph, {}, recorder) : Result<Graph>(graph);
  if (!core) return tl::unexpected(core.error());
  recorder.stage("partition");
  return partition::partition(std::move(*core), {}, recorder);
}

std::optional<LoopProgram> fuse_into(PlacedGraph placed, Stages& stages) {
  PassRecorder recorder(stages);
  recorder.stage("fuse");
  auto program = fusion::fuse(std::move(placed), {}, recorder);
  if (!program) {
    stages.not_made = program.error().message;
    return std::nullopt;
  }
  add_program(*program, stages);
  return std::move(*program);
}

Result<void> add_assembly(const LoopProgram& program, Stages& stages) {
  auto library = pipeline::open_codegen();
  if (!library) return tl::unexpected(library.error());
  auto text = (*library)->generate_text(program, {}, codegen::CodeText::assembly);
  if (!text) return tl::unexpected(text.error());
  const auto functions = by_function(*text);
  const std::vector<std::string> names = codegen::tabulate(program).functions;
  std::size_t kernel = 0;
  for (StepEntry& step : stages.steps) {
    if (step.place != "compiled" || kernel >= names.size()) continue;
    const auto found = functions.find(names[kernel++]);
    if (found != functions.end()) step.assembly = found->second;
  }
  return {};
}

}  // namespace penstock::report
