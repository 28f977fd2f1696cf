// Models that a fuzzer's bytes decide: graphs of random operators, mostly well-formed.
#pragma once

#include "onnx/onnx_pb.h"
#include "tests/fuzz/fuzz_bytes.h"

namespace onward::fuzz {

// `concrete`: every input has known dims; else dims are also symbolic, unknown or without rank.
onnx::ModelProto RandomModel(FuzzBytes& bytes, bool concrete);

}  // namespace onward::fuzz
