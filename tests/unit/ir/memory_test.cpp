// Buffers lie in their memory, to the byte.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "ir/memory_verify.h"

namespace penstock {
namespace {

using Kind = Buffer::Kind;

Buffer buffer(Kind kind, std::vector<SymExpr> sizes, std::vector<SymExpr> strides,
              std::int64_t bytes) {
  Buffer made;
  made.name = "b";
  made.kind = kind;
  made.index = 0;
  made.sizes = std::move(sizes);
  made.strides = std::move(strides);
  made.bytes = bytes;
  return made;
}

/// An input of float32 and 6 elements in a row; s0 is 3.
Interface interface_of_one_input() {
  Interface interface;
  Symbol symbol;
  symbol.name = "s0";
  symbol.hint = 3;
  interface.symbols.push_back(symbol);
  Input input;
  input.type.dtype = DType::float32;
  input.type.sizes = {6};
  input.type.strides = {1};
  interface.inputs.push_back(input);
  return interface;
}

/// What is said against the buffers; nothing: they are sound.
std::string complaint(const std::vector<Buffer>& buffers, std::int64_t arena_bytes = 128) {
  const Interface interface = interface_of_one_input();
  auto checked =
      verify_memory(interface, buffers, {arena_bytes}, recorded_sizes(interface.symbols), true);
  if (checked) return {};
  CHECK(checked.error().code == Code::PS0205);
  return checked.error().message;
}

bool is_refused(const Buffer& buffer, const std::string& part) {
  const std::string message = complaint({buffer});
  INFO("complaint: ", message);
  return !message.empty() && message.find(part) != std::string::npos;
}

TEST_CASE("a window ends where its memory does") {
  const SymExpr rows = SymExpr::symbol("s0");
  for (std::int64_t bytes : {24, 25, 100})
    CHECK(complaint({buffer(Kind::output, {rows, 2}, {2, 1}, bytes)}) == "");
  CHECK(is_refused(buffer(Kind::output, {rows, 2}, {2, 1}, 23),
                   "to byte 24 of a memory of 23 bytes"));
  CHECK(is_refused(buffer(Kind::output, {rows, 2}, {3, 1}, 31),
                   "to byte 32 of a memory of 31 bytes"));
  Buffer moved = buffer(Kind::output, {6}, {1}, 28);
  moved.offset = 1;
  CHECK(complaint({moved}) == "");
  moved.bytes = 27;
  CHECK(is_refused(moved, "from byte 4 to byte 28"));
  moved.offset = -1;
  CHECK(is_refused(moved, "from byte -4"));
  CHECK(complaint({buffer(Kind::output, {rows, 0}, {1000, 1}, 0)}) == "");
}

TEST_CASE("a window on an input, or on another buffer, is held against that memory") {
  CHECK(complaint({buffer(Kind::input, {2, 3}, {3, 1}, 0)}) == "");
  CHECK(is_refused(buffer(Kind::input, {7}, {1}, 0), "to byte 28 of a memory of 24 bytes"));
  const Buffer base = buffer(Kind::output, {6}, {1}, 24);
  Buffer view = buffer(Kind::view, {2}, {5}, 0);
  view.base = 0;
  CHECK(complaint({base, view}) == "");
  view.strides = {6};
  CHECK(complaint({base, view}) != "");
}

TEST_CASE("a negative stride reaches towards the start of its memory") {
  Buffer reversed = buffer(Kind::output, {6}, {-1}, 24);
  reversed.offset = 5;
  CHECK(complaint({reversed}) == "");
  reversed.offset = 4;
  CHECK(is_refused(reversed, "from byte -4 to byte 20"));
  reversed.offset = 6;
  CHECK(is_refused(reversed, "from byte 4 to byte 28"));
}

TEST_CASE("a temporary lies in the arena") {
  Buffer temporary = buffer(Kind::temporary, {16}, {1}, 64);
  for (std::int64_t start : {0, 64}) {
    temporary.arena_offset = start;
    CHECK(complaint({temporary}, 128) == "");
  }
  CHECK(complaint({temporary}, 127) == "buffer b ends behind the arena of 127 bytes");
  temporary.arena_offset = 128;
  CHECK(is_refused(temporary, "ends behind the arena of 128 bytes"));
  for (std::int64_t start : {-64, 32}) {
    temporary.arena_offset = start;
    CHECK(is_refused(temporary, "multiple of 64 bytes"));
  }
}

TEST_CASE("of what one size decides, temporaries lie in its own arena, and views in any memory") {
  const Interface interface = interface_of_one_input();
  Buffer other = buffer(Kind::temporary, {4}, {1}, 16), own = other, view = other;
  other.arena_offset = 4096;
  view.kind = Kind::view;
  view.base = 0;
  const auto complaint_of = [&](std::int64_t arena_bytes) {
    const auto checked = verify_decided_memory(interface, {other, own, view}, {1, 2}, arena_bytes,
                                               recorded_sizes(interface.symbols));
    return checked ? std::string() : checked.error().message;
  };
  CHECK(complaint_of(16) == "");
  CHECK(complaint_of(15).find("ends behind the arena of 15 bytes") != std::string::npos);
  CHECK(complaint_of(-1).find("negative length") != std::string::npos);
  view.sizes = {5};
  CHECK(complaint_of(16).find("reaches from byte 0 to byte 20") != std::string::npos);
}

}  // namespace
}  // namespace penstock
