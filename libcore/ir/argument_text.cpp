#include "ir/argument_text.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdlib>

namespace penstock {

namespace {

constexpr std::string_view kMemoryFormats[] = {"contiguous_format", "preserve_format",
                                               "channels_last", "channels_last_3d"};

std::string escape(std::string_view text, bool escape_high) {
  std::string out;
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (c == '\'' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7F || (escape_high && byte >= 0x80)) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out;
}

std::string join(const std::vector<Argument>& items, const ValueName& value_name) {
  std::string out;
  for (const Argument& item : items) {
    if (!out.empty()) out += ", ";
    out += to_string(item, value_name);
  }
  return out;
}

struct Printer {
  const ValueName& value_name;

  std::string operator()(Argument::None) const { return "None"; }
  std::string operator()(bool value) const { return value ? "True" : "False"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return to_string_exact(value); }
  std::string operator()(const std::string& value) const { return quote(value); }
  std::string operator()(const SymExpr& value) const { return value.to_string(); }
  std::string operator()(DType value) const { return fmt::format("torch.{}", facts(value).name); }
  std::string operator()(Argument::Value value) const {
    return value_name ? value_name(value.id) : fmt::format("%{}", value.id);
  }
  std::string operator()(Argument::Complex value) const {
    return fmt::format("complex({}, {})", to_string_exact(value.real),
                       to_string_exact(value.imaginary));
  }
  std::string operator()(Argument::Ellipsis) const { return "..."; }
  std::string operator()(const Argument::Named& named) const {
    switch (named.kind) {
      case Argument::Named::Kind::device:
        return fmt::format("device({})", quote(named.name));
      case Argument::Named::Kind::layout:
      case Argument::Named::Kind::memory_format:
        return "torch." + named.name;
      case Argument::Named::Kind::object:
        break;
    }
    return fmt::format("<{}>", named.name);
  }
  std::string operator()(const Argument::Bytes& value) const {
    return fmt::format("b'{}'", escape(value.bytes, true));
  }
  std::string operator()(const Argument::Sequence& sequence) const {
    std::string items = join(sequence.items, value_name);
    switch (sequence.kind) {
      case Argument::Sequence::Kind::list:
        return fmt::format("[{}]", items);
      case Argument::Sequence::Kind::slice:
        return fmt::format("slice({})", items);
      case Argument::Sequence::Kind::tuple:
        break;
    }
    return fmt::format("({}{})", items, sequence.items.size() == 1 ? "," : "");
  }
  std::string operator()(const Argument::Dict& dict) const {
    std::string out;
    for (const auto& [key, item] : dict.items) {
      if (!out.empty()) out += ", ";
      out += to_string(key, value_name) + ": " + to_string(item, value_name);
    }
    return fmt::format("{{{}}}", out);
  }
};

/// Recursive descent over Python's literals; the depth is bounded, for the text may come from a
/// document.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::string_view rest() const { return text_; }

  Result<Argument> literal(int depth) {
    skip_space();
    if (depth > kMaxDepth) return fail("nested too deeply");
    if (text_.empty()) return fail("expected a literal");
    if (take("b'")) {
      auto bytes = string_body();
      if (!bytes) return tl::unexpected(bytes.error());
      return Argument(Argument::Bytes{std::move(*bytes)});
    }
    if (take("'")) {
      auto string = string_body();
      if (!string) return tl::unexpected(string.error());
      return Argument(std::move(*string));
    }
    if (take("...")) return Argument(Argument::Ellipsis{});
    if (take("[")) return sequence(Argument::Sequence::Kind::list, "]", depth);
    if (take("slice(")) return sequence(Argument::Sequence::Kind::slice, ")", depth);
    if (take("(")) return parenthesised(depth);
    if (take("{")) return dict(depth);
    if (take("<")) return object();
    if (auto named = word()) return *named;
    if (take("device(")) return device();
    if (take("torch.")) return torch_name();
    if (take("complex(")) return complex();
    return number();
  }

 private:
  static constexpr int kMaxDepth = 64;

  tl::unexpected<Diagnostic> fail(std::string_view what) const {
    return failure(Code::PS0201, fmt::format("literal: {} at '{}'", what, text_.substr(0, 40)));
  }
  void skip_space() {
    while (!text_.empty() && text_.front() == ' ') text_.remove_prefix(1);
  }
  bool take(std::string_view token) {
    if (!text_.starts_with(token)) return false;
    text_.remove_prefix(token.size());
    return true;
  }
  bool take_spaced(std::string_view token) {
    skip_space();
    return take(token);
  }

  std::optional<Argument> word() {
    if (take("None")) return Argument();
    if (take("True")) return Argument(true);
    if (take("False")) return Argument(false);
    if (take("float('nan')")) return Argument(std::nan(""));
    if (take("float('inf')")) return Argument(HUGE_VAL);
    if (take("float('-inf')")) return Argument(-HUGE_VAL);
    return std::nullopt;
  }

  Result<std::string> string_body() {
    std::string out;
    while (!text_.empty() && text_.front() != '\'') {
      char c = text_.front();
      text_.remove_prefix(1);
      if (c != '\\') {
        out += c;
      } else if (take("n")) {
        out += '\n';
      } else if (take("x")) {
        unsigned byte = 0;
        auto end = text_.data() + std::min<std::size_t>(2, text_.size());
        auto [stop, error] = std::from_chars(text_.data(), end, byte, 16);
        if (error != std::errc() || stop != text_.data() + 2) return fail("bad \\x escape");
        text_.remove_prefix(2);
        out += static_cast<char>(byte);
      } else if (!text_.empty()) {
        out += text_.front();
        text_.remove_prefix(1);
      }
    }
    if (!take("'")) return fail("unterminated string");
    return out;
  }

