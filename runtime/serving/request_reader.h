// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RequestReader: the events of nlohmann's JSON parser, made into the parts of a request. It keeps
// what the protocol knows, checks each part where it comes, and passes over the rest.
#ifndef MPC_RUNTIME_SERVING_REQUEST_READER_H
#define MPC_RUNTIME_SERVING_REQUEST_READER_H

#include "runtime/serving/infer_request.h"
#include "runtime/serving/json_numbers.h"

#include <nlohmann/json.hpp>

namespace mpc::serving {

/// An input as its JSON describes it; the elements are here, or follow in binary.
struct DescribedInput {
  std::string name, datatype;
  std::optional<std::vector<int64_t>> shape;
  std::optional<JsonNumbers> numbers;
  std::optional<uint64_t> binaryBytes;
};

class RequestReader : public nlohmann::json_sax<nlohmann::json> {
public:
  bool null() override;
  bool boolean(bool value) override;
  bool number_integer(number_integer_t value) override;
  bool number_unsigned(number_unsigned_t value) override;
  bool number_float(number_float_t value, const string_t &text) override;
  bool string(string_t &value) override;
  bool binary(binary_t &value) override;
  bool start_object(size_t elements) override;
  bool key(string_t &value) override;
  bool end_object() override;
  bool start_array(size_t elements) override;
  bool end_array() override;
  bool parse_error(size_t position, const std::string &token,
                   const nlohmann::detail::exception &problem) override;

  /// Empty where all of it was understood.
  const std::string &problem() const { return problem_; }
  const InferRequest &request() const { return request_; }
  const std::vector<DescribedInput> &inputs() const { return inputs_; }

private:
  /// Where in the document an event is: what is open, from outside in.
  enum class Place : uint8_t {
    Root,
    Parameters,
    Inputs,
    Input,
    InputParameters,
    Shape,
    Data,
    Outputs,
    Output,
    OutputParameters,
    Skipped
  };
  enum class Type { Null, Boolean, Integer, Unsigned, Real, String };
  struct Scalar {
    Type type;
    bool truth = false;
    int64_t integer = 0;
    uint64_t number = 0;
    double real = 0;
    std::string text = {};
  };
  struct Open {
    Place place;
    std::vector<std::string> keys = {}; // that the protocol knows and that were seen
  };

  bool fail(const std::string &text);
  bool take(const Scalar &value);
  bool takeRequestValue(const Scalar &value);
  bool takeInputValue(const Scalar &value);
  bool takeOutputValue(const Scalar &value);
  bool takeElement(const Scalar &value);
  bool push(Place place);
  /// The place of a container that begins here; nothing where none is allowed.
  std::optional<Place> placeBelow(bool isArray) const;
  /// How a message calls what is being read.
  std::string where() const;

  std::vector<Open> open_;
  std::string key_, problem_;
  InferRequest request_;
  std::vector<DescribedInput> inputs_;
};

} // namespace mpc::serving
#endif
