// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reading and writing .npy. The header is a Python literal; only the three keys that NumPy writes
// are understood, and nothing is evaluated.
#include "runtime/data/npy.h"

#include "runtime/data/atomic_file.h"
#include "runtime/data/convert.h"
#include "runtime/data/input_file.h"
#include "runtime/data/texts.h"
#include "runtime/rules/text_width.h"

#include <algorithm>
#include <cstring>

namespace mpc::data {

namespace {

/// Walks over the header text.
class HeaderReader {
public:
  HeaderReader(const char *begin, const char *end) : at_(begin), end_(end) {}

  bool take(char wanted) {
    skipSpace();
    if (at_ == end_ || *at_ != wanted)
      return false;
    ++at_;
    return true;
  }
  bool word(const char *wanted) {
    skipSpace();
    size_t length = std::strlen(wanted);
    if (static_cast<size_t>(end_ - at_) < length || std::memcmp(at_, wanted, length) != 0)
      return false;
    at_ += length;
    return true;
  }
  bool quoted(std::string &text) {
    skipSpace();
    if (at_ == end_ || (*at_ != '\'' && *at_ != '"'))
      return false;
    const char *close = std::find(at_ + 1, end_, *at_);
    if (close == end_)
      return false;
    text.assign(at_ + 1, close);
    at_ = close + 1;
    return text.find('\\') == std::string::npos;
  }
  bool number(int64_t &value) {
    skipSpace();
    const char *first = at_;
    value = 0;
    while (at_ != end_ && *at_ >= '0' && *at_ <= '9')
      if (__builtin_mul_overflow(value, int64_t(10), &value) ||
          __builtin_add_overflow(value, int64_t(*at_++ - '0'), &value))
        return false;
    if (at_ == first)
      return false;
    take('L'); // Python 2 wrote long integers so
    return true;
  }
  bool atEnd() {
    skipSpace();
    return at_ == end_;
  }

private:
  void skipSpace() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\t'))
      ++at_;
  }
  const char *at_, *end_;
};

bool parseShape(HeaderReader &reader, std::vector<int64_t> &dims) {
  if (!reader.take('('))
    return false;
  while (!reader.take(')')) {
    int64_t dim;
    if (dims.size() == 32 || !reader.number(dim))
      return false;
    dims.push_back(dim);
    if (!reader.take(','))
      return reader.take(')') && dims.size() > 1;
  }
  return true;
}

/// "<U12": texts of 12 code points; false where it is none.
bool parseTextDescr(const std::string &descr, NpyHeader &header, int64_t &width) {
  if (descr.size() < 3 || descr[1] != 'U' || std::string("<>=").find(descr[0]) == std::string::npos)
    return false;
  HeaderReader digits(descr.data() + 2, descr.data() + descr.size());
  if (!digits.number(width) || !digits.atEnd())
    return false;
  header.dtype = MPC_RT_INT32;
  header.isText = true;
  header.bigEndian = descr[0] == '>';
  return true;
}

/// "<f4" and its like; null text on success, else what is wrong.
std::string parseDescr(const std::string &descr, NpyHeader &header) {
  if (descr.find('O') != std::string::npos)
    return "holds Python objects (dtype " + descr +
           "); expected numbers or text; save it as an array of one number type, or of "
           "dtype='U'";
  static const struct {
    const char *code;
    mpc_rt_dtype_t dtype;
  } codes[] = {{"f2", MPC_RT_FLOAT16}, {"f4", MPC_RT_FLOAT32}, {"f8", MPC_RT_FLOAT64},
               {"i1", MPC_RT_INT8},    {"u1", MPC_RT_UINT8},   {"i2", MPC_RT_INT16},
               {"u2", MPC_RT_UINT16},  {"i4", MPC_RT_INT32},   {"u4", MPC_RT_UINT32},
               {"i8", MPC_RT_INT64},   {"u8", MPC_RT_UINT64},  {"b1", MPC_RT_BOOL}};
  if (descr.size() == 3 && std::string("<>|=").find(descr[0]) != std::string::npos)
    for (const auto &row : codes)
      if (descr.compare(1, 2, row.code) == 0) {
        header.dtype = row.dtype;
        header.bigEndian = descr[0] == '>';
        return "";
      }
  return "has dtype '" + descr +
         "'; expected float16, float32, float64, an integer type, bool or text (U)" +
         (descr.find("V2") != std::string::npos ? "; save bfloat16 as float32"
                                                : "; convert it before saving");
}

} // namespace

