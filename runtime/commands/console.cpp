// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Messages.
#include "runtime/commands/console.h"

#include "runtime/base/out_of_memory.h"
#include "runtime/untrusted/outlets.h"

#include <cerrno>
#include <cstring>

namespace mpc::commands {

void Console::label(const char *colour, const char *word) {
  if (terminal_)
    std::fprintf(err_, "\033[1;%sm%s:\033[0m ", colour, word);
  else
    std::fprintf(err_, "%s: ", word);
}

void Console::doing(const std::string &what, const char *advice) {
  stage_ = untrusted::forLine(what);
  advice_ = advice;
}

int Console::fail(const data::Failure &failure) {
  for (const std::string &message : failure.messages) {
    label("31", failure.internal ? "internal error" : "error");
    std::fprintf(err_, "%s\n", untrusted::forLine(message).c_str());
  }
  return failure.internal ? InternalError : BadInput;
}

int Console::failWithoutMemory(const std::bad_alloc &problem) noexcept {
  label("31", "error");
  // Where the tool's operator new threw it, it says how many bytes were wanted.
  const char *bytes = rt::wantedBytes(problem);
  std::fprintf(err_, "out of memory while %s; needed %s beyond what it has; %s\n", stage_.c_str(),
               bytes ? bytes : "more", advice_);
  return BadInput;
}

int Console::usage(const std::string &command, const std::vector<std::string> &faults) {
  for (const std::string &fault : faults) {
    label("31", "error");
    std::fprintf(err_, "%s: %s\n", command.c_str(), untrusted::forLine(fault).c_str());
  }
  return BadUsage;
}

void Console::note(const std::string &text) {
  label("36", "note");
  std::fprintf(err_, "%s\n", untrusted::forLine(text).c_str());
}

void Console::warn(const std::string &text) {
  label("35", "warning");
  std::fprintf(err_, "%s\n", untrusted::forLine(text).c_str());
}

data::Status Console::write(const std::string &text) {
  if (std::fwrite(text.data(), 1, text.size(), out_) == text.size() && std::fflush(out_) == 0)
    return data::Status();
  return data::Failure(std::string("standard output: cannot be written: ") + std::strerror(errno) +
                       "; expected an open pipe, or a file with room");
}

void Console::print(const std::string &text) {
  std::fprintf(err_, "%s\n", untrusted::forTerminal(text).c_str());
}

int Console::table(const std::string &text) {
  data::Status status = write(untrusted::forTerminal(text));
  return status ? Done : fail(status.failure());
}

int Console::json(const std::string &text) {
  data::Status status = write(untrusted::forJson(text));
  return status ? Done : fail(status.failure());
}

} // namespace mpc::commands
