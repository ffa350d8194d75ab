// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Strict reader and deterministic writer of safetensors.
#include "runtime/data/safetensors.h"

#include "runtime/data/atomic_file.h"
#include "runtime/data/input_file.h"
#include "runtime/data/json_guard.h"
#include "runtime/untrusted/outlets.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <tuple>

namespace mpc::data {

namespace {

// The largest models have some 10 MB of header; the format's own limit is 100 MB.
constexpr uint64_t maximumHeader = uint64_t(64) << 20;
constexpr uint64_t maximumValues = uint64_t(1) << 20; // about 100 bytes each, once parsed
constexpr size_t maximumRank = 32;

struct Entry {
  std::string name;
  const DtypeInfo *dtype;
  std::vector<int64_t> dims;
  uint64_t begin, end;
};

/// A file in memory: its metadata in `content`, its entries, and where its data section begins.
struct ParsedFile {
  Safetensors content;
  std::vector<Entry> entries;
  uint64_t dataBegin;
};

/// A header's JSON. The library's own values allocate in their destructors, which ends the process
/// where there is no memory.
struct Value {
  enum Kind { other, text, natural, list, object } kind = other;
  std::string string;
  uint64_t number = 0;
  std::vector<Value> items;
  std::map<std::string, Value> members;
};

/// Builds a Value of what the parser meets. The guard has limited the depth and refused doubled
/// names.
class Builder : public nlohmann::json_sax<nlohmann::json> {
public:
  explicit Builder(Value &root) : root(root) {}
  bool null() override { return add(Value::other) != nullptr; }
  bool boolean(bool) override { return add(Value::other) != nullptr; }
  bool number_integer(number_integer_t) override { return add(Value::other) != nullptr; }
  bool number_unsigned(number_unsigned_t value) override {
    add(Value::natural)->number = value;
    return true;
  }
  bool number_float(number_float_t, const string_t &) override {
    return add(Value::other) != nullptr;
  }
  bool string(string_t &value) override {
    add(Value::text)->string = value;
    return true;
  }
  bool binary(binary_t &) override { return false; }
  bool start_object(std::size_t) override { return open(Value::object); }
  bool key(string_t &value) override {
    name = value;
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(Value::list); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t, const std::string &, const nlohmann::detail::exception &) override {
    return false;
  }

private:
  Value *add(Value::Kind kind) {
    Value *value = &root;
    if (!nest.empty() && nest.back()->kind == Value::list)
      value = &nest.back()->items.emplace_back();
    else if (!nest.empty())
      value = &nest.back()->members[name];
    value->kind = kind;
    return value;
  }
  bool open(Value::Kind kind) {
    nest.push_back(add(kind)); // the vector above does not grow while this one is open
    return true;
  }
  bool close() {
    nest.pop_back();
    return true;
  }
  Value &root;
  std::vector<Value *> nest;
  std::string name;
};

/// Text as JSON. A single string does not allocate when it goes.
std::string quote(const std::string &text, bool ascii) {
  return nlohmann::json(text).dump(-1, ' ', ascii, nlohmann::json::error_handler_t::replace);
}

/// One `name: {dtype, shape, data_offsets}`; text on failure.
std::string parseEntry(const Value &value, Entry &entry) {
  auto member = [&](const char *name) {
    auto at = value.members.find(name);
    return at == value.members.end() ? nullptr : &at->second;
  };
  const Value *dtype = member("dtype"), *shape = member("shape"), *offsets = member("data_offsets");
  if (value.kind != Value::object || value.members.size() != 3 || !dtype || !shape || !offsets)
    return "does not have exactly dtype, shape and data_offsets";
  if (dtype->kind != Value::text || !(entry.dtype = dtypeFromSafetensors(dtype->string)))
    return "has an unknown dtype " +
           (dtype->kind == Value::text ? quote(dtype->string, /*ascii=*/true) : "that is no text");
  if (shape->kind != Value::list || shape->items.size() > maximumRank)
    return "has a shape that is no list of at most 32 sizes";
  for (const Value &dim : shape->items) {
    if (dim.kind != Value::natural || dim.number > static_cast<uint64_t>(INT64_MAX))
      return "has a size that is no natural number";
    entry.dims.push_back(static_cast<int64_t>(dim.number));
  }
  if (offsets->kind != Value::list || offsets->items.size() != 2 ||
      offsets->items[0].kind != Value::natural || offsets->items[1].kind != Value::natural)
    return "has data_offsets that are no pair of natural numbers";
  entry.begin = offsets->items[0].number;
  entry.end = offsets->items[1].number;
  std::optional<uint64_t> size = byteSize(entry.dims, entry.dtype->bytes);
  if (!size || entry.end < entry.begin || entry.end - entry.begin != *size)
    return "has data_offsets that do not fit its shape and dtype";
  return "";
}

/// A JSON text has at least this many values: commas and brackets outside of strings tell them
/// apart.
uint64_t countValues(const char *text, size_t size) {
  uint64_t count = 1;
  bool isString = false;
  for (size_t i = 0; i < size; ++i) {
    const char c = text[i];
    if (c == '"')
      isString = !isString;
    else if (isString)
      i += c == '\\';
    else
      count += c == ',' || c == '[' || c == '{';
  }
  return count;
}

/// The header's JSON text into entries in file order, which must fill `dataSize` without a gap.
Result<std::vector<Entry>> parseHeader(const char *text, size_t size, uint64_t dataSize,
                                       std::map<std::string, std::string> &metadata,
                                       const std::string &place) {
  auto damaged = [&](const std::string &what) {
    return Failure(place + ": is no sound safetensors file: " + what +
                   "; the file is cut off or damaged");
  };
  // Before any of them takes memory.
  if (uint64_t values = countValues(text, size); values > maximumValues)
    return damaged("its header has " + std::to_string(values) + " values; at most " +
                   std::to_string(maximumValues) + " are accepted");
  if (std::string wrong = checkJson(text, size, 4); !wrong.empty())
    return damaged("its header " + wrong);
  Value header;
  Builder builder(header);
  if (!nlohmann::json::sax_parse(text, text + size, &builder) || header.kind != Value::object)
    return damaged("its header is no object");
  std::vector<Entry> entries;
  for (const auto &[name, value] : header.members) {
    if (name == "__metadata__") {
      if (value.kind != Value::object)
        return damaged("__metadata__ is no object");
      for (const auto &[key, item] : value.members) {
        if (item.kind != Value::text)
          return damaged("__metadata__ holds something other than text");
        metadata[key] = item.string;
      }
      continue;
    }
    Entry entry{name, nullptr, {}, 0, 0};
    if (std::string wrong = parseEntry(value, entry); !wrong.empty())
      return damaged("'" + name + "' " + wrong);
    entries.push_back(std::move(entry));
  }
  std::sort(entries.begin(), entries.end(), [](const Entry &a, const Entry &b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  uint64_t at = 0;
  for (const Entry &entry : entries) {
    if (entry.begin != at)
      return damaged("'" + entry.name + "' begins at byte " + std::to_string(entry.begin) +
                     " of the data, not at " + std::to_string(at));
    at = entry.end;
  }
  if (at != dataSize)
    return damaged("its tensors take " + std::to_string(at) + " bytes, but it has " +
                   std::to_string(dataSize));
  return entries;
}

} // namespace

/// Files of weights that Keras writes; empty for others.
static std::string describeKerasFile(const uint8_t *bytes, uint64_t size) {
  if (size >= 8 && std::memcmp(bytes, "\x89HDF\r\n\x1a\n", 8) == 0)
    return "is an HDF5 file, no safetensors file; convert it with mpc-convert FILE --model "
           "MODEL.keras -o FILE.safetensors";
  if (size >= 4 && std::memcmp(bytes, "PK\3\4", 4) == 0)
    return "is a zip archive (.keras or .npz), no safetensors file; convert it with mpc-convert "
           "FILE -o FILE.safetensors";
  return "";
}

static Result<uint64_t> headerLength(const uint8_t *bytes, uint64_t size,
                                     const std::string &place) {
  uint64_t length = 0;
  if (size >= 8)
    std::memcpy(&length, bytes, 8);
  if (size < 8 || length > maximumHeader || length > size - 8) {
    if (std::string kind = describeKerasFile(bytes, size); !kind.empty())
      return Failure(place + ": " + kind);
    return Failure(place + ": is no safetensors file: its header would be " +
                   std::to_string(length) + " bytes long in a file of " + std::to_string(size) +
                   "; expected at most 64 MB inside the file; the file is cut off or damaged");
  }
  return length;
}

/// `read` hands out the next bytes of the data section.
template <typename Read>
static Result<Safetensors> readTensors(const std::vector<Entry> &entries, Safetensors content,
                                       const std::string &place, Read &&read) {
  for (const Entry &entry : entries) {
    Result<Array> array = Array::allocate(entry.dtype->dtype, entry.dims);
    if (!array)
      return array.failure().within(place + ":" + entry.name);
    if (Status status = read(array->data(), array->bytes()); !status)
      return status.failure();
    content.tensors.emplace(entry.name, *array);
  }
  return content;
}

static Result<ParsedFile> parseFile(const uint8_t *bytes, uint64_t size, const std::string &place) {
  Result<uint64_t> length = headerLength(bytes, size, place);
  if (!length)
    return length.failure();
  ParsedFile file{{}, {}, 8 + *length};
  Result<std::vector<Entry>> entries =
      parseHeader(reinterpret_cast<const char *>(bytes) + 8, *length, size - file.dataBegin,
                  file.content.metadata, place);
  if (!entries)
    return entries.failure();
  file.entries = std::move(*entries);
  return file;
}

Result<Safetensors> parseSafetensors(const uint8_t *bytes, uint64_t size,
                                     const std::string &place) {
  Result<ParsedFile> file = parseFile(bytes, size, place);
  if (!file)
    return file.failure();
  const uint8_t *at = bytes + file->dataBegin;
  return readTensors(file->entries, std::move(file->content), place,
                     [&](void *data, uint64_t count) {
                       if (count)
                         std::memcpy(data, at, count);
                       at += count;
                       return Status();
                     });
}

Result<Safetensors> viewSafetensors(const std::shared_ptr<void> &owner, uint8_t *bytes,
                                    uint64_t size, const std::string &place) {
  Result<ParsedFile> file = parseFile(bytes, size, place);
  if (!file)
    return file.failure();
  Safetensors content = std::move(file->content);
  for (const Entry &entry : file->entries) {
    uint8_t *data = bytes + file->dataBegin + entry.begin;
    const bool aligned = reinterpret_cast<uintptr_t>(data) % 64 == 0;
    content.tensors.emplace(entry.name, aligned
                                            ? Array::view(entry.dtype->dtype, entry.dims,
                                                          entry.end - entry.begin, owner, data)
                                            : Array::copyOf(entry.dtype->dtype, entry.dims, data));
  }
  return content;
}

Result<Safetensors> readSafetensors(const std::string &path) {
  Result<InputFile> file = InputFile::open(path);
  if (!file)
    return file.failure();
  uint8_t start[8] = {};
  if (file->size() >= 8)
    if (Status status = file->read(start, 8); !status)
      return status.failure();
  Result<uint64_t> length = headerLength(start, file->size(), path);
  if (!length)
    return length.failure();
  std::string header(*length, '\0');
  if (Status status = file->read(header.data(), header.size()); !status)
    return status.failure();
  Safetensors content;
  Result<std::vector<Entry>> entries =
      parseHeader(header.data(), header.size(), file->remaining(), content.metadata, path);
  if (!entries)
    return entries.failure();
  return readTensors(*entries, std::move(content), path,
                     [&](void *data, uint64_t count) { return file->read(data, count); });
}

std::vector<NamedArrays::const_iterator> fileOrder(const Safetensors &content) {
  std::vector<NamedArrays::const_iterator> order;
  for (bool whole : {true, false})
    for (auto at = content.tensors.begin(); at != content.tensors.end(); ++at)
      if ((at->second.bytes() % 64 == 0) == whole)
        order.push_back(at);
  return order;
}

std::string formatSafetensorsHeader(const Safetensors &content) {
  std::string text = "{";
  if (!content.metadata.empty()) {
    text += "\"__metadata__\":{";
    for (const auto &[key, value] : content.metadata)
      text += (text.back() == '{' ? "" : ",") + quote(key, false) + ":" + quote(value, false);
    text += "}";
  }
  uint64_t offset = 0;
  for (auto at : fileOrder(content)) {
    const auto &[name, array] = *at;
    text += (text.size() == 1 ? "" : ",") + quote(name, false) + ":{\"dtype\":\"" +
            dtypeInfo(array.dtype())->safetensors + "\",\"shape\":[";
    for (size_t i = 0; i < array.dims().size(); ++i)
      text += (i ? "," : "") + std::to_string(array.dims()[i]);
    text += "],\"data_offsets\":[" + std::to_string(offset) + "," +
            std::to_string(offset + array.bytes()) + "]}";
    offset += array.bytes();
  }
  text = untrusted::forJson(text + "}");
  text.append((64 - (text.size() + 8) % 64) % 64, ' '); // so that the tensors are aligned
  uint64_t length = text.size();
  return std::string(reinterpret_cast<const char *>(&length), 8) + text;
}

Status writeSafetensors(const std::string &path, const Safetensors &content) {
  AtomicFile file(path);
  if (Status status = file.open(); !status)
    return status;
  file.write(formatSafetensorsHeader(content));
  for (auto at : fileOrder(content))
    file.write(at->second.data(), at->second.bytes());
  return file.commit();
}

} // namespace mpc::data
