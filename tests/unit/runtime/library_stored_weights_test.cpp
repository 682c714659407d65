// Weights that are packed once: with factors, and found again in a store.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>

#include "library_fixture.h"

namespace penstock::runtime {

namespace {

class MemoryStore : public PackedStore {
 public:
  std::shared_ptr<const void> find(std::string_view key, std::size_t bytes) override {
    auto found = kept.find(std::string(key));
    if (found == kept.end() || found->second.size() != bytes) return nullptr;
    ++hits;
    std::shared_ptr<void> copy(std::aligned_alloc(64, (bytes + 63) / 64 * 64), std::free);
    std::memcpy(copy.get(), found->second.data(), bytes);
    return copy;
  }
  void keep(std::string_view key, std::string_view bytes) override { kept.emplace(key, bytes); }

  std::map<std::string, std::string> kept;
  int hits = 0;
};

struct NamedTensor : StoredTensor {
  explicit NamedTensor(std::string text) : text(std::move(text)) {}
  std::string_view name() const override { return text; }
  Result<void> check() override {
    ++checks;
    return whole ? Result<void>() : failure(Code::PS0207, "damaged");
  }
  std::string text;
  bool whole = true;
  int checks = 0;
};

/// A convolution whose output channels are multiplied by factors, and its weight.
struct ScaledConvolution {
  ScaledConvolution(Tensor weight, std::int64_t groups, bool transposed) : w(std::move(weight)) {
    call.name = "convolution";
    call.prepack = {1};
    call.attributes = {ints("stride", {1, 1}),         ints("padding", {1, 1}),
                       ints("dilation", {1, 1}),       {"transposed", transposed},
                       ints("output_padding", {0, 0}), {"groups", groups}};
  }
  /// The result of a kernel of its own, with `factor` times the usual factors.
  std::vector<float> run(Library& of, StoredTensor* stored, std::int64_t start = 0,
                         float factor = 1) {
    for (std::size_t i = 0; i < scale.memory.size(); ++i)
      scale.memory[i] = factor * static_cast<float>(i + 1);
    Given given{{&x, &w, nullptr, &scale}, &y, {}};
    Ready ready = make(call, given, of);
    ready.weight = {stored, start};
    std::fill(y.memory.begin(), y.memory.end(), 0.0F);
    ready.run(given, 1);
    ran = ready.ran;
    return y.memory;
  }
  LibraryCall call;
  Tensor w, x{{2, 8, 9, 9}, {648, 1, 72, 8}}, y{{2, 8, 9, 9}, {648, 1, 72, 8}}, scale{{8}};
  Result<void> ran = {};
};

}  // namespace

TEST_CASE("factors of output channels are multiplied into weights of every layout") {
  for (const bool transposed : {false, true}) {
    for (const std::int64_t groups : {1, 2, 8}) {
      const Sizes sizes{8, 8 / groups, 3, 3};
      for (const Sizes& strides :
           {dense_strides(sizes), Sizes{sizes[1] * 9, 1, sizes[1] * 3, sizes[1]},
            Sizes{sizes[1] * 20, 20, 5, 1}}) {
        ScaledConvolution scaled(Tensor(sizes, strides), groups, transposed);
        const std::vector<float> actual = scaled.run(library(), nullptr);
        std::fill(scaled.scale.memory.begin(), scaled.scale.memory.end(), 1.0F);
        Given plain{{&scaled.x, &scaled.w, nullptr, nullptr}, &scaled.y, {}};
        make(scaled.call, plain).run(plain, 1);
        for (std::size_t i = 0; i < actual.size(); ++i) {
          CHECK(actual[i] ==
                doctest::Approx(scaled.y.memory[i] * static_cast<float>(i % 8 + 1)).epsilon(1e-4));
        }
      }
    }
  }
}

TEST_CASE("what was packed of a stored weight is found again, and nothing else is") {
  auto store = std::make_shared<MemoryStore>();
  const auto fresh = [&] { return *open_library(false, store); };
  ScaledConvolution scaled(Tensor({8, 8, 3, 3}), 1, false);
  NamedTensor weight("weight"), other("other");
  const std::vector<float> expected = scaled.run(*fresh(), &weight);
  CHECK(weight.checks == 1);
  REQUIRE(store->kept.size() == 1);
  CHECK(store->kept.begin()->first.find(" isa ") != std::string::npos);

  weight.whole = false;  // nobody looks at what is not read
  CHECK(scaled.run(*fresh(), &weight) == expected);
  CHECK(scaled.ran.has_value());
  CHECK(store->hits == 1);
  CHECK(weight.checks == 1);
  weight.whole = true;

  // Another tensor, another part of it, other factors, another layout.
  scaled.run(*fresh(), &other);
  scaled.run(*fresh(), &weight, 64);
  scaled.run(*fresh(), &weight, 0, 2);
  ScaledConvolution(Tensor({8, 8, 3, 3}, {72, 1, 24, 8}), 1, false).run(*fresh(), &weight);
  CHECK(store->hits == 1);
  CHECK(store->kept.size() == 5);
  // What lies in no store is not kept in one.
  scaled.run(*fresh(), nullptr);
  CHECK(store->hits == 1);
  CHECK(store->kept.size() == 5);

  store->kept.clear();
  weight.whole = false;
  scaled.run(*fresh(), &weight);
  REQUIRE(!scaled.ran.has_value());
  CHECK(scaled.ran.error().code == Code::PS0207);
  CHECK(store->kept.empty());
}

}  // namespace penstock::runtime
