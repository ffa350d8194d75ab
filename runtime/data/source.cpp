// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds out what kind of data a path holds and reads it.
#include "data/source.h"

#include "data/csv.h"
#include "data/idx.h"
#include "data/input_file.h"
#include "data/npy.h"
#include "data/npz.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <sys/stat.h>

namespace mpc::data {

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

Result<Source> readSource(const std::string &path, Split split, const WantedNames &isWanted) {
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
    } else if (std::memcmp(magic, "\x93NUMPY", 6) == 0) {
      return Failure(path + ": is a single .npy without a name; expected an .npz, a folder of .npy "
                            "files, or a CSV; put it into a folder as x0.npy");
    } else if (std::memchr(magic, 0, length) || static_cast<unsigned char>(magic[0]) == 0x1f) {
      return Failure(path + ": is neither .npz nor text; expected an .npz, a folder of .npy or IDX "
                            "files, or a CSV with a header");
    } else {
      source.kind = Source::Kind::Csv;
      Result<CsvTable> table = readCsv(path);
      if (!table)
        return table.failure();
      source.order = table->names;
      for (size_t i = 0; i < table->names.size(); ++i)
        source.arrays.emplace(table->names[i], table->columns[i]);
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
