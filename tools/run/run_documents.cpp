#include "tools/run/run_documents.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>

#include "formats/safetensors.h"
#include "runtime/random_stream.h"
#include "runtime/threads.h"
#include "tools/common/transform.h"
#include "tools/run/engine.h"
#include "tools/run/recorded.h"
#include "tools/run/roof.h"

namespace penstock::tools {
namespace {

using Clock = std::chrono::steady_clock;
using formats::Document;
using formats::GraphDocument;
using formats::ResultDocument;
using ops::HostTensor;
using Verdict = ResultDocument::Verdict;

/// The time of so many calls one behind the other, per call.
Result<std::chrono::duration<double, std::nano>> time_calls(Engine& engine, std::int64_t calls) {
  const auto begin = Clock::now();
  for (std::int64_t i = 0; i < calls; ++i) {
    if (auto ran = engine.run(); !ran) return tl::unexpected(std::move(ran.error()));
  }
  return (Clock::now() - begin) / static_cast<double>(calls);
}

/// The median over half a second of batches, at least five, behind a warm-up that lets the CPU
/// reach its speed. A batch is one call, or as many as take about 100 us: the clock costs what a
/// small kernel does.
Result<ResultDocument::Timing> bench(Engine& engine) {
  constexpr auto kBudget = std::chrono::milliseconds(500), kWarm = std::chrono::milliseconds(50);
  constexpr double kBatch = 100'000;
  constexpr std::size_t kFewest = 5;
  std::int64_t batch = 1, calls = 0;
  const auto warm = Clock::now();
  do {
    auto time = time_calls(engine, batch);
    if (!time) return tl::unexpected(std::move(time.error()));
    batch =
        std::max<std::int64_t>(1, static_cast<std::int64_t>(kBatch / std::max(time->count(), 1.0)));
  } while (Clock::now() - warm < kWarm);
  std::vector<double> times;
  for (const auto begin = Clock::now(); times.size() < kFewest || Clock::now() - begin < kBudget;) {
    auto time = time_calls(engine, batch);
    if (!time) return tl::unexpected(std::move(time.error()));
    times.push_back(time->count());
    calls += batch;
  }
  auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return ResultDocument::Timing{"call", static_cast<std::int64_t>(*middle), calls};
}

/// Whether a graph that runs here draws random numbers.
bool draws_numbers(const GraphDocument& document) {
  const auto* bundle = std::get_if<KernelBundle>(&document.graph);
  return bundle != nullptr && std::ranges::any_of(bundle->steps, [](const BundleStep& step) {
           const auto* call = std::get_if<LibraryCall>(&step);
           return call != nullptr && runtime::is_draw(*call);
         });
}

class Runner {
 public:
  Runner(Stage& stage, const RunDocumentsOptions& options, store::Store& store)
      : stage_(stage), options_(options), store_(store) {}

  tl::unexpected<Diagnostic> no_inputs(Diagnostic why) const {
    if (why.code != Code::PS0207) return tl::unexpected(std::move(why));
    why.place =
        why.place.empty() ? options_.inputs : fmt::format("{}: {}", options_.inputs, why.place);
    why.hint = "--inputs takes a safetensors file, as --outputs writes it.";
    return tl::unexpected(std::move(why));
  }

  Result<void> load_inputs() {
    if (options_.inputs.empty()) return {};
    Result<std::string> bytes = stage_.read(options_.inputs, formats::safetensors_length);
    if (!bytes) return no_inputs(std::move(bytes.error()));
    given_file_ = std::move(*bytes);
    auto tensors = formats::decode_safetensors(given_file_);
    if (!tensors) return no_inputs(std::move(tensors.error()));
    for (formats::TensorBytes& tensor : *tensors) given_.emplace(tensor.name, Given{tensor, false});
    return {};
  }

