// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The parent's side of reading HDF5: starts the child and checks every number of its stream before
// it allocates.
#include "mpc/Import/Keras/Weights.h"

#include "lib/Import/Keras/Hdf5Child.h"
#include "mpc/Import/Keras/InputError.h"
#include "mpc/Support/GuardedChild.h"

#include <algorithm>
#include <cctype>
#include <cstring>

namespace mpc::keras {
namespace {

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
llvm::Expected<Hdf5File> readRecords(GuardedChild &child, llvm::StringRef fileName,
                                     const WeightLimits &limits) {
  auto damaged = [&] {
    return inputError(fileName, "damaged HDF5: it could not be read to its end; expected weights "
                                "as Keras writes them; save the model again");
  };
  Hdf5File result;
  uint64_t total = 0, textTotal = 0;
  while (true) {
    Hdf5Record record;
    if (!child.read(&record, sizeof(record)) || record.pathBytes > kMaxHdf5PathBytes ||
        record.rank > kMaxHdf5Rank)
      return damaged();
    std::string path(record.pathBytes, '\0');
    if (!child.read(path.data(), path.size()))
      return damaged();
    if (record.kind == Hdf5Record::End)
      return result;
    if (record.kind == Hdf5Record::Error) {
      std::string message(std::min(record.dataBytes, kMaxHdf5MessageBytes), '\0');
      if (!child.read(message.data(), message.size()))
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
      if (!child.read(data.data(), data.size()) || !splitStrings(data, strings) ||
          !result.strings.emplace(std::move(path), std::move(strings)).second)
        return damaged();
      continue;
    }
    StoredTensor tensor;
    tensor.dtype = record.dtype;
    uint64_t bytes = dtypeBytes(record.dtype);
    for (uint32_t axis = 0; axis < record.rank; ++axis) {
      uint64_t extent = 0;
      if (!child.read(&extent, sizeof(extent)) || extent > uint64_t(INT64_MAX) ||
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
    if (!child.read(tensor.bytes.data(), bytes) ||
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
  ChildLimits childLimits;
  // The core driver's copy of the image, the largest dataset, and libhdf5's own structures.
  childLimits.memory = 3 * uint64_t(image.getBufferSize()) + (uint64_t(256) << 20);
  childLimits.wallSeconds = bounded.maxSeconds;
  // Sound data is copied at gigabytes per second; a small damaged file is not worth a minute.
  const uint64_t worthwhile = 5 + image.getBufferSize() / (uint64_t(16) << 20);
  childLimits.processorSeconds =
      static_cast<unsigned>(std::min<uint64_t>(worthwhile, bounded.maxSeconds));
  GuardedChild child;
  if (!child.start(childLimits,
                   [&](int pipe) { return writeHdf5Records(pipe, image.getBuffer(), bounded); }))
    return inputError(fileName, "cannot start the HDF5 reader: no process or no pipe");
  return readRecords(child, fileName, bounded);
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
