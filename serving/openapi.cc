#include "serving/openapi.h"

#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"
#include "serving/example_inputs.h"
#include "serving/http/framing.h"
#include "serving/protocol/datatype.h"

namespace onward::serving {
namespace {

using nlohmann::json;

constexpr int64_t kLargestExample = 160'000;  // elements; a picture of 3x224x224 has 150,528
constexpr int64_t kMostInExamples = 400'000;  // of all models together

constexpr char kError[] = "#/components/responses/Error";

json JsonContent(json content) { return {{"application/json", std::move(content)}}; }

json Described(const char* description) { return {{"description", description}}; }

// "/v2/models/{model}/infer" of "v2/models/{}/infer"; `names` gets what is in braces.
std::string PathOf(std::string_view pattern, std::vector<std::string>& names) {
  std::string path, before;
  while (!pattern.empty()) {
    const size_t slash = pattern.find('/');
    std::string segment(pattern.substr(0, slash));
    pattern = slash == pattern.npos ? "" : pattern.substr(slash + 1);
    if (segment == "{}") {
      names.push_back(before == "versions" ? "version" : "model");
      segment = absl::StrCat("{", names.back(), "}");
    }
    absl::StrAppend(&path, "/", segment);
    before = segment;
  }
  return path;
}

json Responses() {
  return {
      {"200", Described("It is done")}, {"4XX", {{"$ref", kError}}}, {"5XX", {{"$ref", kError}}}};
}

// Which keys open the endpoint.
json SecurityOf(RouteClass route_class, bool has_keys) {
  json security = json::array();
  if (route_class == RouteClass::kAdmin) security.push_back({{"adminKey", json::array()}});
  if (route_class == RouteClass::kInference && has_keys)
    security.push_back({{"apiKey", json::array()}});
  return security;
}

json Operation(const Route& route, const std::vector<std::string>& names, bool has_keys) {
  json operation = {{"summary", route.summary},
                    {"security", SecurityOf(route.route_class, has_keys)},
                    {"responses", Responses()}};
  for (const std::string& name : names)
    operation["parameters"].push_back(
        {{"name", name}, {"in", "path"}, {"required", true}, {"schema", {{"type", "string"}}}});
  const bool has_body = std::string_view(route.method) == "POST";
  if (has_body)
    operation["requestBody"] = {{"content", JsonContent({{"schema", {{"type", "object"}}}})}};
  return operation;
}

json ElementSchema(DType dtype) {
  if (dtype == DType::kString) return {{"type", "string"}};
  if (dtype == DType::kBool) return {{"type", "boolean"}};
  return {{"type", IsFloating(dtype) ? "number" : "integer"}};
}

// A tensor in JSON.
json TensorSchema(const ValueInfo& value) {
  const std::vector<int64_t> shape = ShapeOf(value.type, -1);
  const bool scalar = shape.empty();
  json dims = {{"type", "array"}, {"items", {{"type", "integer"}, {"minimum", 0}}}};
  if (value.type.shape) dims["minItems"] = dims["maxItems"] = shape.size();
  dims["description"] = scalar ? std::string("[]: one element")
                               : absl::StrCat(json(shape).dump(), ", -1 for dims that vary");
  return {
      {"type", "object"},
      {"description", value.name},
      {"required", {"name", "datatype", "shape"}},
      {"properties",
       {{"name", {{"type", "string"}, {"enum", {value.name}}}},
        {"datatype", {{"type", "string"}, {"enum", {std::string(DatatypeName(value.type.dtype))}}}},
        {"shape", std::move(dims)},
        {"data",
         {{"type", "array"},
          {"description", "flat, or nested as the shape"},
          {"items", {{"anyOf", {ElementSchema(value.type.dtype), {{"type", "array"}}}}}}}},
        {"parameters", {{"type", "object"}}}}}};
}

json TensorsSchema(const std::vector<ValueInfo>& values, int64_t least) {
  json kinds = json::array();
  for (const ValueInfo& value : values) kinds.push_back(TensorSchema(value));
  json schema = {{"type", "array"}, {"minItems", least}, {"maxItems", values.size()}};
  schema["items"] = kinds.empty() ? json{{"type", "object"}} : json{{"oneOf", std::move(kinds)}};
  return schema;
}

json RequestSchema(const ServedModel& model) {
  int64_t required = 0;
  for (const ValueInfo& input : model.inputs()) required += !input.optional;
  json names = json::array();
  for (const ValueInfo& output : model.outputs()) names.push_back(output.name);
  const json output = {{"type", "object"},
                       {"required", {"name"}},
                       {"properties",
                        {{"name", {{"type", "string"}, {"enum", std::move(names)}}},
                         {"parameters", {{"type", "object"}}}}}};
  return {{"type", "object"},
          {"required", {"inputs"}},
          {"properties",
           {{"id", {{"type", "string"}}},
            {"parameters", {{"type", "object"}}},
            {"inputs", TensorsSchema(model.inputs(), required)},
            {"outputs", {{"type", "array"}, {"items", output}}}}}};
}

json ReplySchema(const ServedModel& model) {
  return {{"type", "object"},
          {"required", {"model_name", "outputs"}},
          {"properties",
           {{"model_name", {{"type", "string"}}},
            {"model_version", {{"type", "string"}}},
            {"id", {{"type", "string"}}},
            {"outputs", TensorsSchema(model.outputs(), 0)}}}};
}

// The elements of all inputs that have to be there; more than kLargestExample where they are many.
int64_t ElementsOf(const ServedModel& model) {
  int64_t all = 0;
  for (const ValueInfo& input : model.inputs()) {
    if (input.optional) continue;
    int64_t count = 1;
    for (const int64_t dim : ExampleShape(input.type, model.example_size())) {
      const auto product = CheckedMul(count, dim);
      if (!product || *product > kLargestExample) return kLargestExample + 1;
      count = *product;
    }
    all += count;
  }
  return all;
}

json Example(const ServedModel& model) {
  json inputs = json::array();
  for (const ValueInfo& input : model.inputs()) {
    if (input.optional) continue;
    const std::vector<int64_t> shape = ExampleShape(input.type, model.example_size());
    size_t count = 1;
    for (const int64_t dim : shape) count *= static_cast<size_t>(dim);
    const json zero = input.type.dtype == DType::kString ? json("")
                      : input.type.dtype == DType::kBool ? json(false)
                                                         : json(0);
    inputs.push_back({{"name", input.name},
                      {"datatype", std::string(DatatypeName(input.type.dtype))},
                      {"shape", shape},
                      {"data", json::array_t(count, zero)}});
  }
  return {{"inputs", std::move(inputs)}};
}

json InferOperation(const ServedModel& model, bool has_keys, int64_t& left) {
  json content = {{"schema", RequestSchema(model)}};
  const int64_t elements = ElementsOf(model);
  if (elements <= kLargestExample && elements <= left) {
    left -= elements;
    content["example"] = Example(model);
  }
  json responses = Responses();
  responses["200"]["content"] = JsonContent({{"schema", ReplySchema(model)}});
  return {{"summary", absl::StrCat("Runs ", model.name())},
          {"tags", {"models"}},
          {"security", SecurityOf(RouteClass::kInference, has_keys)},
          {"requestBody", {{"required", true}, {"content", JsonContent(std::move(content))}}},
          {"responses", std::move(responses)}};
}

json Components() {
  const json key = {{"type", "http"}, {"scheme", "bearer"}};
  const json error = {{"type", "object"},
                      {"required", {"error"}},
                      {"properties", {{"error", {{"type", "string"}}}}}};
  return {{"securitySchemes", {{"apiKey", key}, {"adminKey", key}}},
          {"schemas", {{"Error", error}}},
          {"responses",
           {{"Error",
             {{"description", "What is wrong"},
              {"content", JsonContent({{"schema", {{"$ref", "#/components/schemas/Error"}}}})}}}}}};
}

}  // namespace

json OpenApi(absl::Span<const Route> routes, const ApiFacts& facts) {
  json paths = json::object();
  for (const Route& route : routes) {
    if (route.summary == nullptr) continue;
    std::vector<std::string> names;
    const std::string path = PathOf(route.pattern, names);
    paths[path][absl::AsciiStrToLower(route.method)] = Operation(route, names, facts.has_keys);
  }
  std::set<std::string> seen;
  int64_t left = kMostInExamples;
  // The highest version comes last, and is what the path without a version runs.
  for (auto each = facts.models.rbegin(); each != facts.models.rend(); ++each) {
    const ServedModel& model = **each;
    if (!seen.insert(model.name()).second) continue;
    paths[absl::StrCat("/v2/models/", EncodedSegment(model.name()), "/infer")]["post"] =
        InferOperation(model, facts.has_keys, left);
  }
  return {{"openapi", "3.0.3"},
          {"info",
           {{"title", "Onward"},
            {"description", "Models by the Open Inference Protocol v2"},
            {"version", facts.version.empty() ? "0" : facts.version}}},
          {"paths", std::move(paths)},
          {"components", Components()}};
}

}  // namespace onward::serving
