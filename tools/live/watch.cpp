#include "tools/live/watch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/random.h>
#include <unistd.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <optional>
#include <thread>

#include "tools/live/live_report.h"
#include "tools/report/page.h"

namespace penstock::live {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using tcp = asio::ip::tcp;
using Request = http::request<http::empty_body>;
using Response = http::response<http::string_body>;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{10};  ///< with a connection that says nothing
/// Who asked for news so lately still looks; he is waited for so long; a page that has heard of the
/// end asks for its last state at once, or not at all.
constexpr std::chrono::milliseconds kLooksOften{2500}, kLastLook{3000}, kLastPage{500};
constexpr std::size_t kLongestRequest = 16 << 10;

std::string random_word() {
  unsigned char bytes[16];
  if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) return {};
  std::string word;
  for (const unsigned char byte : bytes) word += fmt::format("{:02x}", byte);
  return word;
}

/// A page may ask the place that it came from for news, and nobody else.
std::string with_news(std::string page) {
  constexpr std::string_view kPolicy = "default-src 'none';";
  const std::size_t at = page.find(kPolicy);
  if (at != page.npos) page.insert(at + kPolicy.size(), " connect-src 'self';");
  return page;
}

/// What is served, and how it is asked for.
struct Site {
  std::string word;
  int port = 0;
  std::optional<LiveReport> live;
  bool running = true;
  Clock::time_point looked;    ///< somebody asked for news
  Clock::time_point told_end;  ///< … and was told that the program has ended
  bool last_page = false;      ///< the page was given out behind that

  bool is_ours(std::string_view host) const {
    return host == fmt::format("127.0.0.1:{}", port) || host == fmt::format("localhost:{}", port);
  }

  std::string news() {
    looked = Clock::now();
    if (!running && told_end == Clock::time_point()) told_end = looked;
    return fmt::format("{{\"generation\":{},\"running\":{}}}\n", live->generation(), running);
  }

  Response answer(const Request& request) {
    Response response{http::status::ok, request.version()};
    response.set(http::field::cache_control, "no-store");
    response.set("X-Content-Type-Options", "nosniff");
    response.set("Referrer-Policy", "no-referrer");
    response.set("Cross-Origin-Resource-Policy", "same-origin");
    response.set(http::field::content_type, "text/plain; charset=utf-8");
    response.keep_alive(false);
    const std::string host(request[http::field::host]), target(request.target());
    if (!is_ours(host)) {
      response.result(http::status::forbidden);
      response.body() = "This is served to 127.0.0.1 alone.\n";
    } else if (request.method() != http::verb::get && request.method() != http::verb::head) {
      response.result(http::status::method_not_allowed);
      response.set(http::field::allow, "GET, HEAD");
    } else if (target == "/" + word + "/state") {
      response.set(http::field::content_type, "application/json");
      response.body() = news();
    } else if (target == "/" + word + "/") {
      give_page(response);
    } else {
      response.result(http::status::not_found);
      response.body() = "The address is the one that penstock run --watch printed.\n";
    }
    response.prepare_payload();
    if (request.method() == http::verb::head) response.body().clear();
    return response;
  }

  void give_page(Response& response) {
    auto report = live->all();
    if (!report) {
      response.result(http::status::internal_server_error);
      response.body() = report.error().message + "\n";
      return;
    }
    response.set(http::field::content_type, "text/html; charset=utf-8");
    last_page = told_end != Clock::time_point();
    response.body() = with_news(report::to_page(report::to_json(*report, false), ""));
  }
};

/// One connection: a request and its answer.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(tcp::socket socket, Site& site) : stream_(std::move(socket)), site_(site) {
    parser_.header_limit(kLongestRequest);
    parser_.body_limit(0);
  }

  void start() {
    stream_.expires_after(kPatience);
    http::async_read(stream_, buffer_, parser_,
                     [self = shared_from_this()](beast::error_code error, std::size_t) {
                       if (!error) self->reply();
                     });
  }

 private:
  void reply() {
    response_ = site_.answer(parser_.get());
    stream_.expires_after(kPatience);
    http::async_write(stream_, response_,
                      [self = shared_from_this()](beast::error_code, std::size_t) {
                        beast::error_code ignored;
                        self->stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
                      });
  }

  beast::tcp_stream stream_;
  Site& site_;
  beast::flat_buffer buffer_;
  http::request_parser<http::empty_body> parser_;
  Response response_;
};

}  // namespace

struct Watch::State {
  asio::io_context context{1};
  tcp::acceptor acceptor{context};
  asio::steady_timer timer{context};
  Site site;
  std::thread thread;
  int documents = -1, shared = -1;

  ~State() {
    if (documents >= 0) close(documents);
    if (shared >= 0) close(shared);
  }

  void accept() {
    acceptor.async_accept([this](beast::error_code error, tcp::socket socket) {
      if (error == asio::error::operation_aborted) return;
      if (!error) std::make_shared<Session>(std::move(socket), site)->start();
      accept();
    });
  }

  /// Ends the thread, at once or once who looks has the last state.
  void wind_up(Clock::time_point ended) {
    const auto now = Clock::now();
    const bool looks = ended - site.looked < kLooksOften;
    const bool told = site.told_end != Clock::time_point();
    if (!looks || now - ended >= kLastLook || site.last_page ||
        (told && now - site.told_end >= kLastPage)) {
      context.stop();
      return;
    }
    timer.expires_after(std::chrono::milliseconds(50));
    timer.async_wait([this, ended](beast::error_code) { wind_up(ended); });
  }
};

Watch::Watch(std::unique_ptr<State> state) : state_(std::move(state)) {}
Watch::Watch(Watch&&) noexcept = default;
Watch::~Watch() {
  if (state_ != nullptr) end();
}

Result<Watch> Watch::open(int port) {
  if (port > 65535) return failure(Code::PS0101, fmt::format("--watch-port: {} is no port", port));
  auto state = std::make_unique<State>();
  const tcp::endpoint place(asio::ip::address_v4::loopback(), static_cast<std::uint16_t>(port));
  beast::error_code error;
  state->acceptor.open(place.protocol(), error);
  if (!error) state->acceptor.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) state->acceptor.bind(place, error);
  if (!error) state->acceptor.listen(asio::socket_base::max_listen_connections, error);
  state->site.word = random_word();
  if (error || state->site.word.empty()) {
    auto failed = failure(Code::PS0103, fmt::format("the page cannot be served on 127.0.0.1:{}: {}",
                                                    port, error.message()));
    failed.value().hint =
        "Leave --watch-port out, and a port that is free is taken, or name another one.";
    return failed;
  }
  state->site.port = state->acceptor.local_endpoint().port();
  return Watch(std::move(state));
}

std::string Watch::address() const {
  return fmt::format("http://127.0.0.1:{}/{}/", state_->site.port, state_->site.word);
}

void Watch::begin(int documents, int shared) {
  state_->documents = fcntl(documents, F_DUPFD_CLOEXEC, 0);
  state_->shared = fcntl(shared, F_DUPFD_CLOEXEC, 0);
  state_->site.live.emplace(state_->documents, state_->shared);
  state_->accept();
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);  // signals are for the thread that waits
  state_->thread = std::thread([state = state_.get()] { state->context.run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Watch::end() {
  if (!state_->thread.joinable()) return;
  asio::post(state_->context, [state = state_.get()] {
    state->site.running = false;
    state->wind_up(Clock::now());
  });
  state_->thread.join();
}

}  // namespace penstock::live
