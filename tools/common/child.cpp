#include "tools/common/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

namespace penstock::tools {
namespace {

using Clock = std::chrono::steady_clock;

std::string contents(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

/// Waits for the process; one that takes too long is killed. False: it was.
bool wait_for(pid_t child, int patience, int& status) {
  const auto begin = Clock::now();
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (patience > 0 && Clock::now() - begin > std::chrono::seconds(patience)) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

/// The number of errno where it could not be started.
int spawn(const std::vector<std::string>& command, const std::string& printed,
          const std::string& said, pid_t& child) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  constexpr int kMake = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, printed.c_str(), kMake, 0600);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, said.c_str(), kMake, 0600);
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const int error = posix_spawn(&child, words[0], &files, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  return error;
}

}  // namespace

ChildOutcome run_child(const std::vector<std::string>& command, const std::filesystem::path& folder,
                       int patience) {
  ChildOutcome out;
  const std::string printed = folder / "printed", said = folder / "said";
  const auto begin = Clock::now();
  pid_t child = 0;
  if (const int error = spawn(command, printed, said, child); error != 0) {
    out.failure = fmt::format("{} cannot be started: {}", command.front(), strerror(error));
    return out;
  }
  int status = 0;
  if (!wait_for(child, patience, status)) {
    out.failure = fmt::format("it did not end in {} s", patience);
  } else if (WIFSIGNALED(status)) {
    out.failure = fmt::format("it ended by signal {}", WTERMSIG(status));
    out.status = 128 + WTERMSIG(status);
  } else {
    out.status = WEXITSTATUS(status);
  }
  out.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  out.printed = contents(printed);
  out.said = contents(said);
  return out;
}

}  // namespace penstock::tools
