// Sequences of requests: what the server carries from one to the next.
#include "serving/scheduling/sequences.h"

#include "tests/serving/repository_fixture.h"
#include "tests/support/test_data.h"

namespace onward::serving {
namespace {

using onward::testing::ModelBytes;
using ::testing::HasSubstr;

// The running sum of x, by hand.
constexpr char kSum[] =
    "g (float[n, 2] x, float[n, 2] s) => (float[n, 2] y, float[n, 2] t)"
    "{ t = Add(x, s) y = Identity(t) }";
constexpr char kState[] =
    R"(sequence_batching { state { input_name: "s" output_name: "t" data_type: TYPE_FP32 } )";

class SequencesTest : public onward::testing::RepositoryTest {
 protected:
  void Serve(const std::string& config, const std::string& graph = kSum) {
    directory_.Write("m/1/model.onnx", ModelBytes(graph));
    directory_.Write("m/config.pbtxt", config);
    StartDirectory();
  }
  // What a request of the sequence gets: the first output's data, or the error.
  json Ask(const json& id, double x, const std::string& flags = "", int status = 200) {
    json parameters = {{"sequence_id", id}};
    parameters["sequence_start"] = flags.find('s') != flags.npos;
    parameters["sequence_end"] = flags.find('e') != flags.npos;
    const json asked = {
        {"parameters", parameters},
        {"inputs", {{{"name", "x"}, {"datatype", "FP32"}, {"shape", {1, 2}}, {"data", {x, -x}}}}}};
    const json reply = Post("/v2/models/m/infer", asked.dump(), status);
    return status == 200 ? reply["outputs"][0]["data"] : reply["error"];
  }
};

TEST_F(SequencesTest, EachHasItsRunningSum) {
  Serve(std::string(kState) + "}");
  EXPECT_EQ(Ask(7, 1, "s"), json({1, -1}));
  EXPECT_EQ(Ask("7", 100, "s"), json({100, -100}));  // a text is not a number
  EXPECT_EQ(Ask(7, 2), json({3, -3}));
  EXPECT_EQ(Ask("7", 50), json({150, -150}));
  EXPECT_EQ(Ask(7, 4, "e"), json({7, -7}));
  EXPECT_THAT(std::string(Ask(7, 1, "", 400)), HasSubstr("there is no sequence 7"));
  EXPECT_EQ(Ask("7", 1), json({151, -151}));
  EXPECT_EQ(Ask("7", 5, "s"), json({5, -5}));  // begins again
  EXPECT_EQ(Ask(18446744073709551615u, 9, "se"), json({9, -9}));
}

TEST_F(SequencesTest, BeginAsTheirFilesSay) {
  const float row[] = {100, -7};
  const std::string bytes(reinterpret_cast<const char*>(row), sizeof(row));
  const std::string state =
      R"(sequence_batching { state { input_name: "s" output_name: "t" initial_state {
         data_type: TYPE_FP32 data_file: "row" dims: )";
  directory_.Write("m/initial_state/row", bytes);
  Serve(state + "[1, 2] } } }");
  EXPECT_EQ(Ask(7, 1, "s"), json({101, -8}));
  EXPECT_EQ(Ask(7, 2), json({103, -10}));
  EXPECT_EQ(Ask(7, 1, "s"), json({101, -8}));  // begins again as the file says
}

TEST_F(SequencesTest, RowsOfABatchBeginAsTheirFileSays) {
  const float row[] = {100, -7};
  directory_.Write("m/initial_state/row",
                   std::string(reinterpret_cast<const char*>(row), sizeof(row)));
  Serve(R"(max_batch_size: 4 sequence_batching { state { input_name: "s" output_name: "t"
           initial_state { data_type: TYPE_FP32 data_file: "row" dims: [2] } } })");
  const json asked = {
      {"parameters", {{"sequence_id", 1}, {"sequence_start", true}}},
      {"inputs",
       {{{"name", "x"}, {"datatype", "FP32"}, {"shape", {2, 2}}, {"data", {1, 2, 3, 4}}}}}};
  EXPECT_EQ(Post("/v2/models/m/infer", asked.dump())["outputs"][0]["data"],
            json({101, -5, 103, -3}));
}