  /// Items up to `close`; sets `comma` when one stands behind the last item.
  Result<std::vector<Argument>> items(std::string_view close, int depth, bool& comma) {
    std::vector<Argument> out;
    comma = false;
    while (!take_spaced(close)) {
      if (!out.empty() && !comma) return fail("expected ','");
      auto item = literal(depth + 1);
      if (!item) return tl::unexpected(item.error());
      out.push_back(std::move(*item));
      comma = take_spaced(",");
    }
    return out;
  }

  Result<Argument> sequence(Argument::Sequence::Kind kind, std::string_view close, int depth) {
    bool comma = false;
    auto parsed = items(close, depth, comma);
    if (!parsed) return tl::unexpected(parsed.error());
    return Argument(Argument::Sequence{kind, std::move(*parsed)});
  }

  /// "(3)" is 3, "(3,)" a tuple.
  Result<Argument> parenthesised(int depth) {
    bool comma = false;
    auto parsed = items(")", depth, comma);
    if (!parsed) return tl::unexpected(parsed.error());
    if (parsed->size() == 1 && !comma) return std::move(parsed->front());
    return Argument(Argument::Sequence{Argument::Sequence::Kind::tuple, std::move(*parsed)});
  }

  Result<Argument> dict(int depth) {
    Argument::Dict out;
    while (!take_spaced("}")) {
      if (!out.items.empty() && !take_spaced(",")) return fail("expected ','");
      auto key = literal(depth + 1);
      if (!key) return key;
      if (!take_spaced(":")) return fail("expected ':'");
      auto item = literal(depth + 1);
      if (!item) return item;
      out.items.emplace_back(std::move(*key), std::move(*item));
    }
    return Argument(std::move(out));
  }

  Result<Argument> object() {
    auto end = text_.find('>');
    if (end == std::string_view::npos) return fail("expected '>'");
    Argument::Named named{Argument::Named::Kind::object, std::string(text_.substr(0, end))};
    text_.remove_prefix(end + 1);
    return Argument(std::move(named));
  }

  Result<Argument> device() {
    if (!take("'")) return fail("expected a device name");
    auto name = string_body();
    if (!name) return tl::unexpected(name.error());
    if (!take(")")) return fail("expected ')'");
    return Argument(Argument::Named{Argument::Named::Kind::device, std::move(*name)});
  }

  Result<Argument> torch_name() {
    std::size_t size = 0;
    while (size < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[size])) || text_[size] == '_')) {
      ++size;
    }
    std::string_view name = text_.substr(0, size);
    text_.remove_prefix(size);
    if (auto dtype = dtype_from_name(name)) return Argument(*dtype);
    for (std::string_view format : kMemoryFormats) {
      if (name != format) continue;
      return Argument(Argument::Named{Argument::Named::Kind::memory_format, std::string(name)});
    }
    return Argument(Argument::Named{Argument::Named::Kind::layout, std::string(name)});
  }

  Result<Argument> complex() {
    bool comma = false;
    auto parts = items(")", 0, comma);
    if (!parts) return tl::unexpected(parts.error());
    if (parts->size() != 2 || !(*parts)[0].as<double>() || !(*parts)[1].as<double>()) {
      return fail("expected two floats");
    }
    return Argument(Argument::Complex{*(*parts)[0].as<double>(), *(*parts)[1].as<double>()});
  }

  Result<Argument> number() {
    std::size_t size = 0;
    bool integer = true;
    for (; size < text_.size(); ++size) {
      char c = text_[size];
      bool sign =
          (c == '-' || c == '+') && (size == 0 || text_[size - 1] == 'e' || text_[size - 1] == 'E');
      if (std::isdigit(static_cast<unsigned char>(c)) || (sign && size == 0)) continue;
      if (!sign && c != '.' && c != 'e' && c != 'E') break;
      integer = false;
    }
    const char* end = text_.data() + size;
    std::int64_t whole = 0;
    double real = 0;
    auto parsed = integer ? std::from_chars(text_.data(), end, whole)
                          : std::from_chars(text_.data(), end, real);
    if (size == 0 || parsed.ec != std::errc() || parsed.ptr != end) return fail("not a literal");
    text_.remove_prefix(size);
    return integer ? Argument(whole) : Argument(real);
  }

  std::string_view text_;
};

}  // namespace

std::string quote(std::string_view text) {
  return fmt::format("'{}'", escape(text, false));
}

std::string to_string_exact(double number) {
  if (std::isnan(number)) return "float('nan')";
  if (std::isinf(number)) return number < 0 ? "float('-inf')" : "float('inf')";
  std::string text = fmt::format("{}", number);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string to_string(const Argument& argument, const ValueName& value_name) {
  return std::visit(Printer{value_name}, argument.datum);
}

Result<Argument> parse_literal(std::string_view& text) {
  Parser parser(text);
  auto literal = parser.literal(0);
  if (literal) text = parser.rest();
  return literal;
}

}  // namespace penstock
