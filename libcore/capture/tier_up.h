#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "capture/root_trial.h"
#include "diag/diagnostic.h"

// Tier-up: when recording and compiling a root pays.
//
// Problem. Recording a root and compiling its graphs takes milliseconds for each op, which are lost
// where the root is called once or a few times, and nobody knows beforehand how often it will be
// called.
//
// Idea. This is ski rental: plain Python is rented, a compiled entry is bought. Whoever buys as
// soon as the rent paid so far has reached the price never pays more than twice what would have
// been best. The rent is what compiled calls would have saved, for which a fixed share of the time
// that the root has taken natively stands; the price is what so many ops take to record and
// compile, as measured in this process as it goes on, from a start value. Where the store has the
// code already, the price falls with the first root that is compiled.
//
// Evidence must cost nothing beside the calls that it is of. The first call is not timed: it
// imports, allocates and plans what no later call does. In the second one ops are counted. A root
// that is far from its price is looked at in every so many calls only, each of which stands for the
// others.
//
// Roots are nested: a model and its layers are called equally often. Buying the layers first would
// cut the model's graph into pieces, so that a root leaves the purchase to the one around it,
// unless that one is called much less often and is too much for one graph (a loop over batches, a
// generation). Where gradients were needed and not compiled, torch runs the root, and all that is
// inside of it. The turn of a loop that goes backward behind the loops inside it is around these.
//
// Where calls are made in gradient mode, backward is compiled and gained from too. Neither is seen
// in the call: an op stands for so many (a backward computes two gradients for most), and so does
// the time; and measuring both sides of a backward takes some steps of plain Python's. Where the
// call goes backward itself, as a whole step does, its ops and its time hold all of that already.
//
// A GPU's ops return before they are done, so that what a call takes is what Python and torch take
// to begin them, and an entry begins them all at once: it saves most of that, but takes a time of
// its own, whatever the ops. What is as short as that is never bought. Which ops are a GPU's is not
// asked: in a process that uses one they are taken to be.
//
// Mistakes are bounded. All purchases together, those included that gave nothing (a walk that broke
// at once, an entry that the gate refused, sizes that never came again), may not take a larger
// share of the processor time of the process than a root has to pay for itself.

namespace penstock::capture {

/// What the native calls of one root have taken.
struct RootHistory {
  using Nanoseconds = std::chrono::nanoseconds;
  enum class State : std::uint8_t {
    cold,      ///< plain Python runs it, and is timed
    hot,       ///< it is recorded, and entries run it
    given_up,  ///< plain Python runs it: what was recorded was of no use
  };
  State state = State::cold;
  std::int64_t calls = 0;  ///< that plain Python has run, or has begun to
  std::int64_t ops = -1;   ///< that a call runs; -1: they were not counted yet
  Nanoseconds native{
      0};          ///< the calls behind the first one, what recorded roots inside took left out
  int skip = 0;    ///< of the next calls nobody looks at so many
  int weight = 1;  ///< calls that the next one looked at stands for
  bool on_gpu = false;           ///< its ops may be a GPU's
  bool gradients = false;        ///< the calls are made in gradient mode
  bool needs_gradients = false;  ///< what was recorded of it does: so will what is inside
  bool goes_backward = false;    ///< torch goes backward within its calls: its ops are among theirs
  bool gathers = false;          ///< of a loop's turn: and behind the turns of the loops inside it
  int useless = 0;               ///< calls in a row in which it was hot and no entry ran
  std::int64_t unseen = 0;       ///< calls without the hook since one was looked at
  int quiet = 0;                 ///< calls in a row that were looked at and were plain Python alone
  RootTrial trial;               ///< once it is hot
  /// Of its calls those that are not compared, as they did in vain what later ones do not.
  int learned = 0;
  int waited = 0;             ///< and as entries were waited for, or segments measured
  int waiting = 0;            ///< turns in a row in which it was hot and no entry ran
  bool of_optimizer = false;  ///< code of an optimizer: it is left to Python
  const RootHistory* outer =
      nullptr;  ///< the outermost one around it that it was seen in and may wait for
  // For reports, where there are any:
  std::string name;
  std::optional<Location> location;
};

/// Decides when roots are recorded.
class TierUp {
 public:
  using Nanoseconds = RootHistory::Nanoseconds;
  /// The processor time of the process so far. Tests have their own.
  using Clock = std::function<Nanoseconds()>;

