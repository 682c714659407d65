#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "policy/callables.h"
#include "record/shadow.h"

namespace penstock::record {

class Walk;

/// Why an instruction cannot be part of a segment.
struct BreakReason {
  Code code = Code::PS0601;
  std::string reason;
  bool silent = false;  ///< the segment ends as designed; it is no break to report
  /// No graph can go on here, whoever makes it: what fullgraph=True raises for.
  bool anywhere = false;
  std::string rule = {};   ///< on callables, where one decided; as reports name it
  bool asked_for = false;  ///< by torch._dynamo.graph_break()
};

/// How a recording ends: why it goes no further, and whether what was recorded may be used.
class Verdict {
 public:
  explicit Verdict(const Walk& walk) : walk_(walk) {}

  /// The instruction ends the segment, for this reason. Always false, as the rule then answers.
  bool broke(Code code, std::string reason, bool anywhere = false);
  /// A rule ends the segment at the call of `name`.
  bool broke(const CallRule& rule, std::string_view name);
  bool end_silently();
  /// The program calls torch._dynamo.graph_break().
  bool break_asked_for();
  const BreakReason& reason() const { return reason_; }
  /// An attempt has failed that was one of several: the reason is again what it was before.
  void take_back(BreakReason before) { reason_ = std::move(before); }

  /// Something happened that no rule foresaw: what was recorded must not be used.
  void spoil(std::string why) { spoiled_ = std::move(why); }
  /// The same, and the next segment has to end before that instruction.
  void spoil(std::string why, RaisePlace end_before) {
    end_before_ = end_before;
    spoil(std::move(why));
  }
  /// The same, for the instruction that is executing: it made a tensor which no graph can hold.
  void spoil_here(std::string why, Code code = Code::PS0303);
  /// The same, for what need not happen again: the next recording of it may be right.
  void spoil_once(std::string why) {
    recurs_ = false;
    spoil(std::move(why));
  }
  /// Whether the next recording would be spoiled alike.
  bool recurs() const { return recurs_; }
  bool spoiled() const { return !spoiled_.empty(); }
  const std::string& spoiled_by() const { return spoiled_; }
  Code spoil_code() const { return spoil_code_; }
  const std::optional<RaisePlace>& spoiled_at() const { return spoiled_at_; }
  /// The instruction before which a spoiled segment has to end the next time: gradient mode would
  /// differ behind it, or what it runs could not be made real. No code when it was something else.
  RaisePlace must_end_before() const { return spoiled() ? end_before_ : RaisePlace{}; }

 private:
  const Walk& walk_;
  BreakReason reason_;
  std::string spoiled_;
  bool recurs_ = true;
  std::optional<RaisePlace> spoiled_at_;
  Code spoil_code_ = Code::PS0303;  ///< of the break there
  RaisePlace end_before_;
};

}  // namespace penstock::record
