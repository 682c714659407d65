#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace penstock {

/// Text that does not change, held once for all copies of it: the name of a file stands in
/// thousands of places.
class SharedText {
 public:
  SharedText() = default;
  SharedText(std::string text) : text_(std::make_shared<const std::string>(std::move(text))) {}
  SharedText(const char* text) : SharedText(std::string(text)) {}

  const std::string& text() const {
    static const std::string empty;
    return text_ == nullptr ? empty : *text_;
  }
  operator const std::string&() const { return text(); }
  bool empty() const { return text().empty(); }
  friend bool operator==(const SharedText& a, const SharedText& b) {
    return a.text_ == b.text_ || a.text() == b.text();
  }
  friend bool operator==(const SharedText& a, std::string_view b) { return a.text() == b; }

 private:
  std::shared_ptr<const std::string> text_;  ///< null: empty
};

}  // namespace penstock
