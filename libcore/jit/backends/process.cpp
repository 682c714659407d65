#include "jit/backends/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

extern char** environ;

namespace penstock::jit {

namespace {

using Clock = std::chrono::steady_clock;

/// Descriptors of ours start here, out of the way of programs that count on small numbers.
constexpr int kFirstDescriptor = 100;
/// Those that the command has: where answers go, and the memory.
constexpr int kAnswers = 3, kMemory = 4;
/// An answer is a line; what is longer is none.
constexpr std::size_t kLongestAnswer = std::size_t{1} << 16;
/// As much of what it printed as may be its last words.
constexpr std::size_t kLastWords = 4096;

/// The shell leaves the command running and ends, so that nobody here is the command's parent.
constexpr const char* kDetached = R"(exec 5<&0; "$@" <&5 5<&- & exit 0)";

int out_of_the_way(int descriptor) {
  if (descriptor < 0) return -1;
  const int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, kFirstDescriptor);
  if (moved < 0) return descriptor;
  close(descriptor);
  return moved;
}

/// The number of errno where it could not be started.
int spawn(const std::vector<std::string>& command, int channel, int memory, int log, pid_t& group) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, channel, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, log, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, log, STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&files, channel, kAnswers);
  posix_spawn_file_actions_adddup2(&files, memory, kMemory);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  sigdelset(&all, SIGKILL);
  sigdelset(&all, SIGSTOP);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);  // what a terminal sends is the program's
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::vector<std::string> words = {"/bin/sh", "-c", kDetached, "sh"};
  words.insert(words.end(), command.begin(), command.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const int error = posix_spawn(&group, pointers[0], &files, &attributes, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (error == 0) {
    while (waitpid(group, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  return error;
}

/// The last line that says something.
std::string last_line(std::string_view text) {
  while (!text.empty() && std::strchr(" \n\r\t", text.back()) != nullptr) text.remove_suffix(1);
  const std::size_t start = text.rfind('\n');
  if (start != text.npos) text.remove_prefix(start + 1);
  return std::string(text.substr(0, 300));
}

}  // namespace

Result<std::unique_ptr<BackendProcess>> BackendProcess::start(
    const std::vector<std::string>& command) {
  std::unique_ptr<BackendProcess> made(new BackendProcess);
  int ends[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return failure(Code::PS0106, fmt::format("no socket: {}", strerror(errno)));
  made->channel_ = out_of_the_way(ends[0]);
  const int theirs = out_of_the_way(ends[1]);
  made->memory_file_ = out_of_the_way(memfd_create("penstock-backend", MFD_CLOEXEC));
  made->log_ = out_of_the_way(memfd_create("penstock-backend-log", MFD_CLOEXEC));
  if (made->log_ >= 0) fcntl(made->log_, F_SETFL, O_APPEND);
  made->owner_ = getpid();
  int error = made->memory_file_ < 0 || made->log_ < 0 ? errno : 0;
  if (error == 0) error = spawn(command, theirs, made->memory_file_, made->log_, made->group_);
  close(theirs);
  if (error != 0) {
    made->group_ = 0;
    return failure(Code::PS0106,
                   fmt::format("{} cannot be started: {}", command.front(), strerror(error)));
  }
  return made;
}

BackendProcess::~BackendProcess() {
  end();
  for (const int file : {memory_file_, log_}) {
    if (file >= 0) close(file);
  }
  if (memory_ != nullptr) munmap(memory_, bytes_);
}

bool BackendProcess::is_alive() const {
  return channel_ >= 0 && owner_ == getpid();
}

/// What it started ends with it: a compiler of C++, say.
void BackendProcess::end() {
  if (channel_ < 0) return;
  close(channel_);
  channel_ = -1;
  if (group_ > 0 && owner_ == getpid()) kill(-group_, SIGKILL);
}

std::byte* BackendProcess::memory(std::size_t bytes) {
  if (bytes <= bytes_ && memory_ != nullptr) return memory_;
  const std::size_t wanted = std::bit_ceil(std::max<std::size_t>(bytes, std::size_t{1} << 20));
  if (ftruncate(memory_file_, static_cast<off_t>(wanted)) != 0) return nullptr;
  if (memory_ != nullptr) munmap(memory_, bytes_);
  void* mapped = mmap(nullptr, wanted, PROT_READ | PROT_WRITE, MAP_SHARED, memory_file_, 0);
  bytes_ = mapped == MAP_FAILED ? 0 : wanted;
  memory_ = mapped == MAP_FAILED ? nullptr : static_cast<std::byte*>(mapped);
  return memory_;
}

std::string BackendProcess::last_words() const {
  const off_t size = lseek(log_, 0, SEEK_END);
  std::string text(std::min<std::size_t>(kLastWords, size < 0 ? 0 : static_cast<std::size_t>(size)),
                   '\0');
  const ssize_t count =
      pread(log_, text.data(), text.size(), size - static_cast<off_t>(text.size()));
  text.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
  return last_line(text);
}

BackendAnswer BackendProcess::ended() {
  const std::string words = last_words();
  end();
  return {BackendAnswer::Kind::ended,
          words.empty() ? "its process ended" : "its process ended: " + words};
}

BackendAnswer BackendProcess::ask(const std::string& request, double seconds) {
  if (!is_alive()) return {BackendAnswer::Kind::ended, "its process is not this one's"};
  const auto until = Clock::now() + std::chrono::duration<double>(seconds);
  std::string_view left = request;
  read_.clear();
  while (read_.empty() || read_.back() != '\n') {
    const auto wait =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    if (wait <= 0) {
      end();
      return {BackendAnswer::Kind::late, fmt::format("no answer in {:g} s", seconds)};
    }
    pollfd file{channel_, static_cast<short>(left.empty() ? POLLIN : POLLIN | POLLOUT), 0};
    const int most = static_cast<int>(std::min<long>(wait + 1, 1000 * 1000));
    if (poll(&file, 1, most) <= 0) continue;  // late, or a signal
    if (!left.empty() && (file.revents & POLLOUT) != 0) {
      const ssize_t sent = send(channel_, left.data(), left.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent < 0 && errno != EAGAIN && errno != EINTR) return ended();
      if (sent > 0) left.remove_prefix(static_cast<std::size_t>(sent));
      if (sent > 0) continue;
    }
    if ((file.revents & (POLLIN | POLLHUP | POLLERR)) == 0) continue;
    char bytes[4096];
    const ssize_t got = recv(channel_, bytes, sizeof bytes, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (got <= 0 || read_.size() > kLongestAnswer) return ended();
    read_.append(bytes, static_cast<std::size_t>(got));
  }
  read_.pop_back();
  const std::size_t space = std::min(read_.find(' '), read_.size());
  const std::string word = read_.substr(0, space);
  std::string text = read_.substr(std::min(space + 1, read_.size()));
  if (word == "yes") return {BackendAnswer::Kind::yes, std::move(text)};
  if (word == "no") return {BackendAnswer::Kind::no, std::move(text)};
  end();
  return {BackendAnswer::Kind::ended, "its answer begins neither with yes nor with no: " +
                                          last_line(std::string_view(read_).substr(0, 100))};
}

}  // namespace penstock::jit
