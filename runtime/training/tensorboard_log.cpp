// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// TensorBoard event files: TFRecord framing (tensorflow/core/lib/io/record_writer.h: length, masked
// CRC-32C of it, data, masked CRC-32C of that) around Event messages (tensorflow/core/util/
// event.proto), of which three fields and one kind of summary are written.
#include "data/crc32c.h"
#include "training/epoch_log.h"
#include "untrusted/outlets.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

namespace mpc::training {

using data::Failure;
using data::Status;

namespace {

void putFixed(std::string &out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i)
    out += static_cast<char>(value >> (8 * i));
}

void putVarint(std::string &out, uint64_t value) {
  for (; value >= 128; value >>= 7)
    out += static_cast<char>(value | 128);
  out += static_cast<char>(value);
}

/// Protocol buffer field of wire type 2.
void putBytes(std::string &out, int field, const std::string &bytes) {
  putVarint(out, static_cast<uint64_t>(field) << 3 | 2);
  putVarint(out, bytes.size());
  out += bytes;
}

void putFloat64(std::string &out, int field, double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, 8);
  putVarint(out, static_cast<uint64_t>(field) << 3 | 1);
  putFixed(out, bits, 8);
}

uint32_t maskedCrc(const std::string &bytes) {
  uint32_t crc = data::crc32c(0, bytes.data(), bytes.size());
  return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

std::string record(const std::string &event) {
  std::string length, framed;
  putFixed(length, event.size(), 8);
  framed = length;
  putFixed(framed, maskedCrc(length), 4);
  framed += event;
  putFixed(framed, maskedCrc(event), 4);
  return framed;
}

double wallTime() {
  using namespace std::chrono;
  return duration<double>(system_clock::now().time_since_epoch()).count();
}

/// Event{wall_time = 1, step = 2, summary = 5 {value = 1 {tag = 1, simple_value = 2}}}
std::string scalarEvent(int64_t step, const std::string &tag, double value) {
  std::string scalar, summary, event;
  putBytes(scalar, 1, tag);
  float narrow = static_cast<float>(value);
  uint32_t bits;
  std::memcpy(&bits, &narrow, 4);
  putVarint(scalar, 2 << 3 | 5);
  putFixed(scalar, bits, 4);
  putBytes(summary, 1, scalar);
  putFloat64(event, 1, wallTime());
  putVarint(event, 2 << 3);
  putVarint(event, static_cast<uint64_t>(step));
  putBytes(event, 5, summary);
  return event;
}

/// errno says why not: of the outermost folder that could not be made, where one could not.
bool makeFolder(const std::string &path) {
  for (size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1))
    if (::mkdir(path.substr(0, slash).c_str(), 0777) != 0 && errno != EEXIST)
      return false;
  return ::mkdir(path.c_str(), 0777) == 0 || errno == EEXIST;
}

} // namespace

TensorBoardLog::TensorBoardLog(std::string folder) : folder_(std::move(folder)) {}

TensorBoardLog::~TensorBoardLog() {
  for (FILE *file : {train_, validation_})
    if (file)
      std::fclose(file);
}

Status TensorBoardLog::prepare(bool withValidation) {
  for (const char *part : {"/train", "/validation"}) {
    const std::string folder = folder_ + part;
    if (part == std::string("/validation") && !withValidation)
      continue;
    if (!makeFolder(folder) || ::access((folder + "/.").c_str(), W_OK | X_OK) != 0)
      return Failure(folder + ": cannot be written: " + std::strerror(errno) +
                     "; expected a folder for TensorBoard's event files");
  }
  return Status();
}

Status TensorBoardLog::append(FILE *file, const std::string &folder, const std::string &event) {
  std::string bytes = record(event);
  if (std::fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size() || std::fflush(file) != 0)
    return Failure(folder + ": cannot write an event: " + std::strerror(errno) +
                   "; expected a folder that can be written");
  return Status();
}

Status TensorBoardLog::open(FILE *&file, const std::string &folder) {
  char host[256] = "localhost";
  ::gethostname(host, sizeof host - 1);
  std::string path = folder + "/events.out.tfevents." +
                     std::to_string(static_cast<int64_t>(wallTime())) + "." + host + "." +
                     std::to_string(::getpid()) + ".mpc";
  if (!makeFolder(folder) || !(file = std::fopen(path.c_str(), "abe")))
    return Failure(path + ": cannot create: " + std::strerror(errno) +
                   "; expected a folder that can be written");
  std::string event;
  putFloat64(event, 1, wallTime());
  putBytes(event, 3, "brain.Event:2"); // file_version
  return append(file, folder, event);
}

Status TensorBoardLog::historyChanged(const std::vector<Logs> &history) {
  int64_t epoch = static_cast<int64_t>(history.size()) - 1;
  std::set<std::string> taken;
  for (const auto &[name, value] : history.back()) {
    bool validation = name.compare(0, 4, "val_") == 0;
    const std::string tag = untrusted::makeDistinct(untrusted::forLine(name), taken);
    FILE *&file = validation ? validation_ : train_;
    std::string folder = folder_ + (validation ? "/validation" : "/train");
    if (!file)
      if (Status status = open(file, folder); !status)
        return status;
    if (Status status = append(
            file, folder, scalarEvent(epoch, "epoch_" + (validation ? tag.substr(4) : tag), value));
        !status)
      return status;
  }
  return Status();
}

} // namespace mpc::training
