#include "jit/gate/step_trial.h"

#include <doctest/doctest.h>

#include <deque>
#include <string>
#include <vector>

using namespace penstock;
using jit::Gate;
using jit::StepTrial;
using Verdict = GateReport::Verdict;
using std::chrono::nanoseconds;

namespace {

/// An entry, and how long its call and its backward take on either side.
struct Model {
  std::string name;
  std::int64_t entry = 0, entry_backward = 0, plain = 0, plain_backward = 0;
  std::shared_ptr<Gate> gate;
  GateReport report;
  /// Of calls that nobody went backward from: by whom, and in which round.
  struct Made {
    Gate::Turn by;
    std::uint64_t round;
  };
  std::deque<Made> made;
  int plain_calls = 0;
};

/// A program whose clock stands still but while a model or the engine runs.
class Program {
 public:
  Model& model(std::string name, std::int64_t entry, std::int64_t entry_backward,
               std::int64_t plain, std::int64_t plain_backward) {
    Model& model = models_.emplace_back();
    model = {std::move(name), entry, entry_backward, plain, plain_backward, {}, {}, {}, 0};
    model.gate = std::make_shared<Gate>(model.report, clock());
    trial_.add(model.gate, model.name);
    model.gate->expect_backward();
    return model;
  }

  /// As JitClient does.
  void call(Model& model, const void* thread = nullptr) {
    Gate& gate = *model.gate;
    Gate::Turn by = Gate::Turn::entry;
    if (gate.open()) {
      by = trial_.turn(gate);
      for (auto& [settled, key] : trial_.take_settled()) settled_.push_back(key);
    }
    if (gate.refuses()) by = Gate::Turn::plain;
    model.plain_calls += by == Gate::Turn::plain;
    const bool open = gate.open();
    if (open) trial_.call_begins(gate, thread);
    model.made.push_back({by, open ? trial_.round_of(gate) : 0});
    const nanoseconds time(by == Gate::Turn::entry ? model.entry : model.plain);
    time_ += time;
    if (!open) return;
    by == Gate::Turn::entry ? gate.entry_took(time) : gate.plain_took(time);
    trial_.call_ended(gate, by, time);
  }

  /// The engine goes backward from the oldest calls of these models.
  void backward(const std::vector<Model*>& models) {
    if (engine_is_seen) trial_.engine_begins(nullptr);
    for (Model* model : models) {
      const Model::Made made = model->made.front();
      model->made.pop_front();
      const bool by_entry = made.by == Gate::Turn::entry;
      if (by_entry && model->gate->open()) trial_.node_ran(*model->gate, made.round);
      time_ += nanoseconds(by_entry ? model->entry_backward : model->plain_backward);
    }
    if (engine_is_seen) trial_.engine_ended(nullptr, true);
  }

  StepTrial& trial() { return trial_; }
  const std::vector<std::string>& settled() const { return settled_; }
  bool engine_is_seen = true;

 private:
  Gate::Clock clock() {
    return [this] { return time_; };
  }
  nanoseconds time_{1'000'000};
  StepTrial trial_{clock()};
  std::deque<Model> models_;
  std::vector<std::string> settled_;
};

/// Takes steps until the models have verdicts; how many it took.
template <class Step>
int steps_until(const std::vector<Model*>& models, const Step& step) {
  int steps = 0;
  const auto open = [&] {
    for (const Model* model : models) {
      if (model->report.verdict == Verdict::open) return true;
    }
    return false;
  };
  for (; steps < 300 && open(); ++steps) step();
  return steps;
}

}  // namespace

TEST_CASE("a step of one entry is weighed with its backward, and nothing runs twice") {
  struct Row {
    std::int64_t entry, entry_backward;
    Verdict verdict;
  };
  for (const Row& row : {Row{500, 900, Verdict::accepted}, Row{500, 1700, Verdict::refused},
                         Row{1300, 100, Verdict::accepted}}) {
    Program program;
    Model& model = program.model("net", row.entry, row.entry_backward, 1000, 1000);
    const int steps = steps_until({&model}, [&] {
      program.call(model);
      program.backward({&model});
      CHECK_FALSE(model.gate->wants_backward(0));
    });
    CHECK(model.report.verdict == row.verdict);
    CHECK(steps < 20);
    CHECK(model.report.entry_ns == row.entry + row.entry_backward);
    CHECK(model.report.plain_ns == 2000);
    CHECK(model.report.backward_saved_ns == 1000 - row.entry_backward);
    CHECK(program.settled() == std::vector<std::string>{"net"});
  }
}

