#include "capture/tier_up.h"

#include <doctest/doctest.h>

#include <tuple>
#include <utility>

using penstock::capture::RootHistory;
using penstock::capture::TierUp;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

namespace {

/// A process that has used so much processor time.
struct Process {
  nanoseconds used = seconds(1000);
  TierUp policy{[this] { return used; }};

  /// The root is called until it pays; how many calls Python ran.
  int calls_until_hot(RootHistory& root, nanoseconds takes, std::int64_t ops,
                      int most = 1'000'000) {
    for (int call = 0; call < most; ++call) {
      if (!TierUp::looks_at(root)) continue;
      if (policy.pays(root)) return call;
      if (TierUp::counts(root))
        policy.ran(root, takes, root.ops < 0 ? std::optional(ops) : std::nullopt);
    }
    return most;
  }
};

}  // namespace

TEST_CASE("a root that is called once never pays, however long it took") {
  Process process;
  RootHistory root;
  CHECK(TierUp::looks_at(root));
  CHECK_FALSE(TierUp::counts(root));
  CHECK_FALSE(process.policy.pays(root));
}

TEST_CASE("a root pays once an eighth of its calls' time is what compiling takes") {
  for (const auto& [takes, ops] : {std::pair(nanoseconds(milliseconds(10)), 10),
                                   {milliseconds(100), 100},
                                   {milliseconds(1), 3}}) {
    Process process;
    RootHistory root;
    const int calls = process.calls_until_hot(root, takes, ops);
    const nanoseconds wanted = process.policy.price(ops) * TierUp::kSavedOneIn;
    // One call is not timed, and of the last ones not each is looked at.
    CHECK(takes * (calls - 1) >= wanted);
    CHECK(takes * (calls - 1) <= wanted * 5 / 4 + takes);
  }
}

TEST_CASE("of short ops more is saved, half of their time at most") {
  for (const auto& [takes, ops, one_in] : {std::tuple(milliseconds(2), 250, 4.0),
                                           {milliseconds(2), 1000, 2.0},
                                           {milliseconds(20), 250, 8.0}}) {
    Process process;
    RootHistory root;
    const int calls = process.calls_until_hot(root, takes, ops);
    const nanoseconds wanted =
        std::chrono::duration_cast<nanoseconds>(process.policy.price(ops) * one_in);
    CHECK(takes * (calls - 1) >= wanted * 9 / 10);
    CHECK(takes * (calls - 1) <= wanted * 5 / 4 + takes);
  }
}

TEST_CASE("more ops cost more calls, and longer calls fewer") {
  Process process;
  RootHistory few, many, slow;
  const int calls = process.calls_until_hot(few, milliseconds(1), 5);
  CHECK(process.calls_until_hot(many, milliseconds(1), 50) > 2 * calls);
  CHECK(process.calls_until_hot(slow, milliseconds(10), 5) < calls / 2);
}

