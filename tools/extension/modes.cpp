#include "tools/extension/modes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "capture/torture.h"
#include "policy/explain_rule.h"
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

DriverResult start_torture(const Settings& settings) {
  return capture::make_torture(settings);
}

/// Writes which rule is for the callable that is asked for; the program itself does nothing.
DriverResult start_explain(const Settings& settings) {
  if (const std::string folder(settings.get("directory")); !folder.empty()) {
    PyObject* path = PySys_GetObject("path");
    const python::PyRef entry = python::PyRef::steal(PyUnicode_DecodeFSDefault(folder.c_str()));
    if (path == nullptr || !PyList_Check(path) || !entry || PyList_Insert(path, 0, entry.get()) < 0)
      PyErr_Clear();
  }
  auto text = policy::explain_rule(std::string(settings.get("explain")),
                                   std::string(settings.get("rules")));
  if (!text) return tl::unexpected(std::move(text.error()));
  const int output = std::atoi(std::string(settings.get("output-descriptor", "-1")).c_str());
  if (dprintf(output, "%s", text->c_str()) < 0) {
    return failure(Code::PS0103, std::string("cannot write the output: ") + strerror(errno));
  }
  return nullptr;
}

}  // namespace

std::span<const python::Mode> modes() {
  static const python::Mode table[] = {
      {"idle", "the hook is installed and leaves every frame alone", start_idle, nullptr},
      {"conduct", "every frame is conducted, instruction by instruction", start_conduct, nullptr},
      {"explain", "the rule for one callable is told", start_explain, nullptr},
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
