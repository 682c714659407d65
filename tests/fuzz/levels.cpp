// Documents of every level: what is accepted goes through all later stages, is interpreted, and,
// where no code of the document's own is in it, run.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <variant>

#include "formats/diff.h"
#include "formats/stream.h"
#include "fusion/contract.h"
#include "fusion/fuse.h"
#include "fusion/interpreter.h"
#include "interchange/mlir/to_mlir.h"
#include "interchange/onnx/to_onnx.h"
#include "ir/control_steps.h"
#include "ir/memory_verify.h"
#include "ir/subgraphs.h"
#include "ops/infer.h"
#include "ops/interpreter.h"
#include "partition/contract.h"
#include "partition/partition.h"
#include "passes/decompose.h"
#include "pipeline/codegen_library.h"
#include "pipeline/stored_code.h"
#include "reader.h"
#include "seeds.h"
#include "tools/run/engine.h"

namespace penstock::fuzz {

namespace {

using formats::GraphDocument;
using ops::HostTensor;

/// Graphs that take longer to run are only looked at: what they do is not a question of the
/// document.
constexpr std::int64_t kMostWork = 1 << 18;

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    if (!line.empty()) lines.push_back(line + "\n");
  }
  return lines;
}

/// The documents of the streams of tests/fuzz/seeds, one a line.
const std::vector<std::string>& seed_lines() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::directory_iterator(PENSTOCK_FUZZ_SEEDS)) {
      if (entry.path().extension() == ".json") paths.push_back(entry.path().string());
    }
    std::ranges::sort(paths);
    std::vector<std::string> found;
    for (const std::string& path : paths) {
      for (std::string& line : lines_of(path)) found.push_back(std::move(line));
    }
    return found;
  }();
  return all;
}

/// Keeps code in memory; nothing is found again, so that every kernel is made.
class NoCode : public codegen::CodeSink {
 public:
  std::optional<std::string> find(std::string_view) override { return std::nullopt; }
  Result<std::string> put(std::string_view, std::string_view elf) override {
    return store::hash_of(elf);
  }
};

/// seeds_of, made anew.
std::vector<Json> make_seeds(Level level) {
  std::vector<Json> records;
  PassTrace silent;
  for (const std::string& line : seed_lines()) {
    auto document = formats::decode(line, "seed");
    auto* graph = document ? std::get_if<GraphDocument>(&*document) : nullptr;
    const auto* torch = graph == nullptr ? nullptr : std::get_if<Graph>(&graph->graph);
    if (torch == nullptr) continue;
    GraphDocument made{*torch, {}};
    if (level >= Level::core) {
      auto core = passes::decompose(*torch, {}, silent);
      if (!core) continue;
      made.graph = *core;
      if (level >= Level::placed) {
        auto placed = partition::partition(std::move(*core), {}, silent);
        if (!placed) continue;
        made.graph = *placed;
        if (level >= Level::loops) {
          auto program = fusion::fuse(std::move(*placed), {}, silent);
          if (!program) continue;
          made.graph = *program;
          if (level == Level::kernels) {
            NoCode sink;
            auto bundle = pipeline::generate_code(*program, {}, sink);
            if (!bundle) continue;
            made.graph = *bundle;
          }
        }
      }
    }
    auto text = formats::encode(made, {});
    if (text) records.push_back(Json::parse(*text));
  }
  return records;
}

template <Level level>
std::string damage_level(Mutator& mutator) {
  const std::vector<Json>& seeds = seeds_of(level);
  if (seeds.empty()) return {};
  Json record = seeds[mutator.below(seeds.size())];
  if (level == Level::kernels && mutator.below(4) != 0) record.erase("seal");
  mutator.edit(record);
  if (mutator.below(3) != 0) return record.dump(-1, ' ', false, Json::error_handler_t::replace);
  const std::vector<std::uint8_t> cbor = Json::to_cbor(record);
  return {cbor.begin(), cbor.end()};
}

