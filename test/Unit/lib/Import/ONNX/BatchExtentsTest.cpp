// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Shapes that a graph computes from the open batch, which has at least one sample.
#include "lib/Import/ONNX/BatchExtents.h"
#include "test/Unit/lib/Import/ONNX/ImportGraph.h"

using namespace mpc::onnx;

namespace {

class BatchExtentsTest : public ::testing::Test {
protected:
  /// The result as text: "3", "2B" for two batches, "?" where it is not known before the call.
  std::string compute(std::string op, int64_t lhs, bool lhsOfBatches, int64_t rhs,
                      bool rhsOfBatches) {
    mlir::Builder builder(&context);
    auto makeValue = [&](int64_t count, bool isOfBatches) {
      Literal literal = Literal::fromIntegers(
          builder, {1}, {isOfBatches ? Literal::numberOfBatches(count) : count});
      literal.hasBatch = isOfBatches;
      return NodeValue::fromLiteral(std::move(literal));
    };
    const NodeValue left = makeValue(lhs, lhsOfBatches), right = makeValue(rhs, rhsOfBatches);
    const std::optional<Literal> result =
        computeExtents(makeNode(std::move(op), {"l", "r"}, {"y"}), {&left, &right});
    if (!result)
      return "?";
    const int64_t element = result->tensor.integers[0];
    EXPECT_EQ(result->hasBatch, Literal::findBatches(element).has_value());
    if (std::optional<int64_t> batches = Literal::findBatches(element))
      return std::to_string(*batches) + "B";
    return (result->type == DataType::Bool ? "i1 " : "") + std::to_string(element);
  }
  std::string ofBatches(const std::string &op, int64_t lhs, int64_t rhs) {
    return compute(op, lhs, true, rhs, true);
  }
  std::string ofBatchesAndNumber(const std::string &op, int64_t lhs, int64_t rhs) {
    return compute(op, lhs, true, rhs, false);
  }
  std::string ofNumberAndBatches(const std::string &op, int64_t lhs, int64_t rhs) {
    return compute(op, lhs, false, rhs, true);
  }

