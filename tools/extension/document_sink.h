#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <utility>

#include "capture/entry_table.h"
#include "formats/safetensors.h"
#include "formats/stream.h"
#include "ir/backend_event.h"
#include "jit/gate/entry_count.h"
#include "python/mode.h"
#include "tools/common/capture_counts.h"
#include "tools/common/progress.h"
#include "tools/extension/process_trace.h"

namespace penstock::tools {

/// Writes the documents of a run as they come to the setting "output-descriptor", counts in the
/// memory shared with the launcher, and keeps tensors in the store. After a fork the child writes
/// nothing. Its settings: "encoding" (json, pretty, cbor), "directory" (files below it are written
/// relative to it), "store", "no-tensors", "required" and "quiet".
class DocumentSink final : public capture::GraphSink, public capture::EventSink {
 public:
  explicit DocumentSink(const python::Settings& settings);

  /// Somebody reads what is written.
  bool writes() const { return descriptor_ >= 0; }
  bool keeps_tensors() const { return store_.has_value(); }

  void captured(const record::CapturedSegment& segment) override { record(segment); }
  void used(EntryId id) override;
  void declines(const Diagnostic& why) override;
  void broke(const BreakEvent& event) override;
  void skipped(const SkipEvent& event) override;
  void recompiled(const RecompileEvent& event) override;
  void restarted(const RestartEvent& event) override;
  bool meters_roots() const override { return writes() || trace_.active(); }
  bool times_every_root() const override { return trace_.active(); }
  void left_root(const capture::RootTotals& totals) override;
  void ran(const capture::Stretch& stretch) override;
  bool shows_work() const override { return shows_work_; }
  void works_on(const std::string& what) override { progress_.begins(what); }
  void worked() override { progress_.ends(); }

  void chose(const BackendEvent& event);
  /// Adds time spent on compiling.
  void compiled(std::chrono::nanoseconds spent);
  /// Writes a new entry's graph. Where its calls are counted; null: there is no place left.
  jit::EntryCount* record(const record::CapturedSegment& segment);

 private:
  void keep_span(const capture::Stretch& stretch);
  jit::EntryCount* count_entry(const Graph& graph);
  void check_rules(const Graph& graph);
  void keep_tensors(const record::CapturedSegment& segment, Interface& interface);
  std::string keep(PyObject* tensor, const TensorType& type);
  std::string keep_number(PyObject* number, DType dtype);
  std::string put(const formats::TensorBytes& bytes);
  std::string hash_or_loss(Result<std::string> hash);
  void write(const formats::Document& document);
  void lose(const Diagnostic& why);

  CaptureCounts* counts_;  ///< in memory of its own behind a fork (extension.cpp)
  int descriptor_;
  bool fullgraph_;   ///< every break is an error, told at once
  bool self_check_;  ///< rules are compared with what ops gave
  bool shows_work_;  ///< on the terminal
  bool required_;    ///< a program that would run plainly is ended
  bool quiet_;
  pid_t owner_;  ///< after a fork the child writes nothing
  bool gone_ = false;
  std::optional<store::Store> store_;
  formats::DocumentWriter writer_;
  std::map<std::pair<std::int32_t, std::int32_t>, jit::EntryCount*> rows_;
  Progress progress_;
  ProcessTrace& trace_ = ProcessTrace::get();
  std::pair<EntryId, jit::EntryCount*> last_row_{{-1}, nullptr};  ///< that ran() found
};

}  // namespace penstock::tools
