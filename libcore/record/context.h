#pragma once

#include <Python.h>

#include <optional>
#include <string_view>
#include <vector>

#include "record/frame_shadow.h"
#include "record/torch_plan.h"
#include "torch/autocast.h"
#include "torch/compile_region.h"

namespace penstock::record {

class Walk;

/// A context variable that the segment has set and not reset.
struct OpenContext {
  python::PyRef variable, token;
  Shadow value;
  python::PyRef value_object;
  RaisePlace place;  ///< of the call that set it
};

/// The state of the process that a segment runs in: gradient mode, torch's settings, context
/// variables.
class Context {
 public:
  Context(Walk& walk, bool runs);

  void guard_grad_mode();
  /// How ops are cast where the segment runs; nothing: they are not.
  std::optional<torch::Autocast> autocast() const { return autocast_; }
  /// A region of autocasting is about to begin (1) or to end (-1). False: it did not begin here.
  bool nests_autocast(int step);
  /// Where the outermost region began that the segment leaves open, if there is one.
  std::optional<RaisePlace> open_autocast() const;
  /// The instruction is about to set gradient mode.
  bool sets_grad_mode(bool enabled);
  /// The instruction, in the segment's own frame, behind which gradient mode differs from that at
  /// the start; no code where none is known. Nothing when it does not differ.
  std::optional<RaisePlace> grad_mode_change() const;
  /// Guards what NAME() of the module answers. False with the reason if it cannot be asked.
  bool guard_setting(std::string_view name, std::string_view module = "torch._C");
  /// Guards the settings that a result follows: the default dtype where its dtype comes from it (it
  /// is floating and no operand is), and for memory that is not filled that torch does not fill it
  /// either, as it does for use_deterministic_algorithms(True). Ends the segment's use where one
  /// cannot be guarded.
  void guard_settings_of(const PlannedNode& node, const TensorType& result);

  /// Context variables that are set, the last one behind the others.
  std::vector<OpenContext>& variables() { return variables_; }
  /// The first call that set a context variable and whose token nobody holds: what is behind the
  /// segment could not set it again.
  std::optional<RaisePlace> lost_variable() const;

  bool compiling_at_start() const { return compiling_at_start_; }
  /// The segment is recorded to be run: where torch does something faster by itself, that is left
  /// to it. False: its graph is what is asked for.
  bool runs() const { return runs_ && !for_backend_; }
  /// A function of the program's gets the graph and runs its calls: what penstock cannot compile
  /// may be in it.
  bool for_backend() const { return for_backend_; }
  /// for_backend(): the state of torch's generator of random numbers at the segment's start.
  python::PyRef random_state() const { return random_state_; }

 private:
  void guard_autocast();
  bool guard_default_dtype(const PlannedNode& node, const TensorType& result);
  Walk& walk_;
  std::vector<OpenContext> variables_;
  bool runs_;
  std::optional<torch::Autocast> autocast_ = torch::autocast_state();
  int autocast_depth_ = 0;     ///< regions that began here and have not ended
  RaisePlace autocast_began_;  ///< the first of them, in the segment's own frame
  bool grad_guarded_ = false;
  bool grad_at_start_ = false;
  RaisePlace last_grad_change_;  ///< in the segment's own frame
  bool compiling_at_start_ = torch::in_compiled_region();
  bool for_backend_ = torch::region_backend() != nullptr;
  python::PyRef random_state_;
};

}  // namespace penstock::record
