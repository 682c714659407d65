#include "tools/live/attach.h"

#include <errno.h>
#include <fmt/format.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "tools/live/live_report.h"
#include "tools/report/page.h"

namespace penstock::live {
namespace {

using json = nlohmann::json;

constexpr std::size_t kLongestRequest = 16 << 20;

tl::unexpected<Diagnostic> not_served(std::string_view why) {
  return failure(Code::PS0114, fmt::format("the Python to serve cannot be reached: {}", why));
}

Result<void> send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return not_served(strerror(errno));
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return {};
}

/// The first message, with the descriptors.
Result<void> send_handover(int socket, const tools::Handover& handover, int documents) {
  std::string line = json{{"parts", handover.parts}}.dump() + "\n";
  const int descriptors[] = {handover.settings, handover.shared, documents};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof descriptors)] = {};
  iovec bytes{line.data(), line.size()};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = room;
  message.msg_controllen = sizeof room;
  cmsghdr* head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof descriptors);
  memcpy(CMSG_DATA(head), descriptors, sizeof descriptors);
  if (sendmsg(socket, &message, MSG_NOSIGNAL) != static_cast<ssize_t>(line.size()))
    return not_served(strerror(errno));
  return {};
}

/// Lines of the other side; nothing at its end.
class Requests {
 public:
  explicit Requests(int socket) : socket_(socket) {}
  std::optional<std::string> next() {
    for (;;) {
      if (const std::size_t end = pending_.find('\n'); end != pending_.npos) {
        std::string line = pending_.substr(0, end);
        pending_.erase(0, end + 1);
        return line;
      }
      char buffer[1 << 16];
      const ssize_t got = read(socket_, buffer, sizeof buffer);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0 || pending_.size() > kLongestRequest) return std::nullopt;
      pending_.append(buffer, static_cast<std::size_t>(got));
    }
  }

 private:
  int socket_;
  std::string pending_;
};

Result<std::string> render(LiveReport& live, const json& request) {
  const auto report = request.value("since", false) ? live.since_mark() : live.all();
  if (!report) return tl::unexpected(report.error());
  const std::string as = request.value("as", "text");
  if (as == "json") return report::to_json(*report, false);
  if (as == "html") return report::to_page(report::to_json(*report, false), "");
  report::TextOptions how;
  how.width = how.table_width = request.value("width", 100);
  how.summary = as == "summary";
  return report::to_text(*report, how);
}

Result<std::string> answer(LiveReport& live, int shared, const json& request) {
  const std::string ask = request.value("ask", "");
  if (ask == "report") return render(live, request);
  if (ask == "files") {
    live.call_files(request.at("names"));
    return std::string();
  }
  if (ask == "mark") {
    auto marked = live.mark();
    return marked ? Result<std::string>() : tl::unexpected(marked.error());
  }
  if (ask == "refusal") {
    tools::LaunchOutcome outcome;
    tools::read_shared(shared, outcome);
    return tl::unexpected(tools::recorded_failure(outcome.shared.refusal));
  }
  return failure(Code::PS0101, fmt::format("there is no request '{}'", ask));
}

std::string reply(LiveReport& live, int shared, const std::string& line) {
  Result<std::string> made;
  try {
    made = answer(live, shared, json::parse(line));
  } catch (const json::exception& wrong) {
    made = failure(Code::PS0101, fmt::format("no request: {}", wrong.what()));
  }
  if (made) return json{{"bytes", made->size()}}.dump() + "\n" + *made;
  const Diagnostic& why = made.error();
  const std::string hint = why.hint.empty() ? std::string(facts(why.code).hint) : why.hint;
  const std::string error = fmt::format("{}: {}", facts(why.code).id, why.message);
  return json{{"error", error}, {"hint", hint}}.dump(-1, ' ', false,
                                                     json::error_handler_t::replace) +
         "\n";
}

}  // namespace

Result<tools::LaunchOutcome> attach(const tools::LaunchOptions& options, tools::Output& documents,
                                    int socket) {
  auto handover = tools::hand_over(options);
  if (!handover) return tl::unexpected(handover.error());
  auto sent = send_handover(socket, *handover, documents.descriptor());
  close(handover->settings);
  if (!sent) return tl::unexpected(sent.error());
  LiveReport live(documents.descriptor(), handover->shared);
  Requests requests(socket);
  while (const auto line = requests.next()) {
    if (!send_all(socket, reply(live, handover->shared, *line))) break;
  }
  tools::LaunchOutcome outcome;
  tools::read_shared(handover->shared, outcome);
  close(handover->shared);
  return outcome;
}

}  // namespace penstock::live
