// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/mpc-lsp-server/Frames.h"

#include <cerrno>
#include <unistd.h>

using llvm::StringRef;

namespace mpc::lsp {

constexpr size_t longestHeader = 256;
constexpr size_t longestMessage = size_t{256} << 20;

/// A line without its end; nothing at the end of the stream.
static std::optional<std::string> readLine(std::FILE *stream) {
  std::string line;
  for (int next; (next = std::getc(stream)) != EOF && line.size() < longestHeader;) {
    if (next == '\n') {
      if (!line.empty() && line.back() == '\r')
        line.pop_back();
      return line;
    }
    line += static_cast<char>(next);
  }
  return std::nullopt;
}

std::optional<std::string> readFrame(std::FILE *stream) {
  size_t length = 0;
  while (true) {
    std::optional<std::string> line = readLine(stream);
    if (!line)
      return std::nullopt;
    StringRef header = *line;
    if (header.empty() && length)
      break; // the end of the headers
    if (header.consume_front_insensitive("content-length:") &&
        (header.trim().getAsInteger(10, length) || length == 0 || length > longestMessage))
      return std::nullopt;
  }
  std::string message(length, '\0');
  if (std::fread(message.data(), 1, length, stream) != length)
    return std::nullopt;
  return message;
}

static bool writeAll(int descriptor, StringRef bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return false;
    bytes = bytes.drop_front(static_cast<size_t>(count));
  }
  return true;
}

bool writeFrame(int descriptor, StringRef message) {
  const std::string header = "Content-Length: " + std::to_string(message.size()) + "\r\n\r\n";
  return writeAll(descriptor, header) && writeAll(descriptor, message);
}

} // namespace mpc::lsp