TEST_F(SequencesTest, ClientsSeeNoStates) {
  Serve(std::string(kState) + "}");
  const json metadata = Get("/v2/models/m");
  ASSERT_EQ(metadata["inputs"].size(), 1);
  EXPECT_EQ(metadata["inputs"][0]["name"], "x");
  ASSERT_EQ(metadata["outputs"].size(), 1);
  EXPECT_EQ(metadata["outputs"][0]["name"], "y");
  EXPECT_EQ(Get("/v2/models/m/config")["sequence_batching"]["state"][0]["input_name"], "s");
  const auto error = [&](const std::string& body) {
    return Post("/v2/models/m/infer", body, 400)["error"].get<std::string>();
  };
  const std::string x = R"({"name":"x","datatype":"FP32","shape":[1,2],"data":[1,2]})";
  const std::string s = R"({"name":"s","datatype":"FP32","shape":[1,2],"data":[1,2]})";
  EXPECT_THAT(error(R"({"inputs":[)" + x + "]}"), HasSubstr("parameters.sequence_id: is missing"));
  EXPECT_THAT(error(R"({"parameters":{"sequence_id":0},"inputs":[)" + x + "]}"),
              HasSubstr("parameters.sequence_id: is missing"));
  const std::string start = R"({"parameters":{"sequence_id":1,"sequence_start":true},)";
  EXPECT_THAT(error(start + R"("inputs":[)" + x + "," + s + "]}"),
              HasSubstr("inputs: 's' is not for clients"));
  EXPECT_THAT(error(start + R"("outputs":[{"name":"t"}],"inputs":[)" + x + "]}"),
              HasSubstr("no output 't'"));
  EXPECT_THAT(std::string(Ask(std::string(129, 'a'), 1, "s", 400)), HasSubstr("at most 128"));
}

TEST_F(SequencesTest, AStateThatTheConfigurationListsIsReturned) {
  Serve(std::string(kState) + R"(} output { name: "t" data_type: TYPE_FP32 dims: [-1, 2] })");
  EXPECT_EQ(Get("/v2/models/m")["outputs"].size(), 2);
  EXPECT_EQ(Ask(7, 1, "s"), json({1, -1}));
}

TEST_F(SequencesTest, ARunThatFailsLeavesTheStateAsItWas) {
  Serve(std::string(kState) + "}");
  Ask(7, 1, "s");
  const std::string wrong =
      R"({"parameters":{"sequence_id":7},
          "inputs":[{"name":"x","datatype":"FP32","shape":[1,3],"data":[1,2,3]}]})";
  Post("/v2/models/m/infer", wrong, 400);
  EXPECT_EQ(Ask(7, 2), json({3, -3}));
}

TEST_F(SequencesTest, ControlsSayWhereARequestStands) {
  Serve(R"(max_batch_size: 4 sequence_batching {
      control_input { name: "start" control { kind: CONTROL_SEQUENCE_START
                                              fp32_false_true: [-1, 1] } }
      control_input { name: "end" control { kind: CONTROL_SEQUENCE_END
                                            int32_false_true: [0, 10] } }
      control_input { name: "ready" control { kind: CONTROL_SEQUENCE_READY
                                              bool_false_true: [false, true] } }
      control_input { name: "id" control { kind: CONTROL_SEQUENCE_CORRID
                                           data_type: TYPE_UINT64 } } })",
        R"(g (float[n, 2] x, float[n, 1] start, int32[n, 1] end, bool[n] ready, uint64[n, 1] id)
           => (float[n, 4] y) { e = Cast<to = 1>(end) r = Cast<to = 1>(ready)
           axes = Constant<value = int64[1] {1}>() q = Unsqueeze(r, axes) i = Cast<to = 1>(id)
           y = Concat<axis = 1>(start, e, q, i) })");
  EXPECT_EQ(Ask(7, 1, "s"), json({1, 0, 1, 7}));
  EXPECT_EQ(Ask(7, 1), json({-1, 0, 1, 7}));
  EXPECT_EQ(Ask(7, 1, "e"), json({-1, 10, 1, 7}));
  EXPECT_EQ(Ask(8, 1, "se"), json({1, 10, 1, 8}));
  EXPECT_THAT(std::string(Ask("seven", 1, "s", 400)), HasSubstr("expected a number"));
}