  /// The share of the native time that compiled calls are taken to save at least: one in so many.
  static constexpr std::int64_t kSavedOneIn = 8;
  /// How often an op's work is done where gradients are computed: forward, and twice in backward.
  static constexpr std::int64_t kPasses = 3;
  /// Steps that measuring a backward takes.
  static constexpr std::int64_t kMeasuredSteps = 3;

  /// A root of which every call learns something is compared all the same, behind so many.
  static constexpr int kMostLearned = 48;
  /// One in whose every call an entry is waited for, or a segment measured, likewise: the verdict
  /// of neither may come before long, and what stands between segments may be dear meanwhile.
  static constexpr int kMostWaited = 64;

  explicit TierUp(Clock used = processor_time) : used_(std::move(used)) {}

  /// `root` was given up; null: it is none yet.
  static bool is_given_up(const RootHistory* root);
  /// A call of the root begins. True: plain Python runs it, and nobody looks at it.
  static bool passes_by(RootHistory* root);
  /// A call of a cold root begins. False: nobody looks at it.
  static bool looks_at(RootHistory& root);
  /// The call that looks_at() was true for runs natively: counts it, for as many calls of what is
  /// around it as `around` says. True if it is to be timed.
  static bool counts(RootHistory& root, std::int64_t around = 1);
  /// A native call that looks_at() was true for ended. `quiet`: no entry ran in it, and nothing of
  /// torch.compile. Before ran().
  static void looked_at(RootHistory& root, bool quiet);
  /// Calls of the root that nobody looks at may run without the hook, and all inside them.
  static bool is_quiet(const RootHistory& root);
  /// A call that nobody looks at runs without the hook: what it calls is not seen.
  static void ran_unseen(RootHistory& root) { ++root.unseen; }
  /// For how many calls one that is seen inside a looked-at call of `root` stands.
  static std::int64_t calls_seen_as_one(const RootHistory& root) { return root.unseen + 1; }
  /// The root was given up, and ran ops before that: what plain Python does in it takes long enough
  /// for the hook to be felt.
  static bool may_be_unhooked(const RootHistory& root) {
    return root.state == RootHistory::State::cold || root.ops > 0 || root.of_optimizer;
  }
  /// The call ended; `ops`: how many it ran, where they were counted.
  void ran(RootHistory& root, Nanoseconds time, std::optional<std::int64_t> ops) const;
  /// Recording it now pays.
  bool pays(const RootHistory& root) const;
  /// `inner` was called inside of `outer`. Told from outside to inside.
  static void is_inside(RootHistory& inner, const RootHistory& outer);
  /// A call of a hot root ended; `useful`: an entry ran in it, or was made. True if the root is
  /// given up.
  static bool ran_hot(RootHistory& root, bool useful);

  /// Why a root that is cold is not recorded, for a report.
  std::string why_cold(const RootHistory& root) const;

  /// So many ops were recorded and compiled.
  void spent(std::int64_t ops, Nanoseconds time);
  /// What recording and compiling so many ops takes.
  Nanoseconds price(std::int64_t ops) const;
  /// What the root's takes, and what measuring it does.
  Nanoseconds price(const RootHistory& root) const;
  /// Compiled calls of the root are taken to save one in so many of its nanoseconds.
  static double saved_one_in(const RootHistory& root);
  /// The native time behind which it pays.
  Nanoseconds pays_after(const RootHistory& root) const;

 private:
  static Nanoseconds processor_time();

  Clock used_;
  Nanoseconds spent_{0}, ops_took_{0};
  std::int64_t ops_ = 0;
};

}  // namespace penstock::capture
