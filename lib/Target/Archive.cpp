// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The model as one file.
#include "lib/Target/Archive.h"
#include "runtime/untrusted/zip_records.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CRC.h"
#include "llvm/Support/MathExtras.h"

using namespace mpc;

/// The largest page of the machines that models run on: weights are mapped.
static constexpr uint64_t kPage = 1 << 16;

void mpc::writeArchive(llvm::ArrayRef<ArchiveMember> members, llvm::raw_ostream &os) {
  std::vector<untrusted::StoredMember> written;
  uint64_t at = 0;
  for (const ArchiveMember &member : members) {
    untrusted::StoredMember record;
    record.name = member.name;
    member.forBytes([&](llvm::StringRef piece) {
      record.crc = llvm::crc32(record.crc, llvm::arrayRefFromStringRef(piece));
      record.size += piece.size();
    });
    const uint64_t header = untrusted::zipLocalHeader(record).size();
    // Nothing in the format says that members follow each other without a gap.
    record.offset = member.isMapped ? llvm::alignTo(at + header, kPage) - header : at;
    os.write_zeros(unsigned(record.offset - at));
    os << untrusted::zipLocalHeader(record);
    member.forBytes([&](llvm::StringRef piece) { os << piece; });
    at = record.offset + header + record.size;
    written.push_back(std::move(record));
  }
  os << untrusted::zipEnd(written, at);
}
