// Random core graphs: whatever fusion does to them, the numbers stay those of the reference.
#include <random>

#include "run_program.h"

namespace penstock::fusion {
namespace {

/// Grows a graph by random ops on random values; sizes stay small, and ranks up to 4.
class RandomGraph {
 public:
  explicit RandomGraph(unsigned seed) : random_(seed) {
    SymExpr n = pick(3) == 0 ? b.symbol("s0", 5) : SymExpr(4);
    values_ = {b.input({n, 6}), b.input({n, 6}), b.input({6}), b.input({2, 3, n, 4})};
    std::size_t ops = 4 + pick(12);
    for (std::size_t i = 0; i < ops; ++i) grow();
    std::size_t outputs = 1 + pick(3);
    for (std::size_t i = 0; i < outputs; ++i) b.output(values_[values_.size() - 1 - pick(3)]);
  }

  GraphBuilder b;

 private:
  std::size_t pick(std::size_t below) { return random_() % below; }
  ValueId any() {
    return values_[pick(3) == 0 ? pick(values_.size()) : values_.size() - 1 - pick(2)];
  }

  void grow() {
    ValueId x = any();
    switch (pick(14)) {
      case 0:
      case 1:
        return add(unary(x));
      case 2:
      case 3:
        return add(binary(x));
      case 4:
        return add(permuted(x));
      case 5:
        return add(reshaped(x));
      case 6:
      case 7:
        return add(reduced(x));
      case 8:
        return add(broadcast(x));
      case 9:
        return add(sliced(x));
      case 10:
        return add(joined(x));
      case 11:
      case 12:
        return add(product(x));
      default:
        return add(normalised(x));
    }
  }

  void add(ValueId value) { values_.push_back(value); }

  ValueId unary(ValueId x) {
    constexpr std::string_view kOps[] = {"tanh", "neg", "abs", "sigmoid", "erf"};
    return b.unary(kOps[pick(std::size(kOps))], x);
  }

  ValueId binary(ValueId x) {
    constexpr std::string_view kOps[] = {"add", "sub", "mul", "maximum", "minimum"};
    std::string_view op = kOps[pick(std::size(kOps))];
    for (std::size_t tries = 0; tries < values_.size(); ++tries) {
      ValueId y = any();
      if (b.sizes(y) == b.sizes(x)) return b.binary(op, x, y);
    }
    return b.binary(op, x, 0.5);
  }

  ValueId permuted(ValueId x) {
    std::vector<std::int64_t> dims(b.sizes(x).size());
    for (std::size_t i = 0; i < dims.size(); ++i) dims[i] = static_cast<std::int64_t>(i);
    std::shuffle(dims.begin(), dims.end(), random_);
    return b.permute(x, dims);
  }

  /// Merges the last two dims, or splits a dim of even size.
  ValueId reshaped(ValueId x) {
    GraphBuilder::Sizes sizes = b.sizes(x);
    if (sizes.size() >= 2 && pick(2) == 0) {
      SymExpr last = sizes.back();
      sizes.pop_back();
      sizes.back() *= last;
      return b.reshape(x, sizes);
    }
    for (std::size_t i = 0; i < sizes.size() && sizes.size() < 4; ++i) {
      auto size = sizes[i].constant();
      if (!size || *size % 2 != 0) continue;
      sizes[i] = 2;
      sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(i) + 1, *size / 2);
      return b.reshape(x, sizes);
    }
    return b.unary("neg", x);
  }

  ValueId reduced(ValueId x) {
    std::size_t rank = b.sizes(x).size();
    if (rank < 2) return b.unary("abs", x);
    std::vector<std::int64_t> dims = {static_cast<std::int64_t>(pick(rank))};
    if (rank > 2 && pick(2) == 0) dims = {0, static_cast<std::int64_t>(rank) - 1};
    if (pick(4) == 0) return b.welford(x, dims).second;
    constexpr std::string_view kOps[] = {"sum", "amax", "amin"};
    return b.reduce(kOps[pick(std::size(kOps))], x, dims);
  }

