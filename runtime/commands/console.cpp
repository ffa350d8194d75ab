// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Messages.
#include "commands/console.h"

#include <cerrno>
#include <cstring>

namespace mpc::commands {

/// Text for a terminal: names in files may hold control characters, which would be commands to it.
static std::string printable(const std::string &text) {
  std::string result;
  for (char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if ((code >= ' ' && code != 127) || c == '\n' || c == '\t') {
      result += c;
      continue;
    }
    char escape[8];
    std::snprintf(escape, sizeof escape, "\\x%02x", code);
    result += escape;
  }
  return result;
}

void Console::label(const char *colour, const char *word) {
  if (terminal_)
    std::fprintf(err_, "\033[1;%sm%s:\033[0m ", colour, word);
  else
    std::fprintf(err_, "%s: ", word);
}

int Console::fail(const data::Failure &failure) {
  for (const std::string &message : failure.messages) {
    label("31", failure.internal ? "internal error" : "error");
    std::fprintf(err_, "%s\n", printable(message).c_str());
  }
  return failure.internal ? InternalError : BadInput;
}

int Console::failWithoutMemory(const char *command, const std::bad_alloc &problem) noexcept {
  label("31", "error");
  // Where the tool's operator new threw it, it says how many bytes were wanted.
  const bool saysHowMuch = std::strcmp(problem.what(), std::bad_alloc().what()) != 0;
  std::fprintf(err_,
               "mpc-run %s: out of memory; needed %s beyond what it has; give it more memory, or a "
               "higher limit (ulimit -v)\n",
               command, saysHowMuch ? problem.what() : "more");
  return BadInput;
}

int Console::usage(const std::string &command, const std::vector<std::string> &faults) {
  for (const std::string &fault : faults) {
    label("31", "error");
    std::fprintf(err_, "%s: %s\n", command.c_str(), printable(fault).c_str());
  }
  return BadUsage;
}

void Console::note(const std::string &text) {
  label("36", "note");
  std::fprintf(err_, "%s\n", printable(text).c_str());
}

void Console::warn(const std::string &text) {
  label("35", "warning");
  std::fprintf(err_, "%s\n", printable(text).c_str());
}

data::Status Console::write(const std::string &text) {
  if (std::fwrite(text.data(), 1, text.size(), out_) == text.size() && std::fflush(out_) == 0)
    return data::Status();
  return data::Failure(std::string("standard output: cannot be written: ") + std::strerror(errno) +
                       "; expected an open pipe, or a file with room");
}

int Console::data(const std::string &text) {
  data::Status status = write(text);
  return status ? Done : fail(status.failure());
}

} // namespace mpc::commands
