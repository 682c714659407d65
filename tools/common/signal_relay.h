#pragma once

#include <signal.h>
#include <sys/types.h>

namespace penstock::tools {

/// Signals of a process that waits for a program which it started in its own process group: the
/// program gets each exactly as often as if it ran in this process's place.
///
/// Made before the program's process is forked. Signals stay blocked in this process until the end.
class SignalRelay {
 public:
  SignalRelay();
  ~SignalRelay();
  SignalRelay(const SignalRelay&) = delete;
  SignalRelay& operator=(const SignalRelay&) = delete;

  /// Right before the program's process is forked: what has come by then that process will not have
  /// got.
  void before_fork();
  /// In the program's process, before exec: signals are as they were, and the program dies with its
  /// parent, which is what a SIGKILL sent to that means.
  void become_program() const;
  /// Waits for the program and passes signals on; its status, as waitpid() has it.
  int wait(pid_t program);

 private:
  void restore() const;
  void pass_on(pid_t program, int signal, const siginfo_t& from) const;
  void stop_as(pid_t program) const;

  pid_t parent_;
  pid_t witness_ = -1;
  int channel_ = -1;  ///< to the witness
  sigset_t watched_;
  sigset_t early_;
  sigset_t mask_before_;
  struct sigaction child_before_;
};

}  // namespace penstock::tools
