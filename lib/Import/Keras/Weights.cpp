// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The parent's side of reading HDF5: starts the child, bounds its resources, and checks every
// number of its stream before it allocates.
#include "mpc/Import/Keras/Weights.h"

#include "Hdf5Child.h"
#include "mpc/Import/Keras/InputError.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace mpc::keras {
namespace {

using Clock = std::chrono::steady_clock;

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MPC_ADDRESS_SANITIZER 1
#endif
#endif

void limitResource(int resource, uint64_t value) {
  const rlimit limit = {rlim_t(value), rlim_t(value)};
  setrlimit(__rlimit_resource(resource), &limit);
}

/// Address space that the process has now, from /proc/self/statm.
uint64_t addressSpaceInUse() {
  char text[64] = {};
  const int file = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return 0;
  const ssize_t got = ::read(file, text, sizeof(text) - 1);
  ::close(file);
  return got > 0 ? strtoull(text, nullptr, 10) * uint64_t(sysconf(_SC_PAGESIZE)) : 0;
}

/// Never returns. Everything but the pipe is closed and no further file can be opened.
[[noreturn]] void runChild(int pipe, llvm::StringRef image, const WeightLimits &limits) {
  for (int signal : {SIGINT, SIGTERM, SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL})
    ::signal(signal, SIG_DFL);
  limitResource(RLIMIT_CORE, 0);
  limitResource(RLIMIT_FSIZE, 0);
  limitResource(RLIMIT_CPU, limits.maxSeconds);
#ifndef MPC_ADDRESS_SANITIZER // whose shadow memory needs terabytes of address space
  // The core driver's copy of the image, the largest dataset, and libhdf5's own structures.
  limitResource(RLIMIT_AS, addressSpaceInUse() + 3 * image.size() + (uint64_t(256) << 20));
#endif
  dup2(pipe, 0);
  syscall(SYS_close_range, 1u, ~0u, 0u);
  limitResource(RLIMIT_NOFILE, 1);
  _exit(writeHdf5Records(0, image, limits) ? 0 : 1);
}

/// Reads exactly `bytes` before the deadline.
bool readAll(int pipe, void *data, uint64_t bytes, Clock::time_point deadline) {
  char *next = static_cast<char *>(data);
  while (bytes) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0)
      return false;
    pollfd waiting = {pipe, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, int(std::min<int64_t>(left, 1000)));
    if (ready < 0 && errno != EINTR)
      return false;
    if (ready <= 0)
      continue;
    const ssize_t got = ::read(pipe, next, std::min<uint64_t>(bytes, uint64_t(1) << 30));
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return false;
    next += got;
    bytes -= uint64_t(got);
  }
  return true;
}

/// The strings of a record's data: each after its length.
bool splitStrings(llvm::StringRef data, std::vector<std::string> &strings) {
  while (!data.empty()) {
    uint64_t length = 0;
    if (data.size() < sizeof(length))
      return false;
    std::memcpy(&length, data.data(), sizeof(length));
    data = data.drop_front(sizeof(length));
    if (length > data.size())
      return false;
    strings.push_back(data.take_front(length).str());
    data = data.drop_front(length);
  }
  return true;
}

/// The stream's contents, or an error; a stream that breaks off is damage.
llvm::Expected<Hdf5File> readRecords(int pipe, llvm::StringRef fileName,
                                     const WeightLimits &limits) {
  const auto deadline = Clock::now() + std::chrono::seconds(limits.maxSeconds);
  auto damaged = [&] {
    return inputError(fileName, "damaged HDF5: it could not be read to its end; expected weights "
                                "as Keras writes them; save the model again");
  };
  Hdf5File result;
  uint64_t total = 0, textTotal = 0;
  while (true) {
    Hdf5Record record;
    if (!readAll(pipe, &record, sizeof(record), deadline) || record.pathBytes > kMaxHdf5PathBytes ||
        record.rank > kMaxHdf5Rank)
      return damaged();
    std::string path(record.pathBytes, '\0');
    if (!readAll(pipe, path.data(), path.size(), deadline))
      return damaged();
    if (record.kind == Hdf5Record::End)
      return result;
    if (record.kind == Hdf5Record::Error) {
      std::string message(std::min(record.dataBytes, kMaxHdf5MessageBytes), '\0');
      if (!readAll(pipe, message.data(), message.size(), deadline))
        return damaged();
      return inputError(path.empty() ? fileName.str() : fileName.str() + ":" + path, message);
    }
    if (record.kind == Hdf5Record::Strings) {
      if (record.rank != 0 || record.dataBytes > 2 * limits.maxTotalBytes ||
          textTotal > 2 * limits.maxTotalBytes - record.dataBytes ||
          result.strings.size() >= limits.maxTensors)
        return damaged();
      textTotal += record.dataBytes;
      std::string data(record.dataBytes, '\0');
      std::vector<std::string> strings;
      if (!readAll(pipe, data.data(), data.size(), deadline) || !splitStrings(data, strings) ||
          !result.strings.emplace(std::move(path), std::move(strings)).second)
        return damaged();
      continue;
    }
    StoredTensor tensor;
    tensor.dtype = record.dtype;
    uint64_t bytes = dtypeBytes(record.dtype);
    for (uint32_t axis = 0; axis < record.rank; ++axis) {
      uint64_t extent = 0;
      if (!readAll(pipe, &extent, sizeof(extent), deadline) || extent > uint64_t(INT64_MAX) ||
          __builtin_mul_overflow(bytes, extent, &bytes))
        return damaged();
      tensor.dims.push_back(int64_t(extent));
    }
    if (record.kind != Hdf5Record::Dataset || dtypeBytes(record.dtype) == 0 ||
        bytes != record.dataBytes || bytes > limits.maxTotalBytes ||
        total > limits.maxTotalBytes - bytes || result.datasets.size() >= limits.maxTensors)
      return damaged();
    total += bytes;
    tensor.bytes.resize(bytes);
    if (!readAll(pipe, tensor.bytes.data(), bytes, deadline) ||
        !result.datasets.emplace(std::move(path), std::move(tensor)).second)
      return damaged();
  }
}

} // namespace

