#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "jit/backends/process.h"

using namespace penstock;
using jit::BackendAnswer;
using jit::BackendProcess;
using Kind = BackendAnswer::Kind;

namespace {

/// A back end that is a few lines of shell: requests on 0, answers on 3, the memory on 4.
std::unique_ptr<BackendProcess> shell(const char* text) {
  auto started = BackendProcess::start({"/bin/sh", "-c", text});
  REQUIRE(started);
  return std::move(*started);
}

/// Whether the process that wrote its number into the shared memory is there no more, in time.
bool is_gone(const char* number) {
  const pid_t process = std::atoi(number);
  REQUIRE(process > 0);
  for (int i = 0; i < 500; ++i) {
    if (kill(process, 0) != 0) return errno == ESRCH;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

}  // namespace

TEST_CASE("answers are yes or no, with what stands behind") {
  const auto process = shell("while read line; do echo \"$line\" >&3; done");
  const BackendAnswer yes = process->ask("yes 1.2 beta\n", 10);
  CHECK(yes.kind == Kind::yes);
  CHECK(yes.text == "1.2 beta");
  const BackendAnswer no = process->ask("no such op\n", 10);
  CHECK(no.kind == Kind::no);
  CHECK(no.text == "such op");
  CHECK(process->ask("yes\n", 10).text.empty());
  CHECK(process->ask("maybe\n", 10).kind == Kind::ended);
  CHECK_FALSE(process->is_alive());
}

TEST_CASE("what it prints is no answer, and its last line is told where it ends") {
  const auto process = shell("echo yes; read line; echo yes >&3; read line; echo why >&2; exit 3");
  CHECK(process->ask("one\n", 10).kind == Kind::yes);
  const BackendAnswer ended = process->ask("two\n", 10);
  CHECK(ended.kind == Kind::ended);
  CHECK(ended.text == "its process ended: why");
  CHECK(process->ask("three\n", 10).kind == Kind::ended);
}

TEST_CASE("a long request reaches it whole") {
  const auto process = shell("read line; echo yes ${#line} >&3");
  const std::string request(1 << 20, 'x');
  CHECK(process->ask(request + "\n", 30).text == std::to_string(request.size()));
}

TEST_CASE("what gives no answer in time is ended, with what it started") {
  const auto process = shell("read line; sleep 100 & echo $! >/proc/self/fd/4; wait");
  const auto begin = std::chrono::steady_clock::now();
  CHECK(process->ask("go\n", 1).kind == Kind::late);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20));
  CHECK(is_gone(reinterpret_cast<const char*>(process->memory(16))));
}

TEST_CASE("a command that is not there ends") {
  auto started = BackendProcess::start({"/nonesuch/command"});
  REQUIRE(started);
  CHECK((*started)->ask("go\n", 10).kind == Kind::ended);
}

TEST_CASE("it is no child of this process, and none of its child's") {
  const auto process = shell("while read line; do echo yes >&3; done");
  CHECK(waitpid(-1, nullptr, WNOHANG) == -1);
  CHECK(errno == ECHILD);
  const pid_t child = fork();
  if (child == 0)
    _exit(process->is_alive() ? 1 : process->ask("go\n", 1).kind == Kind::ended ? 0 : 2);
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(status == 0);
  CHECK(process->ask("go\n", 10).kind == Kind::yes);
}

TEST_CASE("the memory is one, and grows") {
  const auto process = shell("while read line; do echo yes $(head -c 5 /proc/self/fd/4) >&3; done");
  std::byte* memory = process->memory(16);
  REQUIRE(memory != nullptr);
  std::memcpy(memory, "first", 5);
  CHECK(process->ask("go\n", 10).text == "first");
  memory = process->memory(std::size_t{8} << 20);
  REQUIRE(memory != nullptr);
  CHECK(process->memory_bytes() >= std::size_t{8} << 20);
  CHECK(std::memcmp(memory, "first", 5) == 0);
  std::memcpy(memory, "other", 5);
  CHECK(process->ask("go\n", 10).text == "other");
}
