// Helper cache: what the store holds, and how to make it smaller.
#include <fmt/chrono.h>
#include <fmt/format.h>

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
  std::size_t end = 0;
  double value = -1;
  try {
    value = std::stod(text, &end);
  } catch (const std::exception&) {
    end = 0;
  }
  std::string suffix = text.substr(end);
  for (std::size_t power = 0; suffix.size() == 1 && power < kSuffixes.size(); ++power) {
    if (suffix[0] == kSuffixes[power])
      return static_cast<std::uint64_t>(value * double(1ull << 10 * (power + 1)));
  }
  if (end == 0 || value < 0 || !suffix.empty()) {
    return failure(Code::PS0101, fmt::format("'{}' is no size; write 512, 20k, 500M or 2G", text));
  }
  return static_cast<std::uint64_t>(value);
}

std::string_view kind_name(Store::Entry::Kind kind) {
  switch (kind) {
    case Store::Entry::Kind::blob: return "blob";
    case Store::Entry::Kind::kernel: return "kernel";
    case Store::Entry::Kind::packed: return "packed";
  }
  return {};
}

Result<void> list(Stage& stage, const Store& store) {
  Result<std::vector<Store::Entry>> entries = store.list();
  if (!entries) return tl::unexpected(entries.error());
  std::uint64_t bytes = 0;
  for (const Store::Entry& entry : *entries) {
    bytes += entry.bytes;
    std::string line = fmt::format(
        "{:%Y-%m-%d %H:%M}  {:>14}  {:<6}  {}\n", fmt::localtime(entry.last_used), entry.bytes,
        kind_name(entry.kind), entry.name);
    if (auto written = stage.write(line); !written) return written;
  }
  return stage.write(
      fmt::format("{} files, {} bytes in {}\n", entries->size(), bytes, store.directory()));
}

Result<void> tell(Stage& stage, const Result<Store::Removed>& removed) {
  if (!removed) return tl::unexpected(removed.error());
  stage.say(fmt::format("removed {} files, {} bytes\n", removed->files, removed->bytes));
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  std::string directory, limit = "10G";
  Stage stage(find_tool("cache"), argc, argv, {.documents = false});
  stage.options().text("--store", directory, "DIR", "Look after the store in DIR.");
  stage.options().text("--limit", limit, "SIZE",
                       "prune: keep what was used last, at most SIZE (10G).");
  return stage.run([&](Stage&) -> Result<void> {
    const std::vector<std::string>& words = stage.settings().files;
    if (words.size() != 1) return failure(Code::PS0101, "say what to do: ls, prune or clear");
    Result<std::uint64_t> bytes = parse_size(limit);
    if (!bytes) return tl::unexpected(bytes.error());
    Result<Store> store = Store::open(directory);
    if (!store) return tl::unexpected(store.error());
    if (words[0] == "ls") return list(stage, *store);
    if (words[0] == "prune") return tell(stage, store->prune(*bytes));
    if (words[0] == "clear") return tell(stage, store->clear());
    return failure(Code::PS0101, fmt::format("'{}' is none of ls, prune, clear", words[0]));
  });
}
