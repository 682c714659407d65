#include "record/verdict.h"

#include "policy/roots.h"
#include "python/literal.h"
#include "record/polyfills.h"
#include "record/walk.h"

namespace penstock::record {

namespace {

/// True where torch's own Python code runs: TorchDynamo does not look into most of it, so a graph
/// can hold its call.
bool is_inside_torch(const FrameShadow* f) {
  while (f != nullptr && f->caller != nullptr && is_polyfill(f->frame->globals())) f = f->caller;
  return f != nullptr && f->frame != nullptr &&
         policy::module_name(f->frame->globals()).starts_with("torch.");
}

}  // namespace

bool Verdict::broke(Code code, std::string reason, bool anywhere) {
  reason_ = BreakReason{
      code, std::move(reason), false, anywhere && !is_inside_torch(walk_.innermost()), {}};
  return false;
}

bool Verdict::broke(const CallRule& rule, std::string_view name) {
  const bool anywhere = rule.action == CallAction::outside && !is_inside_torch(walk_.innermost());
  reason_ = BreakReason{rule.code, rule.reason_for(name), false, anywhere, rule.text()};
  return false;
}

bool Verdict::break_asked_for() {
  broke(Code::PS0312, "torch._dynamo.graph_break() is called", true);
  reason_.asked_for = true;
  return false;
}

void Verdict::spoil_here(std::string why, Code code) {
  spoil(std::move(why));
  spoil_code_ = code;
  spoiled_at_ = walk_.program_place(walk_.innermost());
}

bool Verdict::end_silently() {
  reason_ = BreakReason{Code::PS0601, {}, true, false, {}};
  return false;
}

}  // namespace penstock::record