TEST_CASE("a root without ops never pays") {
  Process process;
  RootHistory root;
  CHECK(process.calls_until_hot(root, milliseconds(1), 0, 100'000) == 100'000);
}

TEST_CASE("few calls of a root that is far from paying are looked at") {
  Process process;
  RootHistory root;
  int looks = 0;
  for (int call = 0; call < 10'000; ++call) {
    if (!TierUp::looks_at(root)) continue;
    ++looks;
    if (TierUp::counts(root))
      process.policy.ran(root, microseconds(5),
                         root.ops < 0 ? std::optional<std::int64_t>(400) : std::nullopt);
  }
  CHECK(looks < 300);
  CHECK(root.calls >= 9'900);
  // Those that were looked at stand for the others.
  CHECK(root.native > microseconds(5) * 9'800);
  CHECK(root.native < microseconds(5) * 10'200);
}

TEST_CASE("what compiling took here moves the price") {
  Process process;
  const nanoseconds before = process.policy.price(100);
  process.policy.spent(1000, milliseconds(10));  // the store had the code
  CHECK(process.policy.price(100) < before / 5);
  Process slow;
  slow.policy.spent(1000, seconds(20));
  CHECK(slow.policy.price(100) > before * 5);
}

TEST_CASE("recording that gave nothing makes what comes behind it dearer") {
  Process process;
  const nanoseconds before = process.policy.price(10);
  process.policy.spent(0, seconds(1));
  CHECK(process.policy.price(10) > before);
}

TEST_CASE("all that was spent is a share of the process's time at most") {
  Process process;
  process.used = seconds(8);
  RootHistory root;
  process.calls_until_hot(root, milliseconds(100), 10);
  CHECK(process.policy.pays(root));
  process.policy.spent(500, seconds(1));
  root.native = seconds(1000);
  CHECK_FALSE(process.policy.pays(root));
  process.used = seconds(9);
  CHECK(process.policy.pays(root));
}

TEST_CASE("a layer is left to the model around it, until that is given up") {
  Process process;
  RootHistory model, layer;
  model.calls = 100;
  layer.calls = 400;
  layer.ops = 1;
  layer.native = seconds(100);
  CHECK(process.policy.pays(layer));
  TierUp::is_inside(layer, model);
  CHECK_FALSE(process.policy.pays(layer));
  model.state = RootHistory::State::given_up;
  CHECK(process.policy.pays(layer));
}

TEST_CASE(
    "what is inside of a root that needs gradients is left with it, but for what does without") {
  Process process;
  RootHistory model, layer, step;
  model.state = RootHistory::State::given_up;
  model.gradients = model.needs_gradients = layer.gradients = true;
  for (RootHistory* inner : {&layer, &step}) {
    inner->ops = 1;
    inner->native = seconds(100);
    TierUp::is_inside(*inner, model);
  }
  CHECK_FALSE(process.policy.pays(layer));
  CHECK(process.policy.pays(step));
}

TEST_CASE("the ops of a call that goes backward itself are all that there is to compile") {
  const auto pays_after = [](bool within) {
    Process process;
    RootHistory root;
    root.gradients = true;
    root.goes_backward = within;
    root.calls = 10;
    root.native = seconds(1);
    root.ops = 700;
    const nanoseconds measured = milliseconds(100) * TierUp::kMeasuredSteps;
    CHECK(process.policy.price(root) ==
          (within ? process.policy.price(700) + measured
                  : process.policy.price(700 * TierUp::kPasses) + measured * TierUp::kPasses));
    return process.policy.pays_after(root);
  };
  // What is not seen of a backward takes as long as it costs: the same share pays.
  const nanoseconds within = pays_after(true), behind = pays_after(false);
  CHECK(within >= behind);
  CHECK(within <= behind * 11 / 10);
}

TEST_CASE("a step of a long loop is a root of its own") {
  Process process;
  RootHistory loop, step;
  loop.calls = 3;
  step.calls = 600;
  step.ops = 1;
  step.native = seconds(100);
  TierUp::is_inside(step, loop);
  CHECK(process.policy.pays(step));
}

TEST_CASE("what a function that is called once calls is not left to it") {
  Process process;
  RootHistory main, step;
  main.calls = 1;
  step.calls = 5;
  step.ops = 1;
  step.native = seconds(100);
  TierUp::is_inside(step, main);
  CHECK(process.policy.pays(step));
}

TEST_CASE("a hot root is given up where no entry ran in some calls in a row") {
  RootHistory root;
  root.state = RootHistory::State::hot;
  for (int i = 0; i < 100; ++i) {
    CHECK_FALSE(TierUp::ran_hot(root, false));
    CHECK_FALSE(TierUp::ran_hot(root, false));
    CHECK_FALSE(TierUp::ran_hot(root, true));
  }
  int calls = 1;
  while (!TierUp::ran_hot(root, false) && calls < 100) ++calls;
  CHECK(calls == 4);
  CHECK(root.state == RootHistory::State::given_up);
}

TEST_CASE("calls that nobody looks at run without the hook once enough of those seen were quiet") {
  RootHistory root;
  for (int call = 0; call < 7; ++call) TierUp::looked_at(root, true);
  CHECK_FALSE(TierUp::is_quiet(root));
  TierUp::looked_at(root, true);
  CHECK(TierUp::is_quiet(root));
  TierUp::looked_at(root, false);
  CHECK_FALSE(TierUp::is_quiet(root));
}

TEST_CASE("of a quiet root that was given up one call in 32 is looked at, of a busy one each") {
  RootHistory root;
  root.state = RootHistory::State::given_up;
  int looked_at = 0;
  for (int call = 0; call < 8 + 320; ++call) {
    if (!TierUp::looks_at(root)) continue;
    TierUp::looked_at(root, true);
    ++looked_at;
  }
  CHECK(looked_at == 8 + 10);
  while (!TierUp::looks_at(root)) TierUp::ran_unseen(root);
  TierUp::looked_at(root, false);
  CHECK(TierUp::looks_at(root));
}

TEST_CASE(
    "a call that is looked at stands for those since the last one that ran without the hook") {
  RootHistory root;
  CHECK(TierUp::calls_seen_as_one(root) == 1);
  for (int call = 0; call < 31; ++call) TierUp::ran_unseen(root);
  CHECK(TierUp::calls_seen_as_one(root) == 32);
  TierUp::looked_at(root, true);
  CHECK(TierUp::calls_seen_as_one(root) == 1);
}

TEST_CASE("a call that is seen in one of many stands for those in the others too") {
  RootHistory inner;
  CHECK_FALSE(TierUp::counts(inner, 32));
  CHECK(inner.calls == 32);
  inner.weight = 4;
  CHECK(TierUp::counts(inner, 32));
  CHECK(inner.calls == 32 + 4 * 32);
}

TEST_CASE("in gradient mode a root pays later: backward is compiled, and both sides are measured") {
  Process process;
  RootHistory plain, gradients;
  gradients.gradients = true;
  const int calls = process.calls_until_hot(plain, milliseconds(10), 60);
  const int with_backward = process.calls_until_hot(gradients, milliseconds(10), 60);
  CHECK(with_backward > calls);
  CHECK(with_backward < calls * 2);
  CHECK(process.policy.price(gradients) > process.policy.price(plain) * 3);
  // Ops that take long cost as much to measure as they take, however few they are.
  RootHistory slow;
  slow.gradients = true;
  CHECK(process.calls_until_hot(slow, seconds(1), 1) > 3 * TierUp::kSavedOneIn);
}

TEST_CASE("what a GPU does pays sooner, for a call takes what it takes to begin its ops") {
  Process process;
  RootHistory here, there;
  there.on_gpu = true;
  here.gradients = there.gradients = true;
  const int calls = process.calls_until_hot(here, milliseconds(10), 180);
  const int on_gpu = process.calls_until_hot(there, milliseconds(10), 180);
  CHECK(on_gpu * 3 < calls);
  // Half of that is taken to be saved.
  const nanoseconds price = process.policy.price(there);
  CHECK(milliseconds(10) * (on_gpu - 1) * 3 >= price * 2);
  CHECK(milliseconds(10) * (on_gpu - 1) * 3 <= price * 3);
}

TEST_CASE("a call on a GPU that is as short as an entry's never pays") {
  Process process;
  RootHistory root;
  root.on_gpu = true;
  CHECK(process.calls_until_hot(root, microseconds(45), 1) == 1'000'000);
  RootHistory gradients, longer;
  gradients.on_gpu = longer.on_gpu = gradients.gradients = longer.gradients = true;
  CHECK(process.calls_until_hot(gradients, microseconds(300), 2) == 1'000'000);
  CHECK(process.calls_until_hot(longer, microseconds(300), 6) < 2000);
}

TEST_CASE("libraries that are loaded for a graph of one op are not what ops take") {
  Process process;
  const nanoseconds before = process.policy.price(200);
  for (int i = 0; i < 4; ++i) process.policy.spent(3, milliseconds(300));
  CHECK(process.policy.price(200) < before * 3);
  process.policy.spent(600, seconds(12));
  CHECK(process.policy.price(200) > before * 20);
}

TEST_CASE("what a GPU's entries cost may be half of the process's time") {
  Process process;
  RootHistory root;
  root.on_gpu = true;
  process.used = process.policy.price(100) * 3;
  CHECK(process.calls_until_hot(root, milliseconds(10), 100, 1000) < 1000);
  RootHistory other;
  CHECK(process.calls_until_hot(other, milliseconds(10), 100, 1000) == 1000);
}