TEST_CASE("entries of a step have the same turn and the same verdict") {
  Program program;
  Model& good = program.model("good", 300, 300, 1000, 1000);
  Model& worse = program.model("worse", 1100, 1000, 1000, 1000);
  steps_until({&good, &worse}, [&] {
    program.call(good);
    program.call(worse);
    CHECK(good.made.back().by == worse.made.back().by);
    program.backward({&worse, &good});
  });
  CHECK(good.report.verdict == Verdict::accepted);
  CHECK(worse.report.verdict == Verdict::accepted);  // the step is faster
  CHECK(program.settled().size() == 2);
}

TEST_CASE("of a slower step the entries are weighed alone") {
  Program program;
  Model& good = program.model("good", 300, 300, 400, 400);
  Model& bad = program.model("bad", 3000, 3000, 1000, 1000);
  for (int step = 0; step < 60 && good.gate->company() != Gate::Company::none; ++step) {
    program.call(good);
    program.call(bad);
    program.backward({&bad, &good});
  }
  CHECK(good.gate->company() == Gate::Company::none);
  CHECK(bad.gate->company() == Gate::Company::none);
  CHECK(good.report.verdict == Verdict::open);
}

TEST_CASE("an entry that is called often in a step, several times backward in one") {
  Program program;
  Model& cell = program.model("cell", 10, 10, 30, 30);
  Model& loss = program.model("loss", 10, 10, 30, 30);
  const int steps = steps_until({&cell, &loss}, [&] {
    for (int i = 0; i < 40; ++i) program.call(cell);
    program.call(loss);
    program.backward({&loss});
    program.backward(std::vector<Model*>(40, &cell));
  });
  CHECK(cell.report.verdict == Verdict::accepted);
  CHECK(loss.report.verdict == Verdict::accepted);
  CHECK(steps < 20);
}

TEST_CASE("a generator and a discriminator that has two backward passes in a step") {
  for (const bool generator_first : {true, false}) {
    Program program;
    Model& generator = program.model("generator", 10, 400, 30, 30);  // slow backward
    Model& discriminator = program.model("discriminator", 10, 10, 30, 30);
    for (int step = 0; step < 60; ++step) {
      if (generator_first) program.call(generator);
      program.call(discriminator);
      if (!generator_first) program.call(generator);
      program.backward({&discriminator});
      program.call(discriminator);
      program.backward({&discriminator, &generator});
    }
    // Rounds that begin in the middle of a step would give the generator's backward by one side to
    // the other's turn.
    if (generator_first) CHECK(generator.gate->company() != Gate::Company::unknown);
    for (const Model* model : {&generator, &discriminator}) {
      const bool alone = model->gate->company() == Gate::Company::none;
      CHECK_MESSAGE((alone || model->report.verdict == Verdict::refused), generator_first);
    }
  }
}

TEST_CASE("an engine that is not seen has entries weighed alone") {
  Program program;
  program.engine_is_seen = false;
  Model& model = program.model("net", 500, 500, 1000, 1000);
  for (int step = 0; step < 4; ++step) {
    program.call(model);
    program.backward({&model});
  }
  CHECK(model.gate->company() == Gate::Company::none);
  model.gate->entry_ran_backward(0, nanoseconds(500));
  model.gate->entry_ran_backward(0, nanoseconds(500));
  CHECK(model.gate->wants_backward(0));
}

TEST_CASE("calls that nobody goes backward from are weighed by themselves") {
  Program program;
  Model& model = program.model("net", 500, 0, 1000, 0);
  CHECK(steps_until({&model}, [&] { program.call(model); }) < 40);
  CHECK(model.report.verdict == Verdict::accepted);
  // The same behind steps of training: plain Python has it for a while at most.
  Model& trained = program.model("trained", 900, 900, 1000, 1000);
  for (int step = 0; step < 3; ++step) {
    program.call(trained);
    program.backward({&trained});
  }
  CHECK(trained.gate->company() == Gate::Company::step);
  steps_until({&trained}, [&] { program.call(trained); });
  CHECK(trained.gate->company() == Gate::Company::none);
}

