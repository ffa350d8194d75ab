// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/Keras/Legacy/TensorFlowGraphOps.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Base64.h"

namespace mpc::keras {
namespace {

namespace json = llvm::json;

/// An operation of TensorFlow's graph as a function of its API.
struct GraphOperation {
  llvm::StringLiteral names;      ///< with spaces between
  llvm::StringLiteral function;   ///< as findTensorFlowFunction knows it
  llvm::StringLiteral inputs;     ///< parameters; "values*" takes all inputs but those behind it
  llvm::StringLiteral attributes; ///< "attribute" or "attribute=parameter"
};

constexpr llvm::StringLiteral kNone("");

// One function of one argument, or of two, by its own name.
constexpr GraphOperation kOperations[] = {
    {"Abs", "math.abs", "x", kNone},
    {"Neg", "math.negative", "x", kNone},
    {"Exp", "math.exp", "x", kNone},
    {"Expm1", "math.expm1", "x", kNone},
    {"Log", "math.log", "x", kNone},
    {"Log1p", "math.log1p", "x", kNone},
    {"Sqrt", "math.sqrt", "x", kNone},
    {"Rsqrt", "math.rsqrt", "x", kNone},
    {"Square", "math.square", "x", kNone},
    {"Sign", "math.sign", "x", kNone},
    {"Ceil", "math.ceil", "x", kNone},
    {"Floor", "math.floor", "x", kNone},
    {"Rint Round", "math.rint", "x", kNone},
    {"Sin", "math.sin", "x", kNone},
    {"Cos", "math.cos", "x", kNone},
    {"Tan", "math.tan", "x", kNone},
    {"Asin", "math.asin", "x", kNone},
    {"Acos", "math.acos", "x", kNone},
    {"Atan", "math.atan", "x", kNone},
    {"Sinh", "math.sinh", "x", kNone},
    {"Cosh", "math.cosh", "x", kNone},
    {"Tanh", "math.tanh", "x", kNone},
    {"Asinh", "math.asinh", "x", kNone},
    {"Acosh", "math.acosh", "x", kNone},
    {"Atanh", "math.atanh", "x", kNone},
    {"Erf", "math.erf", "x", kNone},
    {"Erfc", "math.erfc", "x", kNone},
    {"Erfinv", "math.erfinv", "x", kNone},
    {"Ndtri", "math.ndtri", "x", kNone},
    {"Lgamma", "math.lgamma", "x", kNone},
    {"Digamma", "math.digamma", "x", kNone},
    {"BesselI0", "math.bessel_i0", "x", kNone},
    {"Sigmoid", "math.sigmoid", "x", kNone},
    {"Softplus", "math.softplus", "features", kNone},
    {"Softsign", "nn.softsign", "features", kNone},
    {"Reciprocal Inv", "math.reciprocal", "x", kNone},
    {"IsNan", "math.is_nan", "x", kNone},
    {"IsInf", "math.is_inf", "x", kNone},
    {"IsFinite", "math.is_finite", "x", kNone},
    {"LogicalNot", "math.logical_not", "x", kNone},
    {"Identity Snapshot PreventGradient", "identity", "input", kNone},
    {"StopGradient", "stop_gradient", "input", kNone},
    {"ZerosLike", "zeros_like", "input", kNone},
    {"OnesLike", "ones_like", "input", kNone},
    {"Cast", "cast", "x", "DstT=dtype"},
    {"Add AddV2", "math.add", "x y", kNone},
    {"Sub", "math.subtract", "x y", kNone},
    {"Mul", "math.multiply", "x y", kNone},
    {"RealDiv", "math.truediv", "x y", kNone},
    {"Div", "compat.v1.div", "x y", kNone},
    {"DivNoNan", "math.divide_no_nan", "x y", kNone},
    {"MulNoNan", "math.multiply_no_nan", "x y", kNone},
    {"FloorDiv", "math.floordiv", "x y", kNone},
    {"FloorMod", "math.floormod", "x y", kNone},
    {"Pow", "math.pow", "x y", kNone},
    {"SquaredDifference", "math.squared_difference", "x y", kNone},
    {"Maximum", "math.maximum", "x y", kNone},
    {"Minimum", "math.minimum", "x y", kNone},
    {"Atan2", "math.atan2", "y x", kNone},
    {"Xlogy", "math.xlogy", "x y", kNone},
    {"Xdivy", "math.xdivy", "x y", kNone},
    {"AddN", "math.add_n", "inputs*", kNone},
    {"Equal", "math.equal", "x y", kNone},
    {"NotEqual", "math.not_equal", "x y", kNone},
    {"Greater", "math.greater", "x y", kNone},
    {"GreaterEqual", "math.greater_equal", "x y", kNone},
    {"Less", "math.less", "x y", kNone},
    {"LessEqual", "math.less_equal", "x y", kNone},
    {"LogicalAnd", "math.logical_and", "x y", kNone},
    {"LogicalOr", "math.logical_or", "x y", kNone},
    {"SelectV2", "where", "condition x y", kNone},
    {"Select", "compat.v1.where", "condition x y", kNone},
    {"ClipByValue", "clip_by_value", "t clip_value_min clip_value_max", kNone},
    {"Relu", "nn.relu", "features", kNone},
    {"Relu6", "nn.relu6", "features", kNone},
    {"Elu", "nn.elu", "features", kNone},
    {"Selu", "nn.selu", "features", kNone},
    {"LeakyRelu", "nn.leaky_relu", "features", "alpha"},
    {"Softmax", "nn.softmax", "logits", kNone},
    {"LogSoftmax", "nn.log_softmax", "logits", kNone},
    {"Sum", "math.reduce_sum", "input_tensor axis", "keep_dims"},
    {"Mean", "math.reduce_mean", "input_tensor axis", "keep_dims"},
    {"Max", "math.reduce_max", "input_tensor axis", "keep_dims"},
    {"Min", "math.reduce_min", "input_tensor axis", "keep_dims"},
    {"Prod", "math.reduce_prod", "input_tensor axis", "keep_dims"},
    {"All", "math.reduce_all", "input_tensor axis", "keep_dims"},
    {"Any", "math.reduce_any", "input_tensor axis", "keep_dims"},
    {"EuclideanNorm", "math.reduce_euclidean_norm", "input_tensor axis", "keep_dims"},
    {"ArgMax", "math.argmax", "input axis", "output_type"},
    {"ArgMin", "math.argmin", "input axis", "output_type"},
    {"Cumsum", "math.cumsum", "x axis", "exclusive reverse"},
    {"Cumprod", "math.cumprod", "x axis", "exclusive reverse"},
    {"L2Loss", "nn.l2_loss", "t", kNone},
    {"TopKV2", "math.top_k", "input k", "sorted"},
    {"Shape", "shape", "input", "out_type"},
    {"Size", "size", "input", "out_type"},
    {"Rank", "rank", "input", kNone},
    {"Reshape", "reshape", "tensor shape", kNone},
    {"Transpose", "transpose", "a perm", kNone},
    {"ExpandDims", "expand_dims", "input axis", kNone},
    {"Squeeze", "squeeze", "input", "squeeze_dims"},
    {"ConcatV2", "concat", "values* axis", kNone},
    {"Concat", "concat", "axis values*", kNone},
    {"Pack", "stack", "values*", "axis"},
    {"Unpack", "unstack", "value", "num axis"},
    {"Split", "split", "axis value", "num_split=num_or_size_splits"},
    {"SplitV", "split", "value num_or_size_splits axis", kNone},
    {"Tile", "tile", "input multiples", kNone},
    {"BroadcastTo", "broadcast_to", "input shape", kNone},
    {"Fill", "fill", "dims value", kNone},
    {"Range", "range", "start limit delta", kNone},
    {"StridedSlice", "strided_slice", "input_ begin end strides",
     "begin_mask end_mask ellipsis_mask new_axis_mask shrink_axis_mask"},
    {"Slice", "slice", "input_ begin size", kNone},
    {"GatherV2", "gather", "params indices axis", "batch_dims"},
    {"Gather ResourceGather", "gather", "params indices", kNone},
    {"GatherNd", "gather_nd", "params indices", kNone},
    {"OneHot", "one_hot", "indices depth on_value off_value", "axis"},
    {"ReverseV2", "reverse", "tensor axis", kNone},
    {"Roll", "roll", "input shift axis", kNone},
    {"Pad", "pad", "tensor paddings", kNone},
    {"PadV2", "pad", "tensor paddings constant_values", kNone},
    {"MirrorPad", "pad", "tensor paddings", "mode"},
    {"MatMul", "linalg.matmul", "a b", "transpose_a transpose_b"},
    {"BatchMatMul BatchMatMulV2", "linalg.matmul", "a b", "adj_x=adjoint_a adj_y=adjoint_b"},
    {"Einsum", "einsum", "inputs*", "equation"},
    {"MatrixDiagPart", "linalg.diag_part", "input", kNone},
    {"MatrixDiagPartV2 MatrixDiagPartV3", "linalg.diag_part", "input k padding_value", "align"},
    {"MatrixDiag", "linalg.diag", "diagonal", kNone},
    {"MatrixDiagV2 MatrixDiagV3", "linalg.diag", "diagonal k num_rows num_cols padding_value",
     "align"},
    {"MatrixBandPart", "linalg.band_part", "input num_lower num_upper", kNone},
    {"MatrixInverse", "linalg.inv", "input", kNone},
    {"MatrixDeterminant", "linalg.det", "input", kNone},
    {"Cross", "linalg.cross", "a b", kNone},
    {"Conv2D", "nn.conv2d", "input filters",
     "strides padding data_format dilations explicit_paddings"},
    {"Conv3D", "nn.conv3d", "input filters", "strides padding data_format dilations"},
    {"DepthwiseConv2dNative", "nn.depthwise_conv2d", "input filters",
     "strides padding data_format dilations"},
    {"Conv2DBackpropInput", "nn.conv2d_transpose", "output_shape filters input",
     "strides padding data_format dilations"},
    {"MaxPool", "nn.max_pool", "input", "ksize strides padding data_format"},
    {"AvgPool", "nn.avg_pool", "input", "ksize strides padding data_format"},
    {"MaxPool3D", "nn.max_pool3d", "input", "ksize strides padding data_format"},
    {"AvgPool3D", "nn.avg_pool3d", "input", "ksize strides padding data_format"},
    {"SoftmaxCrossEntropyWithLogits", "nn.softmax_cross_entropy_with_logits", "logits labels",
     kNone},
    {"SparseSoftmaxCrossEntropyWithLogits", "nn.sparse_softmax_cross_entropy_with_logits",
     "logits labels", kNone},
    {"DepthToSpace", "nn.depth_to_space", "input", "block_size data_format"},
    {"SpaceToDepth", "nn.space_to_depth", "input", "block_size data_format"},
    {"BiasAdd", "nn.bias_add", "value bias", "data_format"},
    {"LRN", "nn.local_response_normalization", "input", "depth_radius bias alpha beta"},
    {"ResizeBilinear", "image.resize_bilinear", "images size", "align_corners half_pixel_centers"},
    {"ResizeNearestNeighbor", "image.resize_nearest_neighbor", "images size",
     "align_corners half_pixel_centers"},
    {"ResizeBicubic", "compat.v1.image.resize_bicubic", "images size",
     "align_corners half_pixel_centers"},
    {"ResizeArea", "compat.v1.image.resize_area", "images size", "align_corners"},
    {"RGBToHSV", "image.rgb_to_hsv", "images", kNone},
    {"HSVToRGB", "image.hsv_to_rgb", "images", kNone},
    {"RandomStandardNormal", "random.normal", "shape", "dtype"},
    {"TruncatedNormal", "random.truncated_normal", "shape", "dtype"},
    {"RandomUniform", "random.uniform", "shape", "dtype"},
};

const GraphOperation *findGraphOperation(llvm::StringRef name) {
  for (const GraphOperation &operation : kOperations) {
    llvm::SmallVector<llvm::StringRef, 4> names;
    llvm::StringRef(operation.names).split(names, ' ');
    if (llvm::is_contained(names, name))
      return &operation;
  }
  return nullptr;
}

/// DT_HALF as "float16".
json::Value dtypeOf(llvm::StringRef name) {
  name.consume_front("DT_");
  return llvm::StringSwitch<std::string>(name)
      .Case("FLOAT", "float32")
      .Case("DOUBLE", "float64")
      .Case("HALF", "float16")
      .Default(name.lower());
}

/// An attribute as protobuf's JSON has it: integers of 64 bits as text, bytes in base64.
std::optional<json::Value> valueOf(const json::Object &attribute) {
  auto integer = [](const json::Value &value) -> std::optional<json::Value> {
    int64_t number = 0;
    if (std::optional<int64_t> plain = value.getAsInteger())
      return json::Value(*plain);
    std::optional<llvm::StringRef> text = value.getAsString();
    if (!text || text->getAsInteger(10, number))
      return std::nullopt;
    return json::Value(number);
  };
  if (const json::Value *value = attribute.get("i"))
    return integer(*value);
  if (const json::Value *value = attribute.get("b"))
    return *value;
  if (const json::Value *value = attribute.get("f"))
    return *value;
  if (std::optional<llvm::StringRef> type = attribute.getString("type"))
    return dtypeOf(*type);
  if (std::optional<llvm::StringRef> text = attribute.getString("s")) {
    std::vector<char> bytes;
    if (llvm::Error error = llvm::decodeBase64(*text, bytes)) {
      llvm::consumeError(std::move(error));
      return std::nullopt;
    }
    return json::Value(std::string(bytes.begin(), bytes.end()));
  }
  const json::Object *list = attribute.getObject("list");
  if (!list)
    return std::nullopt;
  json::Array items;
  if (const json::Array *integers = list->getArray("i"))
    for (const json::Value &value : *integers) {
      std::optional<json::Value> item = integer(value);
      if (!item)
        return std::nullopt;
      items.push_back(std::move(*item));
    }
  return items.empty() ? json::Value(nullptr) : json::Value(std::move(items));
}

Argument constantArgument(const json::Value &value) {
  Argument argument;
  if (const json::Array *array = value.getAsArray()) {
    argument.kind = Argument::Kind::List;
    for (const json::Value &item : *array)
      argument.items.push_back(constantArgument(item));
  } else {
    argument.constant = value;
  }
  return argument;
}

/// Tensors of the node and constants of the config in the operation's order.
std::optional<std::vector<Argument>> orderOfInputs(const LayerConfig &layer, const Node &node) {
  std::vector<Argument> inputs;
  for (const Argument &argument : node.arguments)
    for (const TensorRef *tensor : argument.tensors()) {
      Argument item;
      item.kind = Argument::Kind::Tensor;
      item.tensor = *tensor;
      inputs.push_back(std::move(item));
    }
  const json::Object *constants = layer.config.getObject("constants");
  if (!constants)
    return inputs;
  std::vector<std::pair<unsigned, const json::Value *>> ordered;
  for (const auto &[index, value] : *constants) {
    unsigned number = 0;
    if (llvm::StringRef(index).getAsInteger(10, number))
      return std::nullopt;
    ordered.emplace_back(number, &value);
  }
  llvm::sort(ordered, llvm::less_first());
  for (const auto &[index, value] : ordered) {
    if (index > inputs.size())
      return std::nullopt;
    inputs.insert(inputs.begin() + index, constantArgument(*value));
  }
  return inputs;
}

} // namespace

std::string nameOfGraphOperation(const LayerConfig &layer) {
  const json::Object *definition = layer.config.getObject("node_def");
  return definition ? definition->getString("op").value_or("").str() : "";
}

llvm::StringRef functionOfGraphOperation(llvm::StringRef name) {
  const GraphOperation *operation = findGraphOperation(name);
  return operation ? llvm::StringRef(operation->function) : llvm::StringRef();
}

std::optional<Node> callOfGraphOperation(const LayerConfig &layer, const Node &node,
                                         std::string &why) {
  const GraphOperation *operation = findGraphOperation(nameOfGraphOperation(layer));
  std::optional<std::vector<Argument>> inputs = orderOfInputs(layer, node);
  if (!operation || !inputs) {
    why = "'constants' are not numbered as the operation's inputs";
    return std::nullopt;
  }
  llvm::SmallVector<llvm::StringRef> parameters, attributes;
  llvm::StringRef(operation->inputs).split(parameters, ' ', -1, /*KeepEmpty=*/false);
  llvm::StringRef(operation->attributes).split(attributes, ' ', -1, /*KeepEmpty=*/false);
  const bool takesList =
      llvm::any_of(parameters, [](llvm::StringRef name) { return name.ends_with("*"); });
  if (inputs->size() < parameters.size() - (takesList ? 1 : 0) ||
      (!takesList && inputs->size() > parameters.size())) {
    why = "it has " + std::to_string(inputs->size()) + " inputs; expected " +
          llvm::join(parameters, ", ");
    return std::nullopt;
  }
  Node call;
  size_t next = 0;
  for (llvm::StringRef name : parameters) {
    if (!name.consume_back("*")) {
      call.keywords.emplace_back(name.str(), std::move((*inputs)[next++]));
      continue;
    }
    Argument list;
    list.kind = Argument::Kind::List;
    for (size_t count = inputs->size() - (parameters.size() - 1); count > 0; --count)
      list.items.push_back(std::move((*inputs)[next++]));
    call.keywords.emplace_back(name.str(), std::move(list));
  }
  const json::Object *definition = layer.config.getObject("node_def");
  const json::Object *given = definition->getObject("attr");
  for (llvm::StringRef attribute : attributes) {
    auto [name, parameter] = attribute.split('=');
    const json::Object *object = given ? given->getObject(name) : nullptr;
    if (!object)
      continue;
    std::optional<json::Value> value = valueOf(*object);
    if (!value) {
      why = "attribute '" + name.str() + "' is not readable";
      return std::nullopt;
    }
    call.keywords.emplace_back((parameter.empty() ? name : parameter).str(),
                               constantArgument(*value));
  }
  return call;
}

} // namespace mpc::keras
