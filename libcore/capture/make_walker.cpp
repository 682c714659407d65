#include "capture/walker.h"
#include "record/declared.h"
#include "record/models.h"
#include "torch/connection.h"

namespace penstock::capture {

using record::DynamicSizes;

namespace {

DynamicSizes dynamic_sizes(std::string_view choice) {
  if (choice == "all") return DynamicSizes::all;
  if (choice == "declared") return DynamicSizes::declared;
  return choice == "off" ? DynamicSizes::off : DynamicSizes::automatic;
}

}  // namespace

Result<std::unique_ptr<python::FrameDriver>> make_walker(const python::Settings& settings,
                                                         SegmentClient& client, EventSink& sink) {
  auto callables = record::callables_with_models(std::string(settings.get("rules")));
  if (!callables) return tl::unexpected(std::move(callables.error()));
  auto declared = parse_declared_sizes(settings.get("dynamic-sizes"));
  if (!declared) return tl::unexpected(std::move(declared.error()));
  record::declare_sizes(std::move(*declared));
  torch::connect_to_python();
  std::optional<TierUp> tier_up;
  if (settings.get("compile") == "auto") tier_up.emplace();
  return std::make_unique<Walker>(std::string(settings.get("only")), std::move(*callables),
                                  dynamic_sizes(settings.get("dynamic")), std::move(tier_up),
                                  client, sink);
}

}  // namespace penstock::capture
