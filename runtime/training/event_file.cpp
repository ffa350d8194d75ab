// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// TFRecord framing (tensorflow/core/lib/io/record_writer.h: length, masked CRC-32C of it, data,
// masked CRC-32C of that) around Event messages (tensorflow/core/util/event.proto), of which three
// fields and two kinds of summary are written.
#include "runtime/training/event_file.h"
#include "runtime/data/crc32c.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
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

void putFloat64(std::string &out, double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, 8);
  putFixed(out, bits, 8);
}

void putFloat64(std::string &out, int field, double value) {
  putVarint(out, static_cast<uint64_t>(field) << 3 | 1);
  putFloat64(out, value);
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

/// Event{wall_time = 1, step = 2, summary = 5 {value = 1 {tag = 1, ...}}}: `value` has the rest.
std::string summaryRecord(int64_t step, const std::string &tag, const std::string &rest) {
  std::string value, summary, event;
  putBytes(value, 1, tag);
  value += rest;
  putBytes(summary, 1, value);
  putFloat64(event, 1, wallTime());
  putVarint(event, 2 << 3);
  putVarint(event, static_cast<uint64_t>(step));
  putBytes(event, 5, summary);
  return record(event);
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

std::string scalarRecord(int64_t step, const std::string &tag, double value) {
  std::string scalar; // simple_value = 2
  const float narrow = static_cast<float>(value);
  uint32_t bits;
  std::memcpy(&bits, &narrow, 4);
  putVarint(scalar, 2 << 3 | 5);
  putFixed(scalar, bits, 4);
  return summaryRecord(step, tag, scalar);
}

std::string histogramRecord(int64_t step, const std::string &tag, const Histogram &histogram) {
  // histo = 5 {min = 1, max = 2, num = 3, bucket_limit = 6, bucket = 7}; sums of the values
  // themselves (4, 5) are not known, and TensorBoard shows none.
  std::string limits, counts, message, value;
  double number = 0;
  for (const Histogram::Bucket &bucket : histogram.buckets) {
    putFloat64(limits, bucket.limit);
    putFloat64(counts, bucket.count);
    number += bucket.count;
  }
  putFloat64(message, 1, histogram.smallest);
  putFloat64(message, 2, histogram.largest);
  putFloat64(message, 3, number);
  putBytes(message, 6, limits);
  putBytes(message, 7, counts);
  putBytes(value, 5, message);
  return summaryRecord(step, tag, value);
}

EventFile::EventFile(std::string folder) : folder_(std::move(folder)) {}

EventFile::~EventFile() {
  if (descriptor_ >= 0)
    ::close(descriptor_);
}

Status EventFile::prepare() const {
  if (!makeFolder(folder_) || ::access((folder_ + "/.").c_str(), W_OK | X_OK) != 0)
    return Failure(folder_ + ": cannot be written: " + std::strerror(errno) +
                   "; expected a folder for TensorBoard's event files");
  return Status();
}

Status EventFile::open() {
  char host[256] = "localhost";
  ::gethostname(host, sizeof host - 1);
  const std::string path = folder_ + "/events.out.tfevents." +
                           std::to_string(static_cast<int64_t>(wallTime())) + "." + host + "." +
                           std::to_string(::getpid()) + ".mpc";
  if (makeFolder(folder_))
    descriptor_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor_ < 0)
    return Failure(path + ": cannot create: " + std::strerror(errno) +
                   "; expected a folder that can be written");
  return Status();
}

/// Half a record would hide all that come after it: what was not written whole is taken away.
Status EventFile::write(const std::string &records) {
  const off_t end = ::lseek(descriptor_, 0, SEEK_END);
  for (size_t done = 0; done < records.size();) {
    const ssize_t count = ::write(descriptor_, records.data() + done, records.size() - done);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0) {
      const int reason = count == 0 ? EIO : errno;
      if (end < 0 || ::ftruncate(descriptor_, end) != 0) {
        ::close(descriptor_); // the next records begin another file
        descriptor_ = -1;
        hasVersion_ = false;
      }
      return Failure(folder_ + ": cannot write an event: " + std::strerror(reason) +
                     "; expected a folder that can be written");
    }
    done += static_cast<size_t>(count);
  }
  return Status();
}

Status EventFile::append(const std::string &records) {
  if (descriptor_ < 0)
    if (Status status = open(); !status)
      return status;
  std::string version;
  if (!hasVersion_) {
    putFloat64(version, 1, wallTime());
    putBytes(version, 3, "brain.Event:2"); // file_version
    version = record(version);
  }
  if (Status status = write(version + records); !status)
    return status;
  hasVersion_ = true;
  return Status();
}

} // namespace mpc::training