  /// PS0806 when --inputs names what no graph has: it is a misspelt name most of the time.
  Result<void> check_given() const {
    for (const auto& [name, given] : given_) {
      if (given.used) continue;
      return failure(Code::PS0806,
                     fmt::format("{} has a tensor {}, and no graph has an input of that name",
                                 options_.inputs, name));
    }
    return {};
  }

  /// Runs one graph; what goes wrong stands in the result and is reported.
  ResultDocument run(const GraphDocument& document) {
    const Interface& interface = formats::interface_of(document);
    ResultDocument result;
    result.id = interface.id;
    result.name = interface.name;
    result.tolerance = options_.check ? options_.tolerance : 0;
    if (Result<void> done = run(document, result); !done) {
      Diagnostic problem = with_readable_file(std::move(done.error()), document.meta);
      const bool unsupported = facts(problem.code).exit_status == status(Exit::unsupported);
      result.verdict = unsupported ? Verdict::unsupported : Verdict::failed;
      result.code = std::string(facts(problem.code).id);
      result.reason = problem.message;
      if (problem.place.empty()) problem.place = fmt::format("graph {}", to_string(interface.id));
      stage_.report(problem);
    }
    return result;
  }

  /// Finds out before anything runs whether the outputs can be written.
  Result<void> open_outputs() {
    if (options_.outputs.empty()) return {};
    Result<Output> file = Output::open(options_.outputs);
    if (!file) {
      file.error().hint = "Name another place with --outputs, or free space.";
      return tl::unexpected(std::move(file.error()));
    }
    outputs_file_.emplace(std::move(*file));
    return {};
  }

  Result<void> write_outputs() {
    if (!outputs_file_) return {};
    std::vector<formats::TensorBytes> tensors;
    for (const auto& [name, tensor] : kept_) {
      auto* data = reinterpret_cast<const char*>(tensor.memory->data());
      tensors.push_back({name, tensor.dtype, tensor.sizes, {data, tensor.memory->size()}});
    }
    if (auto written = outputs_file_->write(formats::encode_safetensors(tensors)); !written)
      return written;
    return outputs_file_->commit();
  }

 private:
  /// The tensors of --inputs that this graph has inputs for, and those that its forward graph left.
  GivenInputs given_inputs(const Interface& interface) {
    GivenInputs out;
    for (const Saved& saved : interface.training.saved) {
      const auto output = static_cast<std::size_t>(saved.output);
      if (forward_.id != interface.id || output >= forward_.outputs.size()) continue;
      out.emplace(interface.inputs[static_cast<std::size_t>(saved.input)].name,
                  forward_.outputs[output]);
    }
    for (const Input& input : interface.inputs) {
      auto found = given_.find(input.name);
      if (found == given_.end()) continue;
      found->second.used = true;
      out.emplace(input.name, row_major_copy(found->second.tensor));
    }
    return out;
  }

  Result<std::unique_ptr<Engine>> interpreter_of(const GraphDocument& document) {
    const Interface& interface = formats::interface_of(document);
    auto inputs = recorded_inputs(interface, store_, given_inputs(interface));
    if (inputs) inputs = laid_out(interface, std::move(*inputs));
    if (!inputs) return tl::unexpected(std::move(inputs.error()));
    return make_interpreter(document, std::move(*inputs));
  }

  Result<std::unique_ptr<Engine>> executor_of(const GraphDocument& document) {
    const Interface& interface = formats::interface_of(document);
    auto inputs = mapped_inputs(interface, store_, given_inputs(interface));
    if (!inputs) return tl::unexpected(std::move(inputs.error()));
    return make_executor(document, std::move(*inputs), store_,
                         {options_.threads, options_.deterministic, options_.trust});
  }

  /// An engine whose first run starts with the graph's first step.
  Result<std::unique_ptr<Engine>> ready_engine(const GraphDocument& document) {
    auto engine = [&] {
      auto timer = stage_.phase("load");
      return options_.interpret ? interpreter_of(document) : executor_of(document);
    }();
    if (!engine) return engine;
    auto timer = stage_.phase("plan");
    if (auto ready = (*engine)->prepare(); !ready) return tl::unexpected(std::move(ready.error()));
    return engine;
  }

