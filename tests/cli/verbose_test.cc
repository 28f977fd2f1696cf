// What --verbose alone says: equal names of dims promise nothing, and where they do not hold a run
// warns.
#include "onnx/onnx_pb.h"
#include "tests/cli/train_fixture.h"
#include "tests/support/proto_text.h"

namespace onward {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

using VerboseTest = testing::TrainCommandTest;

TEST_F(VerboseTest, NamesOfDimsThatDoNotHold) {
  directory_.Write("two.onnx", testing::ProtoFromText(R"(
      <ir_version: 10, opset_import: ["" : 21]>
      g (float[n,2] x, float[n,2] y) => (float[a,2] u, float[b,2] v) { u = Neg(x) v = Neg(y) })")
                                   .SerializeAsString());
  const std::string call =
      absl::StrCat("run ", directory_.path("two.onnx"), " --random --shape x=2x2 --shape y=3x2");
  const auto warning = HasSubstr(
      "input 'y': dimension 0 ('n') is 3 but it is 2 in input 'x'; the names of the "
      "model's dims are not relied upon");
  ASSERT_EQ(Onward(call), 0) << log_;
  EXPECT_THAT(log_, AllOf(HasSubstr("v: float32[3,2]"), Not(HasSubstr("names of the model"))));
  ASSERT_EQ(Onward(call + " --verbose"), 0) << log_;
  EXPECT_THAT(log_, AllOf(HasSubstr("v: float32[3,2]"), warning));
}

}  // namespace
}  // namespace onward