Result<NpyHeader> parseNpyHeader(const uint8_t *start, size_t available, uint64_t totalSize,
                                 const std::string &place) {
  auto damaged = [&](const char *what) {
    return Failure(place + ": is no sound .npy: " + what +
                   "; expected what numpy.save writes; "
                   "save it again");
  };
  if (available < 10 || std::memcmp(start, "\x93NUMPY", 6) != 0)
    return damaged("the first bytes are not \\x93NUMPY");
  unsigned version = start[6];
  if (version < 1 || version > 3)
    return damaged("unknown format version");
  uint64_t length = start[8] | uint64_t(start[9]) << 8, offset = 10;
  if (version > 1) {
    if (available < 12)
      return damaged("it is cut off");
    length |= uint64_t(start[10]) << 16 | uint64_t(start[11]) << 24;
    offset = 12;
  }
  if (length > 65536)
    return damaged("its header is longer than 65536 bytes");
  if (offset + length > totalSize || offset + length > available)
    return damaged("it is cut off in its header");

  NpyHeader header;
  header.dataOffset = offset + length;
  const char *text = reinterpret_cast<const char *>(start) + offset;
  HeaderReader reader(text, text + length);
  std::string descr;
  bool seen[3] = {false, false, false};
  if (!reader.take('{'))
    return damaged("its header is no dict");
  while (!reader.take('}')) {
    std::string key;
    if (!reader.quoted(key) || !reader.take(':'))
      return damaged("its header is no dict of names");
    int which = key == "descr" ? 0 : key == "fortran_order" ? 1 : key == "shape" ? 2 : -1;
    if (which < 0 || seen[which])
      return damaged("its header has an unknown or doubled key");
    seen[which] = true;
    if (which == 0 && !reader.quoted(descr)) {
      if (reader.take('['))
        return Failure(place + ": is a structured array; expected numbers; save its fields as "
                               "arrays of their own");
      return damaged("descr is no text");
    }
    if (which == 1) {
      header.fortranOrder = reader.word("True");
      if (!header.fortranOrder && !reader.word("False"))
        return damaged("fortran_order is neither True nor False");
    }
    if (which == 2 && !parseShape(reader, header.dims))
      return damaged("shape is no tuple of at most 32 sizes");
    if (!reader.take(',')) {
      if (!reader.take('}'))
        return damaged("its header is no dict");
      break;
    }
  }
  if (!reader.atEnd() || !seen[0] || !seen[1] || !seen[2])
    return damaged("its header does not have exactly descr, fortran_order and shape");
  if (int64_t width = 0; parseTextDescr(descr, header, width)) {
    if (width > rules::mostTextWidth)
      return Failure(place + ": has texts of " + std::to_string(width) +
                     " characters; expected at most " + std::to_string(rules::mostTextWidth));
    header.dims.push_back(width);
  } else if (std::string wrong = parseDescr(descr, header); !wrong.empty()) {
    return Failure(place + ": " + wrong);
  }
  std::optional<uint64_t> size = byteSize(header.dims, dtypeInfo(header.dtype)->bytes);
  if (!size || *size != totalSize - header.dataOffset)
    return Failure(place + ": has " + std::to_string(totalSize - header.dataOffset) +
                   " bytes of elements; expected " +
                   (size ? std::to_string(*size) : std::string("an impossible number")) +
                   " for shape " + formatShape(header.dims) + " of " +
                   dtypeInfo(header.dtype)->keras + "; the file is cut off or damaged");
  return header;
}

static void swapBytes(Array &array, size_t width) {
  uint8_t *bytes = array.data();
  for (size_t i = 0; i + width <= array.bytes(); i += width)
    std::reverse(bytes + i, bytes + i + width);
}

