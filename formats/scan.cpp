#include "formats/scan.h"

#include <algorithm>
#include <array>

namespace penstock::formats {

namespace {

/// Bytes that mean something outside of strings.
constexpr std::array<bool, 256> kStructure = [] {
  std::array<bool, 256> table{};
  for (char c : {'"', '{', '[', '}', ']'}) table[static_cast<unsigned char>(c)] = true;
  return table;
}();

}  // namespace

/// Most of a document is looked at in the two inner loops.
DocumentScanner::Found JsonScanner::scan(std::string_view bytes) {
  const char* const data = bytes.data();
  const std::size_t size = bytes.size();
  std::size_t at = position_;
  while (at < size) {
    if (in_string_) {
      if (!escaped_) {
        while (at < size && data[at] != '"' && data[at] != '\\') ++at;
        if (at == size) break;
        in_string_ = data[at] != '"';
      }
      escaped_ = !escaped_ && data[at] == '\\';
      ++at;
      continue;
    }
    while (at < size && !kStructure[static_cast<unsigned char>(data[at])]) ++at;
    if (at == size) break;
    const char c = data[at++];
    if (c == '"') {
      in_string_ = true;
    } else if (c == '{' || c == '[') {
      if (++depth_ > kMaxDepth) {
        position_ = at - 1;
        return Found::too_deep;
      }
    } else if (--depth_ == 0) {
      position_ = at;
      return Found::end;
    }
  }
  position_ = at;
  return Found::more;
}

namespace {

/// The head of a CBOR item: RFC 8949, section 3.
struct Head {
  std::size_t length = 0;  ///< bytes of the head; 0: not all of them are there
  int major_type = 0;
  bool indefinite = false;
  bool valid = true;
  std::uint64_t argument = 0;
};

Head read_head(std::string_view bytes) {
  Head head;
  if (bytes.empty()) return head;
  auto first = static_cast<unsigned char>(bytes.front());
  head.major_type = first >> 5;
  unsigned info = first & 31;
  if (info < 24) {
    head.argument = info;
    head.length = 1;
  } else if (info < 28) {
    std::size_t size = std::size_t{1} << (info - 24);
    if (bytes.size() < 1 + size) return head;
    for (std::size_t i = 1; i <= size; ++i) {
      head.argument = head.argument << 8 | static_cast<unsigned char>(bytes[i]);
    }
    head.length = 1 + size;
  } else {
    head.length = 1;
    head.indefinite = info == 31;
    // Integers and tags have no indefinite form.
    head.valid =
        head.indefinite && head.major_type != 0 && head.major_type != 1 && head.major_type != 6;
  }
  return head;
}

}  // namespace

DocumentScanner::Found CborScanner::scan(std::string_view bytes) {
  for (;;) {
    std::size_t before = position_;
    Found found = step(bytes);
    if (found != Found::more || position_ == before) return found;
  }
}

/// Consumes one head (a string with its bytes). `more` with an unmoved position: it is not all
/// there.
DocumentScanner::Found CborScanner::step(std::string_view bytes) {
  Head head = read_head(bytes.substr(position_));
  if (!head.valid) return Found::malformed;
  if (head.length == 0) return Found::more;
  constexpr int kBytes = 2, kText = 3, kArray = 4, kMap = 5, kTag = 6, kSimple = 7;
  bool is_break = head.major_type == kSimple && head.indefinite;
  if (is_break) {
    if (open_.empty() || open_.back() != kIndefinite) return Found::malformed;
    open_.pop_back();
    position_ += head.length;
    return finish_item();
  }
  bool is_string = head.major_type == kBytes || head.major_type == kText;
  if (is_string && !head.indefinite) {
    std::size_t room = bytes.size() - position_ - head.length;
    if (head.argument > kMaxDocumentBytes) return Found::malformed;
    if (head.argument > room) return Found::more;
    position_ += static_cast<std::size_t>(head.argument);
  }
  position_ += head.length;
  std::uint64_t items = 0;
  if (head.indefinite) {
    items = kIndefinite;
  } else if (head.major_type == kArray || head.major_type == kMap) {
    if (head.argument > kMaxDocumentBytes) return Found::malformed;
    items = head.major_type == kMap ? head.argument * 2 : head.argument;
  } else if (head.major_type == kTag) {
    items = 1;
  }
  if (items == 0) return finish_item();
  if (open_.size() >= kMaxDepth) return Found::too_deep;
  open_.push_back(items);
  return Found::more;
}

/// An item is complete: so may be the containers that it was the last of.
DocumentScanner::Found CborScanner::finish_item() {
  while (!open_.empty()) {
    if (open_.back() == kIndefinite) return Found::more;
    if (--open_.back() > 0) return Found::more;
    open_.pop_back();
  }
  return Found::end;
}

namespace {

/// Reads the members of a record one behind the other; an empty piece is the end, or something
/// malformed.
class Members {
 public:
  Members(std::string_view record, bool cbor) : record_(record), cbor_(cbor) {
    at_ = cbor ? read_head(record).length : 1;
  }

  std::string_view key() {
    if (!cbor_) skip(", \n\r\t");
    return piece();
  }
  std::string_view value() {
    if (!cbor_) skip(": \n\r\t");
    return piece();
  }

 private:
  void skip(std::string_view characters) {
    at_ = std::min(record_.find_first_not_of(characters, at_), record_.size());
  }
  std::string_view piece() {
    const std::string_view rest = record_.substr(at_);
    const std::size_t length = cbor_ ? item_length(rest) : value_length(rest);
    at_ += length;
    return rest.substr(0, length);
  }
  static std::size_t item_length(std::string_view bytes) {
    CborScanner scanner;
    return scanner.scan(bytes) == DocumentScanner::Found::end ? scanner.position() : 0;
  }
  static std::size_t value_length(std::string_view bytes) {
    if (bytes.empty() || bytes.front() == '}') return 0;
    if (bytes.front() == '{' || bytes.front() == '[') {
      JsonScanner scanner;
      return scanner.scan(bytes) == DocumentScanner::Found::end ? scanner.position() : 0;
    }
    if (bytes.front() != '"') return std::min(bytes.find_first_of(",} \n\r\t"), bytes.size());
    for (std::size_t at = 1; at < bytes.size(); ++at) {
      if (bytes[at] == '\\') {
        ++at;
      } else if (bytes[at] == '"') {
        return at + 1;
      }
    }
    return 0;
  }

  std::string_view record_;
  std::size_t at_;
  bool cbor_;
};

}  // namespace

std::string_view member_value(std::string_view bytes, bool cbor, std::string_view key) {
  Members members(bytes, cbor);
  for (;;) {
    std::string_view name = members.key();
    const std::string_view value = members.value();
    if (name.empty() || value.empty()) return {};
    const std::size_t head = cbor ? read_head(name).length : 1;
    name = name.substr(head, name.size() - head - (cbor ? 0 : 1));
    if (name == key) return value;
  }
}

}  // namespace penstock::formats
