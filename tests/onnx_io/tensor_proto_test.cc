#include "onnx_io/tensor_proto.h"

#include <complex>
#include <cstring>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "onnx/onnx-data.pb.h"
#include "onnx/onnx_pb.h"
#include "onnx_io/external_data.h"
#include "tests/support/scratch_directory.h"

namespace onward::onnx_io {
namespace {

using onnx::TensorProto;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TensorProto Proto(int dtype, const std::vector<int64_t>& dims) {
  TensorProto proto;
  proto.set_data_type(dtype);
  for (const int64_t dim : dims) proto.add_dims(dim);
  return proto;
}

TensorProto Raw(int dtype, const std::vector<int64_t>& dims, std::string_view bytes) {
  TensorProto proto = Proto(dtype, dims);
  proto.set_raw_data(std::string(bytes));
  return proto;
}

std::string Bytes(const Tensor& tensor) {
  return {static_cast<const char*>(tensor.raw_data()), static_cast<size_t>(tensor.byte_size())};
}

std::string Error(const TensorProto& proto) {
  const auto tensor = TensorFromProto(proto);
  return tensor.ok() ? "OK" : std::string(tensor.status().message());
}

TEST(TensorProtoTest, RawDataOfEveryDtypeComesBackByteForByte) {
  for (int dtype = 1; dtype < kNumDTypes; ++dtype) {
    if (dtype == TensorProto::STRING) continue;
    SCOPED_TRACE(TensorProto::DataType_Name(dtype));
    const auto bytes = static_cast<size_t>(ByteSize(static_cast<DType>(dtype), 4));
    std::string data(bytes, '\0');
    for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<char>(dtype == 9 ? i % 2 : 7 * i + 3);
    const auto tensor = TensorFromProto(Raw(dtype, {2, 2}, data));
    ASSERT_TRUE(tensor.ok()) << tensor.status();
    EXPECT_EQ(Bytes(*tensor), data);
    TensorProto back;
    TensorToProto(*tensor, "t", &back);
    EXPECT_EQ(back.raw_data(), data);
    EXPECT_EQ(back.name(), "t");
    EXPECT_TRUE(SameBits(TensorFromProto(back).value(), *tensor));
  }
}

// Expected bytes: the encodings that TensorProto's comments describe, written by hand.
TEST(TensorProtoTest, Int32DataHoldsTheBitsOfNarrowTypes) {
  const auto bytes_of = [](int dtype, int64_t count, std::vector<int32_t> values) {
    TensorProto proto = Proto(dtype, {count});
    for (const int32_t value : values) proto.add_int32_data(value);
    const auto tensor = TensorFromProto(proto);
    EXPECT_TRUE(tensor.ok()) << tensor.status();
    return tensor.ok() ? Bytes(*tensor) : "";
  };
  EXPECT_EQ(bytes_of(TensorProto::INT8, 2, {-1, 127}), "\xff\x7f");
  EXPECT_EQ(bytes_of(TensorProto::UINT8, 2, {200, 1}), "\xc8\x01");
  EXPECT_EQ(bytes_of(TensorProto::INT16, 1, {-2}), "\xfe\xff");
  EXPECT_EQ(bytes_of(TensorProto::UINT16, 1, {65535}), "\xff\xff");
  EXPECT_EQ(bytes_of(TensorProto::INT32, 1, {-2}), "\xfe\xff\xff\xff");
  EXPECT_EQ(bytes_of(TensorProto::BOOL, 2, {1, 0}), std::string("\x01\x00", 2));
  EXPECT_EQ(bytes_of(TensorProto::FLOAT16, 1, {0x3c00}), std::string("\x00\x3c", 2));
  EXPECT_EQ(bytes_of(TensorProto::BFLOAT16, 1, {0x3f80}), "\x80\x3f");
  EXPECT_EQ(bytes_of(TensorProto::FLOAT8E4M3FN, 2, {0x38, 0xc0}), "\x38\xc0");
  EXPECT_EQ(bytes_of(TensorProto::FLOAT8E8M0, 1, {127}), "\x7f");
  // Two and four elements to an entry; what no element uses is zero in memory.
  EXPECT_EQ(bytes_of(TensorProto::INT4, 3, {0x21, 0xf3}), "\x21\x03");
  EXPECT_EQ(bytes_of(TensorProto::UINT4, 2, {0xba}), "\xba");
  EXPECT_EQ(bytes_of(TensorProto::FLOAT4E2M1, 2, {0x71}), "\x71");
  EXPECT_EQ(bytes_of(TensorProto::UINT2, 4, {0xe4}), "\xe4");
  EXPECT_EQ(bytes_of(TensorProto::INT2, 5, {0xe4, 0xff}), "\xe4\x03");
  // One element of 6 bits to an entry, four in three bytes of memory.
  EXPECT_EQ(bytes_of(TensorProto::FLOAT6E2M3, 5, {0x3f, 0x00, 0x2a, 0x15, 0x21}),
            std::string("\x3f\xa0\x56\x21", 4));
  EXPECT_EQ(bytes_of(TensorProto::FLOAT6E3M2, 2, {0x01, 0x3f}), "\xc1\x0f");
}

TEST(TensorProtoTest, OtherTypedFields) {
  TensorProto floats = Proto(TensorProto::COMPLEX64, {1});
  floats.add_float_data(1);
  floats.add_float_data(-2);
  EXPECT_EQ(TensorFromProto(floats)->data<std::complex<float>>()[0], std::complex<float>(1, -2));
  TensorProto doubles = Proto(TensorProto::DOUBLE, {});
  doubles.add_double_data(0.1);
  EXPECT_EQ(TensorFromProto(doubles)->data<double>()[0], 0.1);
  TensorProto words = Proto(TensorProto::UINT32, {2});
  words.add_uint64_data(4294967295u);
  words.add_uint64_data(1);
  EXPECT_THAT(TensorFromProto(words)->span<uint32_t>(), ElementsAre(4294967295u, 1u));
  TensorProto longs = Proto(TensorProto::INT64, {2});
  longs.add_int64_data(-1);
  longs.add_int64_data(INT64_MAX);
  EXPECT_THAT(TensorFromProto(longs)->span<int64_t>(), ElementsAre(-1, INT64_MAX));
  TensorProto texts = Proto(TensorProto::STRING, {2});
  texts.add_string_data("a");
  texts.add_string_data(std::string("\0b", 2));
  const Tensor strings = TensorFromProto(texts).value();
  EXPECT_THAT(strings.span<std::string>(), ElementsAre("a", std::string("\0b", 2)));
  TensorProto back;
  TensorToProto(strings, "", &back);
  EXPECT_TRUE(SameBits(TensorFromProto(back).value(), strings));
}

TEST(TensorProtoTest, EmptyTensorsNeedNoData) {
  EXPECT_EQ(TensorFromProto(Proto(TensorProto::FLOAT, {2, 0}))->num_elements(), 0);
  EXPECT_EQ(TensorFromProto(Raw(TensorProto::INT4, {0}, ""))->num_elements(), 0);
}

TEST(TensorProtoTest, BoolBytesBecomeZeroOrOne) {
  EXPECT_EQ(Bytes(TensorFromProto(Raw(TensorProto::BOOL, {3}, "\x02\x01\xff")).value()),
            "\x01\x01\x01");
}

TEST(TensorProtoTest, RefusesDataThatDoesNotFitTheShape) {
  EXPECT_EQ(Error(Raw(TensorProto::FLOAT, {2}, "1234")),
            "raw_data has 4 bytes, shape [2] of float32 needs 8");
  EXPECT_EQ(Error(Proto(TensorProto::FLOAT, {})),
            "float_data has 0 values, shape [] of float32 needs 1");
  TensorProto wrong = Proto(TensorProto::FLOAT, {1});
  wrong.add_int64_data(1);
  EXPECT_EQ(Error(wrong), "dtype float32 cannot be stored in int64_data");
  TensorProto large = Proto(TensorProto::INT8, {1});
  large.add_int32_data(256);
  EXPECT_EQ(Error(large), "element 0 with value 256 does not fit int8");
  TensorProto six = Proto(TensorProto::FLOAT6E2M3, {1});
  six.add_int32_data(64);
  EXPECT_EQ(Error(six), "element 0 with value 64 does not fit float6e2m3");
  EXPECT_EQ(Error(Raw(TensorProto::FLOAT6E2M3, {5}, "123")),
            "raw_data has 3 bytes, shape [5] of float6e2m3 needs 4");
  EXPECT_EQ(Error(Raw(TensorProto::STRING, {1}, "a")), "strings cannot be stored as raw bytes");
}

TEST(TensorProtoTest, RefusesBadShapesBeforeItAllocates) {
  EXPECT_THAT(Error(Proto(TensorProto::FLOAT, {-1})), HasSubstr("negative dimension"));
  EXPECT_THAT(Error(Proto(TensorProto::FLOAT, {1 << 30, 1 << 30, 1 << 30})),
              HasSubstr("more than 2^63 elements"));
  EXPECT_THAT(Error(Proto(TensorProto::DOUBLE, {int64_t{1} << 60})), HasSubstr("2^60 bytes"));
  EXPECT_THAT(Error(Proto(TensorProto::FLOAT, {int64_t{1} << 50})), HasSubstr("has 0 values"));
  EXPECT_EQ(Error(Proto(TensorProto::FLOAT, std::vector<int64_t>(65, 1))),
            "rank 65 is above the limit of 64");
}

TEST(TensorProtoTest, RefusesUnknownDtypes) {
  EXPECT_THAT(Error(Proto(0, {})), HasSubstr("dtype 0 is not one of"));
  EXPECT_THAT(Error(Proto(99, {})), HasSubstr("dtype 99 is not one of"));
}

TEST(TensorProtoTest, RefusesExternalDataWithoutDirectory) {
  TensorProto proto = Proto(TensorProto::FLOAT, {1});
  proto.set_data_location(TensorProto::EXTERNAL);
  auto* entry = proto.add_external_data();
  entry->set_key("location");
  entry->set_value("weights");
  EXPECT_THAT(Error(proto), HasSubstr("no directory is known"));
}

onnx::SparseTensorProto Sparse(const std::vector<int64_t>& index_dims,
                               const std::vector<int64_t>& indices,
                               const std::vector<int64_t>& dims) {
  onnx::SparseTensorProto proto;
  *proto.mutable_values() = Proto(TensorProto::FLOAT, {index_dims[0]});
  for (int64_t i = 0; i < index_dims[0]; ++i) {
    proto.mutable_values()->add_float_data(static_cast<float>(i + 1));
  }
  *proto.mutable_indices() = Proto(TensorProto::INT64, index_dims);
  for (const int64_t index : indices) proto.mutable_indices()->add_int64_data(index);
  for (const int64_t dim : dims) proto.add_dims(dim);
  return proto;
}

TEST(SparseTensorTest, PackedTypes) {
  onnx::SparseTensorProto proto = Sparse({2}, {1, 4}, {5});
  *proto.mutable_values() = Raw(TensorProto::INT4, {2}, "\xf3");  // 3, -1
  const auto dense = TensorFromSparseProto(proto);
  ASSERT_TRUE(dense.ok()) << dense.status();
  EXPECT_EQ(Bytes(*dense), std::string("\x30\x00\x0f", 3));
}

TEST(SparseTensorTest, BothFormsOfIndices) {
  for (const auto& proto : {Sparse({2}, {1, 5}, {2, 3}), Sparse({2, 2}, {0, 1, 1, 2}, {2, 3})}) {
    const auto dense = TensorFromSparseProto(proto);
    ASSERT_TRUE(dense.ok()) << dense.status();
    EXPECT_THAT(dense->dims(), ElementsAre(2, 3));
    EXPECT_THAT(dense->span<float>(), ElementsAre(0, 1, 0, 0, 0, 2));
  }
}

TEST(SparseTensorTest, RefusesBadIndices) {
  const auto error = [](const onnx::SparseTensorProto& proto) {
    return std::string(TensorFromSparseProto(proto).status().message());
  };
  EXPECT_THAT(error(Sparse({1}, {6}, {2, 3})), HasSubstr("sparse index 6 is out of range"));
  EXPECT_THAT(error(Sparse({1}, {-1}, {2, 3})), HasSubstr("sparse index -1 is out of range"));
  EXPECT_THAT(error(Sparse({1, 2}, {0, 3}, {2, 3})), HasSubstr("out of range for axis 1"));
  EXPECT_THAT(error(Sparse({2}, {5, 1}, {2, 3})), HasSubstr("do not ascend at element 1"));
  EXPECT_THAT(error(Sparse({2}, {1, 1}, {2, 3})), HasSubstr("do not ascend at element 1"));
  EXPECT_THAT(error(Sparse({1, 3}, {0, 0, 0}, {2, 3})), HasSubstr("expected int64[1]"));
  EXPECT_THAT(error(Sparse({1}, {0}, {int64_t{1} << 40})), HasSubstr("out of proportion"));
}

TEST(ValueFileTest, ReadsSequencesOptionalsAndTensors) {
  const testing::ScratchDirectory directory;
  onnx::SequenceProto sequence;
  sequence.set_elem_type(onnx::SequenceProto::TENSOR);
  *sequence.add_tensor_values() = Raw(TensorProto::UINT8, {1}, "a");
  *sequence.add_tensor_values() = Raw(TensorProto::UINT8, {2}, "bc");
  const std::string file = directory.Write("s.pb", sequence.SerializeAsString());
  const auto value = ReadValueFile(file, Type::Sequence(Type::Tensor(DType::kUint8)));
  ASSERT_TRUE(value.ok()) << value.status();
  ASSERT_EQ(value->sequence().size(), 2u);
  EXPECT_EQ(Bytes(value->sequence()[1].tensor()), "bc");

  onnx::OptionalProto optional;
  const Type type = Type::Optional(Type::Tensor(DType::kUint8));
  EXPECT_FALSE(ReadValueFile(directory.Write("o.pb", ""), type)->has_value());
  *optional.mutable_tensor_value() = Raw(TensorProto::UINT8, {1}, "z");
  const auto present = ReadValueFile(directory.Write("o.pb", optional.SerializeAsString()), type);
  ASSERT_TRUE(present.ok()) << present.status();
  EXPECT_EQ(Bytes(present->tensor()), "z");

  const std::string tensor =
      directory.Write("t.pb", Raw(TensorProto::UINT8, {1}, "a").SerializeAsString());
  EXPECT_EQ(Bytes(ReadTensorFile(tensor).value()), "a");
  EXPECT_EQ(ReadTensorFile(directory.path("none")).status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(ReadTensorFile(directory.Write("x", "text")).status().message()),
              HasSubstr("is not a serialized onnx.TensorProto"));
}

}  // namespace
}  // namespace onward::onnx_io
