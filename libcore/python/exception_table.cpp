#include <algorithm>

#include "python/bytecode.h"
#include "python/cpython.h"

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

}  // namespace

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
