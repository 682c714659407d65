#include "tools/common/launch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "tools/common/signal_relay.h"

namespace penstock::tools {
namespace {

/// Deep recursion of conducted frames takes C stack: about 0.5 KB a level.
constexpr rlim_t kStackBytes = 64 << 20;
/// Descriptors of ours start here, out of the way of programs that count on small numbers.
constexpr int kFirstDescriptor = 100;

/// While it lives, memory behind a file-size limit is an error rather than a death.
class SizeSignalIgnored {
 public:
  SizeSignalIgnored() : before_(signal(SIGXFSZ, SIG_IGN)) {}
  ~SizeSignalIgnored() { signal(SIGXFSZ, before_); }
  SizeSignalIgnored(const SizeSignalIgnored&) = delete;
  SizeSignalIgnored& operator=(const SizeSignalIgnored&) = delete;

 private:
  sighandler_t before_;
};

/// A descriptor of ours, closed at the end.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  int get() const { return number_; }

 private:
  int number_;
};

bool is_executable(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
}

std::string search_path(const std::string& name) {
  const char* variable = getenv("PATH");
  std::string_view rest = variable != nullptr ? variable : "/usr/local/bin:/usr/bin:/bin";
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    const std::filesystem::path folder(rest.substr(0, end).empty() ? "." : rest.substr(0, end));
    if (is_executable(folder / name)) return std::filesystem::absolute(folder / name).string();
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return {};
}

/// Memory behind a descriptor could not be had, for the reason in errno.
tl::unexpected<Diagnostic> no_memory(std::string_view what) {
  if (errno == EMFILE || errno == ENFILE)
    return failure(Code::PS0117, fmt::format("{}: {}", what, strerror(errno)));
  auto failed = failure(Code::PS0106, fmt::format("{}: {}", what, strerror(errno)));
  failed.value().hint =
      "Raise the limit on file sizes (ulimit -f), which holds for memory too, or free memory.";
  return failed;
}

/// A sealed, anonymous file with the settings: "key\0value\0" pairs.
Result<int> write_settings(const std::map<std::string, std::string>& settings) {
  const SizeSignalIgnored ignored;
  std::string text;
  for (const auto& [key, value] : settings) {
    text.append(key).push_back('\0');
    text.append(value).push_back('\0');
  }
  const int made = memfd_create("penstock-settings", MFD_ALLOW_SEALING | MFD_CLOEXEC);
  if (made < 0 || ::write(made, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    auto failed = no_memory("the settings cannot be handed to the program's process");
    if (made >= 0) close(made);
    return failed;
  }
  fcntl(made, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
  return made;
}

/// What a process needs to become the program; it inherits the descriptors.
struct Child {
  std::string python;
  std::filesystem::path parts;
  int settings;
  int shared;
  int output;
};

/// A duplicate that a program inherits: out of its way, as far as the limit on open files allows.
/// Negative: there is no room for one.
int inheritable(int descriptor) {
  int made = -1;
  for (int first = kFirstDescriptor; made < 0 && first > STDERR_FILENO; first /= 2) {
    made = fcntl(descriptor, F_DUPFD, first);
  }
  return made;
}

void raise_stack_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
      limit.rlim_cur >= kStackBytes) {
    return;
  }
  limit.rlim_cur =
      limit.rlim_max == RLIM_INFINITY ? kStackBytes : std::min(limit.rlim_max, kStackBytes);
  setrlimit(RLIMIT_STACK, &limit);
}

/// Becomes the program. Returns only if exec failed.
void execute(const std::string& python, const LaunchOptions& options) {
  for (const auto& [name, value] : options.environment) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> arguments = {const_cast<char*>(python.c_str())};
  for (const std::string& word : options.program)
    arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execv(python.c_str(), arguments.data());
}

/// Sets the world up and becomes the program. Returns only if exec failed.
void become_program(const Child& child, const LaunchOptions& options) {
  if (options.move_stdout) dup2(STDERR_FILENO, STDOUT_FILENO);
  const std::string launch = fmt::format("{} {} {} {}", child.settings, child.shared, child.output,
                                         options.required ? 1 : 0);
  setenv(kLaunchVariable, launch.c_str(), 1);
  setenv(kExtensionsVariable, child.parts.c_str(), 1);
  std::string preload = (child.parts / "penstock_preload.so").string();
  if (const char* users = getenv("LD_PRELOAD")) {
    setenv(kPreloadVariable, users, 1);
    preload.append(":").append(users);
  }
  setenv("LD_PRELOAD", preload.c_str(), 1);
  raise_stack_limit();
  execute(child.python, options);
}

/// Forks, becomes the program in the child, and waits for it.
Result<int> run_child(const Child& child, const LaunchOptions& options) {
  SignalRelay relay;
  relay.before_fork();
  const pid_t pid = fork();
  if (pid < 0) return failure(Code::PS0106, fmt::format("no child process: {}", strerror(errno)));
  if (pid == 0) {
    relay.become_program();
    become_program(child, options);
    fmt::print(stderr, "penstock: {}: {}\n", child.python, strerror(errno));
    _exit(127);
  }
  if (options.started) options.started(child.shared);
  return relay.wait(pid);
}

/// The memory that launcher and extension share: a SharedBlock and the mode's part, all zero.
Result<int> make_shared_memory() {
  const SizeSignalIgnored ignored;
  const int made = memfd_create("penstock-shared", MFD_CLOEXEC);
  if (made < 0 || ftruncate(made, sizeof(SharedBlock) + kModeMemory) != 0) {
    auto failed = no_memory("there is no memory to share with the program's process");
    if (made >= 0) close(made);
    return failed;
  }
  return made;
}

/// How many bytes of the mode's part there are up to the last page that was written to: what is
/// behind it is as zero as at first. All of them where the file system does not know its holes.
std::size_t written_bytes(int descriptor) {
  off_t end = 0;
  for (off_t data; (data = lseek(descriptor, end, SEEK_DATA)) >= 0;) {
    end = lseek(descriptor, data, SEEK_HOLE);
    if (end < 0) return kModeMemory;
  }
  if (errno != ENXIO) return kModeMemory;
  const auto written = static_cast<std::size_t>(end);
  return std::min(kModeMemory, written - std::min(written, sizeof(SharedBlock)));
}

}  // namespace

