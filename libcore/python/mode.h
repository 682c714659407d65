#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "diag/diagnostic.h"
#include "python/conductor.h"

namespace penstock::python {

/// What the launcher tells the extension: flat keys ("mode", "only", "output"), see
/// tools/common/launch.h.
class Settings {
 public:
  explicit Settings(std::map<std::string, std::string> values = {}) : values_(std::move(values)) {}
  /// The value of `key`, or `otherwise`.
  std::string_view get(std::string_view key, std::string_view otherwise = {}) const {
    const auto found = values_.find(std::string(key));
    return found == values_.end() ? otherwise : std::string_view(found->second);
  }
  bool has(std::string_view key) const { return values_.count(std::string(key)) != 0; }
  const std::map<std::string, std::string>& values() const { return values_; }

 private:
  std::map<std::string, std::string> values_;
};

/// One way to run a program, chosen by the setting "mode". The extension has a table of these;
/// capture and jit add a row each.
struct Mode {
  std::string_view name;
  std::string_view description;
  /// Makes the driver. Called with the GIL held, after site and before the program. Null driver:
  /// the hook is not installed.
  std::function<Result<std::unique_ptr<FrameDriver>>(const Settings&)> start;
  /// Called once when the interpreter shuts down (atexit, GIL held), before the driver is
  /// destroyed.
  std::function<void(FrameDriver&)> finish;
  /// Without torch on sys.path the mode does not start (PS0113).
  bool needs_torch = false;
};

}  // namespace penstock::python
