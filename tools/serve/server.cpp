#include "tools/serve/server.h"

#include <fmt/format.h>

#include <atomic>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <charconv>
#include <csignal>
#include <optional>
#include <thread>
#include <vector>

#include "tools/serve/routes.h"

namespace penstock::serve {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using tcp = asio::ip::tcp;
using Request = http::request<http::string_body>;
using Response = http::response<http::string_body>;
using Clock = std::chrono::steady_clock;
using Kind = Route::Kind;

constexpr int kReaders = 2;  ///< threads that read requests and write answers
constexpr std::size_t kLongestHeader = 16 << 10;
constexpr std::chrono::milliseconds kGlance{10};  ///< between looks whether all is answered
constexpr const char* kJsonLength = "Inference-Header-Content-Length";

/// What all connections share.
struct Site {
  ServerOptions options;
  Models models;
  std::atomic<bool> ending{false};
  std::atomic<std::int64_t> due{0};  ///< accepted requests whose answers are not written yet
  std::function<void()> session_ended;

  std::string index() const {
    std::string out;
    for (const auto& [name, model] : models) {
      if (!out.empty()) out += ",";
      out += metadata_index(name);
    }
    return "[" + out + "]";
  }
  static std::string metadata_index(const std::string& name) {
    return fmt::format(R"({{"name":"{}","version":"1","state":"READY","reason":""}})", name);
  }
  std::string metrics() const {
    std::string out = metrics_head();
    for (const auto& [name, model] : models) out += model->metrics().text(name);
    return out;
  }
};

Response make_response(unsigned status, std::string body, unsigned version, bool keep_alive) {
  Response response{static_cast<http::status>(status), version};
  response.set(http::field::server, "penstock");
  response.set(http::field::content_type, "application/json");
  response.keep_alive(keep_alive);
  response.body() = std::move(body);
  return response;
}

/// What is answered at once: all but inference. 404 and 405 are problems too.
Answer<std::string> answer_of(const Site& site, const Route& route) {
  const auto model = site.models.find(route.model);
  const bool of_model = !route.model.empty();
  if (of_model && model == site.models.end())
    return problem(404, fmt::format("there is no model {}", route.model));
  switch (route.kind) {
    case Kind::server:
      return server_body(site.options.version);
    case Kind::live:
      return R"({"live":true})";
    case Kind::ready:
    case Kind::model_ready:
      if (site.ending) return problem(503, "the server is about to end");
      return R"({"ready":true})";
    case Kind::metadata:
      return metadata_body(route.model, model->second->model());
    case Kind::config:
      return config_body(route.model, model->second->model(), model->second->most_rows());
    case Kind::statistics:
      return model->second->metrics().statistics(route.model);
    case Kind::repository_index:
      return site.index();
    case Kind::metrics:
      return site.metrics();
    default:
      return problem(404, "there is nothing at this path");
  }
}

/// The number that a header has; 400 where it is none.
Answer<std::optional<std::size_t>> json_length_of(const Request& request) {
  const auto text = request[kJsonLength];
  if (text.empty()) return std::nullopt;
  std::size_t length = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), length);
  if (wrong != std::errc() || end != text.data() + text.size())
    return problem(400, fmt::format("{} is no number", kJsonLength));
  return length;
}

