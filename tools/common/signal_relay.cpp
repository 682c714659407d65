// Who gets a signal that is sent to us while a program of ours runs?
//
// Problem. Programs stay in our process group, so that terminals, job control and `kill -- -GROUP`
// treat them as if they had been started without us. A signal to the group (a terminal's, a
// supervisor's, Jupyter's) then reaches both of us, one that is sent to our process alone only us.
// The second must be passed on and the first must not, but a signal does not tell which it is.
//
// Idea. A third process of the group, the *witness*, keeps all signals blocked and does nothing.
// What it got too was sent to the group. It answers when it is asked, which takes that signal from
// it, so that every signal is counted once on either side. The kernel signals the members of a
// group within one system call, those that joined last first: what we have got our witness has got,
// whatever the load of the machine.
//
// Stopping. When the program is stopped (Ctrl-Z), so are we, for the shell waits for us. Whoever
// continues the program by its own number leaves us stopped: the witness notices and continues us.
#include "tools/common/signal_relay.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <initializer_list>

namespace penstock::tools {
namespace {

/// What the witness is asked: whether it got the signal, or, without one, to watch a process that
/// is stopped (0: none).
struct Request {
  int signal = 0;
  pid_t stopped = 0;
};

constexpr int kLookMilliseconds = 50;

/// All that others send. What a process brings on itself, a fault or a limit of its own, stays its
/// own.
sigset_t relayed_signals() {
  sigset_t set;
  sigfillset(&set);
  for (const int own : {SIGKILL, SIGSTOP, SIGCHLD, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS,
                        SIGPIPE, SIGXCPU, SIGXFSZ, SIGPROF, SIGVTALRM}) {
    sigdelset(&set, own);
  }
  return set;
}

void sleep_milliseconds(long milliseconds) {
  const timespec time{0, milliseconds * 1'000'000};
  nanosleep(&time, nullptr);
}

/// Takes the signal if it is pending.
bool take_pending(int signal, siginfo_t* from = nullptr) {
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal);
  const timespec now{};
  return sigtimedwait(&one, from, &now) == signal;
}

bool is_stopped(pid_t process) {
  char path[32], text[512] = {};
  snprintf(path, sizeof path, "/proc/%d/stat", static_cast<int>(process));
  FILE* file = fopen(path, "re");
  if (file == nullptr) return false;
  const std::size_t size = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  const char* name_end = size == 0 ? nullptr : strrchr(text, ')');  // the name may hold anything
  return name_end != nullptr && name_end[1] != '\0' && name_end[2] == 'T';
}

bool tell(int channel, const Request& request) {
  return send(channel, &request, sizeof request, MSG_NOSIGNAL) == sizeof request;
}

/// The witness's life, until its channel is closed.
[[noreturn]] void bear_witness(int channel, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_NAME, "penstock-signal");
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, nullptr);
  dup2(channel, STDIN_FILENO);
  close_range(STDIN_FILENO + 1, ~0U, 0);  // nobody waits for the end of our streams
  pid_t stopped = 0;
  while (getppid() == parent) {
    pollfd asked{STDIN_FILENO, POLLIN, 0};
    if (poll(&asked, 1, stopped != 0 ? kLookMilliseconds : -1) == 0) {
      if (is_stopped(stopped)) continue;
      stopped = 0;
      kill(parent, SIGCONT);
      continue;
    }
    Request request;
    if (read(STDIN_FILENO, &request, sizeof request) != sizeof request) break;
    stopped = request.stopped;
    const char answer = request.signal != 0 && take_pending(request.signal) ? 1 : 0;
    if (request.signal != 0 && write(STDIN_FILENO, &answer, 1) != 1) break;
  }
  _exit(0);
}

/// What the witness says, or nothing sensible if it is gone.
class Testimony {
 public:
  Testimony(pid_t witness, int channel) : witness_(witness), channel_(channel) {}

  /// True if the signal was sent to the group.
  bool is_of_group(int signal) {
    for (const long delay :
         {0L, 1L, 4L}) {  // the order in which a group is signalled is the kernel's own affair
      if (delay != 0) sleep_milliseconds(delay);
      if (ask(signal)) return true;
    }
    return false;
  }