  Result<void> run(const GraphDocument& document, ResultDocument& result) {
    auto engine = ready_engine(document);
    if (!engine) return tl::unexpected(std::move(engine.error()));
    {
      auto timer = stage_.phase("run");
      if (auto ran = (*engine)->run(); !ran) return ran;
    }
    for (const auto& [name, count] : (*engine)->counts()) stage_.count(name, count);
    auto outputs = (*engine)->outputs();
    if (!outputs) return tl::unexpected(std::move(outputs.error()));
    const Interface& interface = formats::interface_of(document);
    if (interface.training.role == GraphRole::forward) forward_ = {interface.id, *outputs};
    if (options_.check) {
      if (auto checked = check(document, *outputs, result); !checked) return checked;
    }
    keep(interface, std::move(*outputs));
    if (options_.bench) {
      auto timing = bench(**engine);
      if (!timing) return tl::unexpected(std::move(timing.error()));
      result.timings.push_back(*timing);
    }
    if (options_.profile) {
      if (auto done = profile(**engine, result); !done) return done;
    }
    return {};
  }

  /// Every step's time, what it did in it, and how near that is to what the machine can do.
  Result<void> profile(Engine& engine, ResultDocument& result) {
    auto steps = engine.profile();
    if (!steps) return tl::unexpected(std::move(steps.error()));
    if (!roof_ && !steps->empty()) {
      auto roof =
          measure_roof(options_.threads > 0 ? options_.threads : runtime::ThreadTeam().size());
      if (!roof) return tl::unexpected(std::move(roof.error()));
      roof_ = std::move(*roof);
    }
    ResultDocument::Timing all{"all steps", 0, 0};
    double least = 0;
    for (ResultDocument::Timing& step : *steps) {
      // A step that prepared its result in an earlier run does nothing.
      constexpr std::int64_t kNothing = 200;
      if (step.nanoseconds < kNothing) step.flops = step.bytes = 0;
      step.percent_of_roof = roof_->percent(step.flops, step.bytes, step.nanoseconds);
      all.nanoseconds += step.nanoseconds;
      all.runs = step.runs;
      all.flops += step.flops;
      all.bytes += step.bytes;
      least += step.percent_of_roof * static_cast<double>(step.nanoseconds);
    }
    if (all.nanoseconds > 0) {
      all.percent_of_roof = least / static_cast<double>(all.nanoseconds);
      steps->push_back(std::move(all));
    }
    result.timings.insert(result.timings.end(), steps->begin(), steps->end());
    return {};
  }

  Result<void> check(const GraphDocument& document, const std::vector<HostTensor>& outputs,
                     ResultDocument& result) {
    if (draws_numbers(document)) return {};  // others than when it was recorded
    auto compared =
        compare_outputs(formats::interface_of(document), outputs, options_.tolerance, store_);
    if (!compared) return tl::unexpected(std::move(compared.error()));
    const bool backward = formats::interface_of(document).training.role == GraphRole::backward;
    if (compared->empty() && backward) return {};  // gradients are what `--outputs` shows
    if (compared->empty() && !outputs.empty()) {
      return failure(Code::PS0805, "no outputs were recorded with the graph");
    }
    result.compared = std::move(*compared);
    result.verdict = Verdict::same;
    for (const ResultDocument::Compared& row : result.compared) {
      if (row.same) continue;
      result.verdict = Verdict::differs;
      std::string how = row.reason.empty() ? fmt::format("error {:.3g}, tolerance {:.3g}",
                                                         row.error, options_.tolerance)
                                           : row.reason;
      Diagnostic differs{Code::PS0804,
                         fmt::format("output {}: {}", row.index, how),
                         formats::interface_of(document).location,
                         fmt::format("graph {} {}", to_string(result.id), result.name),
                         {},
                         Severity::error};
      stage_.report(with_readable_file(std::move(differs), document.meta));
    }
    return {};
  }

