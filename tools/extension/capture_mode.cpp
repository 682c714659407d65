// Mode capture: runs the program, records its segments, and writes them as documents.

#include "tools/extension/capture_mode.h"

#include <fmt/format.h>

#include "capture/entry_table.h"
#include "jit/guarded_driver.h"
#include "python/hook.h"
#include "tools/extension/document_sink.h"

namespace penstock::tools {
namespace {

using python::Settings;

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
  return std::make_unique<jit::GuardedDriver>(std::move(driver), [](const std::string& what) {
    fmt::print(stderr, "penstock: warning[PS0601]: {}; nothing more is captured\n", what);
  });
}

}  // namespace

python::Mode capture_mode() {
  return {"capture", "tensor code is recorded as graphs and written as documents", start_capture,
          [](python::FrameDriver&) {
            python::remove_hook();
            ProcessTrace::get().finish();
          },
          true};
}

}  // namespace penstock::tools
