// One pass of a stage: what is asked before it, and what is told and verified behind it.
#include "diag/pass.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace penstock {
namespace {

constexpr PassFacts kPass = {"fold-things", "Fold things"};

/// Notes the passes that it is told about.
class NotingTrace final : public PassTrace {
 public:
  explicit NotingTrace(bool verifies) : verifies_(verifies) {}
  void after(const PassFacts& pass, std::chrono::nanoseconds time,
             const std::function<std::string()>& text) override {
    CHECK(time.count() >= 0);
    told.push_back(std::string(pass.name) + ": " + text());
  }
  bool verifies() const override { return verifies_; }

  std::vector<std::string> told;

 private:
  bool verifies_;
};

Result<void> run(PassRunner& runner, const Result<void>& pass, const Result<void>& verified) {
  return runner.run(
      kPass, [&] { return pass; }, [] { return std::string("text"); }, [&] { return verified; });
}

TEST_CASE("what a pass breaks is told with its name, where that is asked for") {
  const Result<void> broken = failure(Code::PS0205, "a loop ends nowhere", "graph 0/0");
  NotingTrace silent(false), asked(true);
  PassRunner trusting(silent, nullptr), verifying(asked, nullptr);
  CHECK(run(trusting, {}, broken));
  CHECK(run(verifying, {}, {}));
  const Result<void> told = run(verifying, {}, broken);
  REQUIRE(!told);
  CHECK(told.error().code == Code::PS0205);
  CHECK(told.error().message == "behind pass fold-things: a loop ends nowhere");
  CHECK(told.error().place == "graph 0/0");
  CHECK(silent.told == std::vector<std::string>{"fold-things: text"});
}

TEST_CASE("nothing is told of a pass that fails, and none runs once the budget is spent") {
  NotingTrace trace(true);
  PassRunner runner(trace, nullptr);
  const Result<void> failed = run(runner, failure(Code::PS0604, "no"), {});
  REQUIRE(!failed);
  CHECK(failed.error().message == "no");
  CHECK(trace.told.empty());
  Budget budget({.seconds = 1e-9, .memory_mebibytes = 0, .code_mebibytes = 0});
  PassRunner limited(trace, &budget);
  bool ran = false;
  const auto pass = [&] { return ran = true, Result<void>(); };
  const auto text = [] { return std::string(); };
  const auto verify = [] { return Result<void>(); };
  const Result<void> spent = limited.run(kPass, pass, text, verify);
  REQUIRE(!spent);
  CHECK(spent.error().code == Code::PS0709);
  CHECK_FALSE(ran);
}

}  // namespace
}  // namespace penstock
