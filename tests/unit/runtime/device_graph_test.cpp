// A bundle for a device under a driver that is not one: what is recorded, launched and copied.
#include "device_harness.h"

namespace penstock::runtime {

namespace {

/// Both outputs are for somebody who lets go of them.
struct PartOfStep : Running {
  explicit PartOfStep(KernelBundle bundle = two_outputs(),
                      std::shared_ptr<Runtime> runtime = new_runtime(), std::size_t first = 0)
      : Running(std::move(bundle), std::move(runtime)) {
    executor->lend_from(first);
  }
};

TEST_CASE("from the second run on a bundle is one graph") {
  Running run;
  float *x = run.tensor(1), *w = run.tensor(100);
  CHECK(run.right(x, w));
  CHECK(fake().facts.graphs == 0);
  CHECK(fake().facts.launches == 2);
  for (int i = 0; i < 3; ++i) CHECK(run.right(x, w));
  CHECK(fake().facts.graphs == 1);
  CHECK(fake().facts.graph_launches == 3);
  CHECK(fake().facts.launches == 4);  // the second two were recorded
  CHECK(run.torch.begun == 1);        // what is launched cannot fail halfway
  CHECK(fake().facts.stream == &g_default);
  CHECK(g_stream == &g_default);
}

TEST_CASE("outputs of earlier calls stay as they are") {
  Running run;
  float* w = run.tensor(100);
  for (float value = 0; value < 5; ++value) CHECK(run.right(run.tensor(value), w));
  for (std::size_t i = 0; i < run.kept.size(); ++i)
    CHECK(static_cast<float*>(run.kept[i][1].data)[0] == static_cast<float>(i) + 202);
}

TEST_CASE("what only our kernels read may be anywhere, and only what moved is set anew") {
  Running run;
  float* x = run.tensor(1);
  for (float value = 0; value < 5; ++value) CHECK(run.right(x, run.tensor(value)));
  CHECK(fake().facts.graphs == 1);
  const int before = fake().facts.updates;
  CHECK(run.right(x, &run.tensors.back().at[0]));
  CHECK(fake().facts.updates ==
        before);  // outputs of torch's are copied out: no kernel writes them
}

TEST_CASE("what torch reads is copied where it moves") {
  Running run;
  float* w = run.tensor(100);
  CHECK(run.right(run.tensor(1), w));
  CHECK(run.right(run.tensor(2), w));
  CHECK(run.right(run.tensor(3), w));
  CHECK(fake().facts.graphs == 1);
  CHECK(fake().facts.copies == 6);  // in and out twice, in two runs
}

TEST_CASE("what moves later is recorded anew, and copied from then on") {
  Running run;
  float *x = run.tensor(1), *w = run.tensor(100);
  for (int i = 0; i < 3; ++i) CHECK(run.right(x, w));
  for (float value = 5; value < 9; ++value) CHECK(run.right(run.tensor(value), w));
  CHECK(fake().facts.graphs == 2);
  CHECK(fake().facts.alive == 1);
}

TEST_CASE("weights that move are waited for, then recorded anew, and never copied") {
  KernelBundle bundle = two_outputs();
  bundle.interface.inputs[0].kind = InputKind::parameter;
  Running run(std::move(bundle));
  float *x = run.tensor(1), *w = run.tensor(100);
  for (int i = 0; i < 2; ++i) CHECK(run.right(x, w));
  for (float value = 0; value < 3; ++value) CHECK(run.right(run.tensor(value), w));
  CHECK(fake().facts.graph_launches == 1);
  CHECK(run.right(x, w));  // back where they were
  CHECK(fake().facts.graph_launches == 2);
  CHECK(fake().facts.graphs == 1);
  float* there = run.tensor(7);
  for (int i = 0; i < 6; ++i) CHECK(run.right(there, w));
  CHECK(fake().facts.graphs == 2);
  CHECK(fake().facts.graph_launches == 5);
  for (float value = 0; value < 20; ++value) CHECK(run.right(run.tensor(value), w));
  CHECK(fake().facts.graphs == 4);  // then it is not tried again
  CHECK(fake().facts.alive == 0);
}

TEST_CASE("what the other part of a step saved is waited for") {
  KernelBundle bundle = two_outputs();
  bundle.interface.training.saved = {{0, 0}};
  PartOfStep run(std::move(bundle));
  run.torch.adopts = false;
  float *first = run.tensor(1), *x = run.tensor(2), *w = run.tensor(100);
  for (float* at : {first, x, x, first, x, x}) {
    run.kept.clear();
    CHECK(run.right(at, w));
  }
  CHECK(fake().facts.graphs == 1);
  CHECK(fake().facts.graph_launches == 4);
  CHECK(fake().facts.copies == 0);
}

TEST_CASE("results that torch may not keep are written where they go") {
  Running run;
  run.torch.adopts = false;
  float *x = run.tensor(1), *w = run.tensor(100);
  for (int i = 0; i < 4; ++i) CHECK(run.right(x, w));
  CHECK(fake().facts.graph_launches == 3);
}

TEST_CASE("what torch was told otherwise is recorded anew") {
  Running run;
  float *x = run.tensor(1), *w = run.tensor(100);
  for (int i = 0; i < 3; ++i) CHECK(run.right(x, w));
  run.torch.setting = 2;
  for (int i = 0; i < 3; ++i) CHECK(run.right(x, w));
  CHECK(fake().facts.graphs == 2);
  CHECK(fake().facts.alive == 1);
}

TEST_CASE(
    "no graph where the driver makes none, torch fails, the host has a part in it, or memory is "
    "short") {
  for (int i = 0; i < 4; ++i) {
    Running run;
    fake().facts.refuses_graphs = i == 0;
    run.torch.fails = i == 1;
    run.torch.copies_from_host = i == 2;
    fake().facts.free_memory = i == 3 ? 999 : 1000;
    float *x = run.tensor(1), *w = run.tensor(100);
    for (int call = 0; call < 4; ++call) CHECK(run.right(x, w));
    CHECK(fake().facts.graph_launches == 0);
    CHECK(run.torch.begun == 4);
    CHECK(g_stream == &g_default);
  }
}

TEST_CASE("other streams, and one that the program captures, get kernels one by one") {
  Running run;
  float *x = run.tensor(1), *w = run.tensor(100);
  for (int i = 0; i < 3; ++i) CHECK(run.right(x, w));
  CHECK(fake().facts.graph_launches == 2);
  g_stream = &g_other;
  for (int i = 0; i < 3; ++i) CHECK(run.right(x, w));
  g_stream = &g_default;
  fake().facts.program_captures = &g_default;
  CHECK(run.right(x, w));
  CHECK(fake().facts.graph_launches == 2);
  fake().facts.program_captures = nullptr;
  CHECK(run.right(x, w));
  CHECK(fake().facts.graph_launches == 3);
}

TEST_CASE("what torch made in other sizes is its output's memory, whose earlier contents stay") {
  // x + 1 is made in the first output's memory, which kernels have written before and torch has
  // read.
  KernelBundle bundle = two_outputs();
  Buffer view = view_of(bundle, 4);
  view.sizes = {2, 4};
  view.strides = {4, 1};
  bundle.buffers.push_back(view);
  bundle.steps = {kernel("doubled", {1, 4}), torch_op(4, 3), torch_op(0, 2),
                  kernel("added", {2, 3, 5}), torch_op(0, 6)};
  Running run(std::move(bundle));
  for (float value = 0; value < 4; ++value) {
    float *x = run.tensor(value), *w = run.tensor(100 * value);
    run.right(x, w);
    const auto& [first, second] = run.kept.back();
    for (int i = 0; i < 8; ++i) {
      CHECK(static_cast<float*>(first.data)[i] == x[i] + 1);
      CHECK(static_cast<float*>(second.data)[i] == x[i] + 1 + 2 * w[i] + 1);
    }
  }
  CHECK(fake().facts.graphs == 1);
  CHECK(run.torch.results.size() == 6);
}

TEST_CASE("a part of another's memory is written there") {
  KernelBundle bundle = two_outputs();
  Buffer view = view_of(bundle, 2);
  view.sizes = {4};
  bundle.buffers.push_back(view);
  bundle.steps.front() = torch_op(0, 6);
  Running run(std::move(bundle));
  run.torch.expects_adoption = false;
  float *x = run.tensor(1), *w = run.tensor(100);
  for (int i = 0; i < 4; ++i) run.right(x, w);
  CHECK(run.torch.refused == 2);
}

TEST_CASE("what a part of a step makes stays where it is made, once the last has come back") {
  PartOfStep run;
  run.torch.adopts = false;
  float *x = run.tensor(1), *w = run.tensor(100);
  CHECK(run.right(x, w));
  run.kept.clear();
  CHECK(run.right(x, w));
  const std::array<void*, 2> places = {run.kept[0][0].data, run.kept[0][1].data};
  const int updates = fake().facts.updates;
  for (int i = 0; i < 5; ++i) {
    run.kept.clear();
    CHECK(run.right(x, w));
    CHECK(run.kept[0][0].data == places[0]);
    CHECK(run.kept[0][1].data == places[1]);
  }
  CHECK(fake().facts.graphs == 1);
  CHECK(fake().facts.copies == 0);
  CHECK(fake().facts.updates == updates);
}

TEST_CASE("what somebody still has of an earlier step is not written") {
  PartOfStep run;
  run.torch.adopts = false;
  float* w = run.tensor(100);
  float* x = run.tensor(0);
  const auto first_of = [&](std::size_t call) {
    return static_cast<float*>(run.kept[call][0].data)[0];
  };
  for (int call = 0; call < 6; ++call) {
    x[0] = static_cast<float>(call);
    CHECK(run.right(x, w));
    for (std::size_t earlier = 0; earlier < run.kept.size(); ++earlier)
      CHECK(first_of(earlier) == static_cast<float>(earlier) + 201);
  }
  CHECK(fake().facts.graphs == 2);  // the second one copies what it makes
  CHECK(fake().facts.graph_launches == 5);
  // One of the two outputs is enough.
  OutputTensor held = std::move(run.kept[1][1]);
  run.kept.clear();
  CHECK(run.right(x, w));
  CHECK(run.kept[0][1].data != held.data);
  held = OutputTensor();
  run.kept.clear();
  CHECK(run.right(x, w));
  CHECK(fake().facts.graphs == 2);
}

TEST_CASE("what torch made itself is copied from a part of a step, too") {
  PartOfStep run;
  float *x = run.tensor(1), *w = run.tensor(100);
  for (int i = 0; i < 4; ++i) {
    run.kept.clear();
    CHECK(run.right(x, w));
  }
  CHECK(fake().facts.graphs == 1);
  CHECK(fake().facts.copies == 3);  // the second output, in three runs
}

TEST_CASE("what is lent is no memory that other graphs work on") {
  const auto runtime = new_runtime();
  // torch copies its first input, which moves, into the graph's memory.
  Running other(two_outputs(), runtime);
  float* w = other.tensor(100);
  for (int i = 0; i < 3; ++i) CHECK(other.right(other.tensor(1), w));
  PartOfStep run(two_outputs(), runtime);
  run.torch.adopts = false;
  float* x = run.tensor(3);
  for (int i = 0; i < 3; ++i) {
    run.kept.clear();
    CHECK(run.right(x, w));
  }
  CHECK(other.right(other.tensor(50), w));
  CHECK(static_cast<float*>(run.kept[0][0].data)[0] == 204);
  CHECK(static_cast<float*>(run.kept[0][1].data)[0] == 205);
}

TEST_CASE("what the program may keep is copied, and the rest is lent all the same") {
  PartOfStep run(two_outputs(), new_runtime(), 1);
  run.torch.adopts = false;
  float *x = run.tensor(1), *w = run.tensor(100);
  CHECK(run.right(x, w));
  for (int i = 0; i < 4; ++i) {
    x[0] = static_cast<float>(i);
    OutputTensor kept = std::move(run.kept[0][0]);
    const float was = static_cast<float*>(kept.data)[0];
    run.kept.clear();
    CHECK(run.right(x, w));
    CHECK(static_cast<float*>(kept.data)[0] == was);
  }
  CHECK(fake().facts.graphs == 1);
  CHECK(fake().facts.copies == 4);
}

TEST_CASE("a lent result outlives the graph that made it") {
  PartOfStep run;
  run.torch.adopts = false;
  float *x = run.tensor(1), *w = run.tensor(100);
  for (int i = 0; i < 2; ++i) CHECK(run.right(x, w));
  auto last = std::move(run.kept.back());
  run.executor = nullptr;
  CHECK(static_cast<float*>(last[0].data)[0] == 202);
}

}  // namespace

}  // namespace penstock::runtime