std::vector<std::string> Hdf5File::listAt(llvm::StringRef group, llvm::StringRef attribute) const {
  const std::string key = (group + "@" + attribute).str();
  if (auto found = strings.find(key); found != strings.end())
    return found->second;
  std::vector<std::string> pieces;
  for (unsigned piece = 0;; ++piece) {
    auto found = strings.find(key + std::to_string(piece));
    if (found == strings.end())
      return pieces;
    pieces.insert(pieces.end(), found->second.begin(), found->second.end());
  }
}

std::string Hdf5File::textAt(llvm::StringRef group, llvm::StringRef attribute) const {
  auto found = strings.find((group + "@" + attribute).str());
  return found != strings.end() && found->second.size() == 1 ? found->second.front() : "";
}

llvm::Expected<WeightFile> readWeights(llvm::MemoryBufferRef image, const WeightLimits &limits) {
  llvm::Expected<Hdf5File> file = readHdf5(image, limits);
  if (!file)
    return file.takeError();
  return std::move(file->datasets);
}

llvm::Expected<Hdf5File> readHdf5(llvm::MemoryBufferRef image, const WeightLimits &limits) {
  const llvm::StringRef fileName = image.getBufferIdentifier();
  WeightLimits bounded = limits;
  if (bounded.maxTotalBytes == 0)
    bounded.maxTotalBytes = image.getBufferSize();
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return inputError(fileName, "cannot start the HDF5 reader: no pipe");
  // Fewer turns of the two processes; where the system does not allow it, the usual 64 KiB do.
  (void)::fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);
  const pid_t child = ::fork();
  if (child < 0) {
    ::close(ends[0]);
    ::close(ends[1]);
    return inputError(fileName, "cannot start the HDF5 reader: no process");
  }
  if (child == 0)
    runChild(ends[1], image.getBuffer(), bounded);
  ::close(ends[1]);
  llvm::Expected<Hdf5File> result = readRecords(ends[0], fileName, bounded);
  ::close(ends[0]);
  // It has said all that it has to say, or is stuck or hostile.
  ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return result;
}

std::string snakeCase(llvm::StringRef className) {
  std::string words;
  for (char letter : className)
    if (std::isalnum(static_cast<unsigned char>(letter)) || letter == '_')
      words += letter;
  auto isUpper = [](char letter) { return letter >= 'A' && letter <= 'Z'; };
  auto isLower = [](char letter) { return letter >= 'a' && letter <= 'z'; };
  // re.sub("(.)([A-Z][a-z]+)", r"\1_\2"): matches do not overlap.
  std::string split;
  for (size_t index = 0; index < words.size();) {
    split += words[index++];
    if (index + 1 < words.size() && isUpper(words[index]) && isLower(words[index + 1])) {
      split += '_';
      split += words[index++];
      while (index < words.size() && isLower(words[index]))
        split += words[index++];
    }
  }
  // re.sub("([a-z])([A-Z])", r"\1_\2").lower()
  std::string result;
  for (size_t index = 0; index < split.size(); ++index) {
    if (index && isLower(split[index - 1]) && isUpper(split[index]))
      result += '_';
    result += isUpper(split[index]) ? char(split[index] - 'A' + 'a') : split[index];
  }
  return result;
}

} // namespace mpc::keras
