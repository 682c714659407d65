// Mode capture: runs the program, records its segments, and writes them as documents.

#include "tools/extension/capture_mode.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <optional>

#include "capture/entry_table.h"
#include "capture/literal.h"
#include "formats/safetensors.h"
#include "formats/stream.h"
#include "python/hook.h"
#include "python/tensor_bridge.h"
#include "tools/common/capture_counts.h"
#include "tools/extension/modes.h"

namespace penstock::tools {
namespace {

using python::PyRef;
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
    if (written < 0) return failure(Code::PS0103, "the documents cannot be written");
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

/// Writes documents, and keeps tensors in the store.
class DocumentSink final : public capture::GraphSink, public capture::EventSink {
 public:
  explicit DocumentSink(const Settings& settings)
      : counts_(counts()),
        descriptor_(std::atoi(std::string(settings.get("output-descriptor", "-1")).c_str())),
        tensors_(settings.get("no-tensors") != "1"),
        owner_(getpid()),
        writer_([this](std::string_view bytes) { return write_all(descriptor_, bytes); },
                options(settings)) {
    if (!tensors_) return;
    if (auto store = store::Store::open(std::string(settings.get("store")))) {
      store_.emplace(std::move(*store));
    } else {
      complain(store.error());
    }
  }

  bool keeps_tensors() const { return store_.has_value(); }

  void captured(const capture::CapturedSegment& segment) override {
    formats::GraphDocument document;
    Graph graph = segment.graph;
    if (store_) keep_tensors(segment, graph.interface);
    if (counts_ != nullptr) count_entry(graph);
    document.graph = std::move(graph);
    write(document);
  }
  void used(EntryId id) override {
    if (counts_ == nullptr || owner_ != getpid()) return;
    auto row = rows_.find({id.frame, id.recompile});
    if (row != rows_.end()) ++counts_->entry[row->second].calls;
  }
  void broke(const BreakEvent& event) override {
    if (counts_ != nullptr) ++counts_->breaks;
    write(formats::BreakDocument{event, {}});
  }
  void skipped(const SkipEvent& event) override {
    if (counts_ != nullptr) ++counts_->skips;
    write(formats::SkipDocument{event, {}});
  }
  void recompiled(const RecompileEvent& event) override {
    if (counts_ != nullptr) ++counts_->recompiles;
    write(formats::RecompileDocument{event, {}});
  }

 private:
  static formats::WriteOptions options(const Settings& settings) {
    formats::WriteOptions options;
    const std::string encoding(settings.get("encoding", "json"));
    if (encoding == "cbor") options.encoding = formats::Encoding::cbor;
    if (encoding == "pretty") options.encoding = formats::Encoding::pretty;
    options.tensors = settings.get("no-tensors") != "1";
    options.directory = std::string(settings.get("directory"));
    return options;
  }

  void count_entry(const Graph& graph) {
    ++counts_->graphs;
    if (counts_->entries >= CaptureCounts::kEntries) {
      ++counts_->lost;
      return;
    }
    const EntryId id = graph.interface.id;
    rows_[{id.frame, id.recompile}] = counts_->entries;
    counts_->entry[counts_->entries] = {id.frame, id.recompile,
                                      static_cast<std::uint32_t>(graph.nodes.size()), 1};
    ++counts_->entries;
  }

  void keep_tensors(const capture::CapturedSegment& segment, Interface& interface) {
    const python::HookPause pause;
    for (std::size_t i = 0; i < interface.inputs.size() && i < segment.inputs.size(); ++i) {
      interface.inputs[i].blob = keep(segment.inputs[i].get(), interface.inputs[i].type);
    }
    for (std::size_t i = 0; i < interface.outputs.size() && i < segment.outputs.size(); ++i) {
      interface.outputs[i].blob = keep(segment.outputs[i].get(), interface.outputs[i].type);
    }
  }

  /// The hash under which the tensor's elements are kept, or empty.
  std::string keep(PyObject* tensor, const TensorType& type) {
    auto bridge = python::TensorBridge::get();
    if (!bridge || *bridge == nullptr || !(*bridge)->is_tensor(tensor)) return {};
    PyRef plain = call(tensor, "detach");
    if (plain) plain = call(plain.get(), "cpu");
    if (plain) plain = call(plain.get(), "contiguous");
    python::TensorView view;
    if (!plain || !(*bridge)->read(plain.get(), view)) {
      PyErr_Clear();
      return {};
    }
    formats::TensorBytes bytes{"data", type.dtype, {view.sizes.begin(), view.sizes.end()}, {}};
    std::size_t count = 1;
    for (std::int64_t size : bytes.sizes) count *= static_cast<std::size_t>(size);
    bytes.bytes = {static_cast<const char*>(view.data), count * facts(type.dtype).size};
    auto hash = formats::put_tensor(*store_, bytes);
    if (hash) return *hash;
    complain(hash.error());
    store_.reset();
    return {};
  }

  static PyRef call(PyObject* object, const char* method) {
    return PyRef::steal(PyObject_CallMethod(object, method, nullptr));
  }

  void write(const formats::Document& document) {
    if (descriptor_ < 0 || gone_ || owner_ != getpid()) return;
    if (auto written = writer_.write(document); !written) {
      gone_ = true;
      if (counts_ != nullptr) counts_->failed = 1;
      if (errno != EPIPE) complain(written.error());
    }
  }

  void complain(const Diagnostic& diagnostic) {
    const CodeFacts& row = facts(diagnostic.code);
    fmt::print(stderr, "penstock: warning[{}]: {} {}\n", row.id, diagnostic.message,
               diagnostic.place);
  }

  CaptureCounts* counts_;
  int descriptor_;
  bool tensors_;
  pid_t owner_;  ///< after a fork the child writes nothing
  bool gone_ = false;
  std::optional<store::Store> store_;
  formats::DocumentWriter writer_;
  std::map<std::pair<std::int32_t, std::int32_t>, std::uint32_t> rows_;
};

/// The walker with what it reports to.
class CaptureDriver final : public python::FrameDriver {
 public:
  explicit CaptureDriver(const Settings& settings)
      : sink_(settings), table_(sink_, sink_, sink_.keeps_tensors()) {}

  Result<void> start(const Settings& settings) {
    auto walker = capture::make_walker(settings, table_, sink_);
    if (!walker) return tl::unexpected(walker.error());
    walker_ = std::move(*walker);
    return {};
  }

  python::Entry enter(python::Frame& frame) override { return walker_->enter(frame); }
  python::Directive instruction(python::Frame& frame, const python::Instruction& i) override {
    return walker_->instruction(frame, i);
  }
  bool stepped(python::Frame& frame, const python::Instruction& i, python::Outcome o) override {
    return walker_->stepped(frame, i, o);
  }
  void unwound(python::Frame& frame, int depth) override { walker_->unwound(frame, depth); }
  void leave(python::Frame& frame, python::Leaving how, PyObject* value) override {
    walker_->leave(frame, how, value);
  }

 private:
  DocumentSink sink_;
  capture::EntryTable table_;
  std::unique_ptr<python::FrameDriver> walker_;
};

Result<std::unique_ptr<python::FrameDriver>> start_capture(const Settings& settings) {
  auto driver = std::make_unique<CaptureDriver>(settings);
  if (auto started = driver->start(settings); !started) return tl::unexpected(started.error());
  return driver;
}

}  // namespace

python::Mode capture_mode() {
  return {"capture", "tensor code is recorded as graphs and written as documents", start_capture,
          nullptr, true};
}

}  // namespace penstock::tools
