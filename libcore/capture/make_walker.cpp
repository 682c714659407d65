#include "capture/walker.h"

namespace penstock::capture {

Result<std::unique_ptr<python::FrameDriver>> make_walker(const python::Settings& settings,
                                                         SegmentClient& client, EventSink& sink) {
  return std::make_unique<Walker>(RootPolicy(std::string(settings.get("only"))), client, sink);
}

}  // namespace penstock::capture
