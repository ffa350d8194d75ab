// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds out what kind of data a path holds and reads it.
#include "runtime/data/source.h"

#include "runtime/data/csv.h"
#include "runtime/data/idx.h"
#include "runtime/data/input_file.h"
#include "runtime/data/npy.h"
#include "runtime/data/npz.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

namespace mpc::data {

constexpr uint64_t maximumStream = uint64_t(1) << 34;

static std::vector<std::string> npyFilesIn(const std::string &folder) {
  std::vector<std::string> names;
  if (DIR *directory = ::opendir(folder.c_str())) {
    while (const dirent *entry = ::readdir(directory)) {
      std::string name = entry->d_name;
      if (name.size() > 4 && name[0] != '.' && name.compare(name.size() - 4, 4, ".npy") == 0)
        names.push_back(name.substr(0, name.size() - 4));
    }
    ::closedir(directory);
  }
  std::sort(names.begin(), names.end());
  return names;
}

static Result<Source> readIdxFolder(Source source, Split split) {
  std::string stem = split == Split::Train ? "train" : "t10k";
  std::string images = findIdx(source.path, stem + "-images-idx3-ubyte");
  std::string labels = findIdx(source.path, stem + "-labels-idx1-ubyte");
  if (images.empty())
    return Failure(source.path + ": holds neither .npy files nor " + stem +
                   "-images-idx3-ubyte[.gz]; expected a folder of .npy files or of MNIST's IDX "
                   "files; check the path");
  source.kind = Source::Kind::IdxFolder;
  Failure failure;
  for (const auto &[name, path] : {std::pair("images", images), std::pair("labels", labels)}) {
    if (path.empty())
      continue;
    Result<Array> array = readIdx(path);
    if (!array) {
      failure.append(array.failure());
      continue;
    }
    source.arrays.emplace(name, *array);
    source.order.push_back(name);
    source.notes.push_back("read " + path + ": " + formatShape(array->dims()) + " of " +
                           dtypeInfo(array->dtype())->keras);
  }
  if (!failure.empty())
    return failure;
  return source;
}

constexpr char npyMagic[] = {'\x93', 'N', 'U', 'M', 'P', 'Y'};

/// The only input's rows, which have no name of their own.
static Result<Source> readSingleNpy(Source source, const Result<Array> &array) {
  if (!array)
    return array.failure();
  source.kind = Source::Kind::Npy;
  source.order = {"x0"};
  source.arrays.emplace("x0", *array);
  return source;
}

static Result<Source> readTable(Source source, const Result<CsvTable> &table) {
  if (!table)
    return table.failure();
  source.kind = Source::Kind::Csv;
  source.order = table->names;
  for (size_t i = 0; i < table->names.size(); ++i)
    source.arrays.emplace(table->names[i], table->columns[i]);
  return source;
}

/// `-`: text, or one array as numpy.save writes it. An archive ends with its directory, which no
/// pipe can be asked for.
static Result<Source> readStandardInput() {
  const std::string place = "standard input";
  Source source;
  source.path = place;
  Result<std::string> content = readStream(STDIN_FILENO, place, maximumStream);
  if (!content)
    return content.failure();
  if (content->compare(0, 2, "PK") == 0)
    return Failure(place + ": is an archive; expected a CSV with a header or one .npy there; "
                           "name the .npz as a file");
  if (content->compare(0, sizeof npyMagic, npyMagic, sizeof npyMagic) != 0)
    return readTable(std::move(source), parseCsv(*content, place));
  uint64_t at = 0;
  const ByteSource next = [&](void *data, uint64_t size) -> Status {
    if (size > content->size() - at)
      return Failure(place + ": is cut off; " + std::to_string(size - (content->size() - at)) +
                     " bytes are missing");
    std::memcpy(data, content->data() + at, size);
    at += size;
    return Status();
  };
  return readSingleNpy(source, readNpy(next, content->size(), place));
}

Result<Source> readSource(const std::string &path, Split split, const WantedNames &isWanted) {
  if (path == "-")
    return readStandardInput();
  Source source;
  source.path = path;
  struct stat info;
  if (::stat(path.c_str(), &info) != 0)
    return Failure(path + ": cannot open: " + std::strerror(errno) +
                   "; expected an .npz, a folder of .npy or IDX files, or a CSV; check the path");
  Failure failure;
  if (S_ISDIR(info.st_mode)) {
    std::vector<std::string> names = npyFilesIn(path);
    if (names.empty())
      return readIdxFolder(std::move(source), split);
    source.kind = Source::Kind::NpyFolder;
    for (const std::string &name : names) {
      if (isWanted && !isWanted(name))
        continue;
      Result<Array> array = readNpyFile(path + "/" + name + ".npy");
      if (array)
        source.arrays.emplace(name, *array);
      else
        failure.append(array.failure());
    }
    source.order = names;
  } else {
    char magic[6] = {};
    size_t length;
    {
      Result<InputFile> file = InputFile::open(path);
      if (!file)
        return file.failure();
      length = std::min<uint64_t>(sizeof magic, file->size());
      if (Status status = file->read(magic, length); !status)
        return status.failure();
    }
    if (std::memcmp(magic, "PK", 2) == 0) {
      source.kind = Source::Kind::Npz;
      Result<NpzContent> content = readNpz(path, isWanted);
      if (!content)
        return content.failure();
      source.arrays = std::move(content->arrays);
      source.order = std::move(content->names);
    } else if (std::memcmp(magic, npyMagic, sizeof npyMagic) == 0) {
      return readSingleNpy(std::move(source), readNpyFile(path));
    } else if (std::memchr(magic, 0, length) || static_cast<unsigned char>(magic[0]) == 0x1f) {
      return Failure(path + ": is neither .npz nor text; expected an .npz, a folder of .npy or IDX "
                            "files, or a CSV with a header");
    } else {
      return readTable(std::move(source), readCsv(path));
    }
  }
  if (!failure.empty())
    return failure;
  return source;
}

std::string listNames(const Source &source) {
  constexpr size_t most = 20;
  std::string text;
  for (size_t i = 0; i < source.order.size() && i < most; ++i)
    text += (i ? ", " : "") + source.order[i];
  if (source.order.size() > most)
    text += ", and " + std::to_string(source.order.size() - most) + " more";
  return text.empty() ? "nothing" : text;
}

} // namespace mpc::data
