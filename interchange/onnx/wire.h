#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace penstock::onnx {

/// A field of one of ONNX's messages; fields.def has the numbers.
enum class Field : std::uint8_t {
#define PS_FIELD(message, field, number) message##_##field,
#include "interchange/onnx/fields.def"
#undef PS_FIELD
};

/// A protocol buffer's message as it is written. The whole format is three kinds of fields, and the
/// messages are few: a library for it would be one more in every package, and hold each weight
/// twice in memory.
class Message {
 public:
  void number(Field field, std::int64_t value);
  void real(Field field, float value);  ///< four bytes
  void bytes(Field field, std::string_view value);
  void message(Field field, const Message& value) { bytes(field, value.text_); }
  /// What stands before `length` bytes that follow by themselves.
  void begin_bytes(Field field, std::uint64_t length);
  const std::string& text() const { return text_; }

 private:
  void varint(std::uint64_t value);
  void key(Field field, unsigned kind);
  std::string text_;
};

}  // namespace penstock::onnx
