// Runs a program under a mode of the extension, for the conductor's tests:
//
//   launch_program [--python P] [--set KEY=VALUE]… [--frames] -- ARGUMENTS OF PYTHON…
//
// Exits as the program does; --frames prints the frame counts on standard error.
#include <cstdio>
#include <string>

#include "tools/common/launch.h"

int main(int argc, char** argv) {
  penstock::tools::LaunchOptions options;
  bool frames = false;
  int index = 1;
  for (; index < argc && std::string(argv[index]) != "--"; ++index) {
    const std::string word = argv[index];
    if (word == "--frames") {
      frames = true;
    } else if (word == "--python" && index + 1 < argc) {
      options.python = argv[++index];
    } else if (word == "--set" && index + 1 < argc) {
      const std::string pair = argv[++index];
      const auto equals = pair.find('=');
      if (equals != std::string::npos) {
        options.settings[pair.substr(0, equals)] = pair.substr(equals + 1);
      }
    } else {
      std::fprintf(stderr, "launch_program: what is %s?\n", word.c_str());
      return 2;
    }
  }
  for (++index; index < argc; ++index) options.program.emplace_back(argv[index]);
  const auto outcome = penstock::tools::launch(options);
  if (!outcome) {
    const auto& row = penstock::facts(outcome.error().code);
    std::fprintf(stderr, "launch_program: %s: %s\n", std::string(row.id).c_str(),
                 outcome.error().message.c_str());
    return row.exit_status;
  }
  if (frames) {
    std::fprintf(stderr, "%s\n", penstock::tools::describe_frames(outcome->shared.frames).c_str());
  }
  penstock::tools::exit_like(*outcome);
}
