#include <doctest/doctest.h>

#include <vector>

#include "guards/apart_tensors.h"

using penstock::guards::ApartTensor;
using penstock::guards::find_overlap;

namespace {

char memory[4096];

/// A tensor of so many bytes, at this byte of one memory.
ApartTensor tensor(std::size_t at, std::size_t bytes, bool written, std::int32_t storage = -1) {
  return {memory + at, memory + at + bytes, memory, storage, written};
}

}  // namespace

TEST_CASE("what lies side by side is apart, and what shares a byte is not") {
  std::vector<ApartTensor> tensors = {tensor(40, 40, true), tensor(0, 40, false),
                                      tensor(80, 40, false)};
  CHECK(!find_overlap(tensors));
  tensors.push_back(tensor(119, 4, true));
  CHECK(find_overlap(tensors) == 3);
}

TEST_CASE("what is only read may overlap") {
  std::vector<ApartTensor> tensors = {tensor(0, 40, false), tensor(20, 40, false)};
  CHECK(!find_overlap(tensors));
  tensors.push_back(tensor(56, 40, true));
  CHECK(find_overlap(tensors) == 2);
}

TEST_CASE("a long tensor is found behind short ones between") {
  std::vector<ApartTensor> tensors = {tensor(0, 400, true), tensor(400, 4, false)};
  CHECK(!find_overlap(tensors));
  tensors = {tensor(0, 400, true), tensor(600, 4, false), tensor(396, 4, false)};
  CHECK(find_overlap(tensors) == 0);
  tensors = {tensor(0, 400, false), tensor(4, 4, false), tensor(396, 8, true)};
  CHECK(find_overlap(tensors) == 2);
}

TEST_CASE("tensors of one storage are known to share it") {
  std::vector<ApartTensor> tensors = {tensor(0, 40, true, 3), tensor(20, 40, false, 3)};
  CHECK(!find_overlap(tensors));
  tensors.push_back(tensor(24, 40, false, 4));
  CHECK(find_overlap(tensors) == 0);
}

TEST_CASE("an empty tensor overlaps nothing, and one without an address its storage") {
  std::vector<ApartTensor> tensors = {tensor(0, 40, true), tensor(20, 0, true)};
  CHECK(!find_overlap(tensors));
  const ApartTensor nowhere{nullptr, nullptr, memory, -1, true};
  tensors = {nowhere, ApartTensor{nullptr, nullptr, memory + 1, -1, true}};
  CHECK(!find_overlap(tensors));
  tensors.push_back(nowhere);
  CHECK(find_overlap(tensors) == 0);
}
