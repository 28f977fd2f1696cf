// What a session needs to know where several ranks share a batch: the communicator of AllReduce
// nodes, and which rows random ops draw for.
#include <cstring>
#include <thread>

#include "collectives/in_process.h"
#include "graph/ir/graph_edit.h"
#include "graph/ops/onward_schemas.h"
#include "gtest/gtest.h"
#include "onward/builder.h"
#include "onward/functions.h"
#include "onward/gradient.h"
#include "onward/session.h"

namespace onward::executors {
namespace {

using namespace expr;  // NOLINT: reads as formulas

absl::StatusOr<Model> SumOf3x() {
  GraphBuilder b("sum");
  const Expr x = b.Input("x", DType::kFloat32, {"n", 2});
  b.Output("y", Op("AllReduce", {x * 3.0}, {}, kOnwardDomain));
  return b.Build();
}

TEST(AllReduceTest, AddsUpOverTheSessionsOfAllRanks) {
  std::vector<std::unique_ptr<Communicator>> ends = collectives::InProcessRanks(2);
  std::vector<std::thread> threads;
  for (auto& end : ends) {
    threads.emplace_back([communicator = std::shared_ptr<Communicator>(std::move(end))] {
      const auto own = static_cast<float>(communicator->rank() + 1);
      const auto session = Session::Create(*SumOf3x(), {.communicator = communicator});
      ASSERT_TRUE(session.ok()) << session.status();
      for (int run = 0; run < 3; ++run) {
        const auto outputs = (*session)->Run({{"x", Tensor::Of<float>({1, 2}, {own, 10 * own})}});
        ASSERT_TRUE(outputs.ok()) << outputs.status();
        const Tensor& y = outputs->at("y").tensor();
        EXPECT_EQ(y.span<float>(), absl::MakeConstSpan({9.0f, 90.0f}));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(AllReduceTest, OneRankHasTheSum) {
  const auto session = Session::Create(*SumOf3x());
  ASSERT_TRUE(session.ok()) << session.status();
  const auto outputs = (*session)->Run({{"x", Tensor::Of<float>({1, 2}, {1, 2})}});
  EXPECT_EQ(outputs->at("y").tensor().span<float>(), absl::MakeConstSpan({3.0f, 6.0f}));
}

// A constant is not the sum of what all ranks have: it may be another one there.
TEST(AllReduceTest, IsNeitherFoldedNorShared) {
  GraphBuilder b("constants");
  const Expr one = b.Constant(Tensor::Scalar(1.0f));
  b.Output("y", Op("AllReduce", {one}, {}, kOnwardDomain));
  b.Output("z", Op("AllReduce", {one}, {}, kOnwardDomain));
  const auto session = Session::Create(*b.Build());
  ASSERT_TRUE(session.ok()) << session.status();
  int nodes = 0;
  for (const NodeId id : (*session)->graph().node_ids())
    nodes += (*session)->graph().node(id).op_type == "AllReduce";
  EXPECT_EQ(nodes, 2);
}

// y = sum over ranks of x^2, of which each rank's loss is y: dx = 2 x times the number of ranks.
TEST(AllReduceTest, ItsGradientAddsUpOverTheRanks) {
  std::vector<std::unique_ptr<Communicator>> ends = collectives::InProcessRanks(2);
  std::vector<std::thread> threads;
  for (auto& end : ends) {
    threads.emplace_back([communicator = std::shared_ptr<Communicator>(std::move(end))] {
      GraphBuilder b("squares");
      const Expr x = b.Input("x", DType::kFloat32, {2});
      const Expr y = ReduceSum(Op("AllReduce", {x * x}, {}, kOnwardDomain), {}, false);
      b.Output("y", y);
      Model model = *b.Build();
      const auto gradients =
          AddGradients(model.graph, {{y.id(), {}}}, {x.id()}, {.allow_onward_ops = true});
      ASSERT_TRUE(gradients.ok()) << gradients.status();
      GraphEdit(model.graph).Rename((*gradients)[0], "dx");
      GraphEdit(model.graph).AddOutput((*gradients)[0]);
      const auto session = Session::Create(std::move(model), {.communicator = communicator});
      ASSERT_TRUE(session.ok()) << session.status();
      const auto own = static_cast<float>(communicator->rank() + 1);
      const auto outputs = (*session)->Run({{"x", Tensor::Of<float>({2}, {own, 0.5f})}});
      ASSERT_TRUE(outputs.ok()) << outputs.status();
      EXPECT_EQ(outputs->at("dx").tensor().span<float>(), absl::MakeConstSpan({4 * own, 2.0f}));
      EXPECT_EQ(outputs->at("y").tensor().data<float>()[0], 5.5f);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

struct Draw {
  const char* op;
  int axis;    // that counts the rows
  Dims whole;  // of what is drawn for, with 6 rows
  Attributes attributes = {};
};

// The op's output for rows [begin, begin + rows) of 6, of inputs that are alike everywhere.
Tensor Drawn(const Draw& draw, int64_t begin, int64_t rows) {
  GraphBuilder b("draws");
  Dims dims = draw.whole;
  const auto axis = static_cast<size_t>(draw.axis);
  dims[axis] = dims[axis] / 6 * rows;
  Tensor values(DType::kFloat32, dims);
  for (int64_t i = 0; i < values.num_elements(); ++i) values.mutable_data<float>()[i] = 0.5f;
  std::vector<Expr> inputs = {b.Input("x", Type::Tensor(DType::kFloat32, dims))};
  if (std::string_view(draw.op) == "Dropout") {
    inputs.push_back(b.Constant(Tensor::Scalar(0.4f)));
    inputs.push_back(b.Constant(Tensor::Scalar(true)));
  }
  b.Output("y", Op(draw.op, inputs, draw.attributes));
  Model model = *b.Build();
  for (const NodeId id : model.graph.node_ids()) {
    Node& node = GraphEdit(model.graph).node(id);
    if (node.op_type == draw.op) node.metadata[kBatchAxisKey] = absl::StrCat(draw.axis);
    if (node.op_type == draw.op) node.metadata[kStreamKey] = "17";
  }
  const auto session = Session::Create(std::move(model), {.seed = 3});
  EXPECT_TRUE(session.ok()) << session.status();
  const auto outputs =
      (*session)->Run({{"x", values}}, {.run_index = 5, .batch_slice = {begin, rows, 6}});
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return outputs->at("y").tensor();
}

TEST(BatchSliceTest, EachRowDrawsWhatItDrawsInTheWholeBatch) {
  const Draw kDraws[] = {
      {"Dropout", 0, {6, 7}},
      {"Dropout", 0, {18, 5}},    // three elements a row
      {"Dropout", 1, {5, 6, 3}},  // a sequence first
      {"Dropout", 2, {3, 2, 12, 1}},
      {"Dropout", 0, {6, 999}},  // several chunks
      {"Dropout", 1, {4, 6, 3}, {{"seed", int64_t{8}}}},
      {"RandomNormalLike", 1, {3, 6, 3}},
      {"RandomUniformLike", 0, {6, 5}, {{"dtype", int64_t{11}}}},  // blocks of two
      {"Bernoulli", 0, {6, 9}},
      {"Multinomial", 0, {6, 4}, {{"sample_size", int64_t{3}}}},
  };
  for (const Draw& draw : kDraws) {
    const Tensor whole = Drawn(draw, 0, 6);
    const bool samples = std::string_view(draw.op) == "Multinomial";
    const auto axis = static_cast<size_t>(draw.axis);
    for (const auto& [begin, rows] : {std::pair<int64_t, int64_t>(0, 2), {2, 1}, {3, 3}, {5, 1}}) {
      SCOPED_TRACE(absl::StrCat(draw.op, " axis ", draw.axis, ", rows from ", begin, ": ", rows));
      const Tensor part = Drawn(draw, begin, rows);
      const Dims dims(whole.dims().begin(), whole.dims().end());
      const int64_t row =
          (samples ? 1 : dims[axis] / 6) * NumElements(DimsView(dims).subspan(axis + 1));
      const auto bytes = static_cast<size_t>(ByteSize(whole.dtype(), row));
      const int64_t outer = whole.num_elements() / (6 * row);
      for (int64_t o = 0; o < outer; ++o) {
        const auto* want = static_cast<const std::byte*>(whole.raw_data()) +
                           static_cast<size_t>(o * 6 + begin) * bytes;
        const auto* got =
            static_cast<const std::byte*>(part.raw_data()) + static_cast<size_t>(o * rows) * bytes;
        EXPECT_EQ(std::memcmp(got, want, static_cast<size_t>(rows) * bytes), 0) << o;
      }
    }
  }
}

}  // namespace
}  // namespace onward::executors
