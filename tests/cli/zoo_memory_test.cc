// What `explain` and `inspect` say that a run takes is what it takes, for the models of the zoo
// (ONWARD_ZOO) with the inputs of their first data set.
#include <algorithm>
#include <filesystem>
#include <new>

#include "absl/strings/str_cat.h"
#include "cli/conformance_case.h"
#include "cli/run_memory.h"
#include "gtest/gtest.h"
#include "onward/session.h"
#include "tests/support/test_data.h"

namespace onward::cli {
namespace {

TEST(ZooMemory, IsWhatIsSaid) {
  const std::string zoo = testing::DirectoryFrom("ONWARD_ZOO");
  ONWARD_NEEDS_DATA(zoo, "ONWARD_ZOO");
  const std::vector<std::string> models = FindCases(zoo);
  EXPECT_GE(models.size(), 20u);
  for (const std::string& directory : models) {
    SCOPED_TRACE(directory);
    SessionOptions options;
    options.num_threads = 2;
    options.memory = std::make_shared<MemoryLimit>(int64_t{1} << 40);
    const MemoryScope scope(options.memory);
    const auto session = Session::Load(directory + "/model.onnx", options);
    ASSERT_TRUE(session.ok()) << session.status();
    const int64_t loading = options.memory->peak();
    InputOptions given;
    for (size_t i = 0; i < (*session)->inputs().size(); ++i) {
      const std::string file = absl::StrCat(directory, "/test_data_set_0/input_", i, ".pb");
      if (std::filesystem::exists(file))
        given.inputs.push_back(absl::StrCat((*session)->inputs()[i].name, "=", file));
    }
    const auto inputs = MakeInputs((*session)->inputs(), given);
    ASSERT_TRUE(inputs.ok()) << inputs.status();
    const auto planned = MemoryOfRun(**session, *inputs);
    ASSERT_TRUE(planned.ok()) << planned.status();
    options.memory->ResetPeak();
    const auto outputs = (*session)->Run(*inputs);
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    const auto said = static_cast<double>(planned->total());
    const auto taken = static_cast<double>(std::max(loading, options.memory->peak()));
    EXPECT_NEAR(said, taken, 0.05 * taken) << planned->text();
    // And not because loading takes the most.
    const auto running = static_cast<double>(options.memory->peak());
    EXPECT_NEAR(said - static_cast<double>(std::max<int64_t>(0, loading - options.memory->peak())),
                running, 0.05 * running)
        << planned->text();
  }
}

}  // namespace
}  // namespace onward::cli
