// Helper cache: what the store holds, whether it is whole, and how to make it smaller.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <charconv>

#include "store/store.h"
#include "tools/common/driver.h"
#include "tools/common/tools.h"

using namespace penstock;
using namespace penstock::tools;
using store::Store;

namespace {

/// "512", "20k", "1.5G": bytes with an optional binary suffix.
Result<std::uint64_t> parse_size(const std::string& text) {
  constexpr std::string_view kSuffixes = "kMGT";
  constexpr double kMost = 0x1p63;
  double value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string_view suffix(end, static_cast<std::size_t>(text.data() + text.size() - end));
  const std::size_t power = suffix.empty() ? kSuffixes.npos : kSuffixes.find(suffix.front());
  if (power != kSuffixes.npos) {
    value *= double(1ull << 10 * (power + 1));
    suffix.remove_prefix(1);
  }
  // Not a number compares with nothing.
  if (error == std::errc() && suffix.empty() && value >= 0 && value < kMost)
    return static_cast<std::uint64_t>(value);
  return failure(Code::PS0101, fmt::format("'{}' is no size; write 512, 20k, 500M or 2G", text));
}

std::string_view kind_name(Store::Entry::Kind kind) {
  switch (kind) {
    case Store::Entry::Kind::blob:
      return "blob";
    case Store::Entry::Kind::kernel:
      return "kernel";
    case Store::Entry::Kind::packed:
      return "packed";
  }
  return {};
}

Result<void> list(Stage& stage, const Store& store) {
  Result<std::vector<Store::Entry>> entries = store.list();
  if (!entries) return tl::unexpected(entries.error());
  std::uint64_t bytes = 0;
  for (const Store::Entry& entry : *entries) {
    bytes += entry.bytes;
    std::string line =
        fmt::format("{:%Y-%m-%d %H:%M}  {:>14}  {:<6}  {}\n", fmt::localtime(entry.last_used),
                    entry.bytes, kind_name(entry.kind), entry.name);
    if (auto written = stage.write(line); !written) return written;
  }
  return stage.write(
      fmt::format("{} files, {} bytes in {}\n", entries->size(), bytes, store.directory()));
}

/// Each damaged file is an error of its own.
Result<void> verify(Stage& stage, const Store& store) {
  Result<std::vector<Store::Damage>> damages = store.verify();
  if (!damages) return tl::unexpected(damages.error());
  for (const Store::Damage& damage : *damages) {
    stage.report(
        {Code::PS0207,
         fmt::format("{} {}: {}", kind_name(damage.entry.kind), damage.entry.name, damage.reason),
         {},
         damage.path,
         "`penstock cache repair` removes what is damaged, and nothing that is whole.",
         Severity::error});
  }
  return {};
}

Result<void> tell(Stage& stage, const Result<Store::Removed>& removed) {
  if (!removed) return tl::unexpected(removed.error());
  stage.say(fmt::format("removed {} files, {} bytes\n", removed->files, removed->bytes));
  return {};
}

Result<void> prune(Stage& stage, Store& store, const std::string& limit) {
  Result<std::uint64_t> bytes = parse_size(limit);
  if (!bytes) return tl::unexpected(bytes.error());
  return tell(stage, store.prune(*bytes));
}

/// What can be asked for, in the order in which messages name it.
constexpr struct {
  std::string_view word;
  Result<void> (*act)(Stage& stage, Store& store, const std::string& limit);
} kActions[] = {
    {"ls", [](Stage& stage, Store& store, const std::string&) { return list(stage, store); }},
    {"verify", [](Stage& stage, Store& store, const std::string&) { return verify(stage, store); }},
    {"repair",
     [](Stage& stage, Store& store, const std::string&) { return tell(stage, store.repair()); }},
    {"prune", prune},
    {"clear",
     [](Stage& stage, Store& store, const std::string&) { return tell(stage, store.clear()); }},
};

}  // namespace

int main(int argc, char** argv) {
  std::string directory, limit = "10G";
  Stage stage(find_tool("cache"), argc, argv, {.documents = false});
  stage.options().text("--store", directory, "DIR", "Look after the store in DIR.");
  stage.options().text("--limit", limit, "SIZE",
                       "prune: keep what was used last, at most SIZE (10G).");
  return stage.run([&](Stage&) -> Result<void> {
    const std::vector<std::string>& words = stage.settings().files;
    std::string known;
    for (const auto& action : kActions)
      known += fmt::format("{}{}", known.empty() ? "" : ", ", action.word);
    if (words.size() != 1)
      return failure(Code::PS0101, fmt::format("say what to do, one of {}", known));
    for (const auto& action : kActions) {
      if (words[0] != action.word) continue;
      Result<Store> store = Store::open(directory);
      if (!store) return tl::unexpected(store.error());
      return action.act(stage, *store, limit);
    }
    return failure(Code::PS0101, fmt::format("'{}' is none of {}", words[0], known));
  });
}
