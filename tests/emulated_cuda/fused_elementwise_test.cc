// Elementwise groups as one kernel, which the emulated NVRTC compiles: values, launches, what is
// compiled and how often, and what happens where nothing can be compiled.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "onward/session.h"
#include "tests/emulated_cuda/compared_operator.h"
#include "tests/support/elementwise_groups.h"

namespace onward::emulated_cuda {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

// What tests of this program compile is kept beside it, so that it is compiled once.
const int kept_beside_the_program = setenv("ONWARD_KERNEL_CACHE", ONWARD_TEST_KERNEL_CACHE, 0);

struct Made {
  std::unique_ptr<Session> device, host;
  std::vector<std::string> log;
};

void MakeSessions(const std::string& text, Made& made, Precision precision = Precision::kDefault) {
  for (const std::string provider : {"cuda", "cpu"}) {
    absl::StatusOr<Model> model = testing::ModelFromText(text);
    ASSERT_TRUE(model.ok()) << model.status();
    SessionOptions options;
    options.provider = provider;
    options.num_threads = 1;
    options.precision = precision;
    options.log = [&](const LogRecord& record) { made.log.push_back(record.message); };
    auto session = Session::Create(*std::move(model), options);
    ASSERT_TRUE(session.ok()) << session.status();
    (provider == "cuda" ? made.device : made.host) = *std::move(session);
  }
}

int64_t CountKernels(const Session& session, const std::string& kernel) {
  int64_t count = 0;
  for (const NodeExplanation& node : session.Explain()) count += node.kernel == kernel;
  return count;
}

// Nodes apart from copies of inputs and outputs.
int64_t CountSteps(const Session& session) {
  int64_t count = 0;
  for (const NodeExplanation& node : session.Explain()) count += node.kernel.find("copy") != 0;
  return count;
}

// Fills the inputs "a", "b", ... with dims that the sizes n and m give.
Session::Inputs InputsOf(const Session& session, int64_t n, int64_t m, bool special) {
  Session::Inputs inputs;
  uint32_t seed = 1;
  for (const ValueInfo& input : session.inputs()) {
    Dims dims;
    for (const Dim& dim : *input.type.shape)
      dims.push_back(dim.known() ? dim.value() : dim.ToString() == "n" ? n : m);
    inputs[input.name] = Value(Filled({input.type.dtype, dims}, seed++, special));
  }
  return inputs;
}

void ExpectEqualRuns(const Made& made, int64_t n, int64_t m, bool special, double tolerance) {
  SCOPED_TRACE(absl::StrCat(n, " x ", m));
  const Session::Inputs inputs = InputsOf(*made.host, n, m, special);
  const auto expected = made.host->Run(inputs), actual = made.device->Run(inputs);
  ASSERT_TRUE(expected.ok()) << expected.status();
  ASSERT_TRUE(actual.ok()) << actual.status();
  for (const auto& [name, value] : *expected) {
    EXPECT_EQ(testing::Difference(actual->at(name).tensor(), value.tensor(), tolerance, tolerance),
              "")
        << name;
  }
}

// A group of float32 with both ways to broadcast.
constexpr char kScaled[] =
    "g (float[n, m] a, float[m] b, float[n, 1] c, float[1] d) => (float[n, m] y) {"
    "p = Mul (a, b) q = Add (p, c) r = Tanh (q) y = Mul (r, d) }";

class FusedElementwise : public ::testing::Test {
 protected:
  void SetUp() override { Configure({.order = Order::kLate}); }
  void TearDown() override { Configure({}); }
};

TEST_F(FusedElementwise, EqualsTheCpuForEveryOpAndDType) {
  for (const testing::ElementwiseGroup& group : testing::ElementwiseGroups()) {
    for (const DType dtype : group.dtypes) {
      SCOPED_TRACE(group.name + " " + std::string(DTypeName(dtype)));
      Made made;
      ASSERT_NO_FATAL_FAILURE(MakeSessions(testing::TextOf(group, dtype), made));
      EXPECT_EQ(CountKernels(*made.device, "elementwise_nvrtc"), 1)
          << absl::StrJoin(made.log, "\n");
      EXPECT_EQ(CountSteps(*made.device), 1);
      const double tolerance = IsFloating(dtype) ? 4 * ToleranceOf(dtype) : 0;
      for (const auto& [n, m] : {std::pair(3, 16), std::pair(2, 5), std::pair(1, 33)})
        ExpectEqualRuns(made, n, m, /*special=*/group.name == "special", tolerance);
    }
  }
}

TEST_F(FusedElementwise, IsOneLaunchOfOneKernelForAllSizes) {
  Made made;
  ASSERT_NO_FATAL_FAILURE(MakeSessions(kScaled, made));
  EXPECT_EQ(CountKernels(*made.device, "elementwise_nvrtc"), 1);
  EXPECT_EQ(CountSteps(*made.device), 1);
  std::vector<std::string> names;
  for (const NodeExplanation& node : made.device->Explain()) names.push_back(node.node);
  EXPECT_THAT(names, Contains("[onward.Elementwise 'Mul+Add+Tanh+Mul']"));
  ResetCounters();
  // Packs within rows, rows that packs do not fill, one row, one column, more than a grid holds.
  const std::pair<int64_t, int64_t> sizes[] = {{3, 8}, {3, 5}, {1, 12}, {7, 1}, {1, 1}, {40, 4096}};
  int64_t runs = 0;
  for (const auto& [n, m] : sizes) {
    for (int again = 0; again < 3; ++again) {  // the second run of a binding records a graph
      ExpectEqualRuns(made, n, m, false, 1e-5);
      EXPECT_EQ(Counted().launches, ++runs);
    }
  }
  EXPECT_EQ(Counted().compilations, 0);
  ExpectEqualRuns(made, 0, 4, false, 0);
  EXPECT_EQ(Counted().launches, runs);
}

TEST_F(FusedElementwise, KeepsResultsThatOthersRead) {
  // The sum is read by a product, whose result the group's last step reads: one group would read
  // what follows from itself.
  const char* text =
      "g (float[n, 4] a, float[n, 4] b, float[4, 4] w) => (float[n, 4] y, float[n, 4] sum) {"
      "sum = Add (a, b) act = Tanh (sum) p = Softmax (act) q = Mul (p, act) y = Add (q, sum) }";
  Made made;
  ASSERT_NO_FATAL_FAILURE(MakeSessions(text, made));
  EXPECT_EQ(CountKernels(*made.device, "elementwise_nvrtc"), 2);
  EXPECT_EQ(CountSteps(*made.device), 3);
  ExpectEqualRuns(made, 5, 4, false, 1e-5);
}

TEST_F(FusedElementwise, RoundsEachStepWhereArithmeticIsStrict) {
  // 2049 and 1/3 are no float16, so that a sum that is not rounded shows.
  const char* text =
      "g (float16[n, m] a, float16[n, m] b) => (float16[n, m] y) {"
      "p = Mul (a, b) q = Add (p, a) r = Mul (q, q) y = Sub (r, p) }";
  Made made;
  ASSERT_NO_FATAL_FAILURE(MakeSessions(text, made, Precision::kStrict));
  EXPECT_EQ(CountKernels(*made.device, "elementwise_nvrtc"), 1);
  ExpectEqualRuns(made, 9, 31, false, 0);
}

TEST_F(FusedElementwise, RunsInPartsWhereNothingCanBeCompiled) {
  Configure({.order = Order::kLate, .fail_call = "nvrtcCompileProgram", .fail_at = 1});
  const char* text =
      "g (float[n, m] a) => (float[n, m] y) { p = Neg (a) q = Exp (p) y = Sub (q, a) }";
  const std::string before = std::getenv("ONWARD_KERNEL_CACHE");
  setenv("ONWARD_KERNEL_CACHE", "", 1);
  Made made;
  MakeSessions(text, made);
  setenv("ONWARD_KERNEL_CACHE", before.c_str(), 1);
  ASSERT_NE(made.device, nullptr);
  EXPECT_EQ(CountSteps(*made.device), 3);
  ExpectEqualRuns(made, 3, 5, false, 1e-5);
  EXPECT_EQ(Counted().launches, 3);
  ASSERT_EQ(made.log.size(), 1u);
  EXPECT_THAT(made.log[0],
              HasSubstr("elementwise groups run in parts on cuda: NVRTC: NVRTC_ERROR_COMPILATION: "
                        "kernel.cu(1): error: a failure that was asked for"));
}

// Ends the process: with 7 where the group is one kernel after as many compilations.
void MakeAndExit(const std::string& folder, int64_t compilations) {
  setenv("ONWARD_KERNEL_CACHE", folder.c_str(), 1);
  Configure({});
  Made made;
  MakeSessions("g (float[n] a) => (float[n] y) { p = Neg (a) q = Sin (p) y = Add (q, p) }", made);
  const bool is_one = CountKernels(*made.device, "elementwise_nvrtc") == 1;
  std::exit(is_one && Counted().compilations == compilations ? 7 : 1);
}

TEST(FusedElementwiseDeathTest, IsCompiledOnceForManyProcesses) {
  const std::string folder = ::testing::TempDir() + "fused_elementwise_kernels";
  std::filesystem::remove_all(folder);
  EXPECT_EXIT(MakeAndExit(folder, 1), ::testing::ExitedWithCode(7), "");
  EXPECT_EXIT(MakeAndExit(folder, 0), ::testing::ExitedWithCode(7), "");
  EXPECT_EXIT(MakeAndExit("", 1), ::testing::ExitedWithCode(7), "");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace onward::emulated_cuda
