// The driver. Damaged inputs are tried in a child process, one after the other; what ends the
// child, or keeps it too long, is kept, and another child goes on behind it. Input number n of a
// seed is always the same.
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <new>
#include <sstream>

#include "reader.h"

namespace penstock::fuzz {

namespace {

using Clock = std::chrono::steady_clock;

/// What an input may take.
constexpr std::uint64_t kMostMemory = std::uint64_t{4} << 30;
constexpr auto kMostTime = std::chrono::seconds(20);

constexpr Reader kReaders[] = {
    {"torch", "graphs of level torch, and all stages behind", damage_torch, run_documents},
    {"core", "graphs of level core, and all stages behind", damage_core, run_documents},
    {"placed", "graphs of level placed, and all stages behind", damage_placed, run_documents},
    {"loops", "loop programs, their interpreter, code and runs", damage_loops, run_documents},
    {"kernels", "bundles; those without code are run", damage_kernels, run_documents},
    {"stream", "streams of documents of all kinds", damage_stream, run_documents},
    {"pack", "packed files", damage_pack, run_pack},
    {"tensors", "safetensors files", damage_tensors, run_tensors},
    {"rules", "rule files", damage_rules, run_rules},
    {"size", "size expressions and conditions", damage_size, run_size},
    {"source", "sources of values", damage_source, run_source},
    {"request", "requests to a server", damage_request, run_request},
    {"pt2", "archives of torch.export.save, and all stages behind", damage_pt2, run_pt2},
};

struct Options {
  std::vector<const Reader*> readers;
  double minutes = 1;
  std::uint64_t seed = 1;
  std::uint64_t first = 0, runs = ~std::uint64_t{0};
  std::string keep = "fuzz-findings";
  std::string input;   ///< one file, tried once
  std::string replay;  ///< a folder of files READER-NAME, tried once each
};

/// What parent and child share.
struct Shared {
  volatile std::uint64_t number = 0;  ///< of the input at hand
  volatile std::uint64_t accepted = 0;
  volatile std::int64_t started = 0;  ///< when, in nanoseconds of the steady clock
  volatile bool internal = false;     ///< the input at hand has brought out an internal error
  char message[400] = {};
};

std::string input_of(const Reader& reader, const Options& options, std::uint64_t number) {
  Mutator mutator(options.seed * 1'000'003 + number);
  return reader.damage(mutator);
}

std::int64_t now() {
  return Clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

Outcome try_input(const Reader& reader, const std::string& bytes) {
  try {
    return reader.run(bytes);
  } catch (const std::bad_alloc&) {
    return {};  // tools say PS0106
  }
}

[[noreturn]] void child(const Reader& reader, const Options& options, Shared& shared,
                        Clock::time_point end) {
#if !defined(__SANITIZE_ADDRESS__)
  const rlimit limit{kMostMemory, kMostMemory};
  setrlimit(RLIMIT_AS, &limit);
#endif
  while (Clock::now() < end && shared.number < options.first + options.runs) {
    const std::string bytes = input_of(reader, options, shared.number);
    shared.started = now();
    const Outcome outcome = try_input(reader, bytes);
    if (outcome.accepted) shared.accepted = shared.accepted + 1;
    if (outcome.internal) {
      std::snprintf(shared.message, sizeof shared.message, "%s: %s", outcome.stage.c_str(),
                    outcome.internal->message.c_str());
      shared.internal = true;
      _exit(3);
    }
    shared.number = shared.number + 1;
  }
  _exit(0);
}

/// Waits for the child; kills it when an input takes too long. What it ended with, or "".
std::string wait_for(pid_t pid, Shared& shared) {
  for (;;) {
    int status = 0;
    if (waitpid(pid, &status, WNOHANG) == pid) {
      if (shared.internal) return shared.message;
      if (WIFSIGNALED(status)) return std::string("signal ") + strsignal(WTERMSIG(status));
      return WEXITSTATUS(status) == 0 ? "" : "status " + std::to_string(WEXITSTATUS(status));
    }
    const std::int64_t limit = std::chrono::nanoseconds(kMostTime).count();
    if (shared.started != 0 && now() - shared.started > limit) {
      kill(pid, SIGKILL);
      waitpid(pid, &status, 0);
      return "takes longer than 20 s";
    }
    usleep(20'000);
  }
}

void keep(const Reader& reader, const Options& options, std::uint64_t number,
          const std::string& why) {
  std::filesystem::create_directories(options.keep);
  const std::string path = options.keep + "/" + std::string(reader.name) + "-" +
                           std::to_string(options.seed) + "-" + std::to_string(number);
  std::ofstream(path, std::ios::binary) << input_of(reader, options, number);
  std::cout << reader.name << ": " << path << ": " << why << std::endl;
}

Shared* make_shared() {
  return new (mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                   0)) Shared;
}

/// How many inputs were tried, and how many of them brought something out.
struct Sum {
  std::uint64_t tried = 0, findings = 0;
};

Sum fuzz(const Reader& reader, const Options& options) {
  Shared* shared = make_shared();
  shared->number = options.first;
  const auto end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(
                         std::chrono::duration<double, std::ratio<60>>(options.minutes));
  {
    // Seeds are made once, here, and not by every child.
    static_cast<void>(input_of(reader, options, 0));
  }
  std::uint64_t findings = 0;
  while (Clock::now() < end && shared->number < options.first + options.runs) {
    shared->started = 0;
    shared->internal = false;
    const pid_t pid = fork();
    if (pid == 0) child(reader, options, *shared, end);
    const std::string why = wait_for(pid, *shared);
    if (why.empty()) break;
    ++findings;
    keep(reader, options, shared->number, why);
    shared->number = shared->number + 1;
  }
  std::cout << reader.name << ": " << shared->number - options.first << " inputs, "
            << shared->accepted << " accepted, " << findings << " findings" << std::endl;
  return {shared->number - options.first, findings};
}

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream bytes;
  bytes << in.rdbuf();
  return bytes.str();
}

/// Tries what was found before, each in a process of its own.
Sum replay(const std::string& folder) {
  Sum sum;
  Shared* shared = make_shared();
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    for (const Reader& reader : kReaders) {
      if (!name.starts_with(std::string(reader.name) + "-")) continue;
      new (shared) Shared;
      shared->started = now();
      const pid_t pid = fork();
      if (pid == 0) {
        const Outcome outcome = try_input(reader, bytes_of(entry.path()));
        if (outcome.internal)
          std::snprintf(shared->message, sizeof shared->message, "%s",
                        outcome.internal->message.c_str());
        shared->internal = outcome.internal.has_value();
        _exit(outcome.internal ? 3 : 0);
      }
      const std::string why = wait_for(pid, *shared);
      if (!why.empty()) std::cout << name << ": " << why << std::endl;
      ++sum.tried;
      sum.findings += !why.empty();
    }
  }
  return sum;
}

int usage() {
  std::cerr
      << "usage: penstock-fuzz [READER…] [--minutes N] [--seed N] [--first N] [--runs N] [--keep "
         "DIR]\n"
         "       penstock-fuzz READER --input FILE\n       penstock-fuzz --replay DIR\nreaders:\n";
  for (const Reader& reader : kReaders)
    std::cerr << "  " << reader.name << "\t" << reader.what << "\n";
  return 2;
}

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.starts_with("--")) {
      if (++i >= argc) return false;
      if (word == "--minutes")
        options.minutes = std::atof(argv[i]);
      else if (word == "--seed")
        options.seed = std::strtoull(argv[i], nullptr, 10);
      else if (word == "--first")
        options.first = std::strtoull(argv[i], nullptr, 10);
      else if (word == "--runs")
        options.runs = std::strtoull(argv[i], nullptr, 10);
      else if (word == "--keep")
        options.keep = argv[i];
      else if (word == "--input")
        options.input = argv[i];
      else if (word == "--replay")
        options.replay = argv[i];
      else
        return false;
      continue;
    }
    bool found = false;
    for (const Reader& reader : kReaders) {
      if (reader.name != word) continue;
      options.readers.push_back(&reader);
      found = true;
    }
    if (!found) return false;
  }
  if (options.readers.empty()) {
    for (const Reader& reader : kReaders) options.readers.push_back(&reader);
  }
  return options.input.empty() || options.readers.size() == 1;
}

