// Inputs that are not what a graph is called with.
#include "tools/run/recorded.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace penstock::tools {
namespace {

using ops::HostTensor;

/// A store in a folder that is gone when the test is.
struct TestStore {
  std::string path = "/tmp/penstock-recorded-XXXXXX";
  TestStore() { REQUIRE(mkdtemp(path.data()) != nullptr); }
  ~TestStore() { std::filesystem::remove_all(path); }
  store::Store store() const { return store::Store(path); }

  /// Keeps a tensor of zeros and returns its blob.
  std::string keep(DType dtype, std::vector<std::int64_t> sizes) const {
    HostTensor tensor = HostTensor::contiguous(dtype, sizes);
    store::Store kept = store();
    const std::string_view bytes(reinterpret_cast<const char*>(tensor.memory->data()),
                                 tensor.memory->size());
    return formats::put_tensor(kept, {"x", dtype, std::move(sizes), bytes}).value();
  }
};

/// Called with a tensor of s0 by 3, of float32; s0 was 5 at capture.
Interface interface_of(const std::string& blob) {
  Interface interface;
  Symbol rows;
  rows.name = "s0";
  rows.hint = 5;
  interface.symbols.push_back(rows);
  Input input;
  input.name = "x";
  input.type.dtype = DType::float32;
  input.type.sizes = {SymExpr::symbol("s0"), 3};
  input.type.strides = {3, 1};
  input.blob = blob;
  interface.inputs.push_back(input);
  return interface;
}

template <class Inputs>
void check_refused(const Result<Inputs>& inputs, const std::string& says) {
  REQUIRE(!inputs.has_value());
  CHECK(inputs.error().code == Code::PS0806);
  CHECK(inputs.error().message.find(says) != std::string::npos);
}

TEST_CASE("recorded inputs have the sizes at capture; given ones may have others") {
  const TestStore kept;
  const store::Store store = kept.store();
  const Interface good = interface_of(kept.keep(DType::float32, {5, 3}));
  const Interface longer = interface_of(kept.keep(DType::float32, {7, 3}));
  CHECK(mapped_inputs(good, store).has_value());
  check_refused(mapped_inputs(longer, store), "s0 = 7, the graph was captured with 5");
  CHECK(mapped_inputs(good, store, {{"x", HostTensor::contiguous(DType::float32, {7, 3})}})
            .has_value());
}

TEST_CASE("an input has the graph's dtype, rank and constant sizes") {
  const TestStore kept;
  const store::Store store = kept.store();
  const Interface good = interface_of(kept.keep(DType::float32, {5, 3}));
  // Of as many bytes, so that nothing else tells them apart.
  check_refused(mapped_inputs(interface_of(kept.keep(DType::int32, {5, 3})), store),
                "input x is int32");
  const HostTensor wrong[] = {
      HostTensor::contiguous(DType::int32, {5, 3}), HostTensor::contiguous(DType::float64, {5, 3}),
      HostTensor::contiguous(DType::float32, {15}), HostTensor::contiguous(DType::float32, {5, 4})};
  for (const HostTensor& tensor : wrong) {
    check_refused(mapped_inputs(good, store, {{"x", tensor}}), "input x is");
    check_refused(laid_out(good, {tensor}), "input x is");
  }
  CHECK(laid_out(good, {HostTensor::contiguous(DType::float32, {5, 3})}).has_value());
}

}  // namespace
}  // namespace penstock::tools