// A state that becomes longer from run to run.
TEST_F(SequencesTest, StatesMayGrow) {
  Serve(R"(sequence_batching { state { input_name: "s" output_name: "t" dims: [0, 2] } })",
        R"(g (float[1, 2] x, float[k, 2] s) => (float[2] y, float[m, 2] t)
           { t = Concat<axis = 0>(s, x) axes = Constant<value = int64[1] {0}>()
             y = ReduceSum<keepdims = 0>(t, axes) })");
  EXPECT_EQ(Ask(1, 1, "s"), json({1, -1}));
  EXPECT_EQ(Ask(1, 2), json({3, -3}));
  EXPECT_EQ(Ask(1, 3), json({6, -6}));
}

TEST_F(SequencesTest, TooManyAreRefused) {
  Serve(std::string(kState) +
        "oldest { max_candidate_sequences: 2 } max_sequence_idle_microseconds: 3600000000 }");
  Ask(1, 1, "s");
  Ask(2, 1, "s");
  EXPECT_THAT(std::string(Ask(3, 1, "s", 503)), HasSubstr("has 2 sequences already"));
  Ask(1, 1, "e");
  EXPECT_EQ(Ask(3, 1, "s"), json({1, -1}));
}

TEST_F(SequencesTest, WrongConfigurationsAreNamed) {
  const auto error = [&](const std::string& batching) {
    directory_.Write("m/1/model.onnx", ModelBytes(R"(g (float[n, 2] x, float[n, 2] s, int64 k)
        => (float[n, 2] y, int64 z) { y = Add(x, s) z = Neg(k) })"));
    directory_.Write("m/config.pbtxt", "sequence_batching { " + batching + " }");
    return std::string(Start({{"", directory_.path()}}).message());
  };
  const auto has = [&](const std::string& batching, const std::string& expected) {
    EXPECT_THAT(error(batching), HasSubstr(expected)) << batching;
  };
  has(R"(state { input_name: "q" output_name: "y" })",
      "sequence_batching: state 'q': input_name: expected one of the model's: 'x', 's', 'k', "
      "got 'q'");
  has(R"(state { input_name: "s" output_name: "q" })", "output_name: expected one of the model's");
  has(R"(state { input_name: "s" output_name: "z" })",
      "expected an output of float32[n,2], 'z' is int64[]");
  has(R"(state { input_name: "s" output_name: "y" data_type: TYPE_FP16 })",
      "state 's': data_type: expected TYPE_FP32, got TYPE_FP16");
  has(R"(state { input_name: "s" output_name: "y" dims: [1, 3] })", "state 's': dims: got [1,3]");
  const auto from_file = [&](const std::string& dims, const std::string& file) {
    return absl::StrCat("state { input_name: 's' output_name: 'y' initial_state { ", dims,
                        " data_file: '", file, "' } }");
  };
  directory_.Write("m/initial_state/three", std::string(12, '\0'));
  has(from_file("", "three"), "data_file: dims must say how large the state is, got [-1,-1]");
  has(from_file("dims: [1, 2]", "three"), "data_file: 'initial_state/three': expected 8 bytes");
  has(from_file("dims: [1, 2]", "four"),
      "data_file: the model's directory has no file 'initial_state/four'");
  has(from_file("dims: [1, 2]", "../../m/config.pbtxt"), "is not a file in the model's directory");
  has(R"(state { input_name: "s" output_name: "y" } state { input_name: "x" output_name: "y" })",
      "output_name 'y' is there twice");
  has(R"(control_input { name: "x" })", "control_input 'x': control: expected one, got 0");
  has(R"(control_input { name: "x" control { int32_false_true: [0, 1] } })",
      "of the input's type FP32");
  has(R"(control_input { name: "x" control { kind: CONTROL_SEQUENCE_CORRID } })",
      "expected an input of UINT64");
  has("oldest { max_candidate_sequences: -1 }", "max_candidate_sequences: expected 0 or more");
}

InferRequest Start(uint64_t id) {
  InferRequest request;
  request.sequence.id = id;
  request.sequence.start = true;
  return request;
}

TEST(IdleSequencesTest, EndWhenNobodyHoldsThem) {
  SequenceConfig config;
  config.most_idle = std::chrono::hours(1);
  config.most_sequences = 2;
  const auto sequences = std::make_shared<Sequences>(config);
  const auto now = std::chrono::steady_clock::now();
  InferRequest one = Start(1), two = Start(2), three = Start(3);
  for (InferRequest* request : {&one, &two}) {
    ASSERT_TRUE(sequences->Prepare(*request, now).ok());
    const auto turn = sequences->Claim(request->sequence);
    EXPECT_TRUE(sequences->IsBusy(request->sequence));
    turn->Keep({}, false);
  }
  EXPECT_FALSE(sequences->IsBusy(one.sequence));
  EXPECT_TRUE(absl::IsUnavailable(sequences->Prepare(three, now)));
  const std::shared_ptr<void> held = sequences->Hold(two.sequence);
  sequences->EndIdle(now + std::chrono::minutes(1));
  EXPECT_EQ(sequences->size(), 2);
  // Where there is no room, the idle ones go.
  EXPECT_TRUE(sequences->Prepare(three, now + std::chrono::hours(2)).ok());
  EXPECT_EQ(sequences->size(), 1);
  one.sequence.start = two.sequence.start = false;
  EXPECT_TRUE(absl::IsInvalidArgument(sequences->Prepare(one, now)));
  EXPECT_TRUE(sequences->Prepare(two, now).ok());
}

TEST(IdleSequencesTest, AStartThatFailsBeginsNothing) {
  SequenceConfig config;
  config.most_sequences = 2;
  const auto sequences = std::make_shared<Sequences>(config);
  sequences->Claim(Start(1).sequence).reset();
  EXPECT_EQ(sequences->size(), 0);
}

// Expected values: ONNX Runtime 1.31 of the same file, whose state was fed back by hand.
TEST_F(SequencesTest, SileroDetectsVoice) {
  const std::string root = onward::testing::DirectoryFrom("ONWARD_DATA_DIR");
  ONWARD_NEEDS_DATA(root, "ONWARD_DATA_DIR");
  std::ifstream file(root + "/models/silero_vad.onnx", std::ios::binary);
  directory_.Write("m/1/model.onnx", std::string(std::istreambuf_iterator<char>(file), {}));
  directory_.Write("m/config.pbtxt", R"(sequence_batching {
      oldest { max_candidate_sequences: 100 } max_sequence_idle_microseconds: 3600000000
      state { input_name: "state" output_name: "stateN" data_type: TYPE_FP32 dims: [2, 1, 128]
              initial_state { data_type: TYPE_FP32 dims: [2, 1, 128] zero_data: true } } })");
  StartDirectory();
  const double expected[2][4] = {
      {0.0007614791393280029, 0.0005587935447692871, 0.0018017292022705078, 0.0005470514297485352},
      {0.001028895378112793, 0.0019040405750274658, 0.0005675256252288818, 0.0019859373569488525}};
  for (int chunk = 0; chunk < 4; ++chunk) {
    for (int which = 0; which < 2; ++which) {  // two sequences, in turns
      json data = json::array();
      for (int64_t i = 0; i < 512; ++i) {
        const int64_t at = i + 512 * chunk + 5000 * which;
        const int64_t noise = (at * 7919 + at * at * 31) % 2001 - 1000;
        data.push_back(static_cast<float>(static_cast<double>(noise) / 1000.0 *
                                          static_cast<double>((at / 64) % 8) / 8.0));
      }
      const json asked = {
          {"parameters", {{"sequence_id", which + 1}, {"sequence_start", chunk == 0}}},
          {"inputs",
           {{{"name", "input"}, {"datatype", "FP32"}, {"shape", {1, 512}}, {"data", data}},
            {{"name", "sr"}, {"datatype", "INT64"}, {"shape", json::array()}, {"data", {16000}}}}}};
      const json reply = Post("/v2/models/m/infer", asked.dump());
      ASSERT_EQ(reply["outputs"].size(), 1);
      EXPECT_NEAR(reply["outputs"][0]["data"][0].get<double>(), expected[which][chunk], 1e-5);
    }
  }
}

}  // namespace
}  // namespace onward::serving