int try_file(const Reader& reader, const std::string& path) {
  const Outcome outcome = try_input(reader, bytes_of(path));
  std::cout << (outcome.accepted ? "accepted" : "refused");
  for (const std::string& line : outcome.said) std::cout << "\n  " << line;
  std::cout << std::endl;
  return outcome.internal ? 1 : 0;
}

}  // namespace

}  // namespace penstock::fuzz

int main(int argc, char** argv) {
  using namespace penstock::fuzz;
  Options options;
  if (!parse(argc, argv, options)) return usage();
  std::string folder = (std::filesystem::temp_directory_path() / "penstock-fuzz-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return 1;
  setenv("PENSTOCK_FUZZ_FOLDER", folder.c_str(), 1);
  setenv("OMP_NUM_THREADS", "1", 0);
  if (!options.input.empty()) {
    const int status = try_file(*options.readers.front(), options.input);
    std::filesystem::remove_all(folder);
    return status;
  }
  Sum sum;
  if (!options.replay.empty()) {
    sum = replay(options.replay);
  } else {
    for (const Reader* reader : options.readers) {
      const Sum one = fuzz(*reader, options);
      sum.tried += one.tried;
      sum.findings += one.findings;
    }
  }
  std::filesystem::remove_all(folder);
  std::cout << sum.tried - sum.findings << " passed, " << sum.findings << " failed" << std::endl;
  return sum.findings == 0 && sum.tried > 0 ? 0 : 1;
}
