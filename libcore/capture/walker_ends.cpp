// Where a segment ends that cannot end where it had to: before what is under way there and could
// not go on behind it.

#include "capture/walker.h"
#include "record/polyfills.h"

namespace penstock::capture {

using python::PyRef;
using record::BreakReason;
using record::RaisePlace;

void Walker::end_before(const RaisePlace& place, BreakReason reason) {
  if (!ends_before_.contains(place)) end_before_now(place, std::move(reason));
}

void Walker::end_before_now(const RaisePlace& place, BreakReason reason) {
  codes_with_ends_.try_emplace(place.code, PyRef::borrow(reinterpret_cast<PyObject*>(place.code)));
  ends_before_.insert_or_assign(place, std::move(reason));
}

Walker::Ends::const_iterator Walker::known_end(const Region& region, const record::FrameShadow& f,
                                               const python::Instruction& instruction) const {
  if (ends_before_.empty()) return ends_before_.end();
  RaisePlace place{f.frame->code(), instruction.offset, 0};
  for (const std::size_t path :
       {std::size_t{0}, f.path,
        place.within(region.start->frame->code(), region.trial_unit).path}) {
    place.path = path;
    if (const auto end = ends_before_.find(place); end != ends_before_.end()) return end;
  }
  return ends_before_.end();
}

bool Walker::ends_earlier(const record::Walk& walk) {
  const auto open = walk.open_handlers();
  for (const RaisePlace& place : open) {
    end_before_now(place, {Code::PS0311, "the exception raised here is needed behind the segment"});
  }
  const auto end_where_open = [&](const std::optional<RaisePlace>& place, const char* meanwhile) {
    if (!place) return;
    BreakReason reason = walk.verdict.reason();
    if (reason.silent) reason = {Code::PS0303, "a loop"};
    reason.reason += meanwhile;
    end_before_now(*place, std::move(reason));
  };
  const auto constructor = walk.open_constructor(), context = walk.context.lost_variable();
  const auto polyfill = record::open_polyfill(walk.innermost());
  end_where_open(polyfill, "");
  end_where_open(constructor, " (inside the call here, which makes an object)");
  end_where_open(context, " (while a context variable is set here whose token nothing holds)");
  return polyfill || constructor || context || !open.empty();
}

/// Leaves an operator of control flow, in a function of which the walk is, to torch: nothing of the
/// function is left.
python::Directive Walker::abandon(Region& region, BreakReason reason) {
  if (const auto place = record::open_polyfill(region.walk->innermost())) {
    const std::string what = region.walk->recorder.subgraphs.what();
    if (reason.reason.find(what.substr(what.rfind(' ') + 1)) == std::string::npos)
      reason.reason += " (in " + what + ")";
    reason.anywhere = false;
    end_before_now(*place, std::move(reason));
  }
  region.trial = true;  // the next recording ends earlier: there is nothing to tell
  drop(region);
  record::set_abandoned();
  return python::Directive::raised;
}

}  // namespace penstock::capture
