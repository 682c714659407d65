#include "formats/scan.h"

namespace penstock::formats {

DocumentScanner::Found JsonScanner::scan(std::string_view bytes) {
  for (; position_ < bytes.size(); ++position_) {
    char c = bytes[position_];
    if (in_string_) {
      if (escaped_) {
        escaped_ = false;
      } else if (c == '\\') {
        escaped_ = true;
      } else if (c == '"') {
        in_string_ = false;
      }
    } else if (c == '"') {
      in_string_ = true;
    } else if (c == '{' || c == '[') {
      if (++depth_ > kMaxDepth) return Found::too_deep;
    } else if (c == '}' || c == ']') {
      if (--depth_ > 0) continue;
      ++position_;
      return Found::end;
    }
  }
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
    head.valid = head.indefinite && head.major_type != 0 && head.major_type != 1 &&
                 head.major_type != 6;
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

/// Consumes one head (a string with its bytes). `more` with an unmoved position: it is not all there.
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

}  // namespace penstock::formats