/// One connection: requests and their answers, one after the other.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(tcp::socket socket, Site& site) : stream_(std::move(socket)), site_(site) {}
  ~Session() {
    if (owes_) --site_.due;
    site_.session_ended();
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void begin() {
    asio::dispatch(stream_.get_executor(), [self = shared_from_this()] { self->read(); });
  }

 private:
  void read() {
    parser_.emplace();
    parser_->header_limit(kLongestHeader);
    parser_->body_limit(site_.options.longest_body);
    stream_.expires_after(site_.options.patience);
    http::async_read_header(stream_, buffer_, *parser_,
                            [self = shared_from_this()](beast::error_code error, std::size_t) {
                              self->have_header(error);
                            });
  }

  void have_header(beast::error_code error) {
    if (error) return refuse_reading(error);
    if (!beast::iequals(parser_->get()[http::field::expect], "100-continue")) return read_body();
    continue_ = http::response<http::empty_body>(http::status::continue_, 11);
    http::async_write(stream_, continue_,
                      [self = shared_from_this()](beast::error_code failed, std::size_t) {
                        if (!failed) self->read_body();
                      });
  }

  void read_body() {
    stream_.expires_after(site_.options.patience);
    http::async_read(stream_, buffer_, *parser_,
                     [self = shared_from_this()](beast::error_code error, std::size_t) {
                       if (error) return self->refuse_reading(error);
                       self->have_request();
                     });
  }

  /// What can be told of a request that could not be read is told; then the connection ends.
  void refuse_reading(beast::error_code error) {
    const bool too_long = error == http::error::body_limit || error == http::error::header_limit;
    const bool malformed =
        error.category() == http::make_error_code(http::error::bad_method).category();
    if (error == http::error::end_of_stream || error == http::error::partial_message ||
        (!too_long && !malformed))
      return;
    const std::string text =
        too_long ? fmt::format("the request is longer than {} bytes", site_.options.longest_body)
                 : "the request is no HTTP: " + error.message();
    write(make_response(too_long ? 413 : 400, error_body(text), 11, false));
  }

  void have_request() {
    request_ = parser_->release();
    read_at_ = Clock::now();
    const Route route =
        route_of(std::string_view(request_.target().data(), request_.target().size()));
    const bool posted = request_.method() == http::verb::post;
    if (route.kind != Kind::none && posted != route.is_posted()) {
      auto response = respond(problem(405, "this path takes the other method").value());
      response.set(http::field::allow, route.is_posted() ? "POST" : "GET");
      return write(std::move(response));
    }
    if (route.kind == Kind::infer) return infer(route);
    auto answer = answer_of(site_, route);
    if (!answer) return write(respond(answer.error()));
    auto response = respond(200, std::move(*answer));
    if (route.kind == Kind::metrics)
      response.set(http::field::content_type, "text/plain; version=0.0.4; charset=utf-8");
    write(std::move(response));
  }

  void infer(const Route& route) {
    const auto model = site_.models.find(route.model);
    if (model == site_.models.end())
      return write(respond({404, fmt::format("there is no model {}", route.model)}));
    Batcher& batcher = *model->second;
    auto job = job_of(batcher, route.model);
    if (!job) return refuse(batcher, job.error());
    if (site_.ending) return refuse(batcher, {503, "the server is about to end"});
    ++site_.due;
    owes_ = true;
    if (batcher.submit(std::move(*job))) return;
    --site_.due;
    owes_ = false;
    refuse(batcher, {429, "too many requests wait for the model; try again later"});
  }

  Answer<Job> job_of(Batcher& batcher, const std::string& name) {
    if (const auto coding = request_[http::field::content_encoding];
        !coding.empty() && !beast::iequals(coding, "identity"))
      return problem(415, "Content-Encoding is not supported");
    auto json_length = json_length_of(request_);
    if (!json_length) return tl::unexpected(std::move(json_length.error()));
    auto request = read_request(request_.body(), *json_length);
    if (!request) return tl::unexpected(std::move(request.error()));
    request_.body() = {};
    auto order = batcher.order_of(*request);
    if (!order) return tl::unexpected(std::move(order.error()));
    Job job{std::move(*request), std::move(*order), {}};
    job.done = [self = shared_from_this(), &batcher, name](const InferRequest& asked,
                                                           auto results) {
      self->have_results(batcher, name, asked, std::move(results));
    };
    return job;
  }

  /// On a worker's thread: makes the answer there, and hands it to the connection's own.
  void have_results(Batcher& batcher, const std::string& name, const InferRequest& asked,
                    Answer<std::vector<embedding::ResultTensor>> results) {
    Answer<InferResponse> made = tl::unexpected(Problem{});
    if (results) {
      made = write_response(name, asked, batcher.results(), *results);
    } else {
      made = tl::unexpected(std::move(results.error()));
    }
    Response response = made ? respond(200, std::move(made->body)) : respond(made.error());
    if (made && made->json_length) {
      response.set(http::field::content_type, "application/octet-stream");
      response.set(kJsonLength, std::to_string(*made->json_length));
    }
    batcher.metrics().answered(response.result_int(), Clock::now() - read_at_);
    asio::post(stream_.get_executor(),
               [self = shared_from_this(), ready = std::move(response)]() mutable {
                 self->write(std::move(ready));
               });
  }

  void refuse(Batcher& batcher, const Problem& why) {
    batcher.metrics().answered(why.status, Clock::now() - read_at_);
    auto response = respond(why);
    if (why.status == 429 || why.status == 503) response.set(http::field::retry_after, "1");
    write(std::move(response));
  }

  Response respond(unsigned status, std::string body) const {
    return make_response(status, std::move(body), request_.version(), request_.keep_alive());
  }
  Response respond(const Problem& why) const { return respond(why.status, error_body(why.text)); }

  void write(Response response) {
    response_ = std::move(response);
    response_.prepare_payload();
    stream_.expires_after(site_.options.patience);
    http::async_write(stream_, response_,
                      [self = shared_from_this()](beast::error_code error, std::size_t) {
                        self->written(error);
                      });
  }

  void written(beast::error_code error) {
    if (std::exchange(owes_, false)) --site_.due;
    const bool ends = error || response_.need_eof() || site_.ending;
    response_ = {};
    if (!ends) return read();
    beast::error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
  }

  beast::tcp_stream stream_;
  Site& site_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  Request request_;
  Response response_;
  http::response<http::empty_body> continue_;
  Clock::time_point read_at_;
  bool owes_ = false;  ///< a request was accepted, and its answer is not written
};

}  // namespace

