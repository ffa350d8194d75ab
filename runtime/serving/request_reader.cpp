// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From events of JSON to the parts of a request.
#include "runtime/serving/request_reader.h"

#include "mpc-rt/executable.h"

#include <algorithm>

namespace mpc::serving {

static constexpr size_t deepest = 32, mostTensors = 1024, longestName = 4096;

bool RequestReader::fail(const std::string &text) {
  if (problem_.empty())
    problem_ = where() + text;
  return false;
}

std::string RequestReader::where() const {
  if (open_.empty())
    return "";
  const Place place = open_.back().place;
  const bool isInput = place == Place::Input || place == Place::InputParameters ||
                       place == Place::Shape || place == Place::Data;
  if (isInput && !inputs_.empty())
    return inputs_.back().name.empty() ? "input " + std::to_string(inputs_.size() - 1) + ": "
                                       : "input '" + inputs_.back().name + "': ";
  if ((place == Place::Output || place == Place::OutputParameters) && !request_.outputs.empty())
    return "output " + std::to_string(request_.outputs.size() - 1) + ": ";
  return "";
}

std::optional<RequestReader::Place> RequestReader::placeBelow(bool isArray) const {
  if (open_.empty())
    return isArray ? std::nullopt : std::optional<Place>(Place::Root);
  // The containers that the protocol knows, each in another one and under a key.
  static const struct {
    Place in;
    const char *key;
    bool isArray;
    Place below;
  } known[] = {{Place::Root, "inputs", true, Place::Inputs},
               {Place::Root, "outputs", true, Place::Outputs},
               {Place::Root, "parameters", false, Place::Parameters},
               {Place::Inputs, nullptr, false, Place::Input},
               {Place::Input, "shape", true, Place::Shape},
               {Place::Input, "data", true, Place::Data},
               {Place::Input, "parameters", false, Place::InputParameters},
               {Place::Data, nullptr, true, Place::Data},
               {Place::Outputs, nullptr, false, Place::Output},
               {Place::Output, "parameters", false, Place::OutputParameters}};
  const Place in = open_.back().place;
  for (const auto &row : known)
    if (row.in == in && (!row.key || key_ == row.key))
      return row.isArray == isArray ? std::optional<Place>(row.below) : std::nullopt;
  const bool hasOnlyScalars =
      in == Place::Inputs || in == Place::Outputs || in == Place::Shape || in == Place::Data ||
      (in == Place::Root && key_ == "id") ||
      ((in == Place::Input || in == Place::Output) && (key_ == "name" || key_ == "datatype"));
  return hasOnlyScalars ? std::nullopt : std::optional<Place>(Place::Skipped);
}

bool RequestReader::push(Place place) {
  if (open_.size() >= deepest)
    return fail("nests deeper than " + std::to_string(deepest) + " levels");
  if (place == Place::Input) {
    if (inputs_.size() >= mostTensors)
      return fail("has more than " + std::to_string(mostTensors) + " inputs");
    inputs_.emplace_back();
  }
  if (place == Place::Output) {
    if (request_.outputs.size() >= mostTensors)
      return fail("has more than " + std::to_string(mostTensors) + " outputs");
    request_.outputs.emplace_back();
  }
  if (place == Place::Shape)
    inputs_.back().shape.emplace();
  const bool isOutermost = place == Place::Data && open_.back().place != Place::Data;
  if (isOutermost)
    inputs_.back().numbers.emplace();
  open_.push_back({place});
  if (place == Place::Data && !inputs_.back().numbers->openArray())
    return fail("data mixes numbers and arrays, or nests deeper than " +
                std::to_string(MPC_RT_MAX_RANK) + " levels; expected a tensor");
  return true;
}

bool RequestReader::start_object(size_t /*elements*/) {
  const std::optional<Place> place = placeBelow(/*isArray=*/false);
  if (!place)
    return fail(open_.empty() ? "" : "'" + key_ + "' is an object; expected something else");
  return push(*place);
}

bool RequestReader::start_array(size_t /*elements*/) {
  const std::optional<Place> place = placeBelow(/*isArray=*/true);
  if (!place)
    return fail(open_.empty() ? "is an array; expected an object with inputs"
                              : "'" + key_ + "' is an array; expected something else");
  return push(*place);
}

bool RequestReader::end_object() {
  open_.pop_back();
  return true;
}

bool RequestReader::end_array() {
  if (open_.back().place == Place::Data && !inputs_.back().numbers->closeArray())
    return fail("data has arrays of several lengths; expected a tensor");
  open_.pop_back();
  return true;
}

bool RequestReader::key(string_t &value) {
  key_ = value.substr(0, 64); // what the protocol knows is shorter
  Open &object = open_.back();
  if (object.place == Place::Skipped)
    return true;
  static const char *const known[] = {
      "id",   "inputs",      "outputs",          "parameters",        "name", "shape", "datatype",
      "data", "binary_data", "binary_data_size", "binary_data_output"};
  if (std::find(std::begin(known), std::end(known), key_) == std::end(known))
    return true;
  if (std::find(object.keys.begin(), object.keys.end(), key_) != object.keys.end())
    return fail("has '" + key_ + "' twice");
  object.keys.push_back(key_);
  return true;
}

bool RequestReader::takeRequestValue(const Scalar &value) {
  const bool isNone = value.type == Type::Null ||
                      (value.type == Type::Unsigned && value.number == 0) ||
                      (value.type == Type::String && value.text.empty());
  if (open_.back().place == Place::Root) {
    if (key_ == "id" && value.type != Type::String)
      return fail("'id' is no string");
    if (key_ == "id" && value.text.size() > longestName)
      return fail("'id' is longer than " + std::to_string(longestName) + " bytes");
    if (key_ == "id")
      request_.id = value.text;
    else if (key_ == "inputs" || key_ == "outputs" || key_ == "parameters")
      return fail("'" + key_ + "' is no " + (key_ == "parameters" ? "object" : "array"));
    return true;
  }
  if (key_ == "binary_data_output") {
    if (value.type != Type::Boolean)
      return fail("'binary_data_output' is neither true nor false");
    request_.wantsBinary = value.truth;
  }
  if (key_ == "sequence_id" && !isNone)
    return fail("'sequence_id' is set; this server keeps no state between requests");
  return true;
}

bool RequestReader::takeInputValue(const Scalar &value) {
  DescribedInput &input = inputs_.back();
  if (open_.back().place == Place::InputParameters) {
    if (key_ == "binary_data_size") {
      if (value.type != Type::Unsigned)
        return fail("'binary_data_size' is no number of bytes");
      input.binaryBytes = value.number;
    }
    if (key_.rfind("shared_memory", 0) == 0)
      return fail("is in shared memory, which this server does not take; send its data");
    return true;
  }
  if (key_ == "name" || key_ == "datatype") {
    if (value.type != Type::String || value.text.empty() || value.text.size() > longestName)
      return fail("'" + key_ + "' is no name");
    (key_ == "name" ? input.name : input.datatype) = value.text;
  } else if (key_ == "shape" || key_ == "data" || key_ == "parameters") {
    return fail("'" + key_ + "' is no " + (key_ == "parameters" ? "object" : "array"));
  }
  return true;
}

bool RequestReader::takeOutputValue(const Scalar &value) {
  InferRequest::Output &output = request_.outputs.back();
  if (open_.back().place == Place::OutputParameters) {
    if (key_ == "binary_data") {
      if (value.type != Type::Boolean)
        return fail("'binary_data' is neither true nor false");
      output.isBinary = value.truth;
    }
    if (key_.rfind("shared_memory", 0) == 0)
      return fail("is wanted in shared memory, which this server does not write");
    if (key_ == "classification" && !(value.type == Type::Unsigned && value.number == 0))
      return fail("'classification' is wanted; this server sends the values only");
    return true;
  }
  if (key_ == "name") {
    if (value.type != Type::String || value.text.empty() || value.text.size() > longestName)
      return fail("'name' is no name");
    output.name = value.text;
  } else if (key_ == "parameters") {
    return fail("'parameters' is no object");
  }
  return true;
}

bool RequestReader::takeElement(const Scalar &value) {
  JsonNumbers &numbers = *inputs_.back().numbers;
  const bool fits = value.type == Type::Boolean    ? numbers.add(value.truth)
                    : value.type == Type::Integer  ? numbers.add(value.integer)
                    : value.type == Type::Unsigned ? numbers.add(value.number)
                    : value.type == Type::Real     ? numbers.add(value.real)
                                                   : false;
  if (fits)
    return true;
  return fail(value.type == Type::Null || value.type == Type::String
                  ? "data has a value that is no number"
                  : "data mixes numbers and arrays; expected a tensor");
}

bool RequestReader::take(const Scalar &value) {
  if (open_.empty())
    return fail("is a single value; expected an object with inputs");
  switch (open_.back().place) {
  case Place::Root:
  case Place::Parameters:
    return takeRequestValue(value);
  case Place::Input:
  case Place::InputParameters:
    return takeInputValue(value);
  case Place::Output:
  case Place::OutputParameters:
    return takeOutputValue(value);
  case Place::Data:
    return takeElement(value);
  case Place::Shape: {
    std::vector<int64_t> &shape = *inputs_.back().shape;
    if (value.type != Type::Unsigned || value.number > INT64_MAX || shape.size() == MPC_RT_MAX_RANK)
      return fail("shape is none; expected up to " + std::to_string(MPC_RT_MAX_RANK) +
                  " extents of at least 0");
    shape.push_back(static_cast<int64_t>(value.number));
    return true;
  }
  case Place::Inputs:
  case Place::Outputs:
    return fail("'inputs' and 'outputs' hold objects only");
  case Place::Skipped:
    return true;
  }
  return true;
}

bool RequestReader::null() { return take({Type::Null}); }
bool RequestReader::boolean(bool value) { return take({Type::Boolean, value}); }
bool RequestReader::number_integer(number_integer_t value) {
  return take({Type::Integer, false, value});
}
bool RequestReader::number_unsigned(number_unsigned_t value) {
  return take({Type::Unsigned, false, 0, value});
}
bool RequestReader::number_float(number_float_t value, const string_t & /*text*/) {
  return take({Type::Real, false, 0, 0, value});
}
bool RequestReader::string(string_t &value) { return take({Type::String, false, 0, 0, 0, value}); }
bool RequestReader::binary(binary_t & /*value*/) { return fail("is no JSON"); }

bool RequestReader::parse_error(size_t position, const std::string & /*token*/,
                                const nlohmann::detail::exception &problem) {
  if (problem_.empty()) // 406: a number beyond every type
    problem_ = problem.id == 406 ? "has a number beyond float64 at byte " + std::to_string(position)
                                 : "is no JSON at byte " + std::to_string(position);
  return false;
}

} // namespace mpc::serving