  /// A new dim of size 3 in front or behind.
  ValueId broadcast(ValueId x) {
    GraphBuilder::Sizes sizes = b.sizes(x);
    if (sizes.size() > 3) return b.unary("tanh", x);
    std::vector<std::int64_t> dims;
    std::int64_t front = static_cast<std::int64_t>(pick(2));
    for (std::size_t i = 0; i < sizes.size(); ++i)
      dims.push_back(static_cast<std::int64_t>(i) + front);
    sizes.insert(front == 1 ? sizes.begin() : sizes.end(), SymExpr(3));
    return b.broadcast(x, sizes, dims);
  }

  ValueId sliced(ValueId x) {
    GraphBuilder::Sizes sizes = b.sizes(x);
    if (sizes.empty()) return b.unary("neg", x);
    std::size_t dim = pick(sizes.size());
    auto size = sizes[dim].constant();
    if (!size || *size < 2) return b.flip(x, {static_cast<std::int64_t>(dim)});
    return b.slice(x, dim, 1, *size, pick(2) == 0 ? 1 : 2);
  }

  ValueId joined(ValueId x) {
    GraphBuilder::Sizes sizes = b.sizes(x);
    if (sizes.empty()) return b.unary("neg", x);
    std::size_t dim = pick(sizes.size());
    if (sizes[dim].constant().value_or(99) > 12) return b.unary("abs", x);
    if (pick(2) == 0) return b.pad(x, dim, 1, 2, 0.25);
    std::vector<ValueId> parts(2 + pick(5), x);
    parts.back() = b.unary("neg", x);
    return b.cat(parts, dim);
  }

  /// x times its transpose, or the other way round, scaled so that chains of products stay small.
  ValueId product(ValueId x) {
    GraphBuilder::Sizes sizes = b.sizes(x);
    const std::size_t rank = sizes.size();
    if (rank < 2 || rank > 3) return b.unary("tanh", x);
    std::vector<std::int64_t> dims;
    for (std::size_t i = 0; i < rank; ++i) dims.push_back(static_cast<std::int64_t>(i));
    std::swap(dims[rank - 1], dims[rank - 2]);
    ValueId small = b.unary("tanh", x), left = small, right = b.permute(small, dims);
    if (pick(2) == 0) std::swap(left, right);
    return b.binary("mul", rank == 2 ? b.matmul(left, right) : b.batched_matmul(left, right),
                    0.125);
  }

  /// x - max(x) over a dim, the core of a softmax.
  ValueId normalised(ValueId x) {
    GraphBuilder::Sizes sizes = b.sizes(x);
    if (sizes.empty()) return b.unary("neg", x);
    std::size_t dim = pick(sizes.size());
    std::vector<std::int64_t> kept;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (i != dim) kept.push_back(static_cast<std::int64_t>(i));
    }
    ValueId e = b.unary("exp", b.binary("minimum", x, 3.0));
    ValueId sum = b.reduce("sum", e, {static_cast<std::int64_t>(dim)});
    return b.binary("div", e, b.broadcast(sum, sizes, kept));
  }

  std::mt19937 random_;
  std::vector<ValueId> values_;
};

TEST_CASE("random graphs compute what their reference says, fused and not") {
  for (unsigned seed = 0; seed < 250; ++seed) {
    CAPTURE(seed);
    check(RandomGraph(seed).b, seed);
  }
}

TEST_CASE("each pass alone may be left out") {
  for (unsigned seed = 300; seed < 340; ++seed) {
    CAPTURE(seed);
    RandomGraph random(seed);
    for (const PassFacts& pass : fuse_passes()) {
      CAPTURE(pass.name);
      check_program(random.b, fuse_graph(random.b, {std::string(pass.name)}), seed);
    }
  }
}

TEST_CASE("an edited schedule changes nothing") {
  for (unsigned seed = 400; seed < 420; ++seed) {
    CAPTURE(seed);
    RandomGraph random(seed);
    LoopProgram program = fuse_graph(random.b);
    for (ProgramStep& step : program.steps) {
      auto* kernel = std::get_if<LoopKernel>(&step);
      if (kernel == nullptr || kernel->body.empty()) continue;
      if (auto* loops = std::get_if<std::vector<Loop>>(&kernel->body.back())) {
        loops->front().schedule = {true, 7, true, 3, 5};
      }
    }
    CHECK(verify_contract(program));
    check_program(random.b, program, seed);
  }
}

}  // namespace
}  // namespace penstock::fusion
