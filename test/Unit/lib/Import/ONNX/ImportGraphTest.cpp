// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Graphs that are built here, as IR: paths, variables, dtypes, folding, functions, errors.
#include "test/Unit/lib/Import/ONNX/ImportGraph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace mpc::onnx;

namespace {

TEST_F(ImportGraphTest, NodesAreLayersAndWeightsAreVariables) {
  makeProduct();
  ASSERT_EQ(import(), "");
  mpc::LayerOp layer = findLayer("dense");
  ASSERT_TRUE(layer);
  EXPECT_EQ(layer.getKind(), "MatMul");
  EXPECT_FALSE(layer.getPolicy());
  mpc::VariableOp variable = findVariable("w");
  ASSERT_TRUE(variable);
  EXPECT_EQ(variable.getRole(), mpc::VariableRole::Trainable);
  EXPECT_EQ(variable.getLayer(), llvm::StringRef("dense"));
  ASSERT_EQ(imported.weights.all().count("w"), 1u);
  EXPECT_EQ(imported.weights.all().at("w").bytes.size(), 48u);
  EXPECT_EQ(imported.outputNames, std::vector<std::string>{"y"});
}

// PyTorch's flip has the smallest integer as its end, which is no batch in a slice, nor in a shape.
TEST_F(ImportGraphTest, TheSmallestIntegerIsNoBatch) {
  makeProduct();
  auto addList = [&](std::string name, std::vector<int64_t> values) {
    model.graph.initializers.push_back(makeTensor<int64_t>(
        std::move(name), DataType::Int64, {int64_t(values.size())}, values, storage));
  };
  addList("back", {-1});
  addList("end", {INT64_MIN});
  addList("axis", {1});
  model.graph.nodes.push_back(
      makeNode("Slice", {"y", "back", "end", "axis", "back"}, {"z"}, {}, "flip"));
  model.graph.outputs = {makeValue("z", DataType::Float, {-1, 3})};
  ASSERT_EQ(import(), "");
  EXPECT_TRUE(findLayer("flip"));
  addList("first", {0});
  model.graph.nodes.back().inputs = {"y", "first", "end", "first"};
  EXPECT_NE(import().find("slices the open batch"), std::string::npos);
  addList("shape", {INT64_MIN, 3});
  model.graph.nodes.back() = makeNode("Reshape", {"y", "shape"}, {"z"}, {}, "turn");
  EXPECT_NE(import(), "");
}

TEST_F(ImportGraphTest, NodesWithoutNamesHaveThoseOfTheirOutputs) {
  makeProduct();
  model.graph.nodes.front().name.clear();
  ASSERT_EQ(import(), "");
  EXPECT_TRUE(findLayer("y"));
}

TEST_F(ImportGraphTest, EqualNamesAreToldApart) {
  makeProduct();
  model.graph.nodes.push_back(makeNode("Relu", {"y"}, {"z"}, {}, "dense"));
  model.graph.outputs = {makeValue("z", DataType::Float, {-1, 3})};
  ASSERT_EQ(import(), "");
  EXPECT_EQ(findLayer("dense").getKind(), "MatMul");
  EXPECT_EQ(findLayer("dense_1").getKind(), "Relu");
}

TEST_F(ImportGraphTest, DtypesOfTheFileAreThePoliciesOfLayers) {
  makeProduct(DataType::Float16);
  ASSERT_EQ(import(), "");
  EXPECT_EQ(findLayer("dense").getPolicy(), llvm::StringRef("float16"));
  ASSERT_TRUE(findLayer("x"));
  EXPECT_EQ(findLayer("x").getKind(), "InputLayer");
  EXPECT_EQ(imported.weights.all().at("w").dtype, uint32_t(MPC_RT_FLOAT16));
}

TEST_F(ImportGraphTest, ShapeArithmeticIsFolded) {
  // Reshape(x, Concat(Shape(x)[:1], [2, 2])): the open batch stays.
  makeProduct();
  model.graph.nodes = {
      makeNode("Shape", {"x"}, {"s"}, {makeAttribute("end", int64_t(1))}),
      makeNode("Concat", {"s", "rest"}, {"shape"}, {makeAttribute("axis", int64_t(0))}),
      makeNode("Reshape", {"x", "shape"}, {"y"})};
  model.graph.initializers = {makeTensor<int64_t>("rest", DataType::Int64, {2}, {2, 2}, storage)};
  model.graph.outputs = {makeValue("y", DataType::Float, {-1, 2, 2})};
  ASSERT_EQ(import(), "");
  size_t layers = 0;
  imported.module->walk([&](mpc::LayerOp) { ++layers; });
  EXPECT_EQ(layers, 1u);
  EXPECT_EQ(mpc::tensorTypeOf(findLayer("y").getResult(0)).getShape(),
            llvm::ArrayRef<int64_t>({mlir::ShapedType::kDynamic, 2, 2}));
}

TEST_F(ImportGraphTest, OutputWhoseBatchIsNotFirstIsAskedFor) {
  makeProduct();
  model.graph.nodes = {makeNode("Transpose", {"x"}, {"y"}, {}, "turn")};
  model.graph.outputs = {makeValue("y", DataType::Float, {4, -1})};
  EXPECT_NE(
      import().find("m.onnx:y: the output has the shape (4, None), in which the open batch is "
                    "not the first dimension; --batch=first makes it the first"),
      std::string::npos);
  options.batchFirst = true;
  ASSERT_EQ(import(), "");
  EXPECT_EQ(mpc::tensorTypeOf(findLayer("turn").getResult(0)).getShape(),
            llvm::ArrayRef<int64_t>({mlir::ShapedType::kDynamic, 4}));
  options.batchFirst = false;
  options.batch = 5;
  EXPECT_EQ(import(), "");
}

TEST_F(ImportGraphTest, InputWhoseBatchIsNotFirstIsAskedFor) {
  makeProduct();
  model.graph.inputs = {makeValue("x", DataType::Float, {2, -1, 4})};
  model.graph.outputs = {makeValue("y", DataType::Float, {2, -1, 3})};
  EXPECT_NE(import().find("--batch=first makes it the first of the library's arrays"),
            std::string::npos);
  options.batchFirst = true;
  ASSERT_EQ(import(), "");
  const auto open = mlir::ShapedType::kDynamic;
  EXPECT_EQ(mpc::tensorTypeOf(findLayer("dense").getResult(0)).getShape(),
            llvm::ArrayRef<int64_t>({open, 2, 3}));
  // The option says the others of several open extents.
  model.graph.inputs = {makeValue("x", DataType::Float, {-1, -1, 4})};
  model.graph.inputs.front().type->shape->front().symbol = "steps";
  EXPECT_NE(import(), "");
  options.inputShapes["x"] = {7, open, 4};
  ASSERT_EQ(import(), "");
  EXPECT_EQ(mpc::tensorTypeOf(findLayer("dense").getResult(0)).getShape(),
            llvm::ArrayRef<int64_t>({open, 7, 3}));
}

TEST_F(ImportGraphTest, NodesThatMixSamplesAreRefused) {
  // Reshape(x, [2, -1]): rows of other samples come together.
  makeProduct();
  model.graph.nodes = {makeNode("Transpose", {"x"}, {"t"}, {}, "turn"),
                       makeNode("Reshape", {"t", "shape"}, {"y"}, {}, "mix")};
  model.graph.initializers = {makeTensor<int64_t>("shape", DataType::Int64, {2}, {-1, 8}, storage)};
  model.graph.outputs = {makeValue("y", DataType::Float, {-1, 8})};
  options.batchFirst = true;
  EXPECT_NE(import().find("m.onnx:mix: Reshape: "), std::string::npos);
  // An operation that does not take the batch in another place.
  model.graph.nodes.back() = makeNode("TopK", {"t", "k"}, {"y"}, {}, "sort");
  model.graph.initializers = {makeTensor<int64_t>("k", DataType::Int64, {1}, {2}, storage)};
  EXPECT_NE(
      import().find("m.onnx:sort: TopK: of input 0, of shape (4, None), the open batch is not "
                    "the first dimension, or not by itself"),
      std::string::npos);
}

TEST_F(ImportGraphTest, OpenExtentsNeedAShape) {
  makeProduct();
  model.graph.inputs = {makeValue("x", DataType::Float, {2, -1})};
  EXPECT_NE(import().find("--input-shape=x:2,100"), std::string::npos);
  options.inputShapes["x"] = {2, 4};
  EXPECT_EQ(import(), "");
  options.inputShapes = {{"x", {4}}};
  EXPECT_EQ(import(), "");
  options.inputShapes = {{"x", {3, 4}}};
  EXPECT_NE(import().find("they must fit"), std::string::npos);
  options.inputShapes = {{"x", {2, 4}}, {"q", {1}}};
  EXPECT_NE(import().find("--input-shape=q: the model has no such input"), std::string::npos);
}

TEST_F(ImportGraphTest, AllUnsupportedOperationsAreNamed) {
  makeProduct();
  model.graph.nodes.push_back(makeNode("Nonsense", {"y"}, {"a"}, {}, "first"));
  model.graph.nodes.push_back(makeNode("Relu", {"a"}, {"b"}, {}, "between"));
  model.graph.nodes.push_back(makeNode("Rubbish", {"y"}, {"c"}, {}, "second"));
  const std::string errors = import();
  EXPECT_NE(errors.find("m.onnx:first: the operation Nonsense (opset 18) is not supported"),
            std::string::npos);
  EXPECT_NE(errors.find("m.onnx:second: the operation Rubbish"), std::string::npos);
  EXPECT_EQ(errors.find("between"), std::string::npos);
}

TEST_F(ImportGraphTest, NamesThatNothingComputesAreErrors) {
  makeProduct();
  model.graph.nodes.front().inputs[0] = "nothing";
  EXPECT_NE(import().find("reads 'nothing'"), std::string::npos);
}

TEST_F(ImportGraphTest, FunctionsOfTheModelAreExpanded) {
  makeProduct();
  Function function;
  function.name = "Scaled";
  function.domain = "own";
  function.inputs = {"a"};
  function.outputs = {"b"};
  function.attributes = {"slope"};
  Attribute slope;
  slope.name = "alpha";
  slope.reference = "slope";
  function.nodes = {makeNode("LeakyRelu", {"a"}, {"b"}, {slope})};
  function.opsets = {{"", 16}};
  model.functions.push_back(function);
  Node call = makeNode("Scaled", {"y"}, {"z"}, {makeAttribute("slope", 0.25f)}, "call");
  call.domain = "own";
  model.graph.nodes.push_back(call);
  model.graph.outputs = {makeValue("z", DataType::Float, {-1, 3})};
  ASSERT_EQ(import(), "");
  ASSERT_TRUE(findLayer("call/b"));
  bool hasSlope = false;
  findLayer("call/b").walk([&](mpc::ConstantOp constant) {
    auto value = llvm::dyn_cast<mlir::DenseFPElementsAttr>(constant.getValue());
    hasSlope |= value && value.isSplat() && value.getSplatValue<float>() == 0.25f;
  });
  EXPECT_TRUE(hasSlope);
}

TEST_F(ImportGraphTest, FunctionsThatCallThemselvesEnd) {
  makeProduct();
  Function function;
  function.name = "Again";
  function.domain = "own";
  function.inputs = {"a"};
  function.outputs = {"b"};
  Node inner = makeNode("Again", {"a"}, {"b"});
  inner.domain = "own";
  function.nodes = {inner};
  model.functions.push_back(function);
  Node call = makeNode("Again", {"y"}, {"z"}, {}, "call");
  call.domain = "own";
  model.graph.nodes.push_back(call);
  EXPECT_NE(import().find("deeper than 32"), std::string::npos);
}

TEST_F(ImportGraphTest, ShapesThatDoNotFitAreErrors) {
  makeProduct();
  model.graph.inputs.push_back(makeValue("q", DataType::Float, {5}));
  model.graph.nodes.push_back(makeNode("Add", {"y", "q"}, {"z"}, {}, "sum"));
  EXPECT_NE(import().find("m.onnx:sum: Add: the shapes (None, 3) and (5) do not broadcast"),
            std::string::npos);
}

TEST_F(ImportGraphTest, StatedShapesStandForShapesThatAreNoConstants) {
  makeProduct();
  model.graph.inputs.push_back(makeValue("shape", DataType::Int64, {2}));
  model.graph.inputs.front() = makeValue("x", DataType::Float, {2, 6});
  model.graph.initializers.clear();
  model.graph.nodes = {makeNode("Reshape", {"x", "shape"}, {"y"}, {}, "turn")};
  model.graph.outputs = {makeValue("y", DataType::Float, {3, 4})};
  ASSERT_EQ(import(), "");
  ASSERT_EQ(imported.warnings.size(), 1u);
  EXPECT_NE(imported.warnings[0].find("'shape' is not read"), std::string::npos);
  model.graph.outputs.front().type->shape.reset();
  EXPECT_NE(import().find("m.onnx:turn: Reshape: the shape must be constant"), std::string::npos);
}

// `sizes` is an input, so that only the number of parts is known.
TEST_F(ImportGraphTest, SequencesOfUnknownSizesHaveALength) {
  model.graph.inputs = {makeValue("x", DataType::Float, {6}),
                        makeValue("sizes", DataType::Int64, {3})};
  model.graph.nodes = {makeNode("SplitToSequence", {"x", "sizes"}, {"parts"}),
                       makeNode("SequenceLength", {"parts"}, {"count"})};
  model.graph.outputs = {makeValue("count", DataType::Int64, {})};
  ASSERT_EQ(import(), "");
  ASSERT_EQ(imported.warnings.size(), 1u);
  EXPECT_NE(imported.warnings.front().find("does not check"), std::string::npos);
  // Parts of the open batch are as many.
  model.graph.inputs.front() = makeValue("x", DataType::Float, {-1});
  ASSERT_EQ(import(), "");
}

TEST_F(ImportGraphTest, SequencesOfUnknownSizesHaveNoElements) {
  model.graph.inputs = {makeValue("x", DataType::Float, {6}),
                        makeValue("sizes", DataType::Int64, {3})};
  model.graph.nodes = {
      makeNode("SplitToSequence", {"x", "sizes"}, {"parts"}),
      makeNode("ConcatFromSequence", {"parts"}, {"y"}, {makeAttribute("axis", int64_t(0))})};
  model.graph.outputs = {makeValue("y", DataType::Float, {6})};
  EXPECT_EQ(import(),
            "m.onnx:y: ConcatFromSequence: the elements of input 0 have sizes that are no "
            "constants, and a compiled model has static shapes; split the tensor before "
            "the model, or into constant sizes");
  model.graph.inputs.front() = makeValue("x", DataType::Float, {-1});
  EXPECT_NE(import().find("are parts of the open batch; say the batch: --batch=N"),
            std::string::npos);
}

TEST_F(ImportGraphTest, RunningStatisticsMoveInTraining) {
  makeProduct();
  for (const char *name : {"scale", "bias", "mean", "variance"})
    model.graph.initializers.push_back(
        makeTensor<float>(name, DataType::Float, {3}, {1, 1, 1}, storage));
  model.graph.nodes.push_back(makeNode(
      "BatchNormalization", {"y", "scale", "bias", "mean", "variance"}, {"z"}, {}, "norm"));
  model.graph.outputs = {makeValue("z", DataType::Float, {-1, 3})};
  ASSERT_EQ(import(), "");
  EXPECT_EQ(findVariable("scale").getRole(), mpc::VariableRole::Trainable);
  EXPECT_EQ(findVariable("mean").getRole(), mpc::VariableRole::NonTrainable);
  EXPECT_EQ(findLayer("norm")->getNumResults(), 3u);
}

} // namespace

