#include <algorithm>
#include <string>

#include "python/bytecode.h"
#include "python/cpython.h"
#include "python/versions/window_code.h"

namespace penstock::python {
namespace {

/// Reads the varints of co_exceptiontable: six bits a byte, most significant first, bit 6
/// continues. (Bit 7 marks the start of an entry.)
class TableReader {
 public:
  TableReader(const unsigned char* bytes, Py_ssize_t size) : next_(bytes), end_(bytes + size) {}
  bool done() const { return next_ >= end_; }
  int read() {
    int value = 0;
    while (next_ < end_) {
      const int byte = *next_++;
      value = value << 6 | (byte & 63);
      if ((byte & 64) == 0) break;
    }
    return value;
  }

 private:
  const unsigned char* next_;
  const unsigned char* end_;
};

/// Writes them.
class TableWriter {
 public:
  void write(const Handler& handler) {
    const std::size_t begin = bytes_.size();
    write(handler.start);
    write(handler.end - handler.start);
    write(handler.target);
    write(handler.depth << 1 | (handler.push_lasti ? 1 : 0));
    bytes_[begin] = static_cast<char>(bytes_[begin] | 128);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void write(int value) {
    int shift = 0;
    while (value >> (shift + 6) != 0) shift += 6;
    for (; shift >= 0; shift -= 6) {
      bytes_.push_back(static_cast<char>((value >> shift & 63) | (shift > 0 ? 64 : 0)));
    }
  }

  std::string bytes_;
};

}  // namespace

PyRef exceptions_landing_at(const Bytecode& bytecode, int landing) {
  TableWriter writer;
  int covered = 0;
  const auto cover_until = [&](int unit) {
    if (covered < unit) writer.write({covered, unit, landing, 0, false});
  };
  for (const Handler& handler : bytecode.handlers()) {
    cover_until(handler.start);
    writer.write(handler);
    covered = handler.end;
  }
  cover_until(landing);
  return PyRef::steal(PyBytes_FromStringAndSize(writer.bytes().data(),
                                                static_cast<Py_ssize_t>(writer.bytes().size())));
}

void Bytecode::decode_handlers(Decoded& made) const {
  PyObject* table = code_->co_exceptiontable;
  TableReader reader(reinterpret_cast<const unsigned char*>(PyBytes_AS_STRING(table)),
                     PyBytes_GET_SIZE(table));
  while (!reader.done()) {
    Handler handler{};
    handler.start = reader.read();
    handler.end = handler.start + reader.read();
    handler.target = reader.read();
    const int depth_and_lasti = reader.read();
    handler.depth = depth_and_lasti >> 1;
    handler.push_lasti = (depth_and_lasti & 1) != 0;
    made.handlers.push_back(handler);
  }
}

const Handler* Bytecode::handler(int unit) const {
  const std::vector<Handler>& all = handlers();
  const auto after =
      std::upper_bound(all.begin(), all.end(), unit,
                       [](int wanted, const Handler& handler) { return wanted < handler.start; });
  if (after == all.begin()) return nullptr;
  const Handler& candidate = *(after - 1);
  return unit < candidate.end ? &candidate : nullptr;
}

const Handler* Bytecode::handler_at(int unit) const {
  for (const Handler& handler : handlers()) {
    if (handler.target == unit) return &handler;
  }
  return nullptr;
}

}  // namespace penstock::python