/// Column-major elements into row-major order.
static Result<Array> fromFortranOrder(const Array &array) {
  Result<Array> result = Array::allocate(array.dtype(), array.dims());
  if (!result)
    return result;
  if (array.isText())
    result->setText();
  // A text is one element.
  const std::vector<int64_t> dims = array.shape();
  size_t rank = dims.size(), width = dtypeInfo(array.dtype())->bytes;
  int64_t count = array.elements();
  if (array.isText() && count > 0) {
    width *= static_cast<size_t>(array.dims().back());
    count /= array.dims().back();
  }
  std::vector<int64_t> strides(rank), index(rank, 0);
  for (size_t d = 0; d < rank; ++d)
    strides[d] = d ? strides[d - 1] * dims[d - 1] : 1;
  int64_t source = 0;
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(result->data() + static_cast<size_t>(i) * width,
                array.data() + static_cast<size_t>(source) * width, width);
    for (size_t d = rank; d-- > 0;) {
      source += strides[d];
      if (++index[d] < dims[d])
        break;
      source -= strides[d] * dims[d];
      index[d] = 0;
    }
  }
  return result;
}

Result<Array> readNpy(const ByteSource &source, uint64_t totalSize, const std::string &place) {
  // Fixed part, then the header, then the elements: nothing is allocated before it was checked.
  std::vector<uint8_t> start(std::min<uint64_t>(totalSize, 12));
  if (Status status = source(start.data(), start.size()); !status)
    return status.failure();
  if (start.size() == 12) {
    uint64_t header = 10 + (start[8] | uint64_t(start[9]) << 8);
    if (start[6] > 1)
      header = 12 + (start[8] | uint64_t(start[9]) << 8 | uint64_t(start[10]) << 16 |
                     uint64_t(start[11]) << 24);
    header = std::min<uint64_t>({header, npyHeaderLimit, totalSize});
    if (header > 12) {
      start.resize(header);
      if (Status status = source(start.data() + 12, header - 12); !status)
        return status.failure();
    }
  }
  Result<NpyHeader> header = parseNpyHeader(start.data(), start.size(), totalSize, place);
  if (!header)
    return header.failure();
  Result<Array> array = Array::allocate(header->dtype, header->dims);
  if (!array)
    return array.failure().within(place);
  uint64_t early = std::min<uint64_t>(start.size() - header->dataOffset, array->bytes());
  if (early)
    std::memcpy(array->data(), start.data() + header->dataOffset, early);
  if (Status status = source(array->data() + early, array->bytes() - early); !status)
    return status.failure();
  if (header->bigEndian)
    swapBytes(*array, dtypeInfo(header->dtype)->bytes);
  if (header->isText) {
    array->setText();
    if (Status status = checkTexts(*array, place); !status)
      return status.failure();
  }
  return header->fortranOrder && array->shape().size() > 1 ? fromFortranOrder(*array) : array;
}

Result<Array> readNpyFile(const std::string &path) {
  Result<InputFile> file = InputFile::open(path);
  if (!file)
    return file.failure();
  return readNpy([&](void *data, uint64_t size) { return file->read(data, size); }, file->size(),
                 path);
}

std::string npyHeader(const Array &array) {
  std::string shape;
  const std::vector<int64_t> dims = array.shape();
  for (int64_t dim : dims)
    shape += std::to_string(dim) + ", ";
  if (dims.size() > 1)
    shape.resize(shape.size() - 2);
  else if (dims.size() == 1)
    shape.pop_back();
  const std::string element =
      array.isText() ? "<U" + std::to_string(array.dims().back()) : dtypeInfo(array.dtype())->numpy;
  std::string text = std::string("{'descr': '") + element +
                     "', 'fortran_order': False, 'shape': (" + shape + "), }";
  text.append(63 - (10 + text.size()) % 64, ' ');
  text += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(text.size() & 255);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

Status writeNpyFile(const std::string &path, const Array &array) {
  AtomicFile file(path);
  if (Status status = file.open(); !status)
    return status;
  const Array wide = widenForNpz(array);
  file.write(npyHeader(wide));
  file.write(wide.data(), wide.bytes());
  return file.commit();
}

} // namespace mpc::data
