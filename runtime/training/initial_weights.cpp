// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/training/initial_weights.h"

#include "runtime/data/input_file.h"
#include "runtime/data/mapped_file.h"
#include "runtime/untrusted/zip_directory.h"

#include <cstring>

namespace mpc::training {

using data::Failure;
using data::MappedFile;
using data::Result;
using data::Safetensors;

InitialWeights findInitialWeights(const std::string &library, const std::string &model) {
  Result<data::InputFile> file = data::InputFile::open(library);
  char start[4] = {};
  const bool isArchive = file && file->size() >= sizeof start && file->read(start, sizeof start) &&
                         std::memcmp(start, "PK\3\4", 4) == 0;
  if (isArchive)
    return {library + ":" + model + ".safetensors", true};
  const size_t slash = library.rfind('/');
  return {(slash == std::string::npos ? "" : library.substr(0, slash + 1)) + model + ".safetensors",
          false};
}

Result<Safetensors> viewInitialWeights(const std::string &library, const InitialWeights &weights) {
  Result<std::shared_ptr<MappedFile>> mapped =
      MappedFile::open(weights.isInArchive ? library : weights.place);
  if (!mapped)
    return mapped.failure();
  uint8_t *bytes = (*mapped)->data();
  const uint64_t size = (*mapped)->size();
  if (!weights.isInArchive)
    return data::viewSafetensors(*mapped, bytes, size, weights.place);
  constexpr uint64_t maximumMembers = 1024; // libmpcrt has refused more
  const untrusted::ZipDirectory directory = untrusted::readZipDirectory(
      [&](uint64_t offset, void *to, size_t count) {
        const bool isInside = offset <= size && count <= size - offset;
        if (isInside)
          std::memcpy(to, bytes + offset, count);
        return isInside;
      },
      size, maximumMembers);
  for (const untrusted::ZipMember &member : directory.members)
    if (library + ":" + member.name == weights.place && member.method == 0)
      return data::viewSafetensors(*mapped, bytes + member.end - member.size, member.size,
                                   weights.place);
  return Failure(weights.place + ": is not in the archive; expected the weights that mpcc wrote");
}

} // namespace mpc::training
