#include "tools/extension/jit_mode.h"

#include <fmt/format.h>
#include <stdio.h>
#include <unistd.h>

#include <charconv>

#include "jit/pipeline_compiler.h"
#include "jit/session.h"
#include "python/hook.h"

namespace penstock::tools {
namespace {

using python::Settings;

constexpr int kInternalError = 5;

/// Says once per function that penstock gave something up; under --strict that ends the program.
class Reporter {
 public:
  explicit Reporter(const Settings& settings)
      : quiet_(settings.get("quiet") == "1"), strict_(settings.get("strict") == "1") {}

  void operator()(const Diagnostic& diagnostic) const {
    const CodeFacts& row = facts(diagnostic.code);
    std::string where;
    if (diagnostic.location) {
      where = fmt::format("{}:{}: ", diagnostic.location->file, diagnostic.location->line);
    }
    const bool limit = diagnostic.code == Code::PS0502;
    if (!quiet_ || strict_) {
      fmt::print(stderr, "penstock: {}{}[{}]: {}\n", where, strict_ && !limit ? "error" : "warning",
                 row.id, diagnostic.message);
    }
    if (!strict_ || limit) return;
    fflush(nullptr);
    _exit(kInternalError);
  }

 private:
  bool quiet_;
  bool strict_;
};

/// The walker with the session that it serves.
class JitDriver final : public python::FrameDriver {
 public:
  explicit JitDriver(std::unique_ptr<jit::Session> session) : session_(std::move(session)) {}

  Result<void> start(const Settings& settings) {
    auto walker = session_->make_driver(settings);
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
  std::unique_ptr<jit::Session> session_;
  std::unique_ptr<python::FrameDriver> walker_;
};

Result<std::unique_ptr<python::FrameDriver>> start_jit(const Settings& settings) {
  auto compiler = jit::PipelineCompiler::create(std::string(settings.get("store")), {});
  if (!compiler) return tl::unexpected(compiler.error());
  auto sink = std::make_unique<capture::EventSink>();
  jit::ClientOptions options;
  options.report = Reporter(settings);
  auto driver = std::make_unique<JitDriver>(std::make_unique<jit::Session>(
      std::move(*compiler), std::move(sink), std::move(options)));
  if (auto started = driver->start(settings); !started) return tl::unexpected(started.error());
  return driver;
}

}  // namespace

python::Mode jit_mode() {
  return {"jit", "tensor code is compiled while the program runs", start_jit, nullptr};
}

}  // namespace penstock::tools
