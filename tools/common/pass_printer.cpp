#include "tools/common/pass_printer.h"

#include <fmt/format.h>

#include <algorithm>

#include "diag/render.h"

namespace penstock::tools {

bool PassPrinter::prints_anything() const {
  const Settings& settings = stage_.settings();
  return settings.print_changed || !settings.print_after.empty() || !settings.dump_dir.empty();
}

void PassPrinter::begin(std::string name, const std::function<std::string()>& text) {
  graph_ = std::move(name);
  if (stage_.settings().print_changed) last_ = text();
}

void PassPrinter::after(const PassFacts& pass, std::chrono::nanoseconds time,
                        const std::function<std::string()>& text) {
  stage_.add_time(pass.name, time);
  if (!prints_anything()) return;
  std::string now = text();
  bool changed = now != last_;
  bool asked = stage_.prints_after(pass.name);
  if (asked || (stage_.settings().print_changed && changed)) {
    stage_.print(printable(fmt::format("// [{}] after {}\n{}", graph_, pass.name, now)));
  }
  std::string graph = graph_;
  std::replace(graph.begin(), graph.end(), '/', '_');
  if (!dump_failed_) {
    Result<void> dumped =
        stage_.dump(fmt::format("{:03}-{}-{}.txt", sequence_++, graph, pass.name), now);
    dump_failed_ = !dumped;
    if (!dumped) {
      Diagnostic why = std::move(dumped.error());
      why.hint = "Name another folder with --dump-dir, or free space.";
      stage_.report(why);
    }
  }
  last_ = std::move(now);
}

}  // namespace penstock::tools
