#include "tools/common/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace penstock::tools {
namespace {

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view{} : std::string_view{value};
}

bool forces_color(const char* name) {
  std::string_view value = environment(name);
  return !value.empty() && value != "0";
}

}  // namespace

std::optional<ColorChoice> parse_color(std::string_view word) {
  if (word == "auto") return ColorChoice::automatic;
  if (word == "always") return ColorChoice::always;
  if (word == "never") return ColorChoice::never;
  return std::nullopt;
}

bool is_terminal(int descriptor) {
  return isatty(descriptor) == 1;
}

int terminal_width(int descriptor) {
  constexpr int kDefaultColumns = 80;
  if (std::string columns{environment("COLUMNS")}; !columns.empty()) {
    int value = std::atoi(columns.c_str());
    if (value > 0) return value;
  }
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return kDefaultColumns;
}

bool use_color(int descriptor, ColorChoice choice) {
  if (choice != ColorChoice::automatic) return choice == ColorChoice::always;
  if (!environment("NO_COLOR").empty()) return false;
  if (forces_color("FORCE_COLOR") || forces_color("CLICOLOR_FORCE")) return true;
  return is_terminal(descriptor) && environment("TERM") != "dumb";
}

}  // namespace penstock::tools
