#include "runtime/copy.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "ir/strides.h"

namespace penstock::runtime {

namespace {

using Sizes = std::vector<std::int64_t>;

LibraryCall call(std::string name) {
  LibraryCall made;
  made.name = std::move(name);
  return made;
}

/// Whether a copy between windows of these sizes moves each element, and nothing else.
template <class T>
void check_copy(DType dtype, const Sizes& sizes, const Sizes& from, const Sizes& to,
                std::size_t room) {
  std::vector<T> source(room), target(room, T{77}), wanted = target;
  for (std::size_t i = 0; i < room; ++i) source[i] = static_cast<T>(i % 70);
  std::int64_t count = 1;
  for (std::int64_t size : sizes) count *= size;
  for (std::int64_t i = 0; i < count; ++i)
    wanted[offset_at(i, sizes, to)] = source[offset_at(i, sizes, from)];
  auto kernel = make_copy(call("copy"), {{{dtype, sizes, from}}, {{dtype, sizes, to}}, {}, {true}});
  REQUIRE(kernel);
  void* const inputs[] = {source.data()};
  void* const outputs[] = {target.data()};
  LibraryMemory memory;
  memory.inputs = inputs;
  memory.outputs = outputs;
  CHECK((*kernel)->run(memory));
  CHECK(target == wanted);
}

template <class T>
void check_layouts(DType dtype) {
  check_copy<T>(dtype, {}, {}, {}, 1);
  check_copy<T>(dtype, {5}, {1}, {1}, 8);
  check_copy<T>(dtype, {5}, {3}, {1}, 16);
  check_copy<T>(dtype, {5}, {0}, {2}, 16);
  check_copy<T>(dtype, {3, 4}, {4, 1}, {8, 1}, 32);
  check_copy<T>(dtype, {3, 4}, {1, 3}, {4, 1}, 32);
  check_copy<T>(dtype, {3, 1, 4}, {4, 9, 1}, {1, 7, 3}, 32);
  check_copy<T>(dtype, {2, 3, 4}, {12, 4, 1}, {12, 1, 3}, 32);
  check_copy<T>(dtype, {2, 0, 4}, {0, 4, 1}, {0, 4, 1}, 8);
}

}  // namespace

TEST_CASE("a copy moves windows of every layout") {
  check_layouts<std::uint8_t>(DType::uint8);
  check_layouts<std::uint16_t>(DType::bfloat16);
  check_layouts<std::uint32_t>(DType::float32);
  check_layouts<std::uint64_t>(DType::int64);
}

TEST_CASE("a row is copied out of its tensor, and into it") {
  std::vector<std::int32_t> rows = {0, 1, 2, 3, 4, 5}, row = {7, 7};
  std::int64_t turn = 2;
  const Operand whole{DType::int32, {3, 2}, {2, 1}}, one{DType::int32, {2}, {1}},
      number{DType::int64, {}, {}};
  auto take = make_copy(call("take_row"), {{whole, number}, {one}, {}, {true, true}});
  auto put = make_copy(call("put_row"), {{one, number}, {whole}, {}, {true, true}});
  REQUIRE(take);
  REQUIRE(put);
  void *const taken[] = {rows.data(), &turn}, *const into[] = {row.data()};
  LibraryMemory memory;
  memory.inputs = taken;
  memory.outputs = into;
  CHECK((*take)->run(memory));
  CHECK(row == std::vector<std::int32_t>{4, 5});
  void *const given[] = {row.data(), &turn}, *const filled[] = {rows.data()};
  memory.inputs = given;
  memory.outputs = filled;
  turn = 0;
  CHECK((*put)->run(memory));
  CHECK(rows == std::vector<std::int32_t>{4, 5, 2, 3, 4, 5});
  for (const std::int64_t beyond : {3, -1}) {
    turn = beyond;
    auto ran = (*put)->run(memory);
    REQUIRE(!ran);
    CHECK(ran.error().code == Code::PS0808);
  }
}

TEST_CASE("windows that differ are refused") {
  CHECK(!make_copy(
      call("copy"),
      {{{DType::float32, {2, 3}, {3, 1}}}, {{DType::float32, {3, 2}, {2, 1}}}, {}, {true}}));
  CHECK(!make_copy(call("copy"),
                   {{{DType::float32, {2}, {1}}}, {{DType::int32, {2}, {1}}}, {}, {true}}));
  CHECK(!make_copy(call("copy"),
                   {{{DType::float32, {2}, {1}}}, {{DType::float32, {2}, {1}}}, {}, {false}}));
}

}  // namespace penstock::runtime