Result<std::string> find_parts() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  std::vector<std::filesystem::path> candidates;
  if (const char* named = getenv("PENSTOCK_PARTS")) candidates.emplace_back(named);
  for (auto folder = self.parent_path(); folder.has_relative_path();
       folder = folder.parent_path()) {
    candidates.push_back(folder / "parts");
    candidates.push_back(folder / "lib" / "penstock");
    for (const auto& entry : std::filesystem::directory_iterator(folder / "lib", error)) {
      candidates.push_back(entry.path() / "penstock");
    }
  }
  for (const auto& folder : candidates) {
    if (access((folder / "penstock_preload.so").c_str(), R_OK) == 0) return folder.string();
  }
  return failure(Code::PS0115, "penstock_preload.so is not beside the tools");
}

void read_shared(int descriptor, LaunchOutcome& outcome) {
  if (pread(descriptor, &outcome.shared, sizeof(SharedBlock), 0) != sizeof(SharedBlock)) {
    outcome.shared = SharedBlock{};
  }
  outcome.mode_memory.resize(written_bytes(descriptor));
  const ssize_t size = pread(descriptor, outcome.mode_memory.data(), outcome.mode_memory.size(),
                             sizeof(SharedBlock));
  outcome.mode_memory.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
}

std::string not_reached(const std::string& python) {
  return fmt::format("{} ended, and no Python was started in it that penstock can enter", python);
}

tl::unexpected<Diagnostic> recorded_failure(std::span<const char> memory) {
  const std::string_view text(memory.data(), strnlen(memory.data(), memory.size()));
  const std::size_t space = std::min(text.find(' '), text.size());
  const CodeFacts* row = find_code(text.substr(0, space));
  const std::string message(text.substr(std::min(space + 1, text.size())));
  return failure(row != nullptr ? row->code : Code::PS0112, message);
}

Result<std::string> find_python(const std::string& named) {
  const char* variable = getenv("PENSTOCK_PYTHON");
  const std::string wanted = named.empty() && variable != nullptr ? variable : named;
  if (!wanted.empty()) {
    const std::string found = wanted.find('/') == std::string::npos ? search_path(wanted)
                              : is_executable(wanted) ? std::filesystem::absolute(wanted).string()
                                                      : "";
    if (found.empty()) return failure(Code::PS0111, fmt::format("no Python at {}", wanted));
    return found;
  }
  if (const char* environment = getenv("VIRTUAL_ENV")) {
    const auto python = std::filesystem::path(environment) / "bin" / "python";
    if (is_executable(python)) return python.string();
  }
  for (const char* name : {"python3", "python"}) {
    if (std::string found = search_path(name); !found.empty()) return found;
  }
  return failure(Code::PS0111, "there is no python3 on PATH");
}

