// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-run: runs models that mpcc compiled. No MLIR, no LLVM, no HDF5.
#include "runtime/commands/commands.h"
#include "tools/ExitOnSignals.h"
#include "tools/OutOfMemory.h"
#include "tools/StackSize.h"
#include "tools/Streams.h"

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>

static int runTool(int count, char **words) {
  mpc::prepareStreams();
  mpc::exitOnSignals();
  mpc::reportOutOfMemory("mpc-run: out of memory");
  // Nobody can catch some failures: destructors of JSON values allocate.
  static const std::string task =
      std::string("mpc-run ") + (count > 1 ? words[1] : "") + ": out of memory";
  mpc::reportOutOfMemory(task.c_str());
  // A closed pipe and a limit of file sizes are write errors, reported as such.
  for (int number : {SIGPIPE, SIGXFSZ})
    std::signal(number, SIG_IGN);
  const char *term = std::getenv("TERM"), *noColor = std::getenv("NO_COLOR");
  bool terminal =
      isatty(STDERR_FILENO) && !(noColor && *noColor) && term && std::strcmp(term, "dumb") != 0;
  mpc::commands::Console console(stdout, stderr, terminal);
  return mpc::commands::runCommandLine(count, words, console);
}

int main(int count, char **words) {
  return mpc::runOnUsualStack([&] { return runTool(count, words); });
}
