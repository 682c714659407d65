// What fusion makes of a graph grows with its ops and operands, not faster: counted in instructions
// and steps, for chains and fans of every kind of op. Instructions are what code generation takes
// its time and memory for.
#include <functional>

#include "fusion/loops.h"
#include "run_program.h"

namespace penstock::fusion {
namespace {

using Build = std::function<ValueId(GraphBuilder&, ValueId, int)>;

/// One op more: what comes of `x`, which lies as the graph's input does; `step` counts from 0.
struct Chain {
  const char* name;
  Build step;
};

const GraphBuilder::Sizes kSizes = {12, 12};

ValueId spread(GraphBuilder& b, ValueId rows) {
  return b.broadcast(rows, kSizes, {0});
}

ValueId write_slice(GraphBuilder& b, ValueId self, ValueId src, std::int64_t row,
                    std::int64_t column = 0) {
  return b.node("prim.scatter_slice",
                {{"self", b.value(self)},
                 {"src", b.value(src)},
                 {"start", b.list(GraphBuilder::Sizes{row, column})},
                 {"step", b.list(GraphBuilder::Sizes{1, 1})}},
                b.type(b.sizes(self), b.dtype(self)));
}

ValueId row_of(GraphBuilder& b, ValueId x, int row) {
  return b.slice(x, 0, row % 12, row % 12 + 1, 1);
}

const Chain kChains[] = {
    {"pointwise",
     [](GraphBuilder& b, ValueId x, int) { return b.binary("add", b.unary("tanh", x), 1.0); }},
    {"used twice",
     [](GraphBuilder& b, ValueId x, int) { return b.binary("mul", b.binary("add", x, 1.0), x); }},
    {"where",
     [](GraphBuilder& b, ValueId x, int i) {
       return b.where(b.compare("gt", x, double(i)), x, b.value(b.unary("neg", x)));
     }},
    {"reduce", [](GraphBuilder& b, ValueId x,
                  int) { return b.binary("sub", x, spread(b, b.reduce("amax", x, {1}))); }},
    {"softmax",
     [](GraphBuilder& b, ValueId x, int) {
       const ValueId e = b.unary("exp", b.binary("sub", x, spread(b, b.reduce("amax", x, {1}))));
       return b.binary("div", e, spread(b, b.reduce("sum", e, {1})));
     }},
    {"normalise",
     [](GraphBuilder& b, ValueId x, int) {
       const auto [mean, m2] = b.welford(x, {1});
       return b.binary("mul", b.binary("sub", x, spread(b, mean)),
                       spread(b, b.unary("rsqrt", b.binary("add", m2, 1.0))));
     }},
    {"transposed",
     [](GraphBuilder& b, ValueId x, int) {
       return b.binary("add", x, b.permute(x, {1, 0}));
     }},
    {"flipped",
     [](GraphBuilder& b, ValueId x, int i) { return b.binary("sub", x, b.flip(x, {i % 2})); }},
    {"shifted",
     [](GraphBuilder& b, ValueId x, int i) {
       const std::int64_t by = 1 + i % 3;
       return b.binary("add", x, b.pad(b.slice(x, 1, by, 12, 1), 1, by, 0, 0.5));
     }},
    {"rolled",
     [](GraphBuilder& b, ValueId x, int i) {
       const std::int64_t by = 1 + i % 5;
       return b.binary("add", x, b.cat({b.slice(x, 1, by, 12, 1), b.slice(x, 1, 0, by, 1)}, 1));
     }},
    {"halves",
     [](GraphBuilder& b, ValueId x, int) {
       return b.cat(
           {b.unary("neg", b.slice(x, 1, 6, 12, 1)), b.binary("mul", b.slice(x, 1, 0, 6, 1), 2.0)},
           1);
     }},
    {"written slices",
     [](GraphBuilder& b, ValueId x, int i) {
       return write_slice(b, x, b.unary("tanh", row_of(b, 0, i)), i % 12);
     }},
    {"written parts of slices",
     [](GraphBuilder& b, ValueId x, int i) {
       const ValueId row = row_of(b, x, i);
       return write_slice(b, x, write_slice(b, row, b.slice(row_of(b, 0, i), 1, 0, 4, 1), 0, i % 9),
                          i % 12);
     }},
    {"changed slices",
     [](GraphBuilder& b, ValueId x, int i) {
       return write_slice(b, x, b.binary("mul", row_of(b, x, i), 2.0), i % 12);
     }},
    {"recurrence",
     [](GraphBuilder& b, ValueId x, int i) {
       return write_slice(b, x, b.binary("add", row_of(b, x, i), row_of(b, x, i + 11)),
                          (i + 1) % 12);
     }},
    {"scan", [](GraphBuilder& b, ValueId x,
                int i) { return b.scan("cumsum", b.binary("mul", x, 0.1), i % 2); }},
    {"gather",
     [](GraphBuilder& b, ValueId x, int) {
       return b.binary("add", x, b.gather(x, b.convert(b.compare("gt", x, 0.0), DType::int64), 1));
     }},
    {"regrouped",
     [](GraphBuilder& b, ValueId x, int) {
       return b.reshape(b.permute(b.reshape(b.unary("neg", x), {3, 4, 12}), {1, 0, 2}), kSizes);
     }},
};

int instruction_count(const LoopProgram& program) {
  int count = 0;
  for (const ProgramStep& step : program.steps) {
    if (const auto* kernel = std::get_if<LoopKernel>(&step)) {
      for_each_instruction(kernel->body, [&](const Instruction&) { ++count; });
    } else {
      ++count;
    }
  }
  return count;
}

GraphBuilder chain_of(const Chain& chain, int length) {
  GraphBuilder b;
  ValueId x = b.unary("neg", b.input(kSizes));
  for (int i = 0; i < length; ++i) x = chain.step(b, x, i);
  b.output(x);
  return b;
}

/// A value for each of `count` ops of one kind on the input, and what is made of all of them.
struct Fan {
  const char* name;
  Build branch;
  std::function<ValueId(GraphBuilder&, const std::vector<ValueId>&)> join;
};

ValueId cat_of(GraphBuilder& b, const std::vector<ValueId>& parts) {
  return b.cat(parts, 0);
}
ValueId sum_of(GraphBuilder& b, const std::vector<ValueId>& parts) {
  ValueId sum = parts.front();
  for (std::size_t i = 1; i < parts.size(); ++i) sum = b.binary("add", sum, parts[i]);
  return sum;
}

const Fan kFans[] = {
    {"cat of one tensor", [](GraphBuilder&, ValueId x, int) { return x; }, cat_of},
    {"cat of slices", [](GraphBuilder& b, ValueId x, int i) { return row_of(b, x, i); }, cat_of},
    {"cat of computed",
     [](GraphBuilder& b, ValueId x, int i) { return b.binary("mul", row_of(b, x, i), 1.0 + i); },
     cat_of},
    {"sum of scaled", [](GraphBuilder& b, ValueId x, int i) { return b.binary("mul", x, 1.0 + i); },
     sum_of},
    {"sum of reduced",
     [](GraphBuilder& b, ValueId x, int i) {
       return b.reduce(i % 2 == 0 ? "sum" : "amax", b.binary("mul", x, 1.0 + i), {1});
     },
     sum_of},
    {"sum of slices",
     [](GraphBuilder& b, ValueId x, int i) { return b.unary("exp", row_of(b, x, i)); }, sum_of},
};

GraphBuilder fan_of(const Fan& fan, int count) {
  GraphBuilder b;
  const ValueId x = b.input(kSizes);
  std::vector<ValueId> values;
  for (int i = 0; i < count; ++i) values.push_back(fan.branch(b, x, i));
  b.output(fan.join(b, values));
  return b;
}

/// What fusion makes of one op more, far out and near.
void check_growth(const char* name, const std::function<GraphBuilder(int)>& graph) {
  const int few = instruction_count(fuse_graph(graph(16))),
            more = instruction_count(fuse_graph(graph(32))),
            many = instruction_count(fuse_graph(graph(128)));
  const double near = (more - few) / 16.0, far = (many - more) / 96.0;
  // A step writes what it computes and reads it again, at the worst.
  CHECK_MESSAGE(far <= 1.5 * near + 8,
                name << ": " << few << ", " << more << ", " << many << " instructions");
  CHECK_MESSAGE(many <= 128 * 96, name << ": " << many << " instructions");
}

TEST_CASE("instructions grow with the length of a chain") {
  for (const Chain& chain : kChains)
    check_growth(chain.name, [&](int length) { return chain_of(chain, length); });
}

TEST_CASE("instructions grow with the width of a fan") {
  for (const Fan& fan : kFans)
    check_growth(fan.name, [&](int count) { return fan_of(fan, count); });
}

TEST_CASE("chains and fans compute what they should") {
  for (const Chain& chain : kChains) {
    INFO(chain.name);
    for (int length : {3, 7}) check(chain_of(chain, length));
  }
  for (const Fan& fan : kFans) {
    INFO(fan.name);
    check(fan_of(fan, 7));
  }
}

TEST_CASE("a long chain of written slices lies in one memory") {
  const LoopProgram program = check(chain_of(kChains[11], 9));
  REQUIRE(std::string(kChains[11].name) == "written slices");
  int temporaries = 0;
  for (const Buffer& buffer : program.buffers)
    temporaries += buffer.kind == Buffer::Kind::temporary;
  CHECK(temporaries == 0);
  CHECK(program.steps.size() == 10);
}

TEST_CASE("a content that is read later is not written over") {
  GraphBuilder b;
  ValueId x = b.unary("neg", b.input(kSizes));
  std::vector<ValueId> contents;
  for (int i = 0; i < 8; ++i) {
    x = write_slice(b, x, b.unary("exp", row_of(b, 0, i)), i);
    if (i % 3 == 1) contents.push_back(x);
  }
  ValueId sum = x;
  for (ValueId content : contents) sum = b.binary("add", sum, content);
  b.output(sum);
  b.output(contents.front());
  check(b);
}

TEST_CASE("two chains begin at one content") {
  GraphBuilder b;
  const ValueId first = b.unary("neg", b.input(kSizes));
  for (int chain = 0; chain < 2; ++chain) {
    ValueId x = first;
    for (int i = 0; i < 6; ++i)
      x = write_slice(b, x, b.binary("mul", row_of(b, 0, i), 2.0 + chain), (i + chain) % 12);
    b.output(x);
  }
  check(b);
}

TEST_CASE("a mean that is padded keeps the fill beside it") {
  GraphBuilder b;
  const ValueId x = b.input(kSizes);
  const ValueId mean = b.reshape(b.reduce("sum", x, {1}), {12, 1});
  b.output(mean);
  b.output(b.pad(mean, 1, 2, 2, 3.0));
  check(b);
}

TEST_CASE("a content is copied where its chain is not only slices") {
  GraphBuilder b;
  const ValueId x = b.input(kSizes), index = b.input(kSizes, DType::int64);
  ValueId y = b.unary("neg", x);
  for (int i = 0; i < 4; ++i) {
    y = write_slice(b, y, b.unary("exp", row_of(b, x, i)), i);
    y = b.scatter(i % 2 == 0 ? "scatter" : "scatter_add", y, index, b.binary("mul", y, 0.5), 1);
  }
  b.output(y);
  check(b);
}

TEST_CASE("fusion stops at a limit") {
  GraphBuilder b = chain_of(kChains[3], 400);
  PassTrace silent;
  auto placed = partition::partition(b.graph, {}, silent);
  REQUIRE(placed);
  Budget none({0, 0, 0}), little({1e-6, 0, 0});
  CHECK(fuse(*placed, {{}, &none}, silent).has_value());
  auto stopped = fuse(*placed, {{}, &little}, silent);
  REQUIRE(!stopped);
  CHECK(stopped.error().code == Code::PS0709);
}

}  // namespace
}  // namespace penstock::fusion
