#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <set>
#include <string_view>

#include "ir/float_format.h"
#include "ops/number_arguments.h"
#include "ops/op.h"
#include "ops/promotion.h"

using namespace penstock;
using namespace penstock::ops;

TEST_CASE("every row is found by its name, and names are unique") {
  std::set<std::string_view> names;
  for (const OpFacts& row : all_ops()) {
    CHECK(names.insert(row.name).second);
    CHECK(find_op(row.name) == &row);
    CHECK(facts(row.id).name == row.name);
  }
  CHECK(find_op("aten.nothing.default") == nullptr);
}

TEST_CASE("in-place ops know their functional namesake") {
  auto functional = [](std::string_view name) -> std::string_view {
    const OpFacts* found = functional_op(*find_op(name));
    return found ? found->name : "";
  };
  CHECK(functional("aten.add_.Tensor") == "aten.add.Tensor");
  CHECK(functional("aten.floor_divide_.Tensor") == "aten.floor_divide.default");
  CHECK(functional("aten.__iand__.Tensor") == "aten.__and__.Tensor");
  CHECK(functional("aten.copy_.default").empty());
  for (const OpFacts& row : all_ops()) {
    if (row.family != OpFamily::in_place) continue;
    bool own = row.id == OpId::copy__default || row.id == OpId::zero__default ||
               row.id == OpId::fill__Scalar || row.id == OpId::fill__Tensor;
    CHECK_MESSAGE((functional_op(row) != nullptr) != own, row.name);
  }
}

TEST_CASE("promotion prefers tensors with dims, then categories") {
  CHECK(promote(DType::uint8, DType::int8) == DType::int16);
  CHECK(promote(DType::float16, DType::bfloat16) == DType::float32);
  CHECK(promote(DType::bool_, DType::int8) == DType::int8);
  CHECK(promote(DType::int64, DType::float16) == DType::float16);
  CHECK(promote(DType::float64, DType::complex64) == DType::complex128);
  ResultType type;
  type.add_tensor(DType::float16, true);
  type.add_tensor(DType::float64, false);
  CHECK(type.dtype() == DType::float16);
  ResultType integers;
  integers.add_tensor(DType::int32, true);
  integers.add_number(DTypeCategory::floating);
  CHECK(integers.dtype() == DType::float32);
}

TEST_CASE("16-bit floats survive the way through double") {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    auto pattern = static_cast<std::uint16_t>(bits);
    if (from_float16(pattern) == from_float16(pattern))
      REQUIRE(to_float16(from_float16(pattern)) == pattern);
    if (from_bfloat16(pattern) == from_bfloat16(pattern))
      REQUIRE(to_bfloat16(from_bfloat16(pattern)) == pattern);
  }
  CHECK(to_float16(65520) == 0x7c00);  // the tie above the largest rounds to infinity
  CHECK(round_to(1 + 1.0 / 256, DType::bfloat16) == 1);
}

TEST_CASE("bfloat16 of float32 is that of double") {
  for (std::uint32_t high = 0; high < 65536; ++high) {
    for (const std::uint32_t low : {0x0000U, 0x0001U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU}) {
      const float value = std::bit_cast<float>(high << 16 | low);
      const std::uint16_t rounded = float_to_bfloat16(value);
      if (std::isnan(value)) {
        REQUIRE(std::isnan(float_of_bfloat16(rounded)));
      } else {
        REQUIRE(rounded == to_bfloat16(value));
      }
    }
  }
}

TEST_CASE("a number may be an input where nothing speaks against it, in its bounds") {
  using enum NumberArgument;
  CHECK(number_argument("aten.leaky_relu.default", "negative_slope", "Scalar").how == checked);
  CHECK(number_argument("aten.layer_norm.default", "eps", "float").how == wrapped);
  CHECK(number_argument("aten.nobody_knows.default", "value", "Scalar?").how == checked);
  CHECK(number_argument("aten.add_.Tensor", "other", "Tensor").how == wrapped);
  CHECK(number_argument("aten.add.Tensor", "self", "Tensor").how == refused);
  CHECK(number_argument("aten.cumsum.default", "dim", "int").how == refused);
  CHECK(number_argument("aten.upsample.vec", "scale_factors", "float[]?").how == refused);
  CHECK(number_argument("aten.arange.default", "end", "Scalar").how == refused);
  CHECK(number_argument("torch.gradient.default", "value", "Scalar").how == refused);
  const auto first = [](std::string_view op, std::string_view parameter) {
    return number_argument(op, parameter, "Scalar").bounds[0];
  };
  CHECK(first("aten.huber_loss.default", "delta")->comparison == NumberOp::greater);
  // What writes its argument has bounds of its own, or those of what does not.
  CHECK_FALSE(first("aten.leaky_relu.default", "negative_slope"));
  CHECK(first("aten.leaky_relu_.default", "negative_slope")->comparison == NumberOp::greater_equal);
  CHECK(first("aten.addmm_.default", "beta")->comparison == NumberOp::not_equal);
}
