#include "python/bytecode.h"
#include "python/cpython.h"

namespace penstock::python {
namespace {

// The location table of CPython 3.11 and later (Objects/locations.md): entries of one head byte
// (0x80 | kind << 3 | units - 1) and what the kind asks for.
constexpr int kOneLine0 = 10;  // kinds 10..12: line delta 0..2, two column bytes
constexpr int kNoColumns = 13;
constexpr int kLong = 14;
constexpr int kNone = 15;

/// Empty where it has no UTF-8.
SharedText text_of(PyObject* str) {
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(str, &size);
  if (text == nullptr) PyErr_Clear();
  return text == nullptr ? SharedText()
                         : SharedText(std::string(text, static_cast<std::size_t>(size)));
}

class LineReader {
 public:
  LineReader(const unsigned char* bytes, Py_ssize_t size) : next_(bytes), end_(bytes + size) {}
  bool done() const { return next_ >= end_; }
  int byte() { return next_ < end_ ? *next_++ : 0; }
  int varint() {  // six bits a byte, least significant first
    int value = 0;
    for (int shift = 0; next_ < end_; shift += 6) {
      const int next = *next_++;
      value |= (next & 63) << shift;
      if ((next & 64) == 0) break;
    }
    return value;
  }
  int signed_varint() {
    const int value = varint();
    return (value & 1) != 0 ? -(value >> 1) : value >> 1;
  }

 private:
  const unsigned char* next_;
  const unsigned char* end_;
};

/// Reads what follows the head byte; `line` is the running line number.
Position read_position(LineReader& reader, int kind, int& line) {
  Position position;
  if (kind == kNone) return position;
  if (kind == kLong) {
    line += reader.signed_varint();
    position.line = line;
    position.end_line = line + reader.varint();
    position.column = reader.varint() - 1;
    position.end_column = reader.varint() - 1;
    return position;
  }
  if (kind == kNoColumns) {
    line += reader.signed_varint();
  } else if (kind >= kOneLine0) {
    line += kind - kOneLine0;
    position.column = reader.byte();
    position.end_column = reader.byte();
  } else {
    const int second = reader.byte();
    position.column = kind << 3 | second >> 4;
    position.end_column = position.column + (second & 15);
  }
  position.line = position.end_line = line;
  return position;
}

}  // namespace

void Bytecode::decode_positions(Decoded& known) const {
  known.positions.assign(known.instructions.size(), Position{});
  PyObject* table = code_->co_linetable;
  LineReader reader(reinterpret_cast<const unsigned char*>(PyBytes_AS_STRING(table)),
                    PyBytes_GET_SIZE(table));
  int line = code_->co_firstlineno;
  int unit = 0;
  std::size_t wanted = 0;
  while (!reader.done() && wanted < known.instructions.size()) {
    const int head = reader.byte();
    const Position position = read_position(reader, head >> 3 & 15, line);
    unit += (head & 7) + 1;
    for (; wanted < known.instructions.size() && known.instructions[wanted].at < unit; ++wanted) {
      known.positions[wanted] = position;
    }
  }
}

const Position& Bytecode::position(const Instruction& instruction) const {
  Decoded& known = decoded();
  if (known.positions.empty()) decode_positions(known);
  return known.positions[instruction.index];
}

const SharedText& Bytecode::qualified_name() const {
  SharedText& name = decoded().qualified_name;
  if (name.empty()) name = text_of(code_->co_qualname);
  return name;
}

Location Bytecode::location(const Instruction& instruction) const {
  const Position& position = this->position(instruction);
  SharedText& file = decoded().file;
  if (file.empty()) file = text_of(code_->co_filename);
  Location location;
  location.file = file;
  location.line = position.line;
  location.column = position.column;
  location.end_line = position.end_line;
  location.end_column = position.end_column;
  return location;
}

}  // namespace penstock::python
