#include "tools/extension/modes.h"

#include "capture/torture.h"
#include "python/harness.h"
#include "tools/extension/capture_mode.h"
#include "tools/extension/jit_mode.h"

namespace penstock::tools {
namespace {

using python::FrameDriver;
using python::HarnessDriver;
using python::HarnessPlan;
using python::Settings;
using DriverResult = Result<std::unique_ptr<FrameDriver>>;

/// Leaves every frame to the evaluator: what the hook itself costs and changes.
class IdleDriver final : public FrameDriver {
 public:
  python::Entry enter(python::Frame&) override { return python::Entry::native; }
  python::Directive instruction(python::Frame&, const python::Instruction&) override {
    return python::Directive::exit;
  }
};

DriverResult start_idle(const Settings&) {
  return std::make_unique<IdleDriver>();
}

DriverResult start_conduct(const Settings& settings) {
  auto driver = std::make_unique<HarnessDriver>();
  HarnessPlan plan;
  if (settings.has("random-exit")) {
    plan.random_exit =
        static_cast<std::uint32_t>(std::atoi(std::string(settings.get("random-exit")).c_str()));
  }
  plan.windows = settings.get("windows") == "1";
  plan.exit_when_raised = settings.get("exit-when-raised") == "1";
  driver->set_plan(plan);
  return driver;
}

DriverResult start_torture(const Settings&) {
  return capture::make_torture();
}

}  // namespace

std::span<const python::Mode> modes() {
  static const python::Mode table[] = {
      {"idle", "the hook is installed and leaves every frame alone", start_idle, nullptr},
      {"conduct", "every frame is conducted, instruction by instruction", start_conduct, nullptr},
      {"torture", "every frame is conducted and walked symbolically", start_torture, nullptr},
      capture_mode(),
      jit_mode(),
      harness_mode(),
  };
  return table;
}

const python::Mode* find_mode(std::string_view name) {
  for (const python::Mode& mode : modes()) {
    if (mode.name == name) return &mode;
  }
  return nullptr;
}

}  // namespace penstock::tools
