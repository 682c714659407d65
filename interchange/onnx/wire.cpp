#include "interchange/onnx/wire.h"

#include <cstring>

namespace penstock::onnx {

namespace {

constexpr std::uint32_t kNumbers[] = {
#define PS_FIELD(message, field, number) number,
#include "interchange/onnx/fields.def"
#undef PS_FIELD
};

/// What follows a field's key.
enum Kind : std::uint8_t { kVarint = 0, kLength = 2, kFourBytes = 5 };

}  // namespace

void Message::varint(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) text_ += static_cast<char>(value | 0x80);
  text_ += static_cast<char>(value);
}

void Message::key(Field field, unsigned kind) {
  varint(std::uint64_t{kNumbers[static_cast<std::size_t>(field)]} << 3 | kind);
}

void Message::number(Field field, std::int64_t value) {
  key(field, kVarint);
  varint(static_cast<std::uint64_t>(value));
}

void Message::real(Field field, float value) {
  key(field, kFourBytes);
  char raw[sizeof value];
  std::memcpy(raw, &value, sizeof value);
  text_.append(raw, sizeof raw);
}

void Message::begin_bytes(Field field, std::uint64_t length) {
  key(field, kLength);
  varint(length);
}

void Message::bytes(Field field, std::string_view value) {
  begin_bytes(field, value.size());
  text_ += value;
}

}  // namespace penstock::onnx
