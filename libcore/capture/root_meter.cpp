#include "capture/root_meter.h"

#include <utility>

#include "torch/op_counter.h"

namespace penstock::capture {

void RootMeter::enter(StretchLog& log) {
  on_ = true;
  log_ = &log;
  last_ = {-1};
  totals_ = {};
  inside_ = false;
  ops_ = torch::ops_run();
  factories_ = torch::factory_ops_run();
  entered_ = ended_ = Clock::now();
}

void RootMeter::segment_begins() {
  if (!on_ || inside_) return;
  inside_ = true;
  add_native();
  began_ = Clock::now();
}

void RootMeter::add_native() {
  totals_.native_ops += torch::ops_run() - std::exchange(ops_, torch::ops_run());
  totals_.native_factories +=
      torch::factory_ops_run() - std::exchange(factories_, torch::factory_ops_run());
}

void RootMeter::tell_behind(Stretch::Time now) {
  if (last_.frame >= 0) log_->ran({Stretch::Kind::behind, last_, ended_, now});
  last_ = {-1};
}

void RootMeter::segment_ends(Stretch::Kind kind, EntryId id) {
  if (!inside_) return;
  inside_ = false;
  ops_ = torch::ops_run();
  factories_ = torch::factory_ops_run();
  tell_behind(began_);
  ended_ = Clock::now();
  totals_.in_segments += ended_ - began_;
  log_->ran({kind, id, began_, ended_});
  last_ = id;
}

void RootMeter::segment_was_none() {
  inside_ = false;
}

RootTotals RootMeter::leave() {
  if (!on_) return {};
  const bool inside = inside_;
  if (inside) {
    segment_ends(Stretch::Kind::plain, {-1});
  } else {
    add_native();
  }
  on_ = false;
  const Clock::time_point now = inside ? ended_ : Clock::now();
  tell_behind(now);
  totals_.root = now - entered_;
  totals_.entered = entered_;
  return totals_;
}

}  // namespace penstock::capture
