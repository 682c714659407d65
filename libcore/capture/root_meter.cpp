#include "capture/root_meter.h"

#include <utility>

#include "torch/op_counter.h"

namespace penstock::capture {

void RootMeter::enter() {
  on_ = true;
  totals_ = {};
  inside_ = false;
  ops_ = torch::ops_run();
  factories_ = torch::factory_ops_run();
  entered_ = Clock::now();
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

void RootMeter::segment_ends() {
  if (!inside_) return;
  inside_ = false;
  ops_ = torch::ops_run();
  factories_ = torch::factory_ops_run();
  totals_.in_segments += Clock::now() - began_;
}

void RootMeter::segment_was_none() {
  inside_ = false;
}

RootTotals RootMeter::leave() {
  if (!on_) return {};
  if (inside_) {
    segment_ends();
  } else {
    add_native();
  }
  on_ = false;
  totals_.root = Clock::now() - entered_;
  return totals_;
}

}  // namespace penstock::capture
