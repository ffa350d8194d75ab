// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/training/rank_digest.h"

#include "mpc-rt/seal.h"
#include "runtime/data/gather.h"
#include "runtime/data/mapped_file.h"

namespace mpc::training {

uint64_t digestOf(const std::string &text) {
  return mpc_rt_seal_extend(text.size(), reinterpret_cast<const unsigned char *>(text.data()),
                            text.size());
}

uint64_t digestOfLibrary(const Session &session) {
  auto file = data::MappedFile::open(session.path());
  // A library that was loaded is there; one that was linked has no path.
  return file ? mpc_rt_seal_checksum((*file)->data(), (*file)->size()) : 0;
}

uint64_t digestOfVariables(Session &session) {
  uint64_t digest = session.executable().variable_count;
  for (uint32_t i = 0; i < session.executable().variable_count; ++i) {
    size_t bytes = 0;
    const void *values = mpc_rt_context_variable(session.context(), i, &bytes);
    digest = mpc_rt_seal_extend(digest, static_cast<const unsigned char *>(values), bytes);
  }
  return digest;
}

uint64_t digestOfData(const data::Dataset &data) {
  uint64_t digest = static_cast<uint64_t>(data.rows);
  if (data.rows == 0)
    return digest;
  const int64_t rows[] = {0, data.rows / 2, data.rows - 1};
  for (const data::Column &column : data.columns) {
    const size_t rowBytes = data::rowBytes(column);
    std::vector<unsigned char> bytes(3 * rowBytes);
    data::gatherRows(column, rows, 3, bytes.data(), /*threads=*/1);
    digest ^= digestOf(column.spec.name);
    digest = mpc_rt_seal_extend(digest + static_cast<uint64_t>(column.spec.dtype), bytes.data(),
                                bytes.size());
  }
  return digest;
}

} // namespace mpc::training