Result<Handover> hand_over(const LaunchOptions& options) {
  auto parts = find_parts();
  if (!parts) return tl::unexpected(parts.error());
  auto values = options.settings;
  values.emplace("required", options.required ? "1" : "0");
  auto settings = write_settings(values);
  if (!settings) return tl::unexpected(settings.error());
  auto shared = make_shared_memory();
  if (!shared) {
    close(*settings);
    return tl::unexpected(shared.error());
  }
  return Handover{*parts, *settings, *shared};
}

Result<LaunchOutcome> launch(const LaunchOptions& options) {
  auto python = find_python(options.python);
  if (!python) return tl::unexpected(python.error());
  auto handover = hand_over(options);
  if (!handover) return tl::unexpected(handover.error());
  const Descriptor settings_file(handover->settings), shared_file(handover->shared);

  const int documents = options.move_stdout ? STDOUT_FILENO : options.output;
  const Descriptor settings_copy(inheritable(handover->settings)),
      shared_copy(inheritable(handover->shared));
  const Descriptor output_copy(documents < 0 ? -1 : inheritable(documents));
  if (settings_copy.get() < 0 || shared_copy.get() < 0 ||
      (documents >= 0 && output_copy.get() < 0)) {
    return failure(Code::PS0117, fmt::format("nothing can be handed to the program's process: {}",
                                             strerror(errno)));
  }
  const Child child{*python, handover->parts, settings_copy.get(), shared_copy.get(),
                    output_copy.get()};
  if (options.last) {
    become_program(child, options);
    return failure(Code::PS0111, fmt::format("{} cannot be started: {}", *python, strerror(errno)));
  }
  const auto status = run_child(child, options);
  if (!status) return tl::unexpected(status.error());
  LaunchOutcome outcome;
  outcome.python = *python;
  read_shared(shared_file.get(), outcome);
  outcome.exit_status = WIFEXITED(*status) ? WEXITSTATUS(*status) : 0;
  outcome.signal = WIFSIGNALED(*status) ? WTERMSIG(*status) : 0;
  if (outcome.shared.reached == Reached::refused && options.required) {
    return recorded_failure(outcome.shared.refusal);
  }
  if (outcome.shared.reached == Reached::nothing && options.required) {
    return failure(Code::PS0114, not_reached(*python));
  }
  return outcome;
}

Diagnostic become_plain_program(const LaunchOptions& options) {
  auto python = find_python(options.python);
  if (!python) return python.error();
  execute(*python, options);
  return failure(Code::PS0111, fmt::format("{} cannot be started: {}", *python, strerror(errno)))
      .value();
}

void exit_like(const LaunchOutcome& outcome) {
  if (outcome.signal == 0) exit(outcome.exit_status);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  signal(outcome.signal, SIG_DFL);
  raise(outcome.signal);
  exit(128 + outcome.signal);
}

std::string describe_frames(const python::FrameCounts& frames) {
  using python::Native;
  const auto native = [&](Native reason) { return frames.native[static_cast<int>(reason)]; };
  const std::uint64_t bodies = frames.seen - native(Native::generator) - native(Native::limit);
  const double share =
      bodies == 0 ? 100.0
                  : 100.0 * static_cast<double>(frames.conducted) / static_cast<double>(bodies);
  std::string walked;
  if (frames.walked != 0) {
    walked = fmt::format(", {} walked ({:.2f}%), {} of {} instructions followed", frames.walked,
                         100.0 * static_cast<double>(frames.walked) / static_cast<double>(bodies),
                         frames.followed, frames.instructions);
  }
  return fmt::format(
      "frames: {} seen, {} conducted ({:.2f}%){}, {} left to the evaluator in the middle, native: "
      "{} traced, {} short of stack, {} by the driver, {} marked; besides, {} calls that only made "
      "a "
      "generator, {} refused by the recursion limit",
      bodies, frames.conducted, share, walked, frames.exited, native(Native::traced),
      native(Native::stack), native(Native::driver), native(Native::skipped),
      native(Native::generator), native(Native::limit));
}

}  // namespace penstock::tools
