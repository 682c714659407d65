#pragma once

#include <string>

#include "diag/pass.h"
#include "tools/common/driver.h"

namespace penstock::tools {

/// Serves --time, --print-after, --print-changed, --dump-dir and --verify-each: listens to the
/// passes of one stage.
class PassPrinter : public PassTrace {
 public:
  explicit PassPrinter(Stage& stage) : stage_(stage) {}

  /// The passes that follow work on graph `name` ("0/0"), which reads `text` before the first one.
  void begin(std::string name, const std::function<std::string()>& text);
  void after(const PassFacts& pass, std::chrono::nanoseconds time,
             const std::function<std::string()>& text) override;
  bool verifies() const override { return stage_.settings().verify_each; }

 private:
  bool prints_anything() const;

  Stage& stage_;
  std::string graph_;
  std::string last_;          ///< the text after the pass before, kept for --print-changed
  int sequence_ = 0;          ///< numbers the files of --dump-dir
  bool dump_failed_ = false;  ///< once is enough to tell of it
};

}  // namespace penstock::tools