 private:
  bool ask(int signal) {
    const Request request{signal, 0};
    if (!tell(channel_, request)) return false;
    const bool woken = wake_until_it_answers();
    char answer = 0;
    if (read(channel_, &answer, 1) != 1) return false;
    if (!woken) return answer == 1;
    if (signal != SIGCONT) ask(SIGCONT);  // which was ours
    return answer == 1 && signal != SIGCONT;
  }

  /// A witness that was stopped with the group is continued; true if it had to be.
  bool wake_until_it_answers() {
    bool woken = false;
    pollfd answered{channel_, POLLIN, 0};
    while (poll(&answered, 1, kLookMilliseconds) == 0) {
      if (woken || !is_stopped(witness_)) continue;
      kill(witness_, SIGCONT);
      woken = true;
    }
    return woken;
  }

  pid_t witness_;
  int channel_;
};

}  // namespace

SignalRelay::SignalRelay() : parent_(getpid()), watched_(relayed_signals()) {
  sigemptyset(&early_);
  sigaddset(&watched_, SIGCHLD);
  sigprocmask(SIG_BLOCK, &watched_, &mask_before_);
  struct sigaction noticed {};  // a process that ignores SIGCHLD is not told how its children ended
  noticed.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &noticed, &child_before_);
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return;
  witness_ = fork();
  if (witness_ == 0) bear_witness(ends[1], parent_);
  close(ends[1]);
  channel_ = ends[0];
}

SignalRelay::~SignalRelay() {
  if (channel_ >= 0) close(channel_);
  if (witness_ > 0) {
    kill(witness_, SIGKILL);
    while (waitpid(witness_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  // What came for a program that has ended is done with.
  sigset_t late = relayed_signals();
  const timespec now{};
  while (sigtimedwait(&late, nullptr, &now) > 0) {
  }
  restore();
}

void SignalRelay::restore() const {
  sigaction(SIGCHLD, &child_before_, nullptr);
  sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
}

void SignalRelay::before_fork() {
  sigpending(&early_);
}

void SignalRelay::become_program() const {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent_) raise(SIGKILL);
  restore();
}

int SignalRelay::wait(pid_t program) {
  for (int signal = 1; signal < NSIG; ++signal) {
    if (sigismember(&early_, signal) != 1 || !take_pending(signal)) continue;
    Testimony(witness_, channel_).is_of_group(signal);
    kill(program, signal);
  }
  for (;;) {
    int status = 0;
    const pid_t changed = waitpid(program, &status, WNOHANG | WUNTRACED);
    if (changed < 0 && errno != EINTR) return 0;
    siginfo_t from{};
    if (changed == program && WIFSTOPPED(status)) {
      // A stop would take a SIGCONT from us that has come behind it.
      if (take_pending(SIGCONT, &from)) {
        pass_on(program, SIGCONT, from);
      } else {
        stop_as(program);
      }
      continue;
    }
    if (changed == program) return status;
    const int signal = sigwaitinfo(&watched_, &from);
    if (signal > 0 && signal != SIGCHLD) pass_on(program, signal, from);
  }
}

void SignalRelay::pass_on(pid_t program, int signal, const siginfo_t& from) const {
  const bool sent = from.si_code <= 0;  // by a process, not by the kernel
  if (sent && from.si_pid == witness_) return;
  if (channel_ < 0) {
    if (!sent) return;  // a terminal's, which signals groups
  } else if (Testimony(witness_, channel_).is_of_group(signal)) {
    return;
  }
  // What the program sends to its parent is meant for ours.
  const pid_t to = sent && from.si_pid == program ? getppid() : program;
  if (from.si_code == SI_QUEUE) {
    sigqueue(to, signal, from.si_value);
  } else {
    kill(to, signal);
  }
}

/// Stops this process until somebody continues it, or the program.
void SignalRelay::stop_as(pid_t program) const {
  tell(channel_, {0, program});
  raise(SIGSTOP);
  tell(channel_, {0, 0});
}

}  // namespace penstock::tools
