#include "runtime/index_check.h"

#include <doctest/doctest.h>

#include <vector>

#include "library_fixture.h"

namespace penstock::runtime {

namespace {

struct Range {
  std::int64_t size;
  bool wraps = false;
  Argument ignored = {};
};

/// What the check says of these elements; empty: nothing.
template <class T>
std::string said(DType dtype, const std::vector<T>& elements, const Sizes& sizes,
                 const Sizes& strides, const Range& range) {
  LibraryCall call;
  call.name = "check_index";
  call.op = "op";
  call.attributes = {{"dim", std::int64_t{1}},
                     {"size", range.size},
                     {"wraps", range.wraps},
                     {"ignored", range.ignored}};
  auto kernel = make_index_check(call, {{{dtype, sizes, strides}}, {}, {}, {true}});
  void* const inputs[] = {const_cast<T*>(elements.data())};
  LibraryMemory memory;
  memory.inputs = inputs;
  auto done = kernel->run(memory);
  if (!done) CHECK(done.error().code == Code::PS0808);
  return done ? std::string() : done.error().message;
}

}  // namespace

TEST_CASE("every element beyond its dim is found, wherever it stands") {
  for (std::size_t count : {1, 3, 4, 7, 64, 129}) {
    const Sizes sizes = {static_cast<std::int64_t>(count)};
    for (std::size_t place = 0; place < count; ++place) {
      std::vector<std::int64_t> elements(count, 4);
      CHECK(said(DType::int64, elements, sizes, {1}, {5}).empty());
      for (std::int64_t beyond :
           {std::int64_t{5}, std::int64_t{-1}, std::int64_t{-5}, INT64_MAX, INT64_MIN}) {
        elements[place] = beyond;
        const std::string message =
            "op: index " + std::to_string(beyond) + " is out of range for dim 1 of size 5";
        CHECK(said(DType::int64, elements, sizes, {1}, {5}) == message);
        CHECK(said(DType::int64, elements, sizes, {1}, {5, true}).empty() ==
              (beyond < 0 && beyond >= -5));
        CHECK(said(DType::int64, elements, sizes, {1}, {5, false, beyond}).empty());
      }
    }
  }
}

TEST_CASE("what lies between the rows of a window is no index") {
  // Rows of two with a gap behind each; joined to one row, they would lack the last two and have a
  // gap.
  std::vector<std::int64_t> elements = {0, 1, 99, 2, 3, 99, 4, 0, 99};
  CHECK(said(DType::int64, elements, {3, 2}, {3, 1}, {5}).empty());
  CHECK(said(DType::int64, elements, {3, 1, 2}, {3, 7, 1}, {5}).empty());
  CHECK(said(DType::int64, elements, {2, 3}, {1, 3}, {5}).empty());
  elements[7] = 5;
  const std::string message = "op: index 5 is out of range for dim 1 of size 5";
  CHECK(said(DType::int64, elements, {3, 2}, {3, 1}, {5}) == message);
  CHECK(said(DType::int64, elements, {2, 3}, {1, 3}, {5}) == message);
}

TEST_CASE("strides and dtypes of indices") {
  const std::vector<std::int32_t> elements = {0, 9, 1, 9, 2, 9, -1, 9};
  CHECK(said(DType::int32, elements, {2, 2}, {4, 2}, {3, true}).empty());
  CHECK(said(DType::int32, elements, {2, 2}, {4, 2}, {3}) ==
        "op: index -1 is out of range for dim 1 of size 3");
  CHECK(said(DType::int32, elements, {2, 3}, {2, 1}, {3, true}) ==
        "op: index 9 is out of range for dim 1 of size 3");
  CHECK(said(DType::int32, elements, {5, 1}, {0, 1}, {1}).empty());
  const std::vector<std::uint8_t> bytes = {0, 200, 255};
  CHECK(said(DType::uint8, bytes, {3}, {1}, {256}).empty());
  CHECK(said(DType::uint8, bytes, {3}, {1}, {255}) ==
        "op: index 255 is out of range for dim 1 of size 255");
  // Nothing chooses nothing; nothing can be chosen of an empty dim.
  CHECK(said(DType::int32, elements, {0}, {1}, {0}).empty());
  CHECK(!said(DType::int32, elements, {}, {}, {0}).empty());
}

}  // namespace penstock::runtime