  mlir::MLIRContext context;
};

TEST_F(BatchExtentsTest, SumsAreMultiplesOrUnknown) {
  EXPECT_EQ(ofBatches("Add", 2, 3), "5B");
  EXPECT_EQ(ofBatchesAndNumber("Add", 2, 0), "2B");
  EXPECT_EQ(ofBatchesAndNumber("Add", 2, 1), "?");
  EXPECT_EQ(ofBatches("Sub", 3, 2), "1B");
  EXPECT_EQ(ofBatches("Sub", 3, 3), "0");
  EXPECT_EQ(ofBatches("Sub", 2, 3), "?");
  EXPECT_EQ(ofNumberAndBatches("Sub", 0, 1), "?");
  EXPECT_EQ(ofBatchesAndNumber("Sub", 1, INT64_MIN), "?");
}

TEST_F(BatchExtentsTest, ProductsAndQuotientsAreMultiplesOrUnknown) {
  EXPECT_EQ(ofBatchesAndNumber("Mul", 2, 3), "6B");
  EXPECT_EQ(ofBatchesAndNumber("Mul", 2, 0), "0");
  EXPECT_EQ(ofBatchesAndNumber("Mul", 2, -1), "?");
  EXPECT_EQ(ofBatchesAndNumber("Mul", 2, INT64_MAX), "?");
  EXPECT_EQ(ofBatches("Mul", 1, 1), "?");
  EXPECT_EQ(ofBatchesAndNumber("Div", 6, 3), "2B");
  EXPECT_EQ(ofBatchesAndNumber("Div", 6, 4), "?");
  EXPECT_EQ(ofBatches("Div", 6, 2), "3");
  EXPECT_EQ(ofNumberAndBatches("Div", 6, 2), "?");
  EXPECT_EQ(ofBatchesAndNumber("Mod", 6, 3), "0");
  EXPECT_EQ(ofBatchesAndNumber("Mod", 6, 4), "?");
  EXPECT_EQ(ofBatches("Mod", 6, 2), "0");
  EXPECT_EQ(ofBatchesAndNumber("Mod", 6, 0), "?");
}

TEST_F(BatchExtentsTest, ComparisonsAreKnownWhereEveryBatchAgrees) {
  EXPECT_EQ(ofBatchesAndNumber("Equal", 1, -1), "i1 0");
  EXPECT_EQ(ofBatchesAndNumber("Equal", 1, 0), "i1 0");
  EXPECT_EQ(ofBatchesAndNumber("Equal", 1, 1), "?");
  EXPECT_EQ(ofNumberAndBatches("Equal", 5, 2), "i1 0");
  EXPECT_EQ(ofNumberAndBatches("Equal", 6, 2), "?");
  EXPECT_EQ(ofBatches("Equal", 2, 2), "i1 1");
  EXPECT_EQ(ofBatches("Equal", 2, 3), "i1 0");
  EXPECT_EQ(ofBatchesAndNumber("Less", 1, 1), "?");
  EXPECT_EQ(ofBatchesAndNumber("Less", 1, 0), "i1 0");
  EXPECT_EQ(ofBatches("Less", 1, 2), "i1 1");
  EXPECT_EQ(ofBatchesAndNumber("Greater", 1, 0), "i1 1");
  EXPECT_EQ(ofNumberAndBatches("Greater", 2, 1), "?");
}

TEST_F(BatchExtentsTest, TheLargestOfABatchAndOneIsTheBatch) {
  EXPECT_EQ(ofBatchesAndNumber("Max", 1, 1), "1B");
  EXPECT_EQ(ofNumberAndBatches("Max", -1, 2), "2B");
  EXPECT_EQ(ofBatchesAndNumber("Max", 1, 2), "?");
  EXPECT_EQ(ofBatchesAndNumber("Min", 1, 1), "1");
  EXPECT_EQ(ofBatches("Min", 3, 2), "2B");
}

TEST_F(BatchExtentsTest, ListsAreReducedToANumber) {
  mlir::Builder builder(&context);
  Literal list = Literal::fromIntegers(builder, {3}, {4, Literal::numberOfBatches(2), 3});
  list.hasBatch = true;
  const NodeValue value = NodeValue::fromLiteral(std::move(list));
  auto reduce = [&](std::string op, std::vector<Attribute> attributes = {}) {
    return computeExtents(makeNode(std::move(op), {"l"}, {"y"}, std::move(attributes)), {&value});
  };
  const std::optional<Literal> product = reduce("ReduceProd");
  ASSERT_TRUE(product);
  EXPECT_EQ(llvm::ArrayRef(product->tensor.shape), llvm::ArrayRef<int64_t>({1}));
  EXPECT_EQ(Literal::findBatches(product->tensor.integers[0]), 24);
  const std::optional<Literal> number =
      reduce("ReduceProd", {makeAttribute("keepdims", int64_t(0))});
  ASSERT_TRUE(number);
  EXPECT_TRUE(number->tensor.shape.empty());
  EXPECT_FALSE(reduce("ReduceSum"));
  EXPECT_FALSE(reduce("ReduceMax"));
  EXPECT_FALSE(reduce("ReduceProd", {makeAttribute("noop_with_empty_axes", int64_t(1))}));
  EXPECT_TRUE(reduce("ReduceProd", {makeAttribute("axes", std::vector<int64_t>{-1})}));
  EXPECT_FALSE(reduce("ReduceProd", {makeAttribute("axes", std::vector<int64_t>{1})}));
}

// Exporters number extents of which they know nothing.
TEST_F(ImportGraphTest, NumberedExtentsAreOneBatch) {
  auto addInput = [&](std::string name, std::string symbol) {
    model.graph.inputs.push_back(makeValue(std::move(name), DataType::Float, {-1, 4}));
    model.graph.inputs.back().type->shape->front().symbol = std::move(symbol);
  };
  addInput("x", "unk__12");
  addInput("z", "unk__13");
  model.graph.nodes = {makeNode("Add", {"x", "z"}, {"y"})};
  model.graph.outputs = {makeValue("y", DataType::Float, {-1, 4})};
  EXPECT_EQ(import(), "");
  model.graph.inputs.clear();
  addInput("x", "rows");
  addInput("z", "unk__x");
  EXPECT_NE(import().find("'rows' and 'unk__x' of inputs are both open"), std::string::npos);
}

// PyTorch's older exporter computes the shape to which expand(batch, -1, -1) expands.
TEST_F(ImportGraphTest, TokensAreRepeatedForTheBatch) {
  model.graph.inputs = {makeValue("x", DataType::Float, {-1, 2, 3})};
  model.graph.initializers = {
      makeTensor<float>("token", DataType::Float, {1, 1, 3}, {1, 2, 3}, storage),
      makeTensor<int64_t>("minus", DataType::Int64, {2}, {-1, -1}, storage),
      makeTensor<int64_t>("minuses", DataType::Int64, {3}, {-1, -1, -1}, storage),
      makeTensor<int64_t>("ones", DataType::Int64, {3}, {1, 1, 1}, storage)};
  model.graph.nodes = {
      makeNode("Shape", {"x"}, {"batch"}, {makeAttribute("end", int64_t(1))}),
      makeNode("Concat", {"batch", "minus"}, {"shape"}, {makeAttribute("axis", int64_t(0))}),
      makeNode("Equal", {"shape", "minuses"}, {"kept"}),
      makeNode("Where", {"kept", "ones", "shape"}, {"extents"}),
      makeNode("Expand", {"token", "extents"}, {"tokens"}),
      makeNode("Concat", {"tokens", "x"}, {"y"}, {makeAttribute("axis", int64_t(1))})};
  model.graph.outputs = {makeValue("y", DataType::Float, {-1, 3, 3})};
  ASSERT_EQ(import(), "");
  EXPECT_EQ(mpc::tensorTypeOf(findLayer("y").getResult(0)).getShape(),
            llvm::ArrayRef<int64_t>({mlir::ShapedType::kDynamic, 3, 3}));
}

} // namespace