std::optional<std::vector<HostTensor>> inputs_of(const Interface& interface) {
  const SizeValue value = recorded_sizes(interface.symbols);
  std::vector<HostTensor> tensors;
  std::int64_t work = 0;
  for (const Input& input : interface.inputs) {
    TensorType type = input.type;
    std::int64_t count = 1;
    for (std::size_t i = 0; i < type.rank(); ++i) {
      auto size = value(type.sizes[i]), stride = value(type.strides[i]);
      if (!size || !stride || *size < 0 || *size > kMostWork) return std::nullopt;
      type.sizes[i] = *size;
      type.strides[i] = *stride;
      count *= std::max<std::int64_t>(*size, 1) * std::max<std::int64_t>(*stride, 1);
      if (count > kMostWork) return std::nullopt;
    }
    if ((work += count) > kMostWork) return std::nullopt;
    HostTensor tensor = HostTensor::allocate(type);
    std::int64_t next = 0;
    for (std::int64_t place : tensor.places()) {
      if (is_complex(type.dtype)) break;
      if (is_floating(type.dtype))
        tensor.set_real(place, static_cast<double>(++next % 7) - 3);
      else
        tensor.set_integer(place, ++next % 3);
    }
    if (input.kind == InputKind::size) {
      for (const Symbol& symbol : interface.symbols) {
        if (symbol.source == input.source && symbol.hint) tensor.set_integer(0, *symbol.hint);
      }
    }
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

/// Whether it may run for ever: how often the body of a `while` runs its elements decide.
bool may_not_end(const Graph& graph) {
  const auto repeats = [](const Node& node) {
    const ControlOp* op = find_control_op(node.op);
    return op != nullptr && op->kind == ControlKind::loop;
  };
  return std::ranges::any_of(graph.nodes, repeats) ||
         std::ranges::any_of(graph.subgraphs, [&](const auto& subgraph) {
           return std::ranges::any_of(subgraph.nodes, repeats);
         });
}
template <class Step>
bool may_not_end(const std::vector<Step>& steps) {
  return std::ranges::any_of(control_steps_of(steps), [](const auto& step) {
    return step && step->kind == ControlStep::Kind::while_loop;
  });
}

/// Elements of all values, with their sizes as the rules say.
bool is_small(const Graph& graph) {
  if (may_not_end(graph)) return false;
  Graph typed = graph;
  ops::GuardingShapes shapes(typed.interface);
  const SizeValue value = recorded_sizes(typed.interface.symbols);
  std::int64_t work = 0;
  for (const Node& node : typed.nodes) {
    auto results = ops::infer(node, typed, shapes);
    for (std::size_t r = 0; results && r < results->size() && r < node.results.size(); ++r) {
      std::int64_t count = 1;
      for (const SymExpr& size : (*results)[r].sizes) {
        count *= value(size).value_or(1);
        if (count < 0 || count > kMostWork) return false;
      }
      work += count;
      typed.values[node.results[r]].type = (*results)[r];
    }
    if (work > kMostWork) return false;
  }
  return true;
}

std::int64_t work_of(const std::vector<Statement>& body, const SizeValue& value) {
  std::int64_t work = 0;
  for (const Statement& statement : body) {
    const auto* loops = std::get_if<std::vector<Loop>>(&statement);
    if (loops == nullptr) {
      ++work;
      continue;
    }
    const std::int64_t extent =
        std::max<std::int64_t>(value(loops->front().extent).value_or(64), 1);
    if (extent > kMostWork) return kMostWork + 1;
    work += extent * std::min(work_of(loops->front().body, value), kMostWork + 1);
    if (work > kMostWork) return kMostWork + 1;
  }
  return work;
}

bool is_small(const std::vector<Buffer>& buffers, const SymExpr& arena, const SizeValue& value) {
  std::int64_t bytes = value(arena).value_or(0);
  for (const Buffer& buffer : buffers) {
    std::int64_t count = 1;
    for (const SymExpr& size : buffer.sizes) {
      count *= std::max<std::int64_t>(value(size).value_or(1), 1);
      if (count > kMostWork) return false;
    }
    bytes += value(buffer.bytes).value_or(0) + count;
    if (bytes < 0 || bytes > 64 * kMostWork) return false;
  }
  return true;
}

bool is_small(const LoopProgram& program) {
  if (may_not_end(program.steps)) return false;
  const SizeValue value = recorded_sizes(program.interface.symbols);
  std::int64_t work = 0;
  for (const ProgramStep& step : program.steps) {
    if (const auto* kernel = std::get_if<LoopKernel>(&step)) work += work_of(kernel->body, value);
    if (work > kMostWork) return false;
  }
  return is_small(program.buffers, program.arena_bytes, value);
}

/// A store that is gone with the process's folder.
store::Store& scratch_store() {
  static store::Store store(std::string(std::getenv("PENSTOCK_FUZZ_FOLDER")) + "/store");
  return store;
}

/// Goes through the stages that come behind a level, one function a level.
class Stages {
 public:
  explicit Stages(Outcome& outcome) : outcome_(outcome) {}

  void go(const Graph& graph) {
    static_cast<void>(to_text(graph));
    if (is_small(graph)) {
      if (auto inputs = inputs_of(graph.interface))
        note("interpret", ops::interpret(graph, std::move(*inputs)));
    }
    const auto no_weights = [](std::string_view) -> Result<formats::TensorBlob> {
      return failure(Code::PS0206, "no weights here");
    };
    note("mlir", mlir::to_mlir(graph, no_weights, false, silent_));
    note("onnx", onnx::to_onnx(graph, no_weights, silent_));
    if (graph.level == Level::torch) {
      auto core = passes::decompose(graph, {}, silent_);
      note("decompose", core);
      if (core && written(*core)) go(*core);
    } else {
      auto placed = partition::partition(graph, {}, silent_);
      note("partition", placed);
      if (placed && written(*placed)) go(*placed);
    }
  }

  void go(const PlacedGraph& placed) {
    static_cast<void>(to_text(placed));
    auto program = fusion::fuse(placed, {}, silent_);
    note("fuse", program);
    if (program && written(*program)) go(*program);
  }

  void go(const LoopProgram& program) {
    static_cast<void>(to_text(program));
    const bool small = is_small(program);
    auto inputs = small ? inputs_of(program.interface) : std::nullopt;
    if (inputs) note("interpret", fusion::interpret(program, *inputs));
    pipeline::StoredCode sink(scratch_store());
    auto bundle = pipeline::generate_code(program, {.threads = 1}, sink);
    note("codegen", bundle);
    if (bundle && inputs && written(*bundle)) run(*bundle, *inputs);
  }

  /// What has code of its own is not run: it may do anything.
  void go(const KernelBundle& bundle) {
    const auto is_kernel = [](const BundleStep& step) {
      return std::holds_alternative<KernelCall>(step);
    };
    const SizeValue value = recorded_sizes(bundle.interface.symbols);
    if (std::ranges::any_of(bundle.steps, is_kernel) || may_not_end(bundle.steps) ||
        !is_small(bundle.buffers, bundle.arena_bytes, value))
      return;
    if (auto inputs = inputs_of(bundle.interface)) run(bundle, *inputs);
  }

 private:
  template <class T>
  void note(std::string_view stage, const Result<T>& result) {
    if (!result) outcome_.note(stage, result.error());
  }

  /// A stage writes what it makes, which checks it.
  template <class G>
  bool written(const G& graph) {
    auto bytes = formats::encode(GraphDocument{graph, {}}, {});
    note("write", bytes);
    return bytes.has_value();
  }

  void run(const KernelBundle& bundle, std::vector<HostTensor>& inputs) {
    auto engine =
        tools::make_executor({bundle, {}}, tools::executor_inputs(bundle.interface, inputs),
                             scratch_store(), {.threads = 1, .trust = true});
    note("load", engine);
    if (!engine) return;
    note("run", (*engine)->run());
  }

  Outcome& outcome_;
  PassTrace silent_;
};

}  // namespace

const std::vector<Json>& seeds_of(Level level) {
  static std::map<Level, std::vector<Json>> made;
  auto [found, fresh] = made.try_emplace(level);
  if (fresh) found->second = make_seeds(level);
  return found->second;
}

void Outcome::note(std::string_view which, const Diagnostic& diagnostic) {
  const CodeFacts& row = facts(diagnostic.code);
  said.push_back(std::string(which) + ": " + std::string(row.id) + " " + diagnostic.message + " " +
                 diagnostic.place);
  if (row.exit_status != 5 || internal) return;
  internal = diagnostic;
  stage = which;
}

std::string damage_torch(Mutator& mutator) {
  return damage_level<Level::torch>(mutator);
}
std::string damage_core(Mutator& mutator) {
  return damage_level<Level::core>(mutator);
}
std::string damage_placed(Mutator& mutator) {
  return damage_level<Level::placed>(mutator);
}
std::string damage_loops(Mutator& mutator) {
  return damage_level<Level::loops>(mutator);
}
std::string damage_kernels(Mutator& mutator) {
  return damage_level<Level::kernels>(mutator);
}

std::string damage_stream(Mutator& mutator) {
  const std::vector<std::string>& lines = seed_lines();
  std::string stream;
  for (std::size_t count = 1 + mutator.below(3); count > 0; --count) {
    Json record = Json::parse(lines[mutator.below(lines.size())]);
    if (mutator.below(2) == 0) mutator.edit(record);
    stream += record.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }
  return mutator.below(2) == 0
             ? stream
             : mutator.edit_text(stream, {"{", "[", "\"", "\\u0000", "1e999", "-0", "null"});
}

Outcome run_documents(const std::string& bytes) {
  Outcome outcome;
  // One document alone is read without the `end` behind it.
  formats::DocumentReader reader(formats::source_of(bytes), "damaged");
  std::vector<formats::Document> documents;
  for (;;) {
    auto next = reader.next();
    if (!next && next.error().code != Code::PS0202) outcome.note("read", next.error());
    if (!next || !*next) break;
    documents.push_back(std::move(**next));
  }
  for (const formats::Document& document : documents) {
    outcome.accepted = true;
    for (formats::Encoding encoding :
         {formats::Encoding::json, formats::Encoding::pretty, formats::Encoding::cbor}) {
      auto written = formats::encode(document, {encoding, true, false, {}});
      if (!written) outcome.note("write", written.error());
    }
    const auto* graph = std::get_if<GraphDocument>(&document);
    if (graph == nullptr) continue;
    static_cast<void>(formats::to_text(formats::compare({document}, documents)));
    std::visit([&](const auto& one) { Stages(outcome).go(one); }, graph->graph);
  }
  return outcome;
}

}  // namespace penstock::fuzz