struct Server::State {
  State(const ServerOptions& options, Models models)
      : control(asio::make_strand(io)), acceptor(control), signals(control), glance(control) {
    site.options = options;
    site.models = std::move(models);
    site.session_ended = [this] {
      if (connections-- == site.options.most_connections) asio::post(control, [this] { accept(); });
    };
  }

  void accept() {
    if (!acceptor.is_open()) return;
    acceptor.async_accept(asio::make_strand(io),
                          [this](beast::error_code error, tcp::socket socket) {
                            if (error == asio::error::operation_aborted) return;
                            bool full = false;
                            if (!error) {
                              full = ++connections == site.options.most_connections;
                              std::make_shared<Session>(std::move(socket), site)->begin();
                            }
                            if (!full) accept();
                          });
  }

  void wait_for_signal() {
    signals.async_wait([this](beast::error_code error, int) {
      if (error) return;
      if (site.ending.exchange(true)) return io.stop();
      beast::error_code ignored;
      acceptor.close(ignored);
      until = Clock::now() + site.options.last_words;
      wait_for_signal();
      look();
    });
  }

  /// Ends when nothing is due any more, or the time for it is over.
  void look() {
    if (site.due == 0 || Clock::now() >= until) return io.stop();
    glance.expires_after(kGlance);
    glance.async_wait([this](beast::error_code error) {
      if (!error) look();
    });
  }

  Site site;
  std::atomic<std::size_t> connections{0};
  asio::io_context io;
  asio::strand<asio::io_context::executor_type> control;  ///< what concerns no connection
  tcp::acceptor acceptor;
  asio::signal_set signals;
  asio::steady_timer glance;
  Clock::time_point until;
};

Server::Server(std::unique_ptr<State> state) : state_(std::move(state)) {}
Server::Server(Server&&) noexcept = default;

Server::~Server() {
  if (state_ == nullptr) return;
  state_->site.session_ended = [] {};
  state_->site.models.clear();  // ends the workers, who still know the connections
}

Result<Server> Server::open(const ServerOptions& options, Models models) {
  auto state = std::make_unique<State>(options, std::move(models));
  beast::error_code error;
  const auto address = asio::ip::make_address(options.host, error);
  if (error) return failure(Code::PS0101, fmt::format("--host={} is no address", options.host));
  const tcp::endpoint end(address, static_cast<unsigned short>(options.port));
  state->acceptor.open(end.protocol(), error);
  if (!error) state->acceptor.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) state->acceptor.bind(end, error);
  if (!error) state->acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) {
    auto taken = failure(Code::PS0103, fmt::format("nothing can be served on {}, port {}: {}",
                                                   options.host, options.port, error.message()));
    taken.value().hint = "Name another port with --port, or 0 for a free one.";
    return taken;
  }
  state->signals.add(SIGTERM);
  state->signals.add(SIGINT);
  return Server(std::move(state));
}

std::string Server::address() const {
  const auto end = state_->acceptor.local_endpoint();
  const std::string host = end.address().to_string();
  return fmt::format("http://{}:{}", end.address().is_v6() ? "[" + host + "]" : host, end.port());
}

bool Server::run() {
  State& state = *state_;
  state.accept();
  state.wait_for_signal();
  std::vector<std::thread> readers;
  for (int i = 1; i < kReaders; ++i) readers.emplace_back([&state] { state.io.run(); });
  state.io.run();
  for (std::thread& reader : readers) reader.join();
  return state.site.due == 0;
}

}  // namespace penstock::serve
