#include "tools/extension/document_sink.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "diag/render.h"
#include "ops/self_check.h"
#include "python/hook.h"
#include "tools/common/terminal.h"
#include "tools/extension/kept_tensors.h"
#include "tools/extension/modes.h"
#include "tools/extension/program_streams.h"
#include "torch/tensor_bridge.h"

namespace penstock::tools {
namespace {

using python::Settings;

CaptureCounts* counts() {
  const std::span<std::byte> memory = mode_memory();
  if (memory.size() < sizeof(CaptureCounts)) return nullptr;
  return reinterpret_cast<CaptureCounts*>(memory.data());
}

Result<void> write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      return failure(Code::PS0103,
                     fmt::format("the documents cannot be written: {}", strerror(errno)));
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

formats::WriteOptions options_of(const Settings& settings) {
  formats::WriteOptions options;
  const std::string encoding(settings.get("encoding", "json"));
  if (encoding == "cbor") options.encoding = formats::Encoding::cbor;
  if (encoding == "pretty") options.encoding = formats::Encoding::pretty;
  options.tensors = settings.get("no-tensors") != "1";
  options.directory = std::string(settings.get("directory"));
  return options;
}

RenderOptions render_options() {
  RenderOptions options;
  options.color = tools::use_color(STDERR_FILENO, tools::ColorChoice::automatic);
  return options;
}

}  // namespace

DocumentSink::DocumentSink(const Settings& settings)
    : counts_(counts()),
      descriptor_(std::atoi(std::string(settings.get("output-descriptor", "-1")).c_str())),
      fullgraph_(settings.get("fullgraph") == "1"),
      self_check_(settings.get("self-check") == "1"),
      shows_work_(settings.get("progress") == "1"),
      required_(settings.get("required") == "1"),
      quiet_(settings.get("quiet") == "1"),
      owner_(getpid()),
      writer_([this](std::string_view bytes) { return write_all(descriptor_, bytes); },
              options_of(settings)) {
  if (settings.get("no-tensors") == "1") return;
  if (auto store = store::Store::open(std::string(settings.get("store")))) {
    store_.emplace(std::move(*store));
  } else {
    lose(store.error());
  }
}

/// Leaves the first failure to the launcher, which tells of it when the program has ended.
void DocumentSink::lose(const Diagnostic& why) {
  if (counts_ == nullptr || counts_->failure[0] != '\0' || owner_ != getpid()) return;
  const std::string text = fmt::format("{} {}", facts(why.code).id, why.message);
  text.copy(counts_->failure, sizeof counts_->failure - 1);
}

jit::EntryCount* DocumentSink::record(const record::CapturedSegment& segment) {
  trace_.name(segment.graph.interface.id, segment.graph.interface.name);
  jit::EntryCount* count = counts_ != nullptr ? count_entry(segment.graph) : nullptr;
  if (self_check_) check_rules(segment.graph);
  if (!writes()) return count;
  formats::GraphDocument document;
  Graph graph = segment.graph;
  if (store_) keep_tensors(segment, graph.interface);
  document.graph = std::move(graph);
  write(document);
  return count;
}

void DocumentSink::used(EntryId id) {
  if (counts_ == nullptr) return;
  auto row = rows_.find({id.frame, id.recompile});
  if (row != rows_.end()) ++row->second->calls;
}

void DocumentSink::compiled(std::chrono::nanoseconds spent) {
  if (counts_ != nullptr) counts_->compile_ns += spent.count();
}

void DocumentSink::declines(const Diagnostic& why) {
  if (required_) {
    flush_streams();  // what the program printed stands before
    fmt::print(stderr, "{}", render(why, "penstock", render_options()));
    _exit(facts(why.code).exit_status);  // the parent process writes the documents' `end`
  }
  if (quiet_) return;
  fmt::print(stderr, "penstock: warning[{}]: {}; the program runs without penstock. {}\n",
             facts(why.code).id, why.message, why.hint);
}

void DocumentSink::broke(const BreakEvent& event) {
  trace_.broke(event);
  if (fullgraph_ && owner_ == getpid()) {
    const CodeFacts* code = find_code(event.code);
    Diagnostic told{code == nullptr ? Code::PS0601 : code->code,
                    "the graph breaks here: " + event.reason,
                    event.location,
                    {},
                    event.hint};
    fmt::print(stderr, "{}", render(told, "penstock", render_options()));
  }
  if (counts_ != nullptr) ++counts_->breaks;
  write(formats::BreakDocument{event, {}});
}

void DocumentSink::skipped(const SkipEvent& event) {
  if (counts_ != nullptr) ++counts_->skips;
  if (counts_ != nullptr && event.bypass) ++counts_->bypasses;
  write(formats::SkipDocument{event, {}});
}

void DocumentSink::recompiled(const RecompileEvent& event) {
  if (counts_ != nullptr) ++counts_->recompiles;
  write(formats::RecompileDocument{event, {}});
}

void DocumentSink::restarted(const RestartEvent& event) {
  write(formats::RestartDocument{event, {}});
}

void DocumentSink::chose(const BackendEvent& event) {
  write(formats::BackendDocument{event, {}});
}

void DocumentSink::left_root(const capture::RootTotals& totals) {
  if (totals.entered != capture::Stretch::Time())
    trace_.left_root(totals.entered, totals.entered + totals.root);
  if (counts_ == nullptr) return;
  counts_->native_ops += totals.native_ops;
  counts_->root_ns += totals.root.count() * totals.stands_for;
  counts_->segment_ns += totals.in_segments.count() * totals.stands_for;
  if (totals.entered != capture::Stretch::Time())
    keep_span({capture::Stretch::Kind::root, {-1}, totals.entered, totals.entered + totals.root});
}

void DocumentSink::ran(const capture::Stretch& stretch) {
  if (trace_.active()) {
    const auto row = rows_.find({stretch.id.frame, stretch.id.recompile});
    trace_.ran(stretch, row == rows_.end() ? nullptr : row->second);
  }
  if (counts_ == nullptr) return;
  using Kind = capture::Stretch::Kind;
  if (stretch.kind != Kind::behind) keep_span(stretch);
  if (stretch.id.frame < 0 || (stretch.kind != Kind::entry && stretch.kind != Kind::behind)) return;
  if (last_row_.first != stretch.id || last_row_.second == nullptr) {
    const auto row = rows_.find({stretch.id.frame, stretch.id.recompile});
    if (row == rows_.end()) return;
    last_row_ = {stretch.id, row->second};
  }
  jit::EntryCount& row = *last_row_.second;
  const std::int64_t time =
      std::chrono::nanoseconds(stretch.end - stretch.begin).count() * stretch.stands_for;
  if (stretch.kind == Kind::entry) {
    row.total_ns += time;
  } else {
    row.behind_ns += time;
    ++row.behind;
  }
}

void DocumentSink::keep_span(const capture::Stretch& stretch) {
  using Kind = capture::Stretch::Kind;
  const bool making = stretch.kind == Kind::record || stretch.kind == Kind::compile;
  std::uint32_t& used = making ? counts_->makings : counts_->calls;
  if (used >= (making ? CaptureCounts::kMakingSpans : CaptureCounts::kCallSpans)) return;
  SpanRow& row = (making ? counts_->making : counts_->call)[used++];
  row.begin_ns = std::chrono::nanoseconds(stretch.begin.time_since_epoch()).count();
  row.end_ns = std::chrono::nanoseconds(stretch.end.time_since_epoch()).count();
  row.frame = stretch.id.frame;
  row.recompile = stretch.id.recompile;
  row.kind = static_cast<std::uint32_t>(stretch.kind);
}

void DocumentSink::check_rules(const Graph& graph) {
  for (const ops::WrongRule& wrong : ops::check_rules(graph)) {
    if (counts_ != nullptr) ++counts_->wrong_rules;
    std::string where;
    if (wrong.call >= 0 && graph.calls[wrong.call].stack != nullptr) {
      const Location& line = graph.calls[wrong.call].stack->location;
      where = fmt::format("{}:{}: ", line.file.text(), line.line);
    }
    fmt::print(stderr, "penstock: {}error[{}]: self-check: {}\n", where, facts(Code::PS0601).id,
               wrong.message);
  }
}

jit::EntryCount* DocumentSink::count_entry(const Graph& graph) {
  ++counts_->graphs;
  counts_->capture_ns += graph.interface.capture_ns;
  if (counts_->entries >= CaptureCounts::kEntries) {
    ++counts_->uncounted;
    return nullptr;
  }
  const EntryId id = graph.interface.id;
  jit::EntryCount& row = counts_->entry[counts_->entries];
  row = {id.frame, id.recompile, static_cast<std::uint32_t>(graph.nodes.size()), 1, 1, 0, {}};
  rows_[{id.frame, id.recompile}] = &row;
  ++counts_->entries;
  return &row;
}

void DocumentSink::keep_tensors(const record::CapturedSegment& segment, Interface& interface) {
  const python::HookPause pause;
  for (std::size_t i = 0; i < interface.inputs.size() && i < segment.inputs.size(); ++i) {
    Input& input = interface.inputs[i];
    PyObject* object = segment.inputs[i].get();
    if (input.kind == InputKind::size) continue;  // its symbol's hint is its value
    input.blob = input.kind == InputKind::scalar ? keep_number(object, input.type.dtype)
                                                 : keep(object, input.type);
  }
  for (std::size_t i = 0; i < interface.outputs.size() && i < segment.outputs.size(); ++i) {
    interface.outputs[i].blob = keep(segment.outputs[i].get(), interface.outputs[i].type);
  }
}

/// The hash under which the tensor's elements are kept, or empty.
std::string DocumentSink::keep(PyObject* tensor, const TensorType& type) {
  return store_ ? hash_or_loss(keep_tensor(*store_, tensor, type)) : std::string();
}

/// A number is kept as a tensor without dims.
std::string DocumentSink::keep_number(PyObject* number, DType dtype) {
  if (!store_) return {};
  double real = 0;
  std::int64_t whole = 0;
  formats::TensorBytes bytes{"data", dtype, {}, {}};
  if (is_floating(dtype)) {
    real = PyFloat_AsDouble(number);
    bytes.bytes = {reinterpret_cast<const char*>(&real), sizeof real};
  } else {
    whole = PyLong_AsLongLong(number);
    bytes.bytes = {reinterpret_cast<const char*>(&whole), sizeof whole};
  }
  return put(bytes);
}

std::string DocumentSink::put(const formats::TensorBytes& bytes) {
  return hash_or_loss(formats::put_tensor(*store_, bytes));
}

/// Behind the first failure no more tensors are kept.
std::string DocumentSink::hash_or_loss(Result<std::string> hash) {
  if (hash) return *hash;
  lose(hash.error());
  store_.reset();
  return {};
}

void DocumentSink::write(const formats::Document& document) {
  if (descriptor_ < 0 || gone_ || owner_ != getpid()) return;
  if (auto written = writer_.write(document); !written) {
    gone_ = true;
    if (errno == EPIPE) return;  // the reader has seen enough
    lose(written.error());
  }
}

}  // namespace penstock::tools
