#include "tools/reduce/oracle.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <utility>

namespace penstock::tools {
namespace {

constexpr int kTimedOut = 124;  // timeout(1) says so too
constexpr int kSignalled = 128;

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
  return set;
}

/// A file in memory, closed at its end.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(memfd_create("penstock-reduce", MFD_CLOEXEC)) {}
  ~MemoryFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  int descriptor() const { return descriptor_; }
  bool fill(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t written = write(descriptor_, bytes.data(), bytes.size());
      if (written <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return lseek(descriptor_, 0, SEEK_SET) == 0;
  }
  std::string contents() const {
    std::string out(static_cast<std::size_t>(std::max<off_t>(lseek(descriptor_, 0, SEEK_END), 0)),
                    '\0');
    const ssize_t size = pread(descriptor_, out.data(), out.size(), 0);
    out.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
    return out;
  }

 private:
  int descriptor_;
};

/// Starts `command` in a process group of its own, so that a pipe of it can be killed as a whole.
Result<pid_t> spawn(const std::vector<std::string>& command, int input, int output) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, output, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, words[0], &files, &attributes, words.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (error == 0) return pid;
  const Code code = error == EAGAIN || error == ENOMEM ? Code::PS0106 : Code::PS0102;
  return failure(code, fmt::format("{}: {}", command.front(), strerror(error)));
}

enum class Waited { ended, late, stopped };

/// Waits for the end of the process, for `seconds` at most, or for a signal to stop.
Waited wait_for(pid_t pid, int signals, int seconds) {
  using Clock = std::chrono::steady_clock;
  const auto limit = Clock::now() + std::chrono::seconds(seconds);
  const int process = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  Waited out = Waited::late;
  while (out == Waited::late) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(limit - Clock::now()).count();
    if (left <= 0) break;
    pollfd events[] = {{process, POLLIN, 0}, {signals, POLLIN, 0}};
    if (poll(events, 2, static_cast<int>(left)) < 0 && errno != EINTR) break;
    if (events[1].revents != 0) out = Waited::stopped;
    if (events[0].revents != 0) out = Waited::ended;
  }
  close(process);
  return out;
}

/// The codes of penstock's errors in what a command printed, for people or as JSON.
void add_codes(std::string_view text, std::set<std::string>& out) {
  constexpr std::size_t kCode = 6;  // as in PS0804
  for (const std::string_view mark : {"error[", R"("severity":"error","code":")"}) {
    for (std::size_t at = text.find(mark); at != text.npos; at = text.find(mark, at)) {
      at += mark.size();
      if (text.substr(at).starts_with("PS")) out.emplace(text.substr(at, kCode));
    }
  }
}

/// "ValueError" of "ValueError: too few" and of a bare "ValueError"; empty: no exception's line.
std::string_view exception_of(std::string_view line, bool traced) {
  const std::string_view name = line.substr(0, line.find(':'));
  const bool word = !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char byte) {
    return std::isalnum(byte) != 0 || byte == '_' || byte == '.' || byte >= 0x80;
  });
  const bool named = name.ends_with("Error") || name.ends_with("Exception");
  return word && (traced || named) ? name : std::string_view();
}

/// The names of Python's exceptions: of the first line behind each traceback that is not indented,
/// and of lines that begin like one without (a syntax error has none).
void add_exceptions(std::string_view text, std::set<std::string>& out) {
  bool traced = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1);
    std::string_view line = text.substr(0, end + 1);
    text.remove_prefix(end + 1);
    while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
    if (line.empty() || line.front() == ' ') continue;
    const std::string_view name = exception_of(line, traced);
    if (!name.empty()) out.emplace(name);
    traced = line.starts_with("Traceback (most recent call last)");
  }
}

/// `word` with `path` for each {} in it.
std::string filled(std::string word, const std::string& path) {
  for (std::size_t at = word.find("{}"); at != word.npos; at = word.find("{}", at + path.size()))
    word.replace(at, 2, path);
  return word;
}

}  // namespace

bool same_failure(const Answer& part, const Answer& whole) {
  return part.status == whole.status && part.printed == whole.printed &&
         part.interrupted == whole.interrupted && part.errors.empty() == whole.errors.empty() &&
         std::includes(whole.errors.begin(), whole.errors.end(), part.errors.begin(),
                       part.errors.end());
}

Oracle::Oracle(Question question) : question_(std::move(question)) {
  const sigset_t stop = stop_signals();
  sigprocmask(SIG_BLOCK, &stop, nullptr);
  signals_ = signalfd(-1, &stop, SFD_CLOEXEC);
  auto& words = question_.command;
  if (std::none_of(words.begin(), words.end(),
                   [](const std::string& word) { return word.find("{}") != word.npos; }))
    return;
  folder_.emplace("penstock-reduce");
  path_ = folder_->path() / question_.file;
  for (std::string& word : words) word = filled(std::move(word), path_);
}

Oracle::~Oracle() {
  close(signals_);
  // A signal that came is answered by what this process does now, not by its death.
  const sigset_t stop = stop_signals();
  const timespec now{};
  while (sigtimedwait(&stop, nullptr, &now) > 0) {
  }
  sigprocmask(SIG_UNBLOCK, &stop, nullptr);
}

Result<Answer> Oracle::ask(std::string_view input) {
  MemoryFile piped, output;
  const bool written = path_.empty()
                           ? piped.fill(input)
                           : bool((std::ofstream(path_, std::ios::binary) << input).flush());
  if (!written || output.descriptor() < 0) {
    return failure(Code::PS0106, "there is no room for what the command is to read");
  }
  auto pid = spawn(question_.command, piped.descriptor(), output.descriptor());
  if (!pid) return tl::unexpected(std::move(pid.error()));
  const Waited waited = wait_for(*pid, signals_, question_.timeout);
  if (waited != Waited::ended) kill(-*pid, SIGKILL);
  int status = 0;
  while (waitpid(*pid, &status, 0) < 0 && errno == EINTR) {
  }
  Answer answer;
  answer.interrupted = waited == Waited::stopped;
  answer.status = WIFEXITED(status) ? WEXITSTATUS(status) : kSignalled + WTERMSIG(status);
  if (waited == Waited::late) answer.status = kTimedOut;
  answer.output = output.contents();
  answer.printed =
      question_.text.empty() || answer.output.find(question_.text) != std::string::npos;
  add_codes(answer.output, answer.errors);
  add_exceptions(answer.output, answer.errors);
  return answer;
}

}  // namespace penstock::tools
