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
  return std::make_unique<Walker>(RootPolicy(std::string(settings.get("only"))),
                                  dynamic_sizes(settings.get("dynamic")), client, sink);
}

}  // namespace penstock::capture
