#include "tools/common/driver.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <filesystem>
#include <new>

#include "diag/render.h"
#include "tools/common/build_facts.h"
#include "tools/common/spelling.h"

namespace penstock::tools {
namespace {

/// What a shell shows for a process that a closed pipe ended; used where SIGPIPE is ignored.
constexpr int kClosedPipeStatus = 128 + SIGPIPE;

/// To standard error: when that fails, nowhere is left to complain.
void tell(std::string_view text) {
  while (!text.empty()) {
    ssize_t count = ::write(STDERR_FILENO, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

/// Keeps files that we open off the numbers of standard streams that are closed: reading or writing
/// such a stream fails, as it should. Programs that we start find it closed.
void hold_standard_streams() {
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    int held = ::open("/dev/null", (stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
    if (held != stream && held >= 0) close(held);
  }
}

double milliseconds(Trace::Clock::duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

void declare_output(CommandLine& options, Settings& settings, const Stage::Shared& shared) {
  options.group("Output");
  options.text("-o,--output", settings.output, "FILE",
               "Write to FILE, whole or not at all, instead of standard output.");
  if (!shared.documents) return;
  std::vector<std::string> emits = {"auto"};
  emits.insert(emits.end(), shared.emits.begin(), shared.emits.end());
  options.choice("--emit", settings.emit, emits,
                 "The format of the output. auto: by FILE's suffix, else as the input was.");
  options.flag("--pretty", settings.pretty,
               "Indent JSON; the default when standard output is a terminal.");
}

void declare_passes(CommandLine& options, Settings& settings, bool& list) {
  options.group("Passes");
  options.flag("--list-passes", list, "List the passes in the order in which they run.");
  options.texts("--print-after", settings.print_after, "PASS",
                "Print each graph to standard error after PASS; `all` names every pass.");
  options.flag("--print-changed", settings.print_changed,
               "Print each graph to standard error after every pass that changed it.");
  options.text("--dump-dir", settings.dump_dir, "DIR",
               "Write each graph to a file in DIR after every pass.");
  options.flag("--verify-each", settings.verify_each,
               "Verify each graph after every pass: an error names the pass that broke it.");
}

}  // namespace

Stage::Stage(Tool tool, int argc, char** argv, Shared shared)
    : argc_(argc),
      argv_(argv),
      shared_(std::move(shared)),
      options_(std::move(tool)),
      trace_(options_.tool().program()) {
  if (shared_.output) declare_output(options_, settings_, shared_);
  if (shared_.passes) declare_passes(options_, settings_, list_passes_);
  options_.group("Messages");
  options_.choice("--diagnostics", settings_.diagnostics, {"human", "json"},
                  "Print diagnostics for people, or as one JSON object a line.");
  options_.choice("--color", settings_.color, {"auto", "always", "never"},
                  "Colour text. auto: on a terminal, unless NO_COLOR is set.");
  options_.flag("-q,--quiet", settings_.quiet, "Print errors only.");
  options_.flag("-v,--verbose", settings_.verbose, "Explain diagnostics at length.");
  options_.flag("--time", settings_.time, "Print how long each phase took to standard error.");
  options_.flag("--stats", settings_.stats, "Print what was counted to standard error.");
  options_.text("--reproducer", settings_.reproducer, "FILE",
                "On failure, write the input that shows it to FILE.");
  options_.group("About");
  options_.flag("-h,--help", help_, "Print this text.");
  options_.flag("--version", version_, "Print the version and what it was built with.");
  options_.choice("--describe", describe_, {"json"}, "Print the options as an object.");
  if (shared_.python) options_.python_options(settings_.python);
  options_.group("Options");
  if (shared_.program) {
    options_.program(settings_.files);
  } else {
    options_.positionals(settings_.files);
  }
}

std::optional<std::string> Stage::answer_to_question() const {
  if (help_) return options_.help(terminal_width(STDOUT_FILENO), shared_.epilogue);
  if (version_) return version();
  if (!describe_.empty()) return options_.describe();
  if (!list_passes_) return std::nullopt;
  std::string out;
  for (const PassFacts& pass : options_.passes()) {
    out += fmt::format("{:<24}{}\n", pass.name, pass.summary);
  }
  return out;
}

Result<void> Stage::check_settings() {
  for (const std::string& name : settings_.print_after) {
    std::vector<std::string> known = {"all"};
    for (const PassFacts& pass : options_.passes()) known.emplace_back(pass.name);
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    Diagnostic diagnostic{Code::PS0101,   fmt::format("no pass is called {}", name), {}, {}, {},
                          Severity::error};
    std::string near = nearest_word(name, known);
    diagnostic.hint = near.empty() ? "See --list-passes." : fmt::format("Did you mean {}?", near);
    return tl::unexpected(std::move(diagnostic));
  }
  return {};
}

int Stage::run(const std::function<Result<void>(Stage&)>& body) {
  hold_standard_streams();
  try {
    // Programs that we start have the limits' own signal; our files have a message.
    if (!shared_.program) std::signal(SIGXFSZ, SIG_IGN);
    Result<void> done = options_.parse(argc_, argv_);
    std::optional<std::string> answer;
    if (!done) {
      // The parser stopped before it stored anything, but the error must be told as was asked.
      auto is_json = [](const char* word) {
        return std::string_view(word) == "--diagnostics=json";
      };
      if (std::any_of(argv_, argv_ + argc_, is_json)) settings_.diagnostics = "json";
    } else {
      answer = answer_to_question();
      done = check_settings();
    }
    if (answer) {
      settings_.output.clear();  // what is asked of the tool goes to who asks
      done = write(*answer);
    } else if (done) {
      done = body(*this);
    }
    if (done && output_ && !failed()) done = output_->commit();
    if (output_ && output_->reader_gone()) return kClosedPipeStatus;
    if (!done) report(done.error());
  } catch (const std::bad_alloc&) {
    report({Code::PS0106, "memory is exhausted", {}, {}, {}, Severity::error});
  } catch (const std::exception& error) {
    report({Code::PS0601, error.what(), {}, {}, {}, Severity::error});
  }
  finish();
  return error_status_.value_or(answer_);
}

void Stage::finish() {
  if (failed()) write_reproducer();
  if (settings_.time) print_time();
  if (settings_.stats) print_stats();
  trace_.span(options_.tool().program(), begin_, Trace::Clock::now());
  if (!trace_.write()) say("PENSTOCK_TRACE names a file that cannot be written\n");
}

void Stage::report(const Diagnostic& reported) {
  Diagnostic diagnostic = reported;
  if (diagnostic.code == Code::PS0101 && diagnostic.hint.empty()) {
    diagnostic.hint = fmt::format("`{} --help` lists the options.", options_.tool().command());
  }
  if (diagnostic.code == Code::PS0103 && diagnostic.hint.empty() && !shared_.output) {
    diagnostic.hint = "Send standard output to another place or free space.";
  }
  if (diagnostic.severity == Severity::error) {
    // The first error decides, but for a negative answer, which any trouble outweighs.
    if (error_status_.value_or(status(Exit::negative)) == status(Exit::negative)) {
      error_status_ = facts(diagnostic.code).exit_status;
    }
  } else if (settings_.quiet) {
    return;
  }
  std::string program = options_.tool().program();
  RenderOptions how;
  how.color = color(STDERR_FILENO);
  how.explain = settings_.verbose;
  tell(settings_.diagnostics == "json" ? render_json(diagnostic, program)
                                       : render(diagnostic, program, how));
}

void Stage::say(std::string_view text) {
  if (!settings_.quiet) tell(text);
}

void Stage::print(std::string_view text) {
  tell(text);
}

Result<Output*> Stage::output() {
  if (!output_) {
    Result<Output> opened = Output::open(settings_.output);
    if (!opened) return tl::unexpected(opened.error());
    output_.emplace(std::move(*opened));
  }
  return &*output_;
}

Result<void> Stage::write(std::string_view text) {
  Result<Output*> out = output();
  return out ? (*out)->write(text) : tl::unexpected(out.error());
}

namespace {

/// Reads until the end, or until `length` says that it ought to have come: a device may have none.
Result<std::string> read_all(int descriptor, const std::string& name, const Stage::Length& length) {
  std::string bytes;
  std::optional<std::uint64_t> most;
  char block[64 * 1024];
  ssize_t count = 0;
  while ((count = ::read(descriptor, block, sizeof block)) != 0) {
    if (count < 0 && errno == EINTR) continue;
    if (count < 0)
      return failure(Code::PS0102, fmt::format("cannot read {}: {}", name, std::strerror(errno)));
    bytes.append(block, static_cast<std::size_t>(count));
    if (!most) {
      auto known = length(bytes);
      if (!known) return tl::unexpected(std::move(known.error()));
      most = *known;
    }
    if (most && bytes.size() > *most) {
      return failure(
          Code::PS0102,
          fmt::format("{} goes on behind the {} bytes that its header promises", name, *most));
    }
  }
  return bytes;
}

}  // namespace

Result<std::string> Stage::read(const std::string& file, const Length& length) {
  bool standard = file.empty() || file == "-";
  std::string name = standard ? "standard input" : file;
  int descriptor = standard ? STDIN_FILENO : ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    return failure(Code::PS0102, fmt::format("cannot read {}: {}", name, std::strerror(errno)));
  }
  auto bytes = read_all(descriptor, name, length);
  if (!standard) close(descriptor);
  return bytes;
}

std::vector<std::string> Stage::inputs() const {
  return settings_.files.empty() ? std::vector<std::string>{"-"} : settings_.files;
}

void Stage::count(std::string_view name, std::int64_t amount) {
  auto row = std::find_if(counters_.begin(), counters_.end(),
                          [&](const auto& counter) { return counter.first == name; });
  if (row == counters_.end()) {
    counters_.emplace_back(name, amount);
  } else {
    row->second += amount;
  }
}

Stage::Phase::Phase(Stage& stage, std::string name)
    : stage_(stage), name_(std::move(name)), begin_(Trace::Clock::now()) {}

Stage::Phase::~Phase() {
  stage_.add_time(name_, Trace::Clock::now() - begin_);
}

void Stage::add_time(std::string_view name, std::chrono::nanoseconds duration) {
  auto row = std::find_if(phases_.begin(), phases_.end(),
                          [&](const auto& phase) { return phase.first == name; });
  if (row == phases_.end()) {
    phases_.emplace_back(name, duration);
  } else {
    row->second += duration;
  }
  auto end = Trace::Clock::now();
  trace_.span(name, end - duration, end);
}

void Stage::print_time() {
  auto total = Trace::Clock::now() - begin_;
  std::string out = fmt::format("{:<24}{:>12}\n", "phase", "ms");
  for (const auto& [name, duration] : phases_) {
    out += fmt::format("{:<24}{:>12.3f}\n", name, milliseconds(duration));
  }
  out += fmt::format("{:<24}{:>12.3f}\n", "total", milliseconds(total));
  tell(out);
}

void Stage::print_stats() {
  std::string out;
  for (const auto& [name, value] : counters_) out += fmt::format("{:<36}{:>12}\n", name, value);
  tell(out);
}

bool Stage::prints_after(std::string_view pass) const {
  const auto& names = settings_.print_after;
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return name == "all" || name == pass; });
}

Result<void> Stage::dump(const std::string& name, std::string_view text) {
  if (settings_.dump_dir.empty()) return {};
  std::error_code error;
  std::filesystem::create_directories(settings_.dump_dir, error);
  if (error) {
    return failure(Code::PS0103,
                   fmt::format("cannot make {}: {}", settings_.dump_dir, error.message()));
  }
  return write_file((std::filesystem::path(settings_.dump_dir) / name).string(), text);
}

void Stage::reproduce_with(std::string_view bytes) {
  if (!settings_.reproducer.empty()) reproducer_.append(bytes);
}

void Stage::write_reproducer() {
  if (settings_.reproducer.empty() || reproducer_.empty()) return;
  const Result<void> done = write_file(settings_.reproducer, reproducer_);
  if (!done) {
    report(done.error());
  } else {
    say(fmt::format("the input is in {}; to see the failure again: {} {}\n", settings_.reproducer,
                    options_.tool().command(), settings_.reproducer));
  }
}

std::string Stage::version() const {
  return fmt::format("{} {}\nLLVM {}, oneDNN {}, Python {}\nbuilt as {}\n",
                     options_.tool().program(), kVersion, kLlvmVersion, kOneDnnVersion,
                     kPythonVersions, kBuildType);
}

bool Stage::color(int descriptor) const {
  return use_color(descriptor, parse_color(settings_.color).value_or(ColorChoice::automatic));
}

}  // namespace penstock::tools
