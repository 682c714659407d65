// What the page of graphdiff is made of: for each graph its items in the order of both streams, the
// same, changed, removed and added, each with the frames of Python that made it.
//
// The lines themselves are read from the files as they are now. A stream that was accepted earlier
// names files that have been edited since: of a file that both streams name, only the second
// stream's lines are shown.

#include "tools/graphdiff/difference_page.h"

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tools/page/island.h"
#include "tools/page/source_lines.h"

namespace penstock::graphdiff {

namespace {

using Json = nlohmann::json;

constexpr int kAround = 3;

/// One of the two streams, and the lines of its files that the page shows.
struct Side {
  const formats::ProgramFiles& files;
  tools::WantedLines wanted = {};

  Json frame(const StackFrame& frame) const {
    const Location& at = frame.location;
    return {{"function", frame.function.text()},
            {"file", at.file.text()},
            {"line", at.line},
            {"column", at.column},
            {"end_line", at.end_line},
            {"end_column", at.end_column}};
  }

  /// The line of the program's author, and the innermost one where it is another.
  Json frames(const DiffItem& item) {
    Json list = Json::array();
    const StackFrame* users = formats::users_frame(files, item.stack);
    if (users == nullptr) return list;
    tools::add_lines(users->location, kAround, wanted);
    list.push_back(frame(*users));
    if (users != item.stack.get()) list.push_back(frame(*item.stack));
    return list;
  }
};

/// The rows of one graph.
class Rows {
 public:
  Rows(const formats::GraphDifference& graph, Side& before, Side& after)
      : graph_(graph), before_(before), after_(after) {
    for (const Difference& one : graph.comparison.differences) {
      if (one.kind != Difference::Kind::changed) continue;
      facts_[one.before_item].push_back(
          {{"what", one.what}, {"before", one.before}, {"after", one.after}});
    }
  }

  Json list() {
    const auto count = static_cast<std::int32_t>(graph_.before_items.size());
    const auto& partner = graph_.comparison.partner;
    std::set<std::int32_t> kept(partner.begin(), partner.end());
    std::int32_t next = 0;
    const auto add_up_to = [&](std::int32_t end) {
      for (; next < end; ++next) {
        if (!kept.contains(next)) added(next);
      }
    };
    for (std::int32_t i = 0; i < count; ++i) {
      const std::int32_t j = partner.empty() ? -1 : partner[static_cast<std::size_t>(i)];
      if (j < 0) {
        removed(i);
        continue;
      }
      add_up_to(j);
      both(i, j);
    }
    add_up_to(static_cast<std::int32_t>(graph_.after_items.size()));
    return std::move(rows_);
  }

 private:
  const DiffItem& before(std::int32_t i) const {
    return graph_.before_items[static_cast<std::size_t>(i)];
  }
  const DiffItem& after(std::int32_t j) const {
    return graph_.after_items[static_cast<std::size_t>(j)];
  }

  void removed(std::int32_t i) {
    rows_.push_back({{"kind", "removed"},
                     {"op", before(i).is_op},
                     {"before", before(i).text},
                     {"before_at", before_.frames(before(i))}});
  }
  void added(std::int32_t j) {
    rows_.push_back({{"kind", "added"},
                     {"op", after(j).is_op},
                     {"after", after(j).text},
                     {"after_at", after_.frames(after(j))}});
  }
  void both(std::int32_t i, std::int32_t j) {
    const auto facts = facts_.find(i);
    if (facts == facts_.end()) {
      rows_.push_back({{"kind", "same"}, {"op", after(j).is_op}, {"after", after(j).text}});
      return;
    }
    rows_.push_back({{"kind", "changed"},
                     {"op", after(j).is_op},
                     {"before", before(i).text},
                     {"after", after(j).text},
                     {"facts", facts->second},
                     {"before_at", before_.frames(before(i))},
                     {"after_at", after_.frames(after(j))}});
  }

  const formats::GraphDifference& graph_;
  Side &before_, &after_;
  std::map<std::int32_t, Json> facts_;  ///< what is other in an item of the first graph
  Json rows_ = Json::array();
};

Json sources_json(const Side& side) {
  Json list = Json::array();
  for (const auto& [file, lines] : tools::read_lines(side.wanted, side.files)) {
    Json rows = Json::array();
    for (const auto& [line, text] : lines) rows.push_back({{"line", line}, {"text", text}});
    list.push_back({{"file", file}, {"lines", std::move(rows)}});
  }
  return list;
}

/// Takes files that `after` names too out of what is read for `before`.
void leave_out_files_of(const Side& after, Side& before) {
  std::set<std::string> paths;
  for (const auto& [file, path] : after.files.paths) paths.insert(path);
  std::erase_if(before.wanted, [&](const auto& row) {
    return paths.contains(formats::path_of(before.files, row.first));
  });
}

}  // namespace

std::string to_page(const formats::StreamDifference& difference, const std::string& before,
                    const std::string& after) {
  Side old{difference.before_files}, now{difference.after_files};
  Json graphs = Json::array();
  for (const formats::GraphDifference& graph : difference.graphs) {
    graphs.push_back({{"name", graph.name},
                      {"before", graph.before},
                      {"after", graph.after},
                      {"rows", Rows(graph, old, now).list()}});
  }
  leave_out_files_of(now, old);
  const Json data{{"penstock", "graphdiff"},
                  {"before", {{"name", before}, {"sources", sources_json(old)}}},
                  {"after", {{"name", after}, {"sources", sources_json(now)}}},
                  {"same", difference.same},
                  {"graphs", std::move(graphs)}};
  const std::string text = data.dump(-1, ' ', false, Json::error_handler_t::replace);
  return kPageParts[0] + tools::without_tags(text) + kPageParts[1];
}

}  // namespace penstock::graphdiff
