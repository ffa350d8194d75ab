// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The commands of mpc-run. Each takes the words after its name and returns the exit code.
#ifndef MPC_RUNTIME_COMMANDS_COMMANDS_H
#define MPC_RUNTIME_COMMANDS_COMMANDS_H

#include "commands/arguments.h"
#include "commands/console.h"
#include "training/session.h"

namespace mpc::commands {

int predict(Arguments &arguments, Console &console);
int compare(Arguments &arguments, Console &console);
int numerics(Arguments &arguments, Console &console);
int evaluate(Arguments &arguments, Console &console);
int train(Arguments &arguments, Console &console);
int gradients(Arguments &arguments, Console &console);
int bench(Arguments &arguments, Console &console);
int tune(Arguments &arguments, Console &console);
int serve(Arguments &arguments, Console &console);
int devices(Arguments &arguments, Console &console);
int inspect(Arguments &arguments, Console &console);

/// One row of the table of commands.
struct Command {
  const char *name;
  const char *synopsis, *summary, *example;
  std::vector<Option> options;
  int (*run)(Arguments &, Console &);
};
const std::vector<Command> &commandTable();

/// All of mpc-run but the process: words[0] is the program's name. Nothing escapes as exception.
int runCommandLine(int count, const char *const *words, Console &console);

/// The options that every command with a context has: threads, device, weights, seed.
training::SessionOptions sessionOptions(Arguments &arguments, size_t libraries = 1);

/// --tune: measured, --tune=off, or --tune=FILE.
training::TuningOptions tuningOptions(const Arguments &arguments);

} // namespace mpc::commands
#endif