// ---- Texts --------------------------------------------------------------------------------------

TEST_F(ImportGraphTest, TextsAreCodePointsOfAWidth) {
  model.graph.inputs = {makeValue("x", DataType::String, {-1, 2}),
                        makeValue("z", DataType::String, {2})};
  options.textWidths = {{"", 5}, {"z", 7}};
  model.graph.nodes = {makeNode("Where", {"c", "x", "z"}, {"y"})};
  model.graph.initializers = {makeTensor<uint8_t>("c", DataType::Bool, {1}, {1}, storage)};
  model.graph.outputs = {makeValue("y", DataType::String, {-1, 2})};
  ASSERT_EQ(import(), "");
  auto forward = imported.module->lookupSymbol<mlir::func::FuncOp>("forward");
  const auto shapeOf = [](mlir::Type type) {
    return llvm::cast<mlir::RankedTensorType>(type).getShape().vec();
  };
  EXPECT_EQ(shapeOf(forward.getArgumentTypes()[0]),
            (std::vector<int64_t>{mlir::ShapedType::kDynamic, 2, 5}));
  EXPECT_EQ(shapeOf(forward.getArgumentTypes()[1]), (std::vector<int64_t>{2, 7}));
  EXPECT_EQ(shapeOf(forward.getResultTypes()[0]),
            (std::vector<int64_t>{mlir::ShapedType::kDynamic, 2, 7}));
  for (unsigned i : {0u, 1u})
    EXPECT_TRUE(forward.getArgAttr(i, mpc::MpcDialect::kFormAttr));
  EXPECT_TRUE(forward.getResultAttr(0, mpc::MpcDialect::kFormAttr));
}

