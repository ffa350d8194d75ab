// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Console: where a command writes. Data goes to `out`, messages to `err`. Names of a model are
// shown (untrusted/outlets.h), never acted upon by a terminal; a message is one line.
#ifndef MPC_RUNTIME_COMMANDS_CONSOLE_H
#define MPC_RUNTIME_COMMANDS_CONSOLE_H

#include "runtime/data/result.h"

#include <cstdio>
#include <new>
#include <string>

namespace mpc::commands {

/// Exit codes (docs/tools.md).
enum Exit { Done = 0, BadInput = 1, BadUsage = 2, InternalError = 3 };

/// Advice for when there is no memory.
constexpr char loadingAdvice[] = "free some, or use a smaller model",
               readingAdvice[] = "free some, or use less data",
               runningAdvice[] = "use a smaller --batch-size or less data";

class Console {
public:
  /// Colours and live lines only on a terminal that can show them: not with NO_COLOR or TERM=dumb.
  Console(FILE *out, FILE *err, bool terminal) : out_(out), err_(err), terminal_(terminal) {}

  FILE *out() { return out_; }
  FILE *err() { return err_; }
  bool terminal() const { return terminal_; }

  /// Names the work that begins, for the message that there is no memory for it, and the advice.
  /// `advice` must outlive the console.
  void doing(const std::string &what, const char *advice);

  /// Prints every message with `error: ` in front; returns the exit code.
  int fail(const data::Failure &failure);
  /// The same where there is no memory, not even for a message.
  int failWithoutMemory(const std::bad_alloc &problem) noexcept;
  /// The same for faults of the command line.
  int usage(const std::string &command, const std::vector<std::string> &faults);
  void note(const std::string &text);
  void notes(const std::vector<std::string> &texts) {
    for (const std::string &text : texts)
      note(text);
  }
  void warn(const std::string &text);
  /// A result for people among the messages.
  void print(const std::string &text);
  /// Writes data as it is and flushes it.
  data::Status write(const std::string &text);
  /// Data for people, or as JSON, as the end of a command: says what failed, and returns the exit
  /// code. Both let no control character out.
  int table(const std::string &text);
  int json(const std::string &text);

private:
  void label(const char *colour, const char *word);
  FILE *out_, *err_;
  std::string stage_ = "starting";
  const char *advice_ = "free some";
  bool terminal_;
};

} // namespace mpc::commands
#endif
