#include "ops/host_tensor.h"

#include <doctest/doctest.h>

#include <cmath>

namespace penstock::ops {
namespace {

TEST_CASE("Both parts of complex elements are kept, and one number is the real part") {
  for (const DType dtype : {DType::complex64, DType::complex128}) {
    HostTensor tensor = HostTensor::contiguous(dtype, {2});
    tensor.assign(std::vector<double>{1.5, -2, 3, INFINITY});
    CHECK(tensor.reals() == std::vector<double>{1.5, -2, 3, INFINITY});
    CHECK(tensor.real_at(0) == 1.5);
    CHECK(tensor.integer_at(1) == 3);
    CHECK(tensor.integers() == std::vector<std::int64_t>{1, 3});
    tensor.set_integer(1, 7);
    CHECK(tensor.reals() == std::vector<double>{1.5, -2, 7, 0});
    CHECK(HostTensor::scalar(dtype, -4).reals() == std::vector<double>{-4, 0});
  }
}

TEST_CASE("Every dtype gives back what it can hold") {
  for (const DType dtype :
       {DType::bool_, DType::uint8, DType::int8, DType::int16, DType::int32, DType::int64,
        DType::float16, DType::bfloat16, DType::float32, DType::float64}) {
    HostTensor tensor = HostTensor::contiguous(dtype, {3});
    tensor.assign(std::vector<std::int64_t>{0, 1, 1});
    CHECK(tensor.reals() == std::vector<double>{0, 1, 1});
    CHECK(tensor.integers() == std::vector<std::int64_t>{0, 1, 1});
  }
}

}  // namespace
}  // namespace penstock::ops
