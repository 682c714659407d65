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
#include <cerrno>
#include <chrono>
#include <cstring>
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
std::set<std::string> errors_in(std::string_view text) {
  constexpr std::size_t kCode = 6;  // as in PS0804
  std::set<std::string> out;
  for (const std::string_view mark : {"error[", R"("severity":"error","code":")"}) {
    for (std::size_t at = text.find(mark); at != text.npos; at = text.find(mark, at)) {
      at += mark.size();
      if (text.substr(at).starts_with("PS")) out.emplace(text.substr(at, kCode));
    }
  }
  return out;
}

}  // namespace

bool same_failure(const Answer& part, const Answer& whole) {
  return part.status == whole.status && part.printed == whole.printed &&
         part.interrupted == whole.interrupted && part.errors.empty() == whole.errors.empty() &&
         std::includes(whole.errors.begin(), whole.errors.end(), part.errors.begin(),
                       part.errors.end());
}

Oracle::Oracle(std::vector<std::string> command, int timeout_seconds, std::string text)
    : command_(std::move(command)), timeout_seconds_(timeout_seconds), text_(std::move(text)) {
  const sigset_t stop = stop_signals();
  sigprocmask(SIG_BLOCK, &stop, nullptr);
  signals_ = signalfd(-1, &stop, SFD_CLOEXEC);
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

Result<Answer> Oracle::ask(std::string_view stream) {
  MemoryFile input, output;
  if (!input.fill(stream) || output.descriptor() < 0) {
    return failure(Code::PS0106, "no memory for a stream");
  }
  auto pid = spawn(command_, input.descriptor(), output.descriptor());
  if (!pid) return tl::unexpected(std::move(pid.error()));
  const Waited waited = wait_for(*pid, signals_, timeout_seconds_);
  if (waited != Waited::ended) kill(-*pid, SIGKILL);
  int status = 0;
  while (waitpid(*pid, &status, 0) < 0 && errno == EINTR) {
  }
  Answer answer;
  answer.interrupted = waited == Waited::stopped;
  answer.status = WIFEXITED(status) ? WEXITSTATUS(status) : kSignalled + WTERMSIG(status);
  if (waited == Waited::late) answer.status = kTimedOut;
  const std::string printed = output.contents();
  answer.printed = text_.empty() || printed.find(text_) != std::string::npos;
  answer.errors = errors_in(printed);
  return answer;
}

}  // namespace penstock::tools