  /// What --outputs calls outputs: a gradient has the same name in a joint graph and in its
  /// backward part.
  static std::vector<std::string> output_names(const Interface& interface) {
    const std::string id = to_string(interface.id);
    std::vector<std::string> names;
    for (std::size_t i = 0; i < interface.outputs.size(); ++i)
      names.push_back(fmt::format("{}/{}", id, i));
    for (const Gradient& gradient : interface.training.gradients) {
      names[static_cast<std::size_t>(gradient.output)] =
          fmt::format("{}/gradient/{}", id, gradient.input);
    }
    return names;
  }

  void keep(const Interface& interface, std::vector<HostTensor> outputs) {
    if (options_.outputs.empty()) return;
    std::vector<std::string> names = output_names(interface);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      HostTensor row_major = HostTensor::contiguous(outputs[i].dtype, outputs[i].sizes);
      const auto size = static_cast<std::size_t>(facts(outputs[i].dtype).size);
      std::byte* target = row_major.memory->data();
      for (std::int64_t place : outputs[i].places()) {
        std::copy_n(outputs[i].memory->data() + static_cast<std::size_t>(place) * size, size,
                    target);
        target += size;
      }
      kept_.emplace_back(std::move(names[i]), std::move(row_major));
    }
  }

  std::optional<Roof> roof_;  ///< measured for the first profile
  Stage& stage_;
  const RunDocumentsOptions& options_;
  store::Store& store_;
  std::string given_file_;
  /// A tensor of --inputs.
  struct Given {
    formats::TensorBytes tensor;
    bool used;  ///< some graph has an input of its name
  };
  std::map<std::string, Given> given_;
  std::vector<std::pair<std::string, HostTensor>> kept_;
  /// What the last forward graph gave, until its backward graph comes.
  struct Forward {
    EntryId id{-1};
    std::vector<HostTensor> outputs;
  } forward_;
  std::optional<Output> outputs_file_;
};

}  // namespace

Result<void> run_documents(Stage& stage, const RunDocumentsOptions& options) {
  Result<store::Store> store = store::Store::open(options.store);
  if (!store) return tl::unexpected(std::move(store.error()));
  Runner runner(stage, options, *store);
  if (auto loaded = runner.load_inputs(); !loaded) return loaded;
  if (auto opened = runner.open_outputs(); !opened) return opened;
  std::optional<DocumentSink> sink;
  std::int64_t results = 0;
  auto visit = [&](Document document, const formats::DocumentReader& reader) -> Result<void> {
    if (!sink) sink.emplace(stage, reader.encoding());
    if (const auto* graph = std::get_if<GraphDocument>(&document)) {
      if (!options.interpret) {
        if (auto right = formats::expect_level(*graph, Level::kernels); !right) return right;
      }
      ++results;
      return sink->write(Document(runner.run(*graph)));
    }
    // People are told the results alone; a stream also keeps its first and its last document.
    bool frames_the_stream = stage.settings().emit != "text" &&
                             (std::holds_alternative<formats::ProgramDocument>(document) ||
                              std::holds_alternative<formats::EndDocument>(document));
    return frames_the_stream ? sink->write(document) : Result<void>();
  };
  for (const std::string& file : stage.inputs()) {
    // The recorded inputs have the sizes that the guards were made for.
    const bool other_sizes = !options.inputs.empty();
    if (auto read = for_each_document(stage, file, visit, {.guards = other_sizes}, options.store);
        !read)
      return read;
  }
  if (results == 0) return failure(Code::PS0805, "the input holds no graph");
  if (auto used = runner.check_given(); !used) return used;
  return runner.write_outputs();
}

}  // namespace penstock::tools
