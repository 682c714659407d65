#include "capture/walker.h"

namespace penstock::capture {

namespace {

DynamicSizes dynamic_sizes(std::string_view choice) {
  if (choice == "all") return DynamicSizes::all;
  return choice == "off" ? DynamicSizes::off : DynamicSizes::automatic;
}

}  // namespace

Result<std::unique_ptr<python::FrameDriver>> make_walker(const python::Settings& settings,
                                                         SegmentClient& client, EventSink& sink) {
  auto callables = Callables::make(std::string(settings.get("rules")));
  if (!callables) return tl::unexpected(std::move(callables.error()));
  std::optional<TierUp> tier_up;
  if (settings.get("compile") == "auto") tier_up.emplace();
  return std::make_unique<Walker>(std::string(settings.get("only")), std::move(*callables),
                                  dynamic_sizes(settings.get("dynamic")), std::move(tier_up), client, sink);
}

}  // namespace penstock::capture