TEST_CASE("a leader that is called no more is followed by another") {
  Program program;
  Model& once = program.model("once", 10, 10, 30, 30);
  Model& net = program.model("net", 10, 10, 30, 30);
  program.call(once);
  program.call(net);
  program.backward({&net, &once});
  program.call(once);
  program.call(net);
  program.backward({&net, &once});
  steps_until({&net}, [&] {
    program.call(net);
    program.backward({&net});
  });
  CHECK(net.report.verdict == Verdict::accepted);
  CHECK(once.report.verdict == Verdict::open);
}

TEST_CASE(
    "an engine run that raises, a lost call and another thread make a round that does not count") {
  for (const int disturbance : {0, 1, 2}) {
    Program program;
    Model& model = program.model("net", 500, 500, 1000, 1000);
    const int thread = 0;
    for (int step = 0; step < 11; ++step) {
      program.call(model);
      if (disturbance == 2) {
        program.call(model, &thread);
        program.backward({&model});
      }
      if (disturbance == 1) program.trial().call_begins(*model.gate, nullptr);
      program.backward({&model});
      if (disturbance != 0) continue;
      program.trial().engine_begins(nullptr);
      program.trial().engine_ended(nullptr, false);
    }
    CHECK_MESSAGE(model.report.verdict == Verdict::open, disturbance);
    CHECK_MESSAGE(model.gate->company() == Gate::Company::none, disturbance);
  }
}

TEST_CASE("what is run again inside the engine counts once") {
  Program program;
  // A step is 500 + 500 + 2 * 1650 to 4000; its call counted twice would make that 4800 to 5000.
  Model& block = program.model("block", 500, 1650, 1000, 1000);
  steps_until({&block}, [&] {
    program.call(block);
    program.trial().engine_begins(nullptr);
    program.call(block);  // a checkpoint
    program.backward({&block, &block});
    program.trial().engine_ended(nullptr, true);
  });
  CHECK(block.report.verdict == Verdict::refused);
  CHECK(block.report.backward_saved_ns == (3000 - 3800) / 2);
}

TEST_CASE("behind memory that was given back the next step of either side does not count") {
  Program program;
  Model& model = program.model("net", 500, 500, 1000, 1000);
  int given_back = 0, steps = 0;
  for (; steps < 40 && model.report.verdict == Verdict::open; ++steps) {
    const bool plain = program.trial().turn(*model.gate) == Gate::Turn::plain;
    if (!model.gate->open()) break;
    if (plain && program.trial().entries_hold_memory()) {
      program.trial().memory_was_given_back();
      ++given_back;
    }
    program.call(model);
    program.backward({&model});
  }
  CHECK(model.report.verdict == Verdict::accepted);
  CHECK(given_back >= 3);
  CHECK(steps >= 2 * 2 * model.report.pairs);
}

TEST_CASE("on a GPU an engine run lasts until what it began is over") {
  nanoseconds host{0}, busy{0};
  GateReport report;
  const auto gate = std::make_shared<Gate>(report, [&] { return host = std::max(host, busy); });
  StepTrial trial([&] { return host; });
  trial.add(gate, "net");
  gate->expect_backward();
  for (int step = 0; step < 30 && report.verdict == Verdict::open; ++step) {
    const Gate::Turn turn = trial.turn(*gate);
    if (!gate->open()) break;
    trial.call_begins(*gate, nullptr);
    const nanoseconds begin = gate->now();
    host += nanoseconds(10);
    busy = host + nanoseconds(100);
    const nanoseconds time = gate->now() - begin;
    turn == Gate::Turn::entry ? gate->entry_took(time) : gate->plain_took(time);
    trial.call_ended(*gate, turn, time);
    trial.engine_begins(nullptr);
    host += nanoseconds(10);
    busy = host + nanoseconds(turn == Gate::Turn::entry ? 2000 : 900);
    trial.engine_ended(nullptr, true);
  }
  CHECK(report.verdict == Verdict::refused);
  CHECK(report.entry_ns == 110 + 2010);
  CHECK(report.plain_ns == 110 + 910);
}