TEST_F(ImportGraphTest, TextsAreRefusedWhereTheyAreNotTaken) {
  const auto refusal = [&](Node node) {
    model.graph.inputs = {makeValue("x", DataType::String, {3}),
                          makeValue("f", DataType::Float, {3}), makeValue("c", DataType::Bool, {})};
    model.graph.nodes = {std::move(node)};
    model.graph.outputs = {makeValue("y", DataType::Float, {3})};
    return import();
  };
  const std::string text = "does not take text";
  EXPECT_NE(refusal(makeNode("Cast", {"x"}, {"y"}, {makeAttribute("to", int64_t(1))})).find(text),
            std::string::npos);
  EXPECT_NE(refusal(makeNode("SequenceConstruct", {"x"}, {"y"})).find(text), std::string::npos);
  EXPECT_NE(refusal(makeNode("Less", {"x", "x"}, {"y"})).find(text), std::string::npos);
  EXPECT_NE(refusal(makeNode("Pad", {"x", "x"}, {"y"})).find(text), std::string::npos);
  EXPECT_NE(refusal(makeNode("Gather", {"f", "x"}, {"y"})).find("as another input than its first"),
            std::string::npos);
  EXPECT_NE(refusal(makeNode("Slice", {"", "x"}, {"y"})).find("as another input than its first"),
            std::string::npos);
  EXPECT_NE(refusal(makeNode("Concat", {"x", ""}, {"y"})).find("input 1 is not of text"),
            std::string::npos);
  EXPECT_NE(refusal(makeNode("Where", {"c", "x", "f"}, {"y"})).find("input 2 is not of text"),
            std::string::npos);
  EXPECT_NE(refusal(makeNode("Cast", {"f"}, {"y"}, {makeAttribute("to", int64_t(8))}))
                .find("casts to string are not supported"),
            std::string::npos);
  auto branch = std::make_shared<Graph>();
  branch->name = "branch";
  branch->nodes = {makeNode("Identity", {"x"}, {"own"})};
  branch->outputs = {makeValue("own", DataType::String, {3})};
  EXPECT_NE(refusal(makeNode("If", {"c"}, {"y"},
                             {makeAttribute("then_branch", branch),
                              makeAttribute("else_branch", branch)}))
                .find("an output of the graph inside, is text"),
            std::string::npos);
}

TEST_F(ImportGraphTest, TextsThatAreNoneAreRefused) {
  model.graph.inputs = {makeValue("x", DataType::String, {1})};
  model.graph.nodes = {makeNode("Equal", {"x", "k"}, {"y"})};
  model.graph.outputs = {makeValue("y", DataType::Bool, {1})};
  model.opsets = {{"", 20}};
  Tensor constant;
  constant.name = "k";
  constant.type = DataType::String;
  constant.shape = {1};
  for (const std::string &text :
       {std::string("\xff"), std::string("a\0b", 3), std::string((1 << 16) + 1, 'a')}) {
    constant.strings = {text};
    model.graph.initializers = {constant};
    EXPECT_NE(import().find("m.onnx:k: has text that is no UTF-8"), std::string::npos);
  }
  constant.strings = {"a"};
  model.graph.initializers = {constant};
  EXPECT_EQ(import(), "");
  options.textWidths = {{"k", 4}};
  EXPECT_NE(import().find("--text-width=k: the model has no such input of text"),
            std::string::npos);
}
