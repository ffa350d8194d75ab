// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// PKWARE APPNOTE 6.3.9, sections 4.3 and 4.5.3.
#include "runtime/untrusted/zip_directory.h"

#include <algorithm>
#include <optional>
#include <string_view>

namespace mpc::untrusted {

namespace {

constexpr uint64_t endSize = 22, locatorSize = 20, wideEndSize = 56, centralSize = 46,
                   localSize = 30;
constexpr uint64_t limit32 = 0xffffffff, limit16 = 0xffff;
constexpr uint64_t maximumDirectory = uint64_t(256) << 20;
constexpr uint16_t encrypted = 1, sizesFollow = 1 << 3, patched = 1 << 5,
                   stronglyEncrypted = 1 << 6, maskedHeaders = 1 << 13;

uint64_t number(std::string_view bytes, size_t at, size_t count) {
  uint64_t value = 0;
  for (size_t i = count; i-- > 0;)
    value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

/// The sizes and the offset of a member, as a header of either kind has them.
struct Extent {
  uint64_t size, compressedSize, offset;
};

/// Puts 64-bit values of the extra field in the place of fields that are all ones. False if the
/// extra field is damaged or lacks one of them.
bool widen(std::string_view extra, Extent &extent) {
  while (!extra.empty()) {
    if (extra.size() < 4 || number(extra, 2, 2) > extra.size() - 4)
      return false;
    const uint64_t size = number(extra, 2, 2);
    std::string_view body = extra.substr(4, size);
    if (number(extra, 0, 2) == 1) {
      for (uint64_t *field : {&extent.size, &extent.compressedSize, &extent.offset}) {
        if (*field != limit32)
          continue;
        if (body.size() < 8)
          return false;
        *field = number(body, 0, 8);
        body.remove_prefix(8);
      }
      return true;
    }
    extra.remove_prefix(4 + size);
  }
  return true;
}

class Reader {
public:
  Reader(const ReadAt &read, uint64_t fileSize) : read_(read), fileSize_(fileSize) {}

  ZipDirectory run(uint64_t maximumMembers) {
    if (findEnd(maximumMembers) && readCentral() && checkLocals())
      checkDisjoint();
    return std::move(result_);
  }

private:
  /// `member` may be the name of one of the members, which end here.
  bool fail(const std::string &fault, const std::string &member = "") {
    result_.fault = fault;
    result_.faultyMember = member;
    result_.members.clear();
    return false;
  }
  /// Empty on failure.
  std::string bytes(uint64_t offset, uint64_t size) {
    std::string text;
    if (offset > fileSize_ || size > fileSize_ - offset)
      return text;
    text.resize(size);
    if (!read_(offset, text.data(), size))
      text.clear();
    return text;
  }

  /// The last record of the file, behind which only its comment stands.
  bool findEnd(uint64_t maximumMembers) {
    const uint64_t tailSize = std::min<uint64_t>(fileSize_, endSize + limit16);
    const std::string tail = bytes(fileSize_ - tailSize, tailSize);
    std::optional<size_t> found;
    for (size_t at = tail.size() < endSize ? 0 : tail.size() - endSize + 1; at-- > 0 && !found;)
      if (number(tail, at, 4) == 0x06054b50 &&
          number(tail, at + 20, 2) == tail.size() - at - endSize)
        found = at;
    if (!found)
      return fail("has no directory at its end");
    const std::string_view end = std::string_view(tail).substr(*found);
    uint64_t disks = number(end, 4, 4), here = number(end, 8, 2), size = number(end, 12, 4);
    uint64_t endAt = fileSize_ - tailSize + *found;
    count_ = number(end, 10, 2);
    directoryBegin_ = number(end, 16, 4);
    if (count_ == limit16 || size == limit32 || directoryBegin_ == limit32)
      if (const std::string locator =
              endAt < locatorSize ? "" : bytes(endAt - locatorSize, locatorSize);
          !locator.empty() && number(locator, 0, 4) == 0x07064b50) {
        endAt = number(locator, 8, 8);
        const std::string wide = bytes(endAt, wideEndSize);
        if (wide.empty() || number(wide, 0, 4) != 0x06064b50 || number(locator, 4, 4) != 0 ||
            number(locator, 16, 4) > 1)
          return fail("has a damaged zip64 directory");
        disks = number(wide, 16, 8);
        here = number(wide, 24, 8);
        count_ = number(wide, 32, 8);
        size = number(wide, 40, 8);
        directoryBegin_ = number(wide, 48, 8);
      }
    if (disks != 0 || here != count_)
      return fail("is a part of an archive of several files");
    if (count_ > maximumMembers)
      return fail("has " + std::to_string(count_) + " members; at most " +
                  std::to_string(maximumMembers) + " are accepted");
    if (directoryBegin_ > endAt || size > endAt - directoryBegin_ || count_ > size / centralSize ||
        size > maximumDirectory)
      return fail("has a directory that does not fit into the file");
    directory_ = bytes(directoryBegin_, size);
    return directory_.size() == size || fail("cannot be read");
  }

  bool readCentral() {
    std::string_view rest = directory_;
    for (uint64_t i = 0; i < count_; ++i) {
      const std::string which = "member " + std::to_string(i);
      if (rest.size() < centralSize || number(rest, 0, 4) != 0x02014b50)
        return fail("has a damaged directory at " + which);
      const uint64_t nameSize = number(rest, 28, 2), extraSize = number(rest, 30, 2);
      const uint64_t entrySize = centralSize + nameSize + extraSize + number(rest, 32, 2);
      if (rest.size() < entrySize)
        return fail("has a damaged directory at " + which);
      ZipMember member;
      member.flags = static_cast<uint16_t>(number(rest, 8, 2));
      member.method = static_cast<uint16_t>(number(rest, 10, 2));
      member.crc = static_cast<uint32_t>(number(rest, 16, 4));
      member.name = rest.substr(centralSize, nameSize);
      Extent extent{number(rest, 24, 4), number(rest, 20, 4), number(rest, 42, 4)};
      if (!widen(rest.substr(centralSize + nameSize, extraSize), extent))
        return fail("has a damaged extra field in its directory", member.name);
      member.size = extent.size;
      member.compressedSize = extent.compressedSize;
      member.begin = extent.offset;
      if (member.name.find('\0') != std::string::npos)
        return fail("has a name with a null character in it", member.name);
      if (member.flags & (encrypted | stronglyEncrypted | maskedHeaders))
        return fail("is encrypted", member.name);
      if (member.flags & patched)
        return fail("is a patch of another file", member.name);
      if (member.method == 0 && member.size != member.compressedSize)
        return fail("is stored, but of two sizes", member.name);
      result_.members.push_back(std::move(member));
      rest.remove_prefix(entrySize);
    }
    return true;
  }

  bool checkLocals() {
    for (ZipMember &member : result_.members) {
      const std::string header =
          member.begin < directoryBegin_ ? bytes(member.begin, localSize) : "";
      if (header.empty() || number(header, 0, 4) != 0x04034b50)
        return fail("has no header where the directory says", member.name);
      const uint64_t nameSize = number(header, 26, 2), extraSize = number(header, 28, 2);
      const std::string behind = bytes(member.begin + localSize, nameSize + extraSize);
      if (behind.size() != nameSize + extraSize)
        return fail("is outside of the file", member.name);
      if (!agrees(member, header, behind))
        return fail("has a header that contradicts the directory", member.name);
      const uint64_t data = member.begin + localSize + behind.size();
      if (data > directoryBegin_ || member.compressedSize > directoryBegin_ - data)
        return fail("overlaps the directory or is outside of the file", member.name);
      member.end = data + member.compressedSize;
    }
    return true;
  }

  /// Headers of what was compressed into a pipe leave checksum and sizes to the directory.
  static bool agrees(const ZipMember &member, const std::string &header,
                     const std::string &nameAndExtra) {
    const uint64_t flags = number(header, 6, 2), nameSize = number(header, 26, 2);
    Extent extent{number(header, 22, 4), number(header, 18, 4), 0};
    if (!widen(std::string_view(nameAndExtra).substr(nameSize), extent))
      return false;
    const bool areLate = (flags | member.flags) & sizesFollow;
    auto matches = [&](uint64_t local, uint64_t central) {
      return local == central || (areLate && (local == 0 || local == limit32));
    };
    return !(flags & (encrypted | stronglyEncrypted | maskedHeaders | patched)) &&
           number(header, 8, 2) == member.method &&
           nameAndExtra.compare(0, nameSize, member.name) == 0 &&
           matches(number(header, 14, 4), member.crc) && matches(extent.size, member.size) &&
           matches(extent.compressedSize, member.compressedSize);
  }

  void checkDisjoint() {
    std::vector<const ZipMember *> order;
    for (const ZipMember &member : result_.members)
      order.push_back(&member);
    std::sort(order.begin(), order.end(),
              [](const ZipMember *a, const ZipMember *b) { return a->begin < b->begin; });
    for (size_t i = 1; i < order.size(); ++i)
      if (order[i]->begin < order[i - 1]->end) {
        const std::string name = order[i]->name;
        fail("overlaps another member, as in a zip bomb", name);
        return;
      }
  }

  const ReadAt &read_;
  uint64_t fileSize_, count_ = 0, directoryBegin_ = 0;
  std::string directory_;
  ZipDirectory result_;
};

} // namespace

ZipDirectory readZipDirectory(const ReadAt &read, uint64_t fileSize, uint64_t maximumMembers) {
  return Reader(read, fileSize).run(maximumMembers);
}

bool isSame(const ZipMember &member, const char *name, uint64_t size, uint64_t compressedSize,
            uint16_t method) {
  return name && member.name == name && member.size == size &&
         member.compressedSize == compressedSize && member.method == method;
}

} // namespace mpc::untrusted
